// Compiled by types.test.mjs: what the declarations promise, and what they do not export.

import { Parser, Template, Tools, chunkStream, parse, type Event, type Options } from "backchat";
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
new Parser(template, { prefix: "" })[Symbol.dispose]();
chunkStream(template, { prefix: "", finishReason: async () => null });
parseResponse({ config: {} }, [1n], { prefix: [events.length] });
