// The package: response templates, the streaming parser that reads a model's output with them, and streams of both.

export { BackchatError, init } from "./binding.js";
export { Parser, Template, Tokens, Tools, parse } from "./parser.js";
export { chunkStream, eventStream } from "./streams.js";
