// What the package promises is there.

const assert = require("node:assert");
const fs = require("node:fs");
const path = require("node:path");
const test = require("node:test");

const root = path.join(__dirname, "..");
const manifest = JSON.parse(fs.readFileSync(path.join(root, "package.json"), "utf8"));

test("every file that the manifest names exists", () => {
  const { languages, grammars } = manifest.contributes;
  const files = [manifest.main, "dist/playground.html", ...languages.flatMap((l) => l.configuration ?? []), ...grammars.map((g) => g.path)];
  for (const file of files) assert.ok(fs.existsSync(path.join(root, file)), file);
});

test("the patterns of the grammars compile", () => {
  const patterns = (value) =>
    value && typeof value === "object"
      ? Object.entries(value).flatMap(([key, inner]) => (["match", "begin", "end"].includes(key) ? [inner] : patterns(inner)))
      : [];
  for (const grammar of manifest.contributes.grammars) {
    const found = patterns(JSON.parse(fs.readFileSync(path.join(root, grammar.path), "utf8")));
    assert.ok(found.length > 2);
    for (const pattern of found) assert.doesNotThrow(() => new RegExp(pattern), pattern);
  }
});

test("chat templates keep their own language to themselves", () => {
  const [chat] = manifest.contributes.languages;
  assert.deepStrictEqual([chat.filenames, chat.extensions], [["chat_template.jinja"], undefined]);
});
