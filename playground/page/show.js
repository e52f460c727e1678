
// Parts of the page, built from the module's answers. Text is never markup.
const SIGNS = { error: ["✗", "bad"], warning: ["!", "doubtful"], note: ["·", "note"] };

const paragraph = (text, name = "") => {
  const made = element("p", name ? { class: name } : {});
  made.append(...prose(text));
  return made;
};

const button = (label, act, attributes = {}) => {
  const made = element("button", { type: "button", ...attributes }, label);
  made.addEventListener("click", act);
  return made;
};

// A finding: the problem, its position, the fix, and a button that applies it.
const noteItem = (note, { go, fix } = {}) => {
  const [sign, mood] = SIGNS[note.severity];
  const item = element("li", { class: mood });
  const line = paragraph(note.message);
  line.prepend(element("strong", { class: mood, "aria-label": note.severity }, sign), " ");
  if (note.line && go) line.append(" ", button(`line ${note.line}`, go, { class: "go" }));
  if (note.id) line.append(" ", element("span", { class: "id" }, note.id));
  item.append(line);
  if (note.help) item.append(paragraph(note.help, "help"));
  if (note.fix && fix) {
    const side = element("div", { class: "fix" });
    side.append(button("Fix", fix, { title: note.fix.message, "aria-label": `Fix: ${note.fix.message}` }));
    item.append(side);
  }
  return item;
};

const conversations = (count) => `${count} conversation${count === 1 ? "" : "s"}`;

// A repair: the change, and its effect on the proof.
const repairItem = (repair, act, go) => {
  const item = element("li", { class: "good" });
  const line = paragraph(repair.message);
  if (repair.line) line.append(" ", button(`line ${repair.line}`, go, { class: "go" }));
  const breaks = repair.breaks ? `breaks ${repair.breaks}` : "breaks none";
  const side = element("div", { class: "fix" });
  side.append(button("Repair", act, { "aria-label": `Repair: ${repair.message}` }));
  item.append(line, paragraph(`fixes ${conversations(repair.fixes)}, ${breaks}`, "count"), side);
  return item;
};

const FATES = {
  passed: ["✓", "good", "parses back exactly"],
  lost: ["~", "doubtful", "loses something to the wire format"],
  failed: ["✗", "bad", "parses back differently"],
};

// A button that opens a conversation.
const markOf = (conversation, open, text = "") => {
  const { said, after, with: setting, fate } = conversation;
  const [sign, mood, words] = FATES[fate];
  const label = `${said}, after ${after}${setting ? `, with ${setting}` : ""}: ${words}`;
  const attributes = { class: `mark ${mood}`, title: label, "aria-label": label, "aria-pressed": "false" };
  const mark = button(sign, () => open(conversation, mark), attributes);
  if (text) mark.append(element("span", {}, ` ${text}`));
  return mark;
};

// The conversations of a proof: a table of the answers that were tried after several histories, and a list of the others.
const gridOf = (proof, open) => {
  const rows = Map.groupBy(proof.conversations, ({ said }) => said);
  const isWide = (row) => new Set(row.map(({ after }) => after)).size > 1;
  const wide = [...rows].filter(([, row]) => isWide(row));
  const columns = [...new Set(wide.flatMap(([, row]) => row.map(({ after }) => after)))];
  const table = element("table", { class: "grid" });
  const head = table.createTHead().insertRow();
  for (const title of ["said, after …", ...columns]) head.append(element("th", { scope: "col" }, title));
  const body = table.createTBody();
  for (const [said, row] of wide) {
    const line = body.insertRow();
    line.append(element("th", { scope: "row" }, said));
    for (const after of columns) {
      const cell = line.insertCell();
      cell.dataset.title = `after ${after}`;
      for (const conversation of row) if (conversation.after === after) cell.append(markOf(conversation, open), " ");
    }
  }
  const list = element("div", { class: "marks" });
  for (const [said, row] of rows) {
    if (!isWide(row)) for (const conversation of row) list.append(markOf(conversation, open, said));
  }
  return [table, list];
};

const readersOf = (readers) => {
  const table = element("table");
  const head = table.createTHead().insertRow();
  for (const title of ["reader", "accepts it", "problems", "alternative draft"]) {
    head.append(element("th", { scope: "col" }, title));
  }
  const body = table.createTBody();
  for (const { reader, version, takes, refusals, costs, other } of readers) {
    const row = body.insertRow();
    row.append(element("th", { scope: "row" }, `${reader} ${version}`.trim()));
    row.append(element("td", { class: takes ? "good" : "bad" }, takes ? "✓ yes" : "✗ no"));
    const problems = element("td", { "data-title": "problems" });
    problems.append(...[...refusals, ...costs].map((text) => paragraph(text)));
    const draft = element("td", { "data-title": "alternative draft" });
    if (other) draft.append(element("code", {}, other.options), ` ${other.effect}`);
    row.append(problems, draft);
  }
  return table;
};

// Compares two texts line by line, and marks the lines that only one has.
const linesOf = (text, others, name) => {
  const pre = element("pre", { class: "text json" });
  for (const line of text.split("\n")) {
    pre.append(others.has(line.replace(/,$/, "")) ? line : element(name, {}, line), "\n");
  }
  return pre;
};

const lineSet = (text) => new Set(text.split("\n").map((line) => line.replace(/,$/, "")));

// The class of a segment of an output.
const segmentClass = (code) => (code < 2 ? "x" : `f f${((code - 2) >> 1) % 8}${code % 2 ? " d" : ""}`);

// The legend of an output's colors.
const legendOf = (fields) => {
  const known = fields.map((name, index) => [`f f${index % 8}`, name]);
  return [...known, ["f d", "delimiter"], ["x", "in no field"]].map(([name, label]) => {
    const item = element("li");
    item.append(element("span", { class: name }, label));
    return item;
  });
};

// How many different problems are shown.
const MOST_PROBLEMS = 20;

// The problems of an output, each once.
const problemsOf = (problems) => {
  const counts = new Map();
  for (const problem of problems) counts.set(problem, (counts.get(problem) ?? 0) + 1);
  const note = (message) => noteItem({ severity: "warning", id: "", message, help: null });
  const items = [...counts].slice(0, MOST_PROBLEMS).map(([problem, count]) =>
    note(count > 1 ? `${problem} (${count} times)` : problem));
  if (counts.size > MOST_PROBLEMS) items.push(note(`and ${counts.size - MOST_PROBLEMS} other problems`));
  return items;
};

// How many characters are shown at each end of a long message.
const SHOWN = 4000;

// A message, or the ends of a long one, so that typing does not lay out all of it.
const partsOf = (message, showAll) => {
  const pre = (text) => element("pre", { class: "text json", tabindex: "0" }, text);
  if (message.length <= 2 * SHOWN) return [pre(message)];
  const head = message.slice(0, whole(message, SHOWN));
  const tail = message.slice(whole(message, message.length - SHOWN));
  const left = message.length - head.length - tail.length;
  const rest = element("p", { class: "rest" });
  rest.append(button(`Show ${left.toLocaleString("en")} more characters`, showAll));
  return [pre(head), rest, pre(tail)];
};

// The message, next to the expected one if they differ.
const messageOf = (message, expected, showAll) => {
  if (expected === null) return partsOf(message, showAll);
  const sides = element("div", { class: "sides" });
  for (const [title, own, other, name] of [["went in", expected, message, "del"], ["came back", message, expected, "ins"]]) {
    const figure = element("figure");
    figure.append(element("figcaption", {}, title), linesOf(own, lineSet(other), name));
    sides.append(figure);
  }
  return [sides];
};
