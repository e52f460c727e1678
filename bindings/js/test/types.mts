// Compiled by types.test.mjs: what the declarations promise, and what they do not export.

import { Parser, Template, Tokens, Tools, chunkStream, parse, type Event, type Options } from "backchat";
import { parseResponse } from "backchat/transformers";
// @ts-expect-error The class that the others extend does not exist at run time.
import { Owner } from "backchat";
// @ts-expect-error
import { Place } from "backchat";
// @ts-expect-error
import { Tokenizer } from "backchat/transformers";

const options: Options = { prefix: "", tools: new Tools([]), chat: undefined, stopIds: [1, 2n] };
const template = new Template({});
const events: Event[] = parse(template, "Hi", options).events;
template.withTokens(new Tokens({}), null);
new Parser(template, { prefix: "" })[Symbol.dispose]();
chunkStream(template, { prefix: "", finishReason: async () => null });
const absent = { mode: null, closersInStrings: null, reasoning: null, recover: null, stopIds: null, callIdPrefix: null };
parse(template, "Hi", { prefix: "", tools: null, chat: null, ...absent });
chunkStream(template, { prefix: "", chat: null, model: null, id: null, finishReason: null, ...absent });
// @ts-expect-error A stream of chunks needs deltas.
chunkStream(template, { prefix: "", chat: "off" });
parseResponse({ config: {} }, [1n], { prefix: [events.length] });
