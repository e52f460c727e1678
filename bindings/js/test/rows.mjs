// One row, answered as the command does. JSON text is kept as it is where JavaScript's numbers would change it.

/** The JSON text of a member of an object. */
function member(json, key) {
  let [depth, at] = [0, 0];
  const string = /"(?:[^"\\]|\\.)*"/y;
  let name = null;
  let start = -1;
  for (; at < json.length; at++) {
    const c = json[at];
    if (c === '"') {
      string.lastIndex = at;
      const text = string.exec(json)[0];
      if (depth === 1 && start < 0) name = JSON.parse(text);
      at += text.length - 1;
    } else if (depth === 1 && c === ":" && start < 0) {
      start = at + 1;
    } else if (depth === 1 && (c === "," || c === "}")) {
      if (name === key) return json.slice(start, at).trim();
      start = -1;
    }
    if (c === "{" || c === "[") depth++;
    if (c === "}" || c === "]") depth--;
  }
  return undefined;
}

function written(event) {
  if (event.type !== "region_close") return JSON.stringify(event);
  return `{"type": "region_close", "field": ${JSON.stringify(event.field)}, "value": ${event.json}}`;
}

const list = (events) => `[${events.filter(({ type }) => type !== "problem").map(written).join(", ")}]`;

/** The answer to a row in JSON, as JSON. */
export function answer({ Parser, Template }, line, mode) {
  const row = JSON.parse(line);
  const entries = [`"id": ${JSON.stringify(row.id)}`];
  let template;
  let parser;
  try {
    template = new Template(member(line, "template"));
    // The command reads an object as no tools, as transformers does; the package refuses it.
    const isObject = typeof row.tools === "object" && !Array.isArray(row.tools);
    const tools = row.tools === undefined || isObject ? null : member(line, "tools");
    if (typeof row.prefix !== "string") throw Object.assign(new Error("the row has no prefix"), { stage: "prefix" });
    parser = new Parser(template, { prefix: row.prefix, tools, mode, json: true });
    entries.push(`"initial_events": ${list(parser.initialEvents)}`);
    const points = Array.from(row.text);
    const feeds = [];
    let at = 0;
    try {
      for (const count of row.chunks) feeds.push(list(parser.feed(points.slice(at, (at += count)).join(""))));
    } finally {
      entries.push(`"feeds": [${feeds.join(", ")}]`);
    }
    const { json, events, missing } = parser.finish();
    entries.push(`"final_events": ${list(events)}`, `"message": ${json}`);
    if (missing.length > 0) entries.push(`"missing": ${JSON.stringify(missing)}`);
  } catch (error) {
    entries.push(`"error": ${JSON.stringify({ stage: error.stage || "load", message: error.message })}`);
  } finally {
    parser?.free();
    template?.free();
  }
  return `{${entries.join(", ")}}`;
}
