export interface Note {
  severity: "error" | "warning" | "note";
  id: string;
  message: string;
  help: string | null;
  /** UTF-16 offsets into the template, if the note is about a position in it. */
  span: [number, number] | null;
  line: number | null;
  /** A change that fixes the problem: its description, and the whole template after it. */
  fix: { message: string; text: string } | null;
}
export interface Reader {
  reader: string;
  version: string;
  takes: boolean;
  refusals: string[];
  costs: string[];
  other: { options: string; effect: string } | null;
}
export interface Turn {
  name: string;
  prefix: string;
  output: string;
}
/** A text that opens or closes a field in turns of the chat template, and the lines that print it, counted from 1. */
export interface Writer {
  field: string;
  closes: boolean;
  text: string;
  lines: number[];
}
export interface Derivation {
  status: "proved" | "partial" | "inexpressible" | "failed";
  headline: string;
  summary: string[];
  template: string | null;
  readers: Reader[];
  notes: Note[];
}
export interface Turns {
  /** JSON. */
  tools: string | null;
  turns: Turn[];
  writers: Writer[];
}
export interface Conversation {
  said: string;
  after: string;
  with: string;
  fate: "passed" | "lost" | "failed";
  what: string;
  prefix: string;
  text: string;
  /** JSON. */
  expected: string;
}
export interface Proof {
  status: "proved" | "partial" | "failed";
  headline: string;
  cases: number;
  passed: number;
  lost: number;
  failed: number;
  failures: { count: number; what: string; hint: string | null; case: string }[];
  conversations: Conversation[];
  notes: Note[];
}
export interface Inspection {
  loads: boolean;
  notes: Note[];
  proof: Proof | null;
}
export interface Repair {
  message: string;
  line: number | null;
  fixes: number;
  breaks: number;
  text: string;
}
export interface Reading {
  fields: string[];
  /** Where the template defines each field. */
  places: ({ line: number; span: [number, number] } | null)[];
  /** The segments of the output: the UTF-16 offset of the end of each, and its kind: 0 prompt, 1 in no field, then two
   * for each field, its text and its delimiters. */
  runs: number[];
  /** The message as JSON. */
  message: string;
  problems: string[];
}
export interface Variable {
  name: string;
  /** What the template compares it with. */
  constants: unknown[];
}
export interface Prompt {
  /** Null if the template did not render it. */
  text: string | null;
  /** The stretches of the prompt: the UTF-16 offset of the end of each, and who wrote it: template, system, user, model or
   * tools. */
  runs: (number | string)[];
  /** What printed each piece of the prompt: the UTF-16 offset of the end of the piece, and those of the start and the end
   * of the place in the chat template. */
  origins: number[];
  /** Why it was not rendered. */
  problem: Note | null;
}
export function variables(chatTemplate: string): Variable[] | null;
/** The conversation is JSON: an object with `messages`, and `tools` and other variables if there are any. */
export function prompt(chatTemplate: string, conversation: string): Prompt;
/** `inspect` finds the effect of recovery policies on the conversations. */
export function derive(chatTemplate: string, variables?: string): Derivation;
export function turns(chatTemplate: string, template: string, variables?: string): Turns | null;
export function inspect(template: string, chatTemplate?: string, variables?: string): Inspection;
export function repairs(template: string, chatTemplate: string, variables?: string): Repair[];
export function read(template: string, prefix: string, output: string, tools?: string): Reading | null;
export function steps(template: string, prefix: string, output: string, tools?: string): string | undefined;
export function fixture(template: string, prefix: string, output: string, tools?: string): string | undefined;
export function patch(template: string): string | undefined;
