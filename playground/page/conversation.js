// A conversation to edit, and the prompt that the chat template renders for it.

const CALL = {
  id: "call00001",
  type: "function",
  function: { name: "get_weather", arguments: { city: "Oslo", days: 2 } },
};
const QUESTION = { role: "user", content: "Do I need a coat in Oslo?" };
const ANSWER = { role: "assistant", content: "Yes: it is 3 °C, and it rains." };
const THANKS = { role: "user", content: "Thanks! And tomorrow?" };
const WITH_TOOLS = [
  { role: "system", content: "You are a helpful assistant." },
  QUESTION,
  { role: "assistant", content: "", tool_calls: [CALL] },
  { role: "tool", tool_call_id: "call00001", name: "get_weather", content: "3 °C, rain" },
  ANSWER,
  THANKS,
];
const WEATHER = {
  type: "function",
  function: {
    name: "get_weather",
    description: "The weather of the next days.",
    parameters: {
      type: "object",
      properties: { city: { type: "string" }, days: { type: "integer" } },
      required: ["city"],
    },
  },
};

// Examples from the richest to the simplest: the first one that the chat template takes is shown.
const CONVERSATIONS = [
  { messages: WITH_TOOLS, tools: [WEATHER] },
  { messages: WITH_TOOLS.slice(1), tools: [WEATHER] },
  { messages: [QUESTION, ANSWER, THANKS], tools: null },
  { messages: [QUESTION], tools: null },
].map(({ messages, tools }) => ({ messages: JSON.stringify(messages, null, 2), tools: tools ? JSON.stringify(tools, null, 2) : "" }));

const AUTHORS = { template: "template", system: "system", user: "user", model: "model", tools: "tools" };
// How many characters of a prompt are shown.
const LONGEST_PROMPT = 100_000;

const isToken = (name) => name.endsWith("_token");

// The value of JSON, with numbers that keep their digits: `1.0`, and those that are too long for a number of JavaScript.
const valueOfJson = (json) =>
  JSON.parse(json, (_, value, { source }) => (typeof value === "number" ? JSON.rawJSON(source) : value));

// The same for an object; null for anything else.
const objectOfJson = (json) => {
  try {
    return json.trim().startsWith("{") ? valueOfJson(json) : null;
  } catch {
    return null;
  }
};

// The text of a field for a value: texts as they are, unless they read as something else.
const fieldText = (value) => {
  if (typeof value !== "string") return JSON.stringify(value);
  return valueOf("", value) === value ? value : JSON.stringify(value);
};

// The value of a field's text: JSON, or else text, as `--set` reads it. A special token is always text.
const valueOf = (name, text) => {
  if (isToken(name)) return text;
  try {
    return valueOfJson(text);
  } catch {
    return text;
  }
};

class Conversation {
  // `variablesChanged` gets the new variables as JSON, or null without any; `changed` is called after any other edit.
  // `show` leads to a line or a span of the chat template.
  constructor({ variablesChanged, changed, show }) {
    Object.assign(this, { variablesChanged, changed, show });
    const edited = (hasOwnMessages) => () => {
      this.hasOwnTools = true;
      this.hasOwnMessages ||= hasOwnMessages;
      $("own").hidden = false;
      changed();
    };
    this.messages = new Editor($("messages"), edited(true), jsonSyntax);
    this.tools = new Editor($("tools"), edited(false), jsonSyntax);
    // Messages that the user wrote go with the tools that were shown beside them.
    this.hasOwnMessages = this.hasOwnTools = false;
    $("add-prompt").addEventListener("change", changed);
    $("rendered").addEventListener("click", ({ target }) => {
      const { start, end } = target.dataset;
      // A selection is for copying.
      if (start !== undefined && getSelection().isCollapsed) show({ span: [Number(start), Number(end)] });
    });
    $("own").addEventListener("click", () => {
      this.restore({});
      changed();
    });
  }

  // What a link keeps: the user's edits.
  get kept() {
    const kept = {};
    if (this.hasOwnMessages) kept.messages = this.messages.text;
    if (this.hasOwnTools) kept.tools = this.tools.text;
    if (!$("add-prompt").checked) kept.bare = true;
    return kept;
  }

  restore({ messages, tools, bare }) {
    this.hasOwnMessages = typeof messages === "string";
    this.hasOwnTools = this.hasOwnMessages || typeof tools === "string";
    $("own").hidden = !this.hasOwnTools;
    $("add-prompt").checked = bare !== true;
    if (this.hasOwnMessages) this.messages.text = messages;
    if (this.hasOwnTools) this.tools.text = typeof tools === "string" ? tools : "";
    this.fill(CONVERSATIONS[0]);
  }

  // What the prompt is rendered from: the user's own, or else the first example that the chat template takes.
  get candidates() {
    const own = this.hasOwnTools ? { tools: this.tools.text } : {};
    if (this.hasOwnMessages) return [{ messages: this.messages.text, ...own }];
    return CONVERSATIONS.map((example) => ({ ...example, ...own }));
  }

  // Shows an example, except for what is the user's own.
  fill({ messages, tools }) {
    if (!this.hasOwnMessages) this.messages.text = messages;
    if (!this.hasOwnTools) this.tools.text = tools;
  }

