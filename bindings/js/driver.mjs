// Reads rows {"id", "template", "prefix", "text", "tools", "chunks"} from standard input, feeds each text in chunks of so many
// code points, and writes the answers as `backchat parse --jsonl - --events` does.
//
//   node driver.mjs PACKAGE [stable|reference] < rows.jsonl

import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { answer } from "./test/rows.mjs";

const [folder, mode = "stable"] = process.argv.slice(2);
const backchat = await import(pathToFileURL(`${folder}/backchat.js`));
for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  process.stdout.write(`${answer(backchat, line, mode)}\n`);
}
