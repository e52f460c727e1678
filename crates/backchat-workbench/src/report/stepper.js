"use strict";

// Stepping through what was recorded. A step is
// [1: ends a chunk + 2: ends an event, arrived, settled, events, what happened, why held, operations, region start, field].
const ENDS_CHUNK = 1;
const ENDS_EVENT = 2;
const BEFORE = 4000;
const AFTER = 2000;
const MOST_ITEMS = 200;

const element = (name, attributes = {}, text = undefined) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
};

const classOf = (code) =>
  ["p", "x", "fold"][code] ?? `f f${((code - 3) >> 1) % 8}${code % 2 ? "" : " d"}`;

// A place between whole characters.
const whole = (text, at) => (/[\udc00-\udfff]/.test(text[at] ?? "") ? at + 1 : at);

const stretch = (side, from, to) => {
  const found = [];
  let start = 0;
  for (let i = 0; i < side.data.runs.length && start < to; i += 2) {
    const end = side.data.runs[i];
    const code = side.data.runs[i + 1];
    const text = side.text.slice(Math.max(start, from), Math.min(end, to));
    if (text) {
      const span = element("span", { class: classOf(code) }, text);
      if (code > 2 && code % 2 && start >= from) span.dataset.f = side.data.fields[(code - 3) >> 1];
      found.push(span);
    }
    start = end;
  }
  return found;
};

const paintText = (side, [, arrived, settled]) => {
  const from = whole(side.text, Math.max(0, arrived - BEFORE));
  const to = whole(side.text, Math.min(side.text.length, arrived + AFTER));
  const held = element("span", { class: "held" }, side.text.slice(settled, arrived));
  const future = element("span", { class: "future" }, side.text.slice(arrived, to));
  const parts = [...stretch(side, from, settled), held, future];
  if (from > 0) parts.unshift(element("span", { class: "fold" }, "…"));
  if (to < side.text.length) parts.push(element("span", { class: "fold" }, "…"));
  side.pre.replaceChildren(...parts);
  side.pre.scrollTop = future.offsetTop - side.pre.clientHeight / 2;
};

const paintEvents = (side, rows) => {
  for (const row of side.rows) {
    const number = Number(row.dataset.row);
    row.classList.toggle("later", number >= rows);
    if (number === rows - 1) {
      row.setAttribute("aria-current", "step");
      side.events.scrollTop = row.offsetTop - side.events.clientHeight / 2;
    } else row.removeAttribute("aria-current");
  }
  if (rows === 0) side.events.scrollTop = 0;
};

const messageAt = (side, count) => {
  const message = new Map();
  for (const [key, how, value, join] of side.data.message.slice(0, count)) {
    const before = message.get(key);
    if (how === "-") message.delete(key);
    else if (how === "+") Array.isArray(before) ? before.push(value) : message.set(key, [value]);
    else if (how === "&") message.set(key, before?.[0] === '"' ? before.slice(0, -1) + join + value + '"' : `"${value}"`);
    else message.set(key, value);
  }
  const shown = [];
  for (const [key, value] of message) {
    let items = value;
    if (Array.isArray(value)) {
      const rest = value.length - MOST_ITEMS;
      if (rest > 0) items = [...value.slice(0, MOST_ITEMS / 2), `… ${rest} more …`, ...value.slice(-MOST_ITEMS / 2)];
      items = `[\n    ${items.join(",\n    ")}\n  ]`;
    }
    shown.push(`  ${key}: ${items}`);
  }
  return `{\n${shown.join(",\n")}\n}\n`;
};

const paintMessage = (side, [, , settled, , , , count, region, field]) => {
  let text = messageAt(side, count);
  if (region !== null) {
    const body = side.text.slice(region, settled);
    const tail = body.slice(whole(body, Math.max(0, body.length - 200)));
    text += `${side.data.fields[field]} so far, ${body.length} characters:\n${tail}`;
  }
  side.message.textContent = text;
};

// Text between backticks is code if the backticks come in pairs.
const prose = (text) => {
  const parts = text.split("`");
  return parts.length % 2 ? parts.map((part, i) => (i % 2 ? element("code", {}, part) : part)) : [text];
};

