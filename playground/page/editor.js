
// A text field over a copy of its text in color. The copy has the size of the text, so that the two never part.
class Editor {
  constructor(root, changed) {
    this.root = root;
    this.area = root.querySelector("textarea");
    this.back = root.querySelector(".back");
    this.numbers = root.querySelector(".numbers");
    // The copy as it is: [class, text] of each of its nodes.
    this.pieces = [];
    this.area.addEventListener("input", () => {
      this.follow();
      changed();
    });
  }

  get text() {
    return this.area.value;
  }

  // Another text. It is no change of the user's.
  set text(text) {
    if (this.area.value !== text) this.area.value = text;
    this.plain();
  }

  // The text without color.
  plain() {
    this.paint([]);
  }

  // The text after a change, in the colors from before: whoever knows better paints it again.
  follow() {
    const text = `${this.text}\n`;
    const before = this.pieces.map(([, part]) => part).join("");
    let start = 0;
    while (start < before.length && before[start] === text[start]) start++;
    let kept = 0;
    const most = Math.min(before.length, text.length) - start;
    while (kept < most && before[before.length - 1 - kept] === text[text.length - 1 - kept]) kept++;
    const end = before.length - kept;
    const pieces = [];
    let at = 0;
    let inserted = text.slice(start, text.length - kept);
    for (const [name, part] of this.pieces) {
      const head = part.slice(0, Math.max(0, start - at));
      const tail = part.slice(Math.max(0, end - at));
      at += part.length;
      const middle = at >= start ? inserted : "";
      if (at >= start) inserted = "";
      if (head + middle + tail) pieces.push([name, head + middle + tail]);
    }
    if (inserted) pieces.push(["", inserted]);
    this.put(pieces);
  }

  // Stretches of the text with classes: [start, end, class] in order; of two that overlap, the first counts.
  paint(stretches) {
    const { text } = this;
    const pieces = [];
    let at = 0;
    for (const [start, end, name] of stretches) {
      if (start < at || end <= start) continue;
      if (start > at) pieces.push(["", text.slice(at, start)]);
      pieces.push([name, text.slice(start, end)]);
      at = end;
    }
    pieces.push(["", `${text.slice(at)}\n`]);
    this.put(pieces);
  }

  // Makes the copy of these pieces; nodes that stay the same stay.
  put(pieces) {
    const old = this.pieces;
    const same = (one, other) => one[0] === other[0] && one[1] === other[1];
    let start = 0;
    while (start < old.length && start < pieces.length && same(old[start], pieces[start])) start++;
    let kept = 0;
    const most = Math.min(old.length, pieces.length) - start;
    while (kept < most && same(old[old.length - 1 - kept], pieces[pieces.length - 1 - kept])) kept++;
    const nodes = this.back.childNodes;
    for (let index = old.length - kept - 1; index >= start; index--) nodes[index].remove();
    const made = document.createDocumentFragment();
    for (const [name, text] of pieces.slice(start, pieces.length - kept)) {
      made.append(name ? element("span", { class: name }, text) : document.createTextNode(text));
    }
    this.back.insertBefore(made, nodes[start] ?? null);
    this.pieces = pieces;
    this.number();
  }

  number() {
    if (!this.numbers) return;
    const count = this.text.split("\n").length;
    if (count === this.count) return;
    this.count = count;
    this.numbers.textContent = Array.from({ length: count }, (_, index) => index + 1).join("\n");
  }

  // Selects a stretch and brings it into view.
  select(start, end) {
    this.area.focus({ preventScroll: true });
    this.area.setSelectionRange(start, end);
    const line = this.text.slice(0, start).split("\n").length - 1;
    const height = parseFloat(getComputedStyle(this.area).lineHeight);
    this.root.scrollTop = Math.max(0, line * height - this.root.clientHeight / 3);
    this.root.scrollIntoView({ block: "nearest" });
  }

  // Selects a line, counted from 1.
  selectLine(line) {
    const lines = this.text.split("\n");
    const start = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0);
    this.select(start, start + (lines[line - 1] ?? "").length);
  }
}
