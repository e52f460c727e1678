// Starts the language server, shows its verdict in the status bar, and previews conversations.

import * as vscode from "vscode";
import { LanguageClient, LanguageClientOptions, ServerOptions } from "vscode-languageclient/node";
import { execute } from "./commands";
import { Preview } from "./preview";

interface Status {
  uri: string;
  version: number;
  state: "working" | "done";
  verdict?: string;
  message?: string;
}

let client: LanguageClient | undefined;
const statuses = new Map<string, Status>();

/** What the server is told of: the section of the settings, without what only the extension reads. */
function settings(): Record<string, unknown> {
  const { path: _path, now, ...rest } = { ...vscode.workspace.getConfiguration().get<Record<string, unknown>>("backchat") };
  return now ? { ...rest, now } : rest;
}

function show(item: vscode.StatusBarItem): void {
  const uri = vscode.window.activeTextEditor?.document.uri.toString();
  const status = uri === undefined ? undefined : statuses.get(vscode.Uri.parse(uri).toString());
  if (!status) {
    item.hide();
    return;
  }
  const words = status.verdict ? `Backchat: ${status.message ?? status.verdict}` : "Backchat";
  item.text = status.state === "working" ? `$(sync~spin) ${words}` : words;
  item.show();
}

async function start(item: vscode.StatusBarItem, folders: vscode.FileSystemWatcher[]): Promise<void> {
  const command = vscode.workspace.getConfiguration("backchat").get<string>("path") || "backchat";
  const server: ServerOptions = { command, args: ["lsp"] };
  const options: LanguageClientOptions = {
    documentSelector: [
      { language: "jinja-chat-template" }, { language: "jinja" }, { language: "backchat-fixture" },
      { language: "json", pattern: "**/*.json" }, { pattern: "**/*.jinja" }, { pattern: "**/*.fixture" },
    ],
    initializationOptions: settings(),
    middleware: { executeCommand: execute },
    synchronize: { configurationSection: "backchat", fileEvents: folders },
  };
  client = new LanguageClient("backchat", "Backchat", server, options);
  client.onNotification("backchat/status", (status: Status) => {
    statuses.set(vscode.Uri.parse(status.uri).toString(), status);
    show(item);
  });
  try {
    await client.start();
  } catch {
    client = undefined;
    const choice = await vscode.window.showErrorMessage(
      `Backchat: the command "${command}" could not be started. Install it with "cargo install backchat", or set backchat.path.`,
      "Open Settings",
    );
    if (choice) {
      await vscode.commands.executeCommand("workbench.action.openSettings", "backchat.path");
    }
  }
}

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const item = vscode.window.createStatusBarItem(vscode.StatusBarAlignment.Left, 10);
  const preview = new Preview(vscode.Uri.joinPath(context.extensionUri, "dist", "playground.html"));
  context.subscriptions.push(
    item,
    vscode.window.onDidChangeActiveTextEditor(() => show(item)),
    vscode.workspace.onDidChangeTextDocument((event) => preview.refresh(event.document.uri)),
    vscode.commands.registerCommand("backchat.preview", (uri?: string) => preview.open(uri)),
    vscode.commands.registerCommand("backchat.restart", async () => {
      await client?.stop();
      await start(item, []);
    }),
  );
  await start(item, []);
}

export async function deactivate(): Promise<void> {
  await client?.stop();
}
