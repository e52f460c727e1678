// Commands of the server get the active document, and a terminal if they ask for one.

const assert = require("node:assert");
const test = require("node:test");
const { load } = require("./load");

/** What the server got and the terminal was sent, for a command with these arguments and this answer. */
async function executed(active, given, answer) {
  const did = { asked: [], typed: [] };
  const window = {
    activeTextEditor: active && { document: { uri: { toString: () => active } } },
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

test("a line for the terminal is run there", async () => {
  for (const [answer, typed] of [[{ terminal: "backchat replay a" }, ["backchat replay a"]], [null, []], [undefined, []], ["draft", []]]) {
    const did = await executed("file:///a", ["file:///a"], answer);
    assert.deepStrictEqual([did.typed, did.result], [typed, answer]);
  }
});
