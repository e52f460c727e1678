// The declarations, in a program that asks for no more than ES2022 and the DOM. Skipped if TypeScript is not installed.

import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const ts = await import("typescript").then((module) => module.default).catch(() => null);
const skip = ts === null && "the package typescript is not installed";

test("a program compiles against the declarations", { skip }, () => {
  const program = ts.createProgram([fileURLToPath(new URL("types.mts", import.meta.url))], {
    strict: true,
    noEmit: true,
    types: [],
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    lib: ["lib.es2022.d.ts", "lib.dom.d.ts"],
  });
  const texts = ts.getPreEmitDiagnostics(program).map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"));
  assert.deepEqual(texts, []);
});
