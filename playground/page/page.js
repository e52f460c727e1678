
// The page: the user's input, the module's answers, and a link to the state.
const $ = (id) => document.getElementById(id);
const ours = JSON.parse($("templates").textContent);
const fast = new Engine();
const slow = new Engine();

// The user's input. Everything else on the page follows from it.
// `template` is null while it is the derived one, `turn` while the output is the user's own.
const state = { source: "example", template: null, turn: "", variables: null };
let derivation = null;
let examples = null;
let expected = null;
let reading = null;
// Whether the page made the output: then it calls the page's tools.
let isMade = false;

const chat = new Editor($("chat"), () => {
  state.source = "";
  $("pick").value = "";
  tell("");
  expectNews();
  later(renderPrompt, 60);
  later(derive, 250);
}, jinjaSyntax);
const template = new Editor($("template"), () => {
  state.template = template.text;
  templateChanged();
}, jsonSyntax);
const prompt = new Editor($("prompt"), () => outputChanged());
const output = new Editor($("output"), () => outputChanged());

const conversation = new Conversation({
  variablesChanged: (variables) => {
    state.variables = variables;
    expectNews();
    later(renderPrompt, 60);
    later(derive, 400);
  },
  changed: () => {
    later(renderPrompt, 60);
    read();
    remember();
  },
  show: (place) => goTo(chat, place),
});

// Runs the last of several calls of a function once they pause.
const timers = new Map();
const later = (act, pause) => {
  clearTimeout(timers.get(act));
  timers.set(act, setTimeout(act, pause));
};

const took = {};
const say = (what, milliseconds) => {
  took[what] = milliseconds < 10 ? milliseconds.toFixed(1) : Math.round(milliseconds);
  $("took").textContent = Object.entries(took).map(([name, time]) => `${name} in ${time} ms`).join(" · ");
};

const verdict = (word, mood, text) => {
  $("badge").textContent = word;
  $("badge").className = `badge ${mood}`;
  $("headline").replaceChildren(...prose(text));
};

// Fills a part of the page, unless it already shows this, to avoid layout.
const shown = new Map();
const isSame = (one, other) =>
  Array.isArray(one) && Array.isArray(other)
    ? one.length === other.length && one.every((part, index) => isSame(part, other[index]))
    : one === other;
const fill = (id, what, make) => {
  if (shown.has(id) && isSame(shown.get(id), what)) return;
  shown.set(id, what);
  $(id).replaceChildren(...make());
};

// Tells about the input that was taken over, until the next one.
const tell = (text) => {
  $("taken").textContent = text;
  $("taken").hidden = !text;
};

const stopped = (problem) => verdict("stopped", "bad", `the module stopped: ${problem.message}`);

// Remembers the chat template and its variables, to tell later whether they are still the same.
const snapshot = () => {
  const { text } = chat;
  const { variables } = state;
  return () => chat.text === text && state.variables === variables;
};

// A draft of the previous chat template is not for taking home.
const offerDownloads = () => {
  const isStale = state.template === null && $("main").classList.contains("stale");
  for (const part of ["template", "fixture", "patch"]) $(`take-${part}`).disabled = isStale || !template.text.trim();
};

// Hides the results of the previous chat template; what the user wrote stays.
const expectNews = () => {
  $("main").classList.add("stale");
  offerDownloads();
  $("rendered").classList.add("result");
  $("template").classList.toggle("result", state.template === null);
  for (const id of ["prompt", "output"]) $(id).classList.toggle("result", state.turn !== null);
};

const newsArrived = () => {
  $("main").classList.remove("stale");
  for (const id of ["template", "prompt", "output"]) $(id).classList.remove("result");
};

// Chat template and conversation → prompt.
const renderPrompt = async () => {
  const answer = await fast.ask("variables", chat.text).catch(() => null);
  if (answer) conversation.showVariables(answer.value, state.variables);
  await conversation.render(chat.text, state.variables);
};

// Another chat template, which was not typed.
const load = () => {
  expectNews();
  renderPrompt();
  return derive();
};

const clearProof = () => {
  for (const id of ["repairs", "failures", "grid", "template-notes"]) $(id).replaceChildren();
  $("proof-line").textContent = "";
};

