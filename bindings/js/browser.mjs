// The package in a worker of headless Chromium, from a file: answers the rows of standard input, as `driver.mjs` does.
//
//   node browser.mjs PACKAGE [stable|reference] < rows.jsonl

import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const [folder, mode = "stable"] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));
const rows = readFileSync(0, "utf8");

/** The worker's script and all it imports, so that nothing is fetched: modules as URLs of data. */
function script() {
  const url = (text) => `data:text/javascript;base64,${Buffer.from(text).toString("base64")}`;
  const source = (name) => readFileSync(join(folder, name), "utf8");
  const known = new Map();
  const linked = (name) => {
    if (!known.has(name)) known.set(name, url(source(name).replace(/(from|import) "\.\/(.*?)"/g, (_, word, other) => `${word} "${linked(other)}"`)));
    return known.get(name);
  };
  const answers = url(readFileSync(join(here, "test/rows.mjs"), "utf8"));
  return `import * as backchat from "${linked("backchat.js")}";
    import { answer } from "${answers}";
    onmessage = ({ data: { rows, mode } }) =>
      postMessage(rows.split("\\n").filter((row) => row.trim() !== "").map((row) => answer(backchat, row, mode)).join("\\n"));`;
}

const page = `<!doctype html><meta charset="utf-8"><script type="module">
  const rows = await (await fetch("rows")).text();
  const script = new Blob([${JSON.stringify(script()).replaceAll("<", "\\u003c")}], { type: "text/javascript" });
  const worker = new Worker(URL.createObjectURL(script), { type: "module" });
  worker.onmessage = ({ data }) => fetch("answers", { method: "POST", body: data });
  worker.onerror = ({ message }) => fetch("error", { method: "POST", body: String(message) });
  worker.postMessage({ rows, mode: ${JSON.stringify(mode)} });
</script>`;

const chromium = process.env.CHROMIUM ?? "chromium";
execFileSync(chromium, ["--version"]);
const profile = mkdtempSync(join(tmpdir(), "backchat-"));
let browser;
const server = createServer((request, response) => {
  const name = request.url.slice(1);
  if (name === "rows") return response.end(rows);
  if (request.method !== "POST") return response.writeHead(name === "" ? 200 : 404, { "content-type": "text/html" }).end(name === "" ? page : "");
  const parts = [];
  request.on("data", (part) => parts.push(part));
  request.on("end", () => {
    response.end();
    const text = Buffer.concat(parts).toString();
    if (name === "error") console.error(text);
    else process.stdout.write(`${text}\n`);
    browser.kill();
    browser.once("exit", async () => {
      // Its children may still be writing, and only the asynchronous function removes again what came meanwhile.
      await rm(profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
      server.close();
      process.exitCode = name === "error" ? 1 : 0;
    });
  });
});
server.listen(0, "127.0.0.1", () => {
  const options = ["--headless=new", "--no-sandbox", "--disable-gpu", `--user-data-dir=${profile}`];
  browser = spawn(chromium, [...options, `http://127.0.0.1:${server.address().port}/`], { stdio: "ignore" });
});
setTimeout(() => {
  console.error("the browser did not answer");
  browser?.kill();
  process.exit(1);
}, 600_000).unref();
