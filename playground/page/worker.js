
// Runs the module: one call at a time, each answered with its result and its duration.
onmessage = ({ data }) => {
  if (data.packed) {
    WebAssembly.compile(unpackLzma(bytesOf(data.packed))).then((module) => postMessage({ module }));
    return;
  }
  if (data.module) {
    wasm_bindgen.initSync({ module: data.module });
    return;
  }
  const start = performance.now();
  let result = null;
  let error = null;
  try {
    result = wasm_bindgen[data.call](...data.args);
  } catch (problem) {
    error = String(problem);
  }
  postMessage({ id: data.id, result, error, took: performance.now() - start });
};