// Nothing is derived from this chat template.
const clearDerivation = () => {
  derivation = examples = null;
  for (const id of ["chat-notes", "derive-notes", "readers"]) $(id).replaceChildren();
  if (state.template === null) template.text = "";
  chat.paint([]);
  clearProof();
  offerTurns();
  newsArrived();
};

// Chat template → draft.
const derive = async () => {
  remember();
  expected = null;
  if (!chat.text.trim()) {
    clearDerivation();
    return templateChanged();
  }
  verdict("…", "doubtful", "deriving");
  const isCurrent = snapshot();
  try {
    const answer = await slow.ask("derive", chat.text, state.variables ?? undefined);
    if (!answer || !isCurrent()) return;
    derivation = answer.value;
    say("derived", answer.took);
  } catch (problem) {
    if (!isCurrent()) return;
    clearDerivation();
    read();
    return stopped(problem);
  }
  clearProof();
  const items = (isWanted) =>
    derivation.notes.filter(isWanted).map((note) => noteItem(note, { go: () => goTo(chat, note) }));
  $("chat-notes").replaceChildren(...items(({ severity }) => severity !== "note"));
  $("derive-notes").replaceChildren(...items(({ severity }) => severity === "note"));
  chat.paint(derivation.notes.filter(({ span }) => span).map(({ span, severity }) => [span[0], Math.max(span[1], span[0] + 1), severity]));
  $("readers").replaceChildren(readersOf(derivation.readers));
  if (state.template === null) template.text = derivation.template ?? "";
  // The draft is shown before its turns are rendered, and before its proof.
  const turns = derivation.template && slow.ask("turns", chat.text, derivation.template, state.variables ?? undefined);
  templateChanged();
  const found = await Promise.resolve(turns).catch(() => ({ value: null }));
  if ((!found && turns) || !isCurrent()) return;
  examples = found?.value ?? null;
  offerTurns();
  newsArrived();
  read();
};

const offerTurns = () => {
  const options = [new Option("your own", "")];
  for (const { name } of examples?.turns ?? []) options.push(new Option(name, name));
  $("turn").replaceChildren(...options);
  // The turn with the most regions, until the user types.
  const rich = ["a thought, an answer and two calls", "a thought and a call", "an answer and a call", "a call", "a thought and an answer"];
  const known = (name) => examples?.turns.some((turn) => turn.name === name);
  if (state.turn === null) return;
  const turn = known(state.turn) ? state.turn : (rich.find(known) ?? examples?.turns[0]?.name);
  if (turn) return takeTurn(turn);
  prompt.text = "";
  output.text = "";
};

const takeTurn = (name) => {
  const turn = examples.turns.find((known) => known.name === name);
  state.turn = name;
  isMade = true;
  $("turn").value = name;
  prompt.text = turn.prefix;
  output.text = turn.output;
};

// Response template → findings, proof, repairs.
const templateChanged = () => {
  $("derived").hidden = state.template === null || !derivation?.template;
  read();
  later(inspect, 120);
  remember();
};

const inspect = async () => {
  if (!template.text.trim()) {
    clearProof();
    return verdict("empty", "doubtful", derivation ? derivation.headline : "paste a chat template, or pick one");
  }
  const { text } = template;
  const isCurrent = snapshot();
  let answer = null;
  let problem = null;
  try {
    answer = await slow.ask("inspect", text, chat.text.trim() ? chat.text : undefined, state.variables ?? undefined);
  } catch (error) {
    problem = error;
  }
  // The next inspection is about the current texts.
  if (text !== template.text || !isCurrent()) return;
  if (problem) return stopped(problem);
  if (!answer) return;
  say("proved", answer.took);
  const { loads, notes, proof } = answer.value;
  const fix = (note) => () => edit(note.fix.text);
  const items = notes.map((note) => noteItem(note, { go: () => goTo(template, note), fix: note.fix && fix(note) }));
  $("template-notes").replaceChildren(...items);
  const spans = notes.filter(({ span }) => span).sort((one, other) => one.span[0] - other.span[0]);
  template.paint(spans.map(({ span, severity }) => [span[0], span[1], severity]));
  showProof(loads, proof);
  if (proof && proof.failed) repair();
};

