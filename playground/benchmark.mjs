// Measures the actions on the page that should feel immediate: `node playground/benchmark.mjs`, after `playground/build`, on
// an idle machine.
import { readFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import { deflateRawSync } from "node:zlib";

import { Browser } from "./test/browser.mjs";

const ROUNDS = 20;
const address = pathToFileURL(fileURLToPath(new URL("../target/playground/index.html", import.meta.url))).href;
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const spread = (figures) => {
  figures.sort((one, other) => one - other);
  return `${figures[figures.length >> 1].toFixed(1)} ms (the least ${figures[0].toFixed(1)})`;
};
const took = (page, what) =>
  page.value(`Number(document.getElementById('took').textContent.match(/${what} in ([\\d.]+)/)?.[1] ?? 0)`);

const browser = await Browser.start();
// The first derivation of a page also compiles the module's functions; the next one is the wait after pasting a template.
const opened = { paint: [], derived: [], proved: [], "another template derived": [] };
for (let round = 0; round < 5; round++) {
  const page = await browser.page(address);
  await page.until("document.getElementById('badge').textContent === 'proved'");
  await page.until("document.getElementById('took').textContent.includes('proved')");
  opened.paint.push(await page.value("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"));
  opened.derived.push(await took(page, "derived"));
  opened.proved.push(await took(page, "proved"));
  await page.value(`(() => { const pick = document.getElementById('pick'); delete took.proved; document.getElementById('took').textContent = '';
    pick.value = 'qwen3'; pick.dispatchEvent(new Event('change')); })()`);
  await page.until("document.getElementById('took').textContent.includes('proved')");
  opened["another template derived"].push(await took(page, "derived"));
  await page.close();
}
for (const [what, figures] of Object.entries(opened)) console.log(`${what}: ${spread(figures)}`);

// The same in processor time of the worker, which does not depend on other load. Each browser is new, so its first derivation
// finds nothing compiled.
const worked = { "the first derivation": [], "another template": [] };
for (let round = 0; round < 5; round++) {
  const fresh = await Browser.start();
  // An empty link: nothing is derived until requested.
  const page = await fresh.page(`${address}#${deflateRawSync('{"source":"","chat":""}').toString("base64url")}`);
  await page.value("compiled.then(() => { globalThis.engine = new Engine(); return engine.ask('patch', '{}'); })");
  for (const [what, name] of [["the first derivation", "page/example"], ["another template", "../chat_templates/qwen3"]]) {
    const source = JSON.stringify(readFileSync(new URL(`${name}.jinja`, import.meta.url), "utf8"));
    const derive = () => page.value(`engine.ask("derive", ${source}).then(() => 0)`);
    worked[what].push(await page.worked(derive, "DedicatedWorker thread"));
  }
  await fresh.close();
}
for (const [what, figures] of Object.entries(worked)) console.log(`${what} in processor time: ${spread(figures)}`);

const part = '<think>Two cities, so I compare them.</think>Take a coat to Oslo, please.<call>{"name": "a"}</call>\n';
const lines = part.repeat(Math.ceil(65536 / part.length));
for (const [what, text] of [["64 KB in lines", lines], ["64 KB in one line", lines.replaceAll("\n", " ")]]) {
  for (const [place, at] of [["start", 30], ["end", text.length - 30]]) {
    const page = await browser.page(address);
    await page.until("document.getElementById('badge').textContent === 'proved'");
    await page.value(`(() => { const area = document.querySelector('#output textarea'); area.value = ${JSON.stringify(text)};
      area.dispatchEvent(new Event('input')); area.focus(); area.setSelectionRange(${at}, ${at}); })()`);
    await pause(1500);
    const figures = [];
    for (let round = 0; round < ROUNDS; round++) {
      figures.push(await page.worked(async () => {
        await page.send("Input.insertText", { text: "x" });
        await pause(250);
      }));
    }
    console.log(`a keystroke at the ${place} of ${what}: ${spread(figures)}`);
    await page.close();
  }
}
await browser.close();