  // The context of a render as JSON. The module reads it, so numbers keep their digits.
  context({ messages, tools }, variables) {
    const read = (label, text) => {
      try {
        return JSON.parse(text);
      } catch (problem) {
        throw new Error(`${label}: not valid JSON: ${problem.message}`);
      }
    };
    const own = read("Messages", messages);
    if (!own || typeof own !== "object") throw new Error("Messages: expected a list of messages");
    const members = Array.isArray(own) ? [`"messages": ${messages}`] : [messages.trim().slice(1, -1)];
    if (tools.trim()) {
      if (!Array.isArray(read("Tools", tools))) throw new Error("Tools: expected a list of tools");
      members.push(`"tools": ${tools}`);
    }
    members.push(`"add_generation_prompt": ${$("add-prompt").checked}`);
    if (variables) members.push(variables.trim().slice(1, -1));
    return `{${members.filter((member) => member.trim()).join(", ")}}`;
  }

  // Renders with a chat template, and shows the prompt or the problem.
  async render(source, variables) {
    this.run = (this.run ?? 0) + 1;
    const { run } = this;
    if (!source.trim()) return this.showPrompt({ text: "", runs: [], origins: [] });
    const { candidates } = this;
    let first = null;
    for (const example of candidates) {
      let prompt;
      try {
        const answer = await fast.ask("prompt", source, this.context(example, variables));
        if (!answer || run !== this.run) return;
        prompt = answer.value;
      } catch (problem) {
        if (run !== this.run) return;
        prompt = { problem: { severity: "error", id: "", message: problem.message, help: null } };
      }
      if (!prompt.problem) {
        this.fill(example);
        return this.showPrompt(prompt);
      }
      first ??= prompt.problem;
    }
    this.fill(candidates[0]);
    this.showPrompt({ text: "", runs: [], origins: [] }, first);
  }

  showPrompt({ text, runs, origins }, problem = null) {
    const count = (label, json) => {
      try {
        const value = JSON.parse(json);
        $(label).textContent = (Array.isArray(value) ? value : (value.messages ?? [])).length;
      } catch {
        $(label).textContent = json.trim() ? "" : "none";
      }
    };
    count("messages-count", this.messages.text);
    count("tools-count", this.tools.text);
    const notes = problem ? [noteItem(problem, { go: () => this.show(problem) })] : [];
    $("prompt-notes").replaceChildren(...notes);
    const parts = [];
    const seen = new Set();
    // A stretch of one author has the pieces of several places of the chat template.
    const limit = whole(text, LONGEST_PROMPT);
    for (let run = 0, piece = 0, start = 0; run < runs.length && start < limit; ) {
      const end = Math.min(runs[run], origins[piece] ?? limit, limit);
      const author = runs[run + 1];
      seen.add(author);
      if (end > start) {
        const place = { "data-start": origins[piece + 1], "data-end": origins[piece + 2] };
        parts.push(element("span", { class: `by-${author}`, ...(piece < origins.length && place) }, text.slice(start, end)));
      }
      start = end;
      if (runs[run] <= start) run += 2;
      if (origins[piece] <= start) piece += 3;
    }
    if (text.length > LONGEST_PROMPT) {
      parts.push(element("span", { class: "fold" }, `${(text.length - LONGEST_PROMPT).toLocaleString("en")} more characters`));
    }
    $("rendered").replaceChildren(...parts);
    $("rendered").hidden = problem !== null;
    $("rendered").classList.remove("result");
    const legend = Object.keys(AUTHORS).filter((author) => seen.has(author));
    $("authors").replaceChildren(...legend.map((author) => {
      const item = element("li");
      item.append(element("span", { class: `by-${author}` }, AUTHORS[author]));
      return item;
    }));
  }

  // A field for each variable that the chat template reads; special tokens first. Null keeps the fields: the template does
  // not compile.
  showVariables(names, variables) {
    if (!names) return;
    const values = variables ? valueOfJson(variables) : {};
    const sorted = [...names.filter(({ name }) => isToken(name)), ...names.filter(({ name }) => !isToken(name))];
    const isSet = ({ name }) => values[name] !== undefined;
    $("variables-set").textContent = sorted.length ? `${sorted.filter(isSet).length} of ${sorted.length} set` : "none";
    const known = [...$("variables").querySelectorAll("input")].map(({ name }) => name);
    if (isSame(known, sorted.map(({ name }) => name))) {
      // A field that is typed into keeps its text.
      for (const input of $("variables").querySelectorAll("input")) {
        if (input !== document.activeElement) input.value = values[input.name] === undefined ? "" : fieldText(values[input.name]);
      }
      return;
    }
    $("variables").replaceChildren(...sorted.map((variable) => this.field(variable, values)));
    if (sorted.some(({ name }) => isToken(name))) $("variables-part").open = true;
  }

  field({ name, constants }, values) {
    const label = element("label");
    const list = `constants-${name}`;
    const input = element("input", { name, list, placeholder: "not set", spellcheck: "false", autocapitalize: "off", autocomplete: "off" });
    input.value = values[name] === undefined ? "" : fieldText(values[name]);
    input.addEventListener("input", () => this.set(name, input.value));
    const options = element("datalist", { id: list });
    options.append(...constants.map((value) => new Option("", fieldText(value))));
    label.append(element("span", {}, name), input, options);
    return label;
  }

  set(name, text) {
    const values = state.variables ? valueOfJson(state.variables) : {};
    if (text === "") delete values[name];
    else values[name] = valueOf(name, text);
    this.variablesChanged(Object.keys(values).length ? JSON.stringify(values) : null);
  }
}