const showProof = (loads, proof) => {
  const after = (headline) => headline.slice(headline.indexOf(": ") + 1).trim();
  $("failures").replaceChildren();
  $("grid").replaceChildren();
  if (!proof?.failed) $("repairs").replaceChildren();
  if (!loads) return verdict("does not load", "bad", "see below");
  if (!proof) return verdict("loads", "doubtful", "paste its chat template to prove it");
  const mood = { proved: "good", partial: "doubtful", failed: "bad" }[proof.status];
  verdict(proof.failed ? "not proved" : proof.status, proof.failed ? "bad" : mood, after(proof.headline));
  const { cases, passed, lost, failed } = proof;
  $("proof-line").textContent =
    `${cases} conversations were rendered with the chat template, and the last turn of each was parsed: ` +
    `${passed} parse back exactly, ${lost} lose something to the wire format, ${failed} parse back differently. ` +
    "Each mark opens its conversation.";
  const items = proof.failures.map(({ what, hint, case: name, count }) => {
    const note = { severity: "error", id: "", message: `${what} (${conversations(count)})`, help: hint };
    const item = noteItem(note);
    const example = proof.conversations.find(({ said, after, fate }) => fate === "failed" && `${said} after ${after}` === name);
    if (example) item.firstChild.append(" ", button("show it", () => open(example), { class: "go" }));
    return item;
  });
  // Only a proof finds recovery policies that change conforming turns.
  items.push(...proof.notes.filter(({ id }) => id === "derive-policy").map((note) => noteItem(note)));
  $("failures").replaceChildren(...items);
  $("grid").replaceChildren(...gridOf(proof, open));
};

const repair = async () => {
  const { text } = template;
  const isCurrent = snapshot();
  const answer = await slow.ask("repairs", text, chat.text, state.variables ?? undefined).catch(() => null);
  if (!answer || text !== template.text || !isCurrent()) return;
  say("repairs found", answer.took);
  const items = answer.value.map((found) => repairItem(found, () => edit(found.text), () => template.selectLine(found.line)));
  $("repairs").replaceChildren(...items);
};

// Sets another text of the response template, as if it were typed.
const edit = (text) => {
  template.area.focus({ preventScroll: true });
  template.area.select();
  // So that the browser's own undo reverts it.
  if (!document.execCommand("insertText", false, text)) template.text = text;
  state.template = template.text;
  templateChanged();
};

// Shows a conversation of the proof as the output.
const open = (conversation, mark) => {
  for (const other of document.querySelectorAll(".mark[aria-pressed=true]")) other.setAttribute("aria-pressed", "false");
  mark?.setAttribute("aria-pressed", "true");
  state.turn = null;
  isMade = true;
  $("turn").value = "";
  prompt.text = conversation.prefix;
  output.text = conversation.text;
  expected = conversation.fate === "passed" ? null : conversation.expected;
  read();
  remember();
  $("output-title").scrollIntoView({ block: "nearest" });
};

const outputChanged = () => {
  state.turn = null;
  isMade = false;
  expected = null;
  $("turn").value = "";
  read();
  remember();
};

// The tools that the output may call, as JSON.
const toolsOfOutput = () => (conversation.hasOwnTools && !isMade ? conversation.tools.text : (examples?.tools ?? undefined));

// Output → message.
const read = async () => {
  const tail = prompt.text.slice(-60);
  $("prompt-end").textContent = tail ? `… ${tail.replaceAll("\n", "↵")}` : "none";
  offerDownloads();
  const { text } = output;
  const answer = await fast
    .ask("read", template.text, prompt.text, text, toolsOfOutput())
    .catch(() => ({ value: null }));
  // The text has changed; the next answer is about the current one.
  if (!answer || text !== output.text) return;
  reading = answer.value && { ...answer.value, text };
  if (answer.took !== undefined) say("parsed", answer.took);
  if (!reading) {
    fill("mark", null, () => []);
    fill("message", null, () => [paragraph("The response template does not load.", "aside")]);
    fill("legend", [], () => []);
    fill("output-notes", [], () => []);
    return output.paint([]);
  }
  paintOutput();
  explainCaret();
  showMessage();
  $("message-title").textContent = expected === null ? "Message" : "Messages differ";
  fill("output-notes", reading.problems, () => problemsOf(reading.problems));
  if ($("steps-part").open) later(step, 200);
};

