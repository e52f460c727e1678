import type { Options, Template } from "backchat";
import type { LanguageModelMiddleware } from "ai";

type Params = Parameters<NonNullable<LanguageModelMiddleware["wrapStream"]>>[0]["params"];

/**
 * Reads the text of a language model with a response template: `wrapLanguageModel({ model, middleware })`. `prefix` is the
 * end of the prompt, or a function of the call's parameters.
 */
export function responseTemplate(
  options: Omit<Options, "prefix" | "promptIds" | "chat"> & { template: Template; prefix: string | ((params: Params) => string) },
): LanguageModelMiddleware;

// Without this, everything above would be exported.
export {};
