// Loads a source of the extension with an object in place of the editor's interface.

const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { buildSync } = require("esbuild");

exports.load = (source, vscode) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "extension-"));
  const outfile = path.join(folder, "out.js");
  buildSync({ entryPoints: [path.join(__dirname, "../src", source)], outfile, bundle: true, platform: "node", external: ["vscode"] });
  const module = { exports: {} };
  const code = fs.readFileSync(outfile, "utf8");
  fs.rmSync(folder, { recursive: true });
  new Function("module", "exports", "require", code)(module, module.exports, (name) => (name === "vscode" ? vscode : require(name)));
  return module.exports;
};
