// An output that fails opens at its first problem.
const steppers = [...document.querySelectorAll("[data-step]")].map((root, index) => {
  root.id = `output-${index + 1}`;
  const stepper = stepThrough(root, root.id);
  if (root.dataset.step === "bad") stepper.problem();
  return stepper;
});
current = steppers[0];

// A link to a conversation opens it, and one to a step of an output, #NAME@STEP, goes there.
const reveal = () => {
  const [name, step] = location.hash.slice(1).split("@");
  const target = name && document.getElementById(name);
  for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  if (target) target.scrollIntoView();
  const linked = step && steppers.find(({ root }) => root === target);
  if (linked) {
    linked.show(Number(step) || 0);
    current = linked;
  }
};
addEventListener("hashchange", reveal);
reveal();

// Templates can be copied.
for (const block of document.querySelectorAll(".copy")) {
  const button = document.createElement("button");
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    const text = block.querySelector("pre");
    try {
      await navigator.clipboard.writeText(text.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(text);
      button.textContent = "Selected";
    }
  });
  block.prepend(button);
}

// A long list can be filtered: by the words that a row shows, whatever their order. What holds no match folds away.
for (const slot of document.querySelectorAll("[data-filter]")) {
  const input = document.createElement("input");
  input.type = "search";
  input.placeholder = slot.dataset.filter;
  input.setAttribute("aria-label", slot.dataset.filter);
  const count = document.createElement("output");
  slot.className = "filter";
  slot.append(input, count);
  const lists = [...slot.parentElement.querySelectorAll(":scope > details, :scope > .wide")];
  const before = lists.map(list => list.open);
  const rows = lists.map(list => [...list.querySelectorAll("tbody tr")].map(row => [row, row.textContent.toLowerCase()]));
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let found = 0;
    lists.forEach((list, at) => {
      let here = 0;
      for (const [row, text] of rows[at]) {
        row.hidden = !words.every(word => text.includes(word));
        here += !row.hidden;
      }
      found += here;
      list.hidden = !here;
      if (list.tagName === "DETAILS") list.open = words.length ? here > 0 && here <= 50 : before[at];
    });
    count.value = words.length ? `${found} found` : "";
  });
}
