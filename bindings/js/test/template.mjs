// The response template of the tests.

const call = { type: "function", function: { name: "{content.name}", arguments: "{content.arguments}" } };
export const TEMPLATE = {
  start_anchor: "<bot>",
  defaults: { role: "assistant" },
  fields: {
    thinking: { open: "<think>", close: "</think>" },
    tool_calls: { open: "<call>", close: "</call>", repeats: true, content: "json", transform: call },
    content: { close: "<end>" },
  },
};