const showMessage = () => {
  const { message } = reading;
  const showAll = () => $("message").replaceChildren(element("pre", { class: "text json", tabindex: "0" }, message));
  fill("message", [message, expected], () => messageOf(message, expected, showAll));
};

const paintOutput = () => {
  const stretches = [];
  let start = 0;
  for (let i = 0; i < reading.runs.length; i += 2) {
    stretches.push([start, reading.runs[i], segmentClass(reading.runs[i + 1])]);
    start = reading.runs[i];
  }
  output.paint(stretches);
  fill("legend", reading.fields, () => legendOf(reading.fields));
};

// Describes the text under the caret, and the lines of the templates that define it.
const explainCaret = () => {
  if (!reading || reading.text !== output.text || document.activeElement !== output.area) return;
  const at = output.area.selectionStart;
  let i = 0;
  while (i + 2 < reading.runs.length && reading.runs[i] <= at) i += 2;
  const code = reading.runs[i + 1];
  if (code === undefined) return fill("mark", null, () => []);
  const text = output.text.slice(i ? reading.runs[i - 2] : 0, reading.runs[i]);
  if (code < 2) return fill("mark", "", () => prose("This text is in no field."));
  const closes = i > 0 && reading.runs[i - 1] === code - 1;
  fill("mark", [text, code, closes, template.text, examples?.writers], () => explanation(text, code, closes));
};

const explanation = (text, code, closes) => {
  const short = text.length > 40 ? `${text.slice(0, 40)}…` : text;
  const name = reading.fields[(code - 2) >> 1];
  const parts = [element("code", {}, short), code % 2 ? " is a delimiter of " : " is text of "];
  parts.push(element("span", { class: segmentClass(code & ~1) }, name), ".");
  const place = reading.places[(code - 2) >> 1];
  if (place) parts.push(link(`response template, line ${place.line}`, () => template.select(...place.span)));
  if (code % 2) {
    for (const line of linesThatPrint(name, closes, text.trim())) parts.push(link(`chat template, line ${line}`, () => goTo(chat, { line })));
  }
  return parts;
};

// The lines of the chat template that print a delimiter in its turns: this text, or another delimiter of the field.
const linesThatPrint = (field, closes, text) => {
  const writers = (examples?.writers ?? []).filter((writer) => writer.field === field && writer.closes === closes);
  const same = writers.filter((writer) => writer.text === text);
  return [...new Set((same.length ? same : writers).flatMap(({ lines }) => lines))];
};

const link = (label, act) => button(label, act, { class: "go" });

const step = async () => {
  const answer = await fast
    .ask("steps", template.text, prompt.text, output.text, toolsOfOutput())
    .catch(() => null);
  if (!answer?.value) return;
  // The module's own markup, with all text escaped.
  $("steps").innerHTML = answer.value;
  current = stepThrough($("steps").querySelector("[data-step]"));
};

// Downloads.
const take = async (name, call, ...args) => {
  const answer = await fast.ask(call, ...args).catch(() => null);
  if (answer?.value) download(name, answer.value);
};

$("take-template").addEventListener("click", () => download("response_template.json", `${template.text.trimEnd()}\n`));
$("take-fixture").addEventListener("click", () =>
  take("output.fixture", "fixture", template.text, prompt.text, output.text, toolsOfOutput()));
$("take-patch").addEventListener("click", () => take("tokenizer_config.patch.json", "patch", template.text));

// Chromium opens no address that is longer.
const LONGEST_LINK = 2 * 1024 * 1024;

// Copies the address, and returns what became of it.
const copyLink = async () => {
  await keep();
  if (location.href.length > LONGEST_LINK) return "Too long for a link";
  return navigator.clipboard.writeText(location.href).then(() => "Copied", () => "Copy the address");
};

