// An editor may be the host of the page: then the editor has the chat template, places in it are shown there, and files
// are saved there. Without one, the page has its own editor, its address and downloads.
const host = globalThis.acquireVsCodeApi?.() ?? null;

if (host) document.documentElement.classList.add("hosted");

// What the user put into the page, between two visits; null if there is nothing, or a damaged link.
const visit = {
  async keep(kept) {
    if (host) return host.setState(kept);
    const { href } = location;
    const fragment = await packed(kept);
    // Packing takes time, and an address that came meanwhile is the user's.
    if (location.href === href) history.replaceState(null, "", `#${fragment}`);
  },
  kept: async (hash = location.hash) => (host ? host.getState() : await unpacked(hash.slice(1))) ?? null,
};

// Leads to a span or a line of an editor of the page, or of the host, which counts lines from 0.
const goTo = (editor, { span, line }) => {
  if (host && editor === chat) {
    const at = (offset) => {
      const lines = chat.text.slice(0, offset).split("\n");
      return { line: lines.length - 1, character: lines.at(-1).length };
    };
    const lineSpan = () => [chat.starts[line - 1] ?? 0, (chat.starts[line] ?? chat.text.length + 1) - 1];
    const [from, to] = (span ?? lineSpan()).map(at);
    host.postMessage({ show: { from, to } });
  } else if (span) editor.select(...span);
  else editor.selectLine(line);
};

const download = (name, text) => {
  if (host) return host.postMessage({ save: { name, text } });
  const address = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
};
