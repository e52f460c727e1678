// The syntax of Jinja and JSON as stretches of a text: [start, end, class] in order, none over another. Text that no stretch
// covers is text of the template, or white space.
const OPERATORS = new Set(["and", "or", "not", "in", "is", "if", "else", "recursive"]);
const CONSTANTS = new Set(["true", "false", "none", "True", "False", "None", "null", "NaN", "Infinity"]);
const OUTSIDE = /\{#[^]*?(?:#\}|$)|(\{%[-+]?\s*raw\s*[-+]?%\})[^]*?(\{%[-+]?\s*endraw\s*[-+]?%\}|$)|\{[{%][-+]?/g;
const INSIDE = /("(?:[^"\\]|\\[^])*"?|'(?:[^'\\]|\\[^])*'?)|([-+]?%\}|-?\}\})|([\p{L}_][\p{L}\p{N}_]*)|(\d[\d_.]*)|[^]/guy;

// Adds the stretches of a tag from its first character after the opening; returns the end of the tag.
const addTag = (text, at, isBlock, found) => {
  let depth = 0;
  // A statement begins with its name.
  let isName = isBlock;
  INSIDE.lastIndex = at;
  for (let part; (part = INSIDE.exec(text)); ) {
    const [whole, string, close, word, number] = part;
    const add = (name) => found.push([part.index, INSIDE.lastIndex, name]);
    if (close && close.endsWith("%}") === isBlock && !depth) {
      add("s-tag");
      return INSIDE.lastIndex;
    }
    // Braces of an object, which end no tag.
    if (close) INSIDE.lastIndex = part.index + 1;
    if (text[part.index] === "{") depth += 1;
    if (text[part.index] === "}") depth = Math.max(0, depth - 1);
    if (string) add("s-string");
    else if (number) add("s-constant");
    else if (word && CONSTANTS.has(whole)) add("s-constant");
    else if (word && (isName || OPERATORS.has(whole))) add("s-word");
    isName &&= !word;
  }
  return text.length;
};

const jinjaSyntax = (text) => {
  const found = [];
  OUTSIDE.lastIndex = 0;
  for (let part; (part = OUTSIDE.exec(text)); ) {
    const [whole, raw, end] = part;
    const { lastIndex } = OUTSIDE;
    if (raw) {
      found.push([part.index, part.index + raw.length, "s-tag"], [lastIndex - end.length, lastIndex, "s-tag"]);
    } else if (whole.startsWith("{#")) found.push([part.index, lastIndex, "s-comment"]);
    else {
      found.push([part.index, lastIndex, "s-tag"]);
      OUTSIDE.lastIndex = addTag(text, lastIndex, whole[1] === "%", found);
    }
  }
  return found;
};

const JSON_PARTS = /("(?:[^"\\\n]|\\.)*"?)(\s*:)?|-?\d[\d.eE+-]*|[A-Za-z]+/g;

const jsonSyntax = (text) => {
  const found = [];
  for (const { 0: whole, 1: string, 2: colon, index } of text.matchAll(JSON_PARTS)) {
    if (string) found.push([index, index + string.length, colon ? "s-word" : "s-string"]);
    else if (CONSTANTS.has(whole) || /\d/.test(whole)) found.push([index, index + whole.length, "s-constant"]);
  }
  return found;
};

// Two layers of stretches as one: where both cover the text, it has both classes.
const merged = (under, over) => {
  if (!under.length || !over.length) return under.length ? under : over;
  const cuts = new Set([...under, ...over].flatMap(([start, end]) => [start, end]));
  const found = [];
  const places = [...cuts].sort((one, other) => one - other);
  let [i, j] = [0, 0];
  for (let at = 0; at + 1 < places.length; at++) {
    const [start, end] = [places[at], places[at + 1]];
    while (i < under.length && under[i][1] <= start) i++;
    while (j < over.length && over[j][1] <= start) j++;
    const names = [under[i], over[j]].filter((part) => part && part[0] <= start).map(([, , name]) => name);
    if (names.length) found.push([start, end, names.join(" ")]);
  }
  return found;
};
