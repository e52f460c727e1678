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
