// Packs the module and its sources: `node pack.mjs MODULE.wasm OUT`. The module is inlined as base64, so that nothing has to
// be fetched, and is also a file for whoever passes it to `init`.

import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

// A guard against growth. The aim is 250,000.
const MOST_BYTES = 345_000;

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "../..");
const [module, out] = process.argv.slice(2);
if (!out) {
  console.error("usage: node pack.mjs MODULE.wasm OUT");
  process.exit(2);
}
const wasm = withoutNames(readFileSync(module));
const zipped = gzipSync(wasm, { level: 9 }).length;
console.log(`the parser's module: ${wasm.length} bytes, ${zipped} with gzip, at most ${MOST_BYTES}`);
if (zipped > MOST_BYTES) process.exit(1);

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
for (const name of readdirSync(join(here, "src"))) copyFileSync(join(here, "src", name), join(out, name));
writeFileSync(join(out, "backchat.wasm"), wasm);
writeFileSync(join(out, "module.js"), `export default "${wasm.toString("base64")}";\n`);
copyFileSync(join(here, "README.md"), join(out, "README.md"));
copyFileSync(join(root, "LICENSE"), join(out, "LICENSE"));
const version = readFileSync(join(root, "Cargo.toml"), "utf8").match(/^version = "(.*)"$/m)[1];
const manifest = JSON.parse(readFileSync(join(here, "package.json"), "utf8").replace("{{version}}", version));
const playground = join(root, "target/playground/package");
if (existsSync(playground)) {
  cpSync(playground, join(out, "workbench"), { recursive: true });
  rmSync(join(out, "workbench/package.json"), { force: true });
} else {
  for (const key of Object.keys(manifest.exports)) if (key.startsWith("./workbench")) delete manifest.exports[key];
  console.log("without backchat/workbench: playground/build makes it");
}
writeFileSync(join(out, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);

/** The module without its custom sections: names of functions, which are a tenth of it. */
function withoutNames(bytes) {
  const kept = [bytes.subarray(0, 8)];
  for (let at = 8; at < bytes.length; ) {
    let [length, shift, end] = [0, 0, at + 1];
    do {
      length |= (bytes[end] & 127) << shift;
      shift += 7;
    } while (bytes[end++] & 128);
    end += length;
    if (bytes[at] !== 0) kept.push(bytes.subarray(at, end));
    at = end;
  }
  return Buffer.concat(kept);
}
