
// The state of the page in the fragment of its address, as compressed JSON that no server sees.
const through = async (bytes, stream) =>
  new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());

const packed = async (state) => {
  const bytes = await through(new TextEncoder().encode(JSON.stringify(state)), new CompressionStream("deflate-raw"));
  let binary = "";
  for (let at = 0; at < bytes.length; at += 8192) binary += String.fromCharCode(...bytes.subarray(at, at + 8192));
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
};

// The state of a link; nothing if it is damaged.
const unpacked = async (fragment) => {
  try {
    const bytes = bytesOf(fragment.replaceAll("-", "+").replaceAll("_", "/"));
    const json = new TextDecoder().decode(await through(bytes, new DecompressionStream("deflate-raw")));
    const state = JSON.parse(json);
    return state && typeof state === "object" ? state : null;
  } catch {
    return null;
  }
};
