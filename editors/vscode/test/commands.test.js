// Commands of the server get the active document, and a terminal if they ask for one.

const assert = require("node:assert");
const test = require("node:test");
const { load } = require("./load");

/** What the server got and the terminal was sent, for a command with these arguments and this answer. */
async function executed(active, given, answer) {
  const did = { asked: [], typed: [], disposed: [] };
  const terminals = ["bash", "Backchat"].map((name) => ({ name, dispose: () => did.disposed.push(name) }));
  const window = {
    activeTextEditor: active && { document: { uri: { toString: () => active } } },
    terminals,
    createTerminal: () => ({ show: () => {}, sendText: (line) => did.typed.push(line) }),
  };
  const next = async (command, args) => {
    did.asked.push([command, ...args]);
    return answer;
  };
  did.result = await load("commands.ts", { window }).execute("backchat.x", given, next);
  return did;
}

test("a command without arguments is about the active document", async () => {
  for (const [active, given, asked] of [
    ["file:///a", [], ["file:///a"]],
    ["file:///a", ["file:///b", "case"], ["file:///b", "case"]],
    [undefined, [], []],
  ]) {
    const { asked: found } = await executed(active, given, null);
    assert.deepStrictEqual(found, [["backchat.x", ...asked]]);
  }
});

test("a line is run in a terminal, which takes the place of the last one", async () => {
  for (const [answer, typed] of [[{ terminal: "backchat replay a" }, ["backchat replay a"]], [null, []], [undefined, []], ["draft", []]]) {
    const did = await executed("file:///a", ["file:///a"], answer);
    assert.deepStrictEqual([did.typed, did.disposed, did.result], [typed, typed.map(() => "Backchat"), answer]);
  }
});