$("share").addEventListener("click", async () => {
  const field = $("share");
  field.textContent = await copyLink();
  setTimeout(() => (field.textContent = "Copy link"), 2000);
});

// Only the user's input is kept: in the address, or by the host; one state after another, because packing takes time.
let keeping = Promise.resolve();
const keep = () => {
  const { source, template: own, turn, variables } = state;
  const kept = { source, template: own, variables, ...conversation.kept };
  if (!source && !host) kept.chat = chat.text;
  if (turn === null) Object.assign(kept, { prefix: prompt.text, output: output.text });
  else kept.turn = turn;
  keeping = keeping.catch(() => {}).then(() => visit.keep(kept));
  return keeping;
};
const remember = () => later(keep, 400);

// Lets the browser's Back return to the input that is replaced now. Its undo would take seconds for a long text.
const leave = () => {
  keeping = keep().then(() => host ?? history.pushState(null, "", location.href));
};

const restore = (kept) => {
  const text = (value) => (typeof value === "string" ? value : null);
  const source = text(kept.source) ?? (host ? "" : "example");
  const isKnown = source === "" || Object.hasOwn(ours, source);
  const isSet = kept.variables == null || objectOfJson(String(kept.variables)) !== null;
  const problems = [
    isKnown ? "" : `The link is about a chat template that this page lacks: ${source}.`,
    isSet ? "" : "The variables of the link are not a JSON object, so none are set.",
  ];
  tell(problems.join(" ").trim());
  state.source = isKnown ? source : "";
  state.template = text(kept.template);
  state.variables = isSet ? text(kept.variables) : null;
  state.turn = text(kept.output) === null ? (text(kept.turn) ?? "") : null;
  isMade = false;
  chat.text = state.source ? ours[state.source] : (text(kept.chat) ?? "");
  $("pick").value = state.source;
  template.text = state.template ?? "";
  if (state.turn === null) {
    prompt.text = text(kept.prefix) ?? "";
    output.text = text(kept.output) ?? "";
  }
  conversation.restore(kept);
  return load();
};

const tellOfDamage = () => tell("The link can't be read: a part of it may be missing.");

const start = async () => {
  const kept = await visit.kept();
  const loaded = restore(kept ?? {});
  if (!kept && location.hash.length > 1) tellOfDamage();
  await loaded;
};

// Another link in the address, or none, which is the example; one that is damaged discards nothing.
// What was to be kept belongs to the address before.
const follow = async ({ newURL }) => {
  clearTimeout(timers.get(keep));
  const { hash } = new URL(newURL);
  const kept = await visit.kept(hash);
  if (kept || hash.length < 2) return restore(kept ?? {});
  tellOfDamage();
  return keep();
};

for (const name of Object.keys(ours)) if (name !== "example") $("pick").append(new Option(name, name));
$("pick").addEventListener("change", () => {
  leave();
  state.source = $("pick").value;
  state.variables = null;
  state.template = null;
  state.turn = "";
  chat.text = ours[state.source] ?? "";
  template.text = "";
  tell("");
  load();
});
$("turn").addEventListener("change", () => {
  expected = null;
  state.turn = null;
  isMade = false;
  if ($("turn").value) takeTurn($("turn").value);
  read();
  remember();
});
$("derived").addEventListener("click", () => {
  edit(derivation.template);
  state.template = null;
  templateChanged();
});
$("steps-part").addEventListener("toggle", () => $("steps-part").open && step());
document.addEventListener("selectionchange", explainCaret);