const paint = (side, index) => {
  const step = side.data.steps[index];
  paintText(side, step);
  paintEvents(side, step[3]);
  paintMessage(side, step);
  side.now[0].replaceChildren(...prose(side.data.words[step[4]]));
  side.now[1].replaceChildren(...prose(side.data.words[step[5]]));
};

let current;

// Makes an element with recorded outputs one that can be stepped through. With a name, each step has a link: #NAME@STEP.
const stepThrough = (root, name = "") => {
  const sides = [...root.querySelectorAll("figure")].map((figure) => {
    const [pre, message] = figure.querySelectorAll("pre");
    const events = figure.querySelector(".events");
    for (const [pane, name] of [[pre, "Output"], [message, "Message"]]) {
      pane.setAttribute("role", "region");
      pane.setAttribute("aria-label", name);
    }
    return {
      pre,
      message,
      events,
      text: pre.textContent,
      rows: [...events.querySelectorAll("[data-row]")],
      now: figure.querySelectorAll(".now p"),
      data: JSON.parse(figure.querySelector(".steps").textContent),
    };
  });
  const pairs = root.querySelector(".pairs");
  const paired = pairs && JSON.parse(pairs.textContent);
  const { steps, marked } = sides[0].data;
  const last = steps.length - 1;
  let at = null;

  const show = (index) => {
    at = Math.max(0, Math.min(last, index));
    sides.forEach((side, number) => paint(side, number ? paired[at] : at));
    slider.value = at;
    place.textContent = `step ${at} of ${last}`;
    slider.setAttribute("aria-valuetext", place.textContent);
    root.dataset.at = at;
    if (name) link.href = `#${name}@${at}`;
  };
  const search = (from, by, fits) => {
    for (let index = from; index >= 0 && index <= last; index += by) if (fits(steps[index], index)) return index;
    return by > 0 ? last : 0;
  };
  // Nobody has stepped yet: forward begins at the start.
  const next = (flag) => show(at === null ? 0 : search(at + 1, 1, (step) => step[0] & flag));
  const previous = (flag) => show(search((at ?? last) - 1, -1, (step) => step[0] & flag));
  const problem = () => {
    const after = marked.filter((index) => index > (at ?? -1));
    if (marked.length) show(after.length ? after[0] : marked[0]);
  };
  const keys = {
    g: ["start", () => show(0)],
    h: ["chunk back", () => previous(ENDS_CHUNK)],
    k: ["event back", () => previous(ENDS_EVENT)],
    j: ["event", () => next(ENDS_EVENT)],
    l: ["chunk", () => next(ENDS_CHUNK)],
    G: ["end", () => show(last)],
  };
  if (marked.length) keys.x = ["next problem", problem];

  const controls = element("div", { class: "controls", role: "group", "aria-label": "Stepping" });
  for (const [key, [label, act]] of Object.entries(keys)) {
    const button = element("button", { "aria-keyshortcuts": key }, label);
    button.prepend(element("kbd", {}, key), " ");
    button.addEventListener("click", act);
    controls.append(button);
  }
  const slider = element("input", { type: "range", min: 0, max: last, value: last, "aria-label": "Step" });
  slider.addEventListener("input", () => show(Number(slider.value)));
  // The slider says the same; a screen reader reads what happened instead.
  const place = element("output", { "aria-live": "off" }, `step ${last} of ${last}`);
  const link = element("a", { href: `#${name}@${last}`, "aria-label": "Link to this step" }, "link");
  controls.append(slider, place);
  if (name) controls.append(link);
  root.prepend(controls);
  for (const side of sides) side.now[0].parentElement.setAttribute("aria-live", "polite");
  const stepper = { root, keys, show, problem };
  for (const kind of ["focusin", "pointerdown"]) root.addEventListener(kind, () => (current = stepper));
  return stepper;
};

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || !current?.root.isConnected) return;
  // Keys that are typed belong to what they are typed into.
  if (event.target.matches?.("textarea, select, input:not([type=range])")) return;
  const act = current.keys[event.key]?.[1];
  if (act) {
    event.preventDefault();
    act();
  }
});
