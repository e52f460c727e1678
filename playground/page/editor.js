
// How many characters two texts share at their starts, or at their ends, up to a maximum.
const shared = (one, other, most, atEnd) => {
  const part = (text, from, to) => (atEnd ? text.slice(text.length - to, text.length - from) : text.slice(from, to));
  let count = 0;
  for (const step of [4096, 64, 1]) {
    while (count + step <= most && part(one, count, count + step) === part(other, count, count + step)) count += step;
  }
  return count;
};

// Letters written from right to left, and characters that change the direction: the order in a row then depends on the whole
// line.
const RIGHT_TO_LEFT = /[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufefc\ud802\ud803\ud83a\ud83b]/;

// A character for the carriage returns of a text that it does not contain otherwise; null if it has none.
const signOfReturns = (text) => {
  if (!text.includes("\r")) return null;
  let code = "␍".charCodeAt();
  while (text.includes(String.fromCharCode(code))) code++;
  return String.fromCharCode(code);
};

// A line is copied from its start, unless that is this many characters above the visible rows.
const FAR = 4000;

// A text field with colors: a copy of the visible rows lies behind its text. However long the text is, a keystroke rebuilds
// only these rows. With a syntax, the letters that are seen are those of the copy, and those of the field are invisible.
class Editor {
  constructor(root, changed, syntax = null) {
    this.root = root;
    this.syntax = syntax;
    root.classList.toggle("colored", syntax !== null);
    this.area = root.querySelector("textarea");
    this.back = root.querySelector(".back");
    this.numbers = root.querySelector(".numbers");
    this.wraps = root.classList.contains("wrap");
    // What the field shows for a carriage return; null if the text has none.
    this.sign = null;
    // Colored stretches of the text: [start, end, class] in order, none over another. `layers` adds those of the syntax.
    this.stretches = [];
    this.layers = [];
    // The visible pieces: [text, class].
    this.placed = [];
    this.area.addEventListener("input", () => {
      this.follow();
      changed();
    });
    // The page scrolls as well as the field.
    document.addEventListener("scroll", () => this.show(), { capture: true, passive: true });
    new ResizeObserver(() => {
      this.measure();
      this.show();
    }).observe(this.area);
    this.learn();
  }

  // A text field turns carriage returns into line breaks, so in the text of a model each is another character.
  get text() {
    return this.sign === null ? this.known : this.known.replaceAll(this.sign, "\r");
  }

  // Sets another text, which is not a change by the user.
  set text(text) {
    if (this.text !== text) {
      this.sign = this.syntax === null ? signOfReturns(text) : null;
      this.area.value = this.sign === null ? text : text.replaceAll("\r", this.sign);
      this.learn();
    }
    this.paint([], true);
  }

  // Reads the text of the field, which is slow.
  learn() {
    this.known = this.area.value;
    // The offset of each line; rows are lines unless they wrap.
    this.starts = [0];
    for (let at = -1; (at = this.known.indexOf("\n", at + 1)) >= 0; ) this.starts.push(at + 1);
    if (this.numbers) this.numbers.style.minWidth = `calc(${String(this.starts.length).length}ch + 1.2rem)`;
    this.tokens = this.syntax?.(this.known) ?? [];
    this.layers = merged(this.tokens, this.stretches);
  }

  // Stretches of the text with classes: [start, end, class] in order; of two that overlap, the first counts. If they and the
  // text are those from before, there is nothing to show.
  paint(stretches, isNew = false) {
    let at = 0;
    const before = this.stretches;
    this.stretches = stretches.filter(([start, end]) => {
      if (start < at || end <= start) return false;
      at = end;
      return true;
    });
    const isSame = ([start, end, name], index) => {
      const [from, to, other] = before[index];
      return start === from && end === to && name === other;
    };
    if (!isNew && before.length === this.stretches.length && this.stretches.every(isSame)) return;
    this.layers = merged(this.tokens, this.stretches);
    this.show();
  }

  // Keeps the previous colors around the typed text until the caller sets new ones.
  follow() {
    const before = this.known;
    this.learn();
    const { known: text } = this;
    const most = Math.min(before.length, text.length);
    const start = shared(before, text, most, false);
    const end = before.length - shared(before, text, most - start, true);
    const more = text.length - before.length;
    const moved = this.stretches.map(([from, to, name]) => {
      if (to < start) return [from, to, name];
      if (from >= end) return [from + more, to + more, name];
      return [Math.min(from, start), Math.max(to + more, start), name];
    });
    this.paint(moved, true);
  }

  // The height of a row as the browser rounds it, and the room around the text.
  measure() {
    const ROWS = 64;
    const probe = element("pre", { class: "back" }, "\n".repeat(ROWS));
    this.back.after(probe);
    this.rowHeight = probe.getBoundingClientRect().height / ROWS;
    probe.remove();
    this.top = parseFloat(getComputedStyle(this.area).paddingTop);
  }

