// A panel with a conversation as the chat template writes it. A click on a piece leads to the expression that printed it.

import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";

interface Range {
  start: { line: number; character: number };
  end: { line: number; character: number };
}

interface Piece {
  text: string;
  range?: Range;
  expression?: string;
  role?: string;
  field?: string;
}

interface Rendered {
  pieces: Piece[];
  error?: { message: string; range: Range };
}

const escape = (text: string) =>
  text.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c] ?? c);

export class Preview {
  private panel: vscode.WebviewPanel | undefined;
  private uri: string | undefined;
  private conversation: string | undefined;
  private pieces: Piece[] = [];

  constructor(private readonly client: () => LanguageClient | undefined) {}

  async open(uri?: string): Promise<void> {
    this.uri = uri ?? vscode.window.activeTextEditor?.document.uri.toString();
    if (!this.panel) {
      this.panel = vscode.window.createWebviewPanel("backchat.preview", "Backchat: Preview", vscode.ViewColumn.Beside, { enableScripts: true });
      this.panel.onDidDispose(() => (this.panel = undefined));
      this.panel.webview.onDidReceiveMessage((message: { piece?: number; conversation?: string }) => this.hear(message));
    }
    this.panel.reveal(undefined, true);
    await this.render();
  }

  async refresh(uri: vscode.Uri): Promise<void> {
    if (this.panel && this.uri && vscode.Uri.parse(this.uri).toString() === uri.toString()) {
      await this.render();
    }
  }

  private async hear(message: { piece?: number; conversation?: string }): Promise<void> {
    if (message.conversation !== undefined) {
      this.conversation = message.conversation;
      await this.render();
    }
    const range = message.piece === undefined ? undefined : this.pieces[message.piece]?.range;
    if (range && this.uri) {
      const at = new vscode.Range(range.start.line, range.start.character, range.end.line, range.end.character);
      await vscode.window.showTextDocument(vscode.Uri.parse(this.uri), { selection: at, viewColumn: vscode.ViewColumn.One });
    }
  }

  private async render(): Promise<void> {
    const client = this.client();
    if (!this.panel || !client || !this.uri) {
      return;
    }
    const textDocument = { uri: this.uri };
    try {
      const names = await client.sendRequest<string[]>("backchat/conversations", { textDocument });
      const conversation = this.conversation && names.includes(this.conversation) ? this.conversation : names[0];
      const rendered = await client.sendRequest<Rendered>("backchat/preview", { textDocument, conversation });
      this.pieces = rendered.pieces;
      this.panel.webview.html = page(names, conversation, rendered);
    } catch (error) {
      this.panel.webview.html = `<p>${escape(String((error as Error).message))}</p>`;
    }
  }
}

function page(names: string[], chosen: string | undefined, rendered: Rendered): string {
  const options = names.map((name) => `<option${name === chosen ? " selected" : ""}>${escape(name)}</option>`).join("");
  const piece = (piece: Piece, number: number) =>
    `<span class="${escape(piece.field ?? piece.role ?? "template")}" data-piece="${number}" title="${escape(piece.expression ?? "")}">${escape(piece.text)}</span>`;
  const error = rendered.error ? `<p class="error">${escape(rendered.error.message)}</p>` : "";
  const nonce = Array.from({ length: 24 }, () => Math.floor(Math.random() * 36).toString(36)).join("");
  return `<!DOCTYPE html><html><head><meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'nonce-${nonce}'">
<style>pre { white-space: pre-wrap; font-family: var(--vscode-editor-font-family) } span { cursor: pointer }
span:hover { outline: 1px solid var(--vscode-focusBorder) } .template { opacity: 0.65 } .reasoning { color: var(--vscode-charts-purple) }
.calls { color: var(--vscode-charts-orange) } .content { color: var(--vscode-charts-green) } .error { color: var(--vscode-errorForeground) }</style></head>
<body><select>${options}</select>${error}<pre>${rendered.pieces.map(piece).join("")}</pre>
<script nonce="${nonce}">const host = acquireVsCodeApi();
document.querySelector("select").addEventListener("change", (event) => host.postMessage({ conversation: event.target.value }));
document.addEventListener("click", (event) => { const at = event.target.dataset?.piece; if (at !== undefined) host.postMessage({ piece: Number(at) }); });
</script></body></html>`;
}