// Dropped files, recognized by their contents.
const takeFile = async (file) => {
  const text = await file.text();
  const found = foundIn(text);
  if (found) return takeConfig(found, file.name);
  if (/\{[%{#]/.test(text)) return takeChat(text);
  state.turn = null;
  output.text = text;
  outputChanged();
};

const specialTokens = (config) => {
  const named = Object.entries(config).filter(([key]) => isToken(key) && !key.startsWith("add_"));
  // Those of one model, under any name, replace others. transformers reads only the first of the mappings.
  const mappings = [config.extra_special_tokens, config.model_specific_special_tokens];
  const isMapping = (tokens) => tokens && typeof tokens === "object" && !Array.isArray(tokens);
  const ofModel = mappings.filter(isMapping).map(Object.entries);
  const tokens = [...named, ...(ofModel.find((entries) => entries.length) ?? [])];
  const texts = tokens.map(([key, token]) => [key, token?.content ?? token]);
  return Object.fromEntries(texts.filter(([, token]) => typeof token === "string"));
};

// The chat template for calls, or else the default one, or the only one.
const chatTemplateOf = (templates) => {
  if (!Array.isArray(templates)) return templates;
  const named = (wanted) => templates.find((entry) => entry?.name === wanted);
  const only = templates.length === 1 ? templates[0] : null;
  return (named("tool_use") ?? named("default") ?? only)?.template;
};

// Why nothing was chosen.
const problemOf = (templates) =>
  Array.isArray(templates) && templates.length > 1
    ? "; there are several chat templates, and none is the default"
    : "; its chat template is not a text";

// The chat template, the special tokens and the response template of a tokenizer's file; null if it has none of them.
const foundIn = (text) => {
  const config = objectOfJson(text);
  if (!config) return null;
  const named = chatTemplateOf(config.chat_template);
  const source = typeof named === "string" ? named : null;
  const tokens = specialTokens(config);
  const own = config.fields ? text : config.response_template ? JSON.stringify(config.response_template, null, 2) : null;
  const parts = [source !== null && "the chat template", own && "the response template", ...Object.keys(tokens)].filter(Boolean);
  const problem = source !== null || !config.chat_template ? "" : problemOf(config.chat_template);
  return parts.length || problem ? { source, tokens, own, told: (parts.join(", ") || "nothing") + problem } : null;
};

const takeConfig = ({ source, tokens, own, told }, name) => {
  if (own) {
    state.template = own;
    template.text = own;
  }
  // Without a chat template, they belong to the one that is shown.
  const known = source !== null || !state.variables ? {} : valueOfJson(state.variables);
  if (source !== null || Object.keys(tokens).length) state.variables = JSON.stringify({ ...known, ...tokens });
  if (source !== null) {
    if (!own) state.template = null;
    takeChat(source);
  } else load();
  tell(`Taken from ${name}: ${told}`);
};

const takeChat = (text) => {
  state.source = "";
  state.turn = "";
  $("pick").value = "";
  tell("");
  chat.text = text;
  load();
};

addEventListener("dragover", (event) => {
  event.preventDefault();
  $("drop").hidden = false;
});
addEventListener("dragleave", (event) => {
  if (!event.relatedTarget) $("drop").hidden = true;
});
addEventListener("drop", async (event) => {
  event.preventDefault();
  $("drop").hidden = true;
  // A text that is dropped outside the fields is not taken.
  const { files } = event.dataTransfer;
  if (files.length) leave();
  for (const file of files) await takeFile(file);
});
// A pasted config is handled like a dropped one.
chat.area.addEventListener("paste", (event) => {
  const text = event.clipboardData?.getData("text") ?? "";
  const found = /^\s*\{\s*"/.test(text) && foundIn(text);
  if (!found) return;
  event.preventDefault();
  leave();
  takeConfig(found, "the pasted config");
});

// The host sends the chat template, or the tokenizer's file that has it, whenever it changes, and first what the tokenizer's
// file beside it has.
const takeFromHost = ({ data }) => {
  const found = typeof data?.config === "string" ? foundIn(data.config) : null;
  const text = data?.chat ?? found?.source ?? null;
  if (text === null && (!found || data.isEdited)) return;
  // What belongs to another document goes with it.
  if (data.isOther) Object.assign(state, { template: null, variables: null, turn: "" });
  state.source = "";
  chat.text = text ?? "";
  // An edit replaces nothing else that the user may have changed.
  if (found && !data.isEdited) return takeConfig(found, data.name);
  expectNews();
  later(renderPrompt, 60);
  later(derive, 250);
};

// The address keeps the user's input, so the link does not change it.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  $("main").focus();
});

if (host) {
  addEventListener("message", takeFromHost);
  start().then(() => host.postMessage({ ready: true }));
} else {
  addEventListener("hashchange", follow);
  start();
}
