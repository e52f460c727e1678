// Commands of the server, where they need the editor: the document they are about, and a terminal.

import * as vscode from "vscode";

const TERMINAL = "Backchat";

/** Runs a command with `next`, by default for the active document, and shows what the server wants to be run. */
export async function execute(
  command: string, given: unknown[], next: (command: string, args: unknown[]) => unknown,
): Promise<unknown> {
  const active = vscode.window.activeTextEditor?.document.uri.toString();
  const result = await next(command, given.length || !active ? given : [active]);
  const line = (result as { terminal?: unknown } | null | undefined)?.terminal;
  if (typeof line === "string") {
    // What runs in the terminal of the last line would take another line for keys.
    vscode.window.terminals.find(({ name }) => name === TERMINAL)?.dispose();
    const terminal = vscode.window.createTerminal(TERMINAL);
    terminal.show();
    terminal.sendText(line);
  }
  return result;
}
