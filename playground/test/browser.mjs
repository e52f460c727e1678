// Drives a headless Chromium over its debugging pipe; needs only Node.js.
import { spawn } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const NAMES = ["chromium", "chromium-browser", "google-chrome"];
const LONGEST = Number(process.env.BROWSER_PATIENCE ?? 60_000);

export class Browser {
  // Starts a browser; null if none is installed.
  static async start() {
    for (const name of NAMES) {
      const browser = new Browser();
      if (await browser.open(name)) return browser;
    }
    return null;
  }

  async open(name) {
    this.profile = mkdtempSync(join(tmpdir(), "playground-"));
    const options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"];
    this.process = spawn(name, [...options, `--user-data-dir=${this.profile}`, "about:blank"], {
      stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"],
    });
    const started = await new Promise((resolve) => {
      this.process.once("error", () => resolve(false));
      this.process.once("spawn", () => resolve(true));
    });
    if (!started) return false;
    this.calls = new Map();
    this.count = 0;
    this.listeners = [];
    let pending = "";
    this.process.stdio[4].on("data", (data) => {
      const parts = (pending + data).split("\0");
      pending = parts.pop();
      parts.forEach((part) => this.receive(JSON.parse(part)));
    });
    return true;
  }

  receive({ id, result, error, method, params }) {
    if (id === undefined) return this.listeners.forEach((listen) => listen(method, params));
    const { resolve, reject } = this.calls.get(id);
    this.calls.delete(id);
    if (error) reject(new Error(error.message));
    else resolve(result);
  }

  send(method, params = {}, sessionId = undefined) {
    const id = ++this.count;
    this.process.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    return new Promise((resolve, reject) => this.calls.set(id, { resolve, reject }));
  }

  // Opens a page in a window of a size; `before` is a script that runs before those of the page.
  async page(address, { width = 1280, height = 900, dark = false, before = "" } = {}) {
    const { targetId } = await this.send("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true });
    const page = new Page(this, sessionId, targetId);
    await page.prepare({ width, height, dark });
    await page.send("Page.addScriptToEvaluateOnNewDocument", { source: before });
    await page.go(address);
    return page;
  }

  async close() {
    const ended = new Promise((resolve) => this.process.once("exit", resolve));
    this.process.kill();
    await ended;
    // Its children may still be writing, and only the asynchronous function removes again what came meanwhile.
    await rm(this.profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

class Page {
  constructor(browser, session, target) {
    this.browser = browser;
    this.session = session;
    this.target = target;
    this.complaints = [];
    this.requests = [];
    browser.listeners.push((method, params) => {
      if (method === "Runtime.exceptionThrown") this.complaints.push(params.exceptionDetails.exception?.description);
      if (method === "Log.entryAdded" && params.entry.level === "error") this.complaints.push(params.entry.text);
      if (method === "Network.requestWillBeSent") this.requests.push(params.request.url);
    });
  }

  send(method, params) {
    return this.browser.send(method, params, this.session);
  }

  async prepare({ width, height, dark }) {
    for (const domain of ["Page", "Runtime", "Log", "Network"]) await this.send(`${domain}.enable`);
    await this.send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: 1, mobile: width < 600 });
    const features = [{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }];
    await this.send("Emulation.setEmulatedMedia", { features });
  }

  async go(address) {
    await this.send("Page.navigate", { url: address });
    await this.until("document.readyState === 'complete'");
  }

  // The value of an expression on the page.
  async value(expression) {
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", {
      expression,
      returnByValue: true,
      awaitPromise: true,
      userGesture: true,
    });
    if (exceptionDetails) throw new Error(`${expression}: ${exceptionDetails.exception?.description}`);
    return result.value;
  }

  // Waits for an expression to be true.
  async until(expression) {
    const end = Date.now() + LONGEST;
    for (;;) {
      if (await this.value(`Boolean(${expression})`).catch(() => false)) return;
      if (Date.now() > end) throw new Error(`still not: ${expression}`);
      await new Promise((resolve) => setTimeout(resolve, 30));
    }
  }

  // Clicks in the middle of an element once it no longer moves, because content above it may still grow.
  async click(selector) {
    const found = JSON.stringify(selector);
    const middle = () =>
      this.value(`(() => {
        const element = document.querySelector(${found});
        element.scrollIntoView({ block: "center" });
        const { x, y, width, height } = element.getBoundingClientRect();
        return { x: x + width / 2, y: y + height / 2 };
      })()`);
    let box = await middle();
    for (let before; before?.x !== box.x || before.y !== box.y; ) {
      before = box;
      await new Promise((resolve) => setTimeout(resolve, 100));
      box = await middle();
    }
    for (const type of ["mousePressed", "mouseReleased"]) {
      await this.send("Input.dispatchMouseEvent", { type, ...box, button: "left", clickCount: 1 });
    }
  }

  // Replaces the text of a field, as a paste does.
  async paste(selector, text) {
    await this.value(`(() => {
      const field = document.querySelector(${JSON.stringify(selector)});
      field.focus();
      field.select();
    })()`);
    await this.send("Input.insertText", { text });
  }

  async press(key, text = key) {
    for (const type of ["keyDown", "keyUp"]) {
      await this.send("Input.dispatchKeyEvent", { type, key, text: type === "keyDown" ? text : undefined });
    }
  }

  async picture(whole = false) {
    const { data } = await this.send("Page.captureScreenshot", { format: "png", captureBeyondViewport: whole });
    return Buffer.from(data, "base64");
  }

  // The processor time in milliseconds of the page's thread during an action, or of the busiest thread of another name. Other
  // programs do not count.
  async worked(act, thread = "CrRendererMain") {
    const events = [];
    const { browser } = this;
    const ended = new Promise((resolve) => {
      browser.listeners.push(function listen(method, params) {
        if (method === "Tracing.dataCollected") events.push(...params.value);
        if (method !== "Tracing.tracingComplete") return;
        browser.listeners.splice(browser.listeners.indexOf(listen), 1);
        resolve();
      });
    });
    const traceConfig = { includedCategories: ["toplevel"] };
    await browser.send("Tracing.start", { traceConfig, transferMode: "ReportEvents" });
    await act();
    await browser.send("Tracing.end");
    await ended;
    const threads = events.filter(({ name, args }) => name === "thread_name" && args.name === thread);
    const works = threads.map(({ pid, tid }) => {
      const tasks = events.filter((event) => event.pid === pid && event.tid === tid && event.tdur);
      let [end, sum] = [0, 0];
      for (const { ts, dur, tdur } of tasks.sort((one, other) => one.ts - other.ts)) {
        // A nested task counts with the outer one.
        if (ts < end) continue;
        end = ts + dur;
        sum += tdur;
      }
      return sum / 1000;
    });
    // Of several threads, one does the work, and the others wait.
    return Math.max(...works);
  }

  close() {
    return this.browser.send("Target.closeTarget", { targetId: this.target });
  }
}
