// A panel with the playground's page for a chat template: the editor has the template, the page everything that follows
// from it. What the page asks for is in playground/page/host.js.

import * as vscode from "vscode";

/** A line, counted from 0, and the UTF-16 units before the place in it. */
interface Place {
  line: number;
  character: number;
}

/** What the page tells its host. */
interface FromPage {
  ready?: true;
  /** A place of the chat template. */
  show?: { from: Place; to: Place };
  save?: { name: string; text: string };
}

/** The file whose special tokens and response template belong to the chat template beside it. */
const CONFIG = "tokenizer_config.json";

/** What the page gets of a document: its chat template, or the tokenizer's file, in which the page chooses one. */
interface Given {
  chat?: string;
  config?: string;
}

/** A document with a chat template; nothing if it has none. */
function given(document: vscode.TextDocument): Given | undefined {
  const text = document.getText();
  const { languageId, uri } = document;
  if (["jinja", "jinja-chat-template"].includes(languageId) || /\.(jinja|j2)$/.test(uri.path)) {
    return { chat: text };
  }
  try {
    const { chat_template: found } = JSON.parse(text);
    return typeof found === "string" || Array.isArray(found) ? { config: text } : undefined;
  } catch {
    return undefined;
  }
}

export class Preview {
  private panel: vscode.WebviewPanel | undefined;
  private uri: vscode.Uri | undefined;
  /** Whether the chat template is a string in the document. */
  private isString = false;

  constructor(private readonly page: vscode.Uri) {}

  async open(uri?: string): Promise<void> {
    const chosen = uri === undefined ? vscode.window.activeTextEditor?.document.uri : vscode.Uri.parse(uri);
    if (!chosen || !given(await vscode.workspace.openTextDocument(chosen))) {
      await vscode.window.showInformationMessage("Backchat: there is no chat template to preview. Open a .jinja file, or a tokenizer_config.json that has one.");
      return;
    }
    const isOther = this.uri?.toString() !== chosen.toString();
    this.uri = chosen;
    if (this.panel) {
      this.panel.reveal(undefined, true);
      if (isOther) {
        await this.give("other");
      }
      return;
    }
    this.panel = vscode.window.createWebviewPanel(
      "backchat.preview", "Backchat: Preview", { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true },
      { enableScripts: true, retainContextWhenHidden: true },
    );
    this.panel.onDidDispose(() => (this.panel = undefined));
    this.panel.webview.onDidReceiveMessage((message: FromPage) => this.hear(message));
    this.panel.webview.html = new TextDecoder().decode(await vscode.workspace.fs.readFile(this.page));
  }

  /** Gives the page the text of a document that was edited, if it is the one that it shows. */
  async refresh(uri: vscode.Uri): Promise<void> {
    if (this.uri?.toString() === uri.toString()) {
      await this.give("edited");
    }
  }

  private async hear({ ready, show, save }: FromPage): Promise<void> {
    if (ready) {
      await this.give("first");
    }
    if (show && this.uri) {
      const { from, to } = show;
      // Places in a string of a JSON file are not places of the file.
      const selection = this.isString ? undefined : new vscode.Range(from.line, from.character, to.line, to.character);
      await vscode.window.showTextDocument(this.uri, { selection, viewColumn: vscode.ViewColumn.One });
    }
    if (save && this.uri) {
      const defaultUri = vscode.Uri.joinPath(this.uri, "..", save.name);
      const chosen = await vscode.window.showSaveDialog({ defaultUri });
      if (chosen) {
        await vscode.workspace.fs.writeFile(chosen, new TextEncoder().encode(save.text));
      }
    }
  }

  /** Gives the page the text of the document and, of one that it does not show yet, what the tokenizer's file beside it has. */
  private async give(what: "first" | "other" | "edited"): Promise<void> {
    if (!this.panel || !this.uri) {
      return;
    }
    const found = given(await vscode.workspace.openTextDocument(this.uri));
    // While JSON is typed it may not be valid: the page keeps what it has.
    if (!found) {
      return;
    }
    this.isString = found.config !== undefined;
    const isEdited = what === "edited";
    const config = found.config ?? (isEdited ? undefined : await this.config(this.uri));
    await this.panel.webview.postMessage({ chat: found.chat, isOther: what === "other", isEdited, config, name: CONFIG });
  }

  private async config(uri: vscode.Uri): Promise<string | undefined> {
    try {
      const file = await vscode.workspace.fs.readFile(vscode.Uri.joinPath(uri, "..", CONFIG));
      // The document is the chat template, whatever the file has.
      const { chat_template: _, ...config } = JSON.parse(new TextDecoder().decode(file));
      return JSON.stringify(config);
    } catch {
      return undefined;
    }
  }
}