  // Shows the rows in view in color, before the next frame.
  show() {
    if (this.isAwaited) return;
    this.isAwaited = true;
    requestAnimationFrame(() => {
      this.isAwaited = false;
      this.copy();
    });
  }

  copy() {
    const { area, back, numbers, wraps, rowHeight } = this;
    // Read before anything changes: afterwards it would force a layout.
    const seen = area.getBoundingClientRect();
    const { scrollLeft, scrollTop, clientWidth } = area;
    // The rows of a field that wraps are found in the window; other fields are no taller than that.
    const from = (wraps ? Math.max(seen.top, 0) : seen.top) + 1;
    const below = (wraps ? Math.min(seen.bottom, innerHeight) : seen.bottom) - from;
    if (!rowHeight || below <= 0) return;
    const rows = Math.ceil(below / rowHeight) + 1;
    const row = Math.max(0, Math.floor((from - seen.top - this.top + scrollTop) / rowHeight));
    const at = wraps ? row && this.offsetAt(seen.left + clientWidth / 2, from) : (this.starts[row] ?? this.known.length);
    if (numbers) {
      const count = Math.min(rows, this.starts.length - row);
      numbers.firstChild.textContent = Array.from({ length: count }, (_, index) => row + index + 1).join("\n");
      numbers.firstChild.style.transform = `translateY(${this.top + row * rowHeight - scrollTop}px)`;
    }
    if (at === null) return;
    // No letter of a monospaced font is narrower.
    const most = Math.ceil(clientWidth / 4);
    const start = this.startOfCopy(at, at + rows * most, seen.left, from);
    const end = wraps ? at + rows * most : (this.starts[row + rows] ?? this.known.length + 1) - 1;
    this.put(this.pieces(start, Math.max(start, at - most), end));
    if (wraps) back.style.width = `${clientWidth}px`;
    const above = at > start ? this.rowOf(at - start) : 0;
    const top = this.top + (row - above) * rowHeight - scrollTop;
    back.style.transform = `translate(${-scrollLeft}px, ${top}px)`;
  }

  // Shows pieces of text. Only the piece that was typed into changes.
  put(pieces) {
    const { back, placed } = this;
    for (const [index, [text, name]] of pieces.entries()) {
      const [before, other] = placed[index] ?? [];
      if (text === before && name === other) continue;
      const node = back.childNodes[index];
      if (node && name === other) (name ? node.firstChild : node).data = text;
      else {
        const made = name ? element("span", { class: name }, text) : document.createTextNode(text);
        if (node) node.replaceWith(made);
        else back.append(made);
      }
    }
    while (back.childNodes.length > pieces.length) back.lastChild.remove();
    this.placed = pieces;
  }

  // The offset of the character at a point of the window; null if something else is there.
  offsetAt(x, y) {
    const caret = document.caretPositionFromPoint?.(x, y);
    return caret?.offsetNode === this.area ? caret.offset : null;
  }

  // The start of the copy of the visible rows: the start of their line, because rows wrap from there. If that is far above,
  // the copy starts with the first visible row.
  startOfCopy(at, end, left, top) {
    const line = this.known.lastIndexOf("\n", at - 1) + 1;
    if (!this.wraps || at - line < FAR || RIGHT_TO_LEFT.test(this.known.slice(line, end))) return line;
    return this.offsetAt(left + parseFloat(getComputedStyle(this.area).paddingLeft) + 1, top) ?? line;
  }

  // The text between two offsets as pieces with classes, from another offset on.
  pieces(start, colored, end) {
    const { known: text } = this;
    const made = [];
    let at = start;
    for (const [from, to, name] of this.layers) {
      if (to <= colored) continue;
      if (from >= end) break;
      const first = Math.max(from, colored);
      if (first > at) made.push([text.slice(at, first)]);
      at = Math.min(to, end);
      made.push([text.slice(first, at), name]);
    }
    made.push([`${text.slice(at, end)}\n`]);
    return made;
  }

  // The row of the copy that contains a character.
  rowOf(offset) {
    const range = document.createRange();
    for (const piece of this.back.childNodes) {
      const node = piece.firstChild ?? piece;
      if (offset < node.length) {
        range.setStart(node, offset);
        range.setEnd(node, offset + 1);
        break;
      }
      offset -= node.length;
    }
    const place = range.getClientRects()[0];
    if (!place) return 0;
    return Math.floor((place.top + place.height / 2 - this.back.getBoundingClientRect().top) / this.rowHeight);
  }

  // Selects a stretch and brings it into view.
  select(start, end) {
    const { area } = this;
    area.focus({ preventScroll: true });
    area.setSelectionRange(start, end);
    const line = this.known.slice(0, start).split("\n").length - 1;
    area.scrollTop = Math.max(0, line * this.rowHeight - area.clientHeight / 3);
    this.root.scrollIntoView({ block: "nearest" });
  }

  // Selects a line, counted from 1.
  selectLine(line) {
    const start = this.starts[line - 1] ?? this.known.length;
    this.select(start, (this.starts[line] ?? this.known.length + 1) - 1);
  }
}
