// Pictures of computations, in a webview next to the text.
import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import { forWebview, messagePage } from "./page";

/** The response of the server. */
export interface Picture {
  readonly title: string;
  readonly html: string;
}

/** Requests the picture of the computation at a position, by default of the entry. */
export type Ask = (uri: string, position: Place | null) => Promise<Picture>;

/** A position in the form of the protocol, which counts like the editor. */
export interface Place {
  readonly line: number;
  readonly character: number;
}

/** All previews, one for each text. */
export class Previews implements vscode.Disposable {
  private readonly open = new Map<string, Preview>();
  private readonly listeners: vscode.Disposable;

  constructor(private readonly ask: Ask) {
    this.listeners = vscode.Disposable.from(
      vscode.workspace.onDidSaveTextDocument(document => void this.open.get(document.uri.toString())?.refresh()),
      vscode.workspace.onDidChangeTextDocument(event => this.open.get(event.document.uri.toString())?.follow(event.contentChanges)),
      // The page reads colors when it is loaded.
      vscode.window.onDidChangeActiveColorTheme(() => [...this.open.values()].forEach(preview => void preview.refresh())),
    );
  }

  /** Shows the computation at a position of a text. */
  async show(uri: vscode.Uri, position: Place | null): Promise<void> {
    const key = uri.toString();
    let preview = this.open.get(key);
    if (preview === undefined) {
      preview = new Preview(uri, this.ask, () => this.open.delete(key));
      this.open.set(key, preview);
    }
    await preview.show(position);
  }

  dispose(): void {
    this.listeners.dispose();
    for (const preview of [...this.open.values()]) preview.dispose();
  }
}

class Preview {
  private readonly panel: vscode.WebviewPanel;
  /** The column of the text. */
  private readonly column: vscode.ViewColumn;
  private position: Place | null = null;
  /** The number of the last request, whose response is the one to show. */
  private last = 0;

  constructor(private readonly uri: vscode.Uri, private readonly ask: Ask, onClose: () => void) {
    this.column = vscode.window.activeTextEditor?.viewColumn ?? vscode.ViewColumn.One;
    const columns = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
    const options = { enableScripts: true, retainContextWhenHidden: true, enableFindWidget: false, localResourceRoots: [] };
    this.panel = vscode.window.createWebviewPanel("hlotool.graph", "Graph", columns, options);
    this.panel.onDidDispose(() => {
      this.last = -1;
      onClose();
    });
    this.panel.webview.onDidReceiveMessage(message => void this.select(message));
  }

  async show(position: Place | null): Promise<void> {
    this.position = position;
    this.panel.reveal(undefined, true);
    await this.refresh();
  }

  /** Requests the picture again. */
  async refresh(): Promise<void> {
    const question = ++this.last;
    try {
      const picture = await this.ask(this.uri.toString(), this.position);
      if (this.last === question) this.fill(picture.title, picture.html);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (this.last === question) this.fill("Graph", messagePage("Graph", message));
    }
  }

  private fill(title: string, html: string): void {
    this.panel.title = title;
    this.panel.webview.html = forWebview(html, randomBytes(16).toString("hex"));
  }

  /** Moves the position with the lines that edits insert and remove above it. */
  follow(changes: readonly vscode.TextDocumentContentChangeEvent[]): void {
    for (const { range, text } of changes) {
      if (this.position === null || range.end.line > this.position.line) continue;
      if (range.end.line === this.position.line && range.end.character > this.position.character) continue;
      const line = this.position.line + text.split("\n").length - 1 - (range.end.line - range.start.line);
      this.position = { line, character: this.position.character };
    }
  }

  /** Selects the instruction that has been clicked. */
  private async select(message: unknown): Promise<void> {
    const { line, character } = (message ?? {}) as Partial<Place>;
    if (!Number.isInteger(line) || !Number.isInteger(character)) return;
    const document = await vscode.workspace.openTextDocument(this.uri);
    const shown = vscode.window.visibleTextEditors.find(editor => editor.document.uri.toString() === this.uri.toString());
    const viewColumn = shown?.viewColumn ?? this.column;
    const editor = await vscode.window.showTextDocument(document, { viewColumn, preserveFocus: true });
    const place = document.validatePosition(new vscode.Position(Math.max(0, line as number), Math.max(0, character as number)));
    const range = document.getWordRangeAtPosition(place) ?? new vscode.Range(place, place);
    editor.selection = new vscode.Selection(range.start, range.end);
    editor.revealRange(range, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  }

  dispose(): void {
    this.panel.dispose();
  }
}
