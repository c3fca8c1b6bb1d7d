// A fake of the module `vscode`: the parts that the extension and its language client use, with access for tests.
import Module from "node:module";
import * as path from "node:path";
import { pathToFileURL, fileURLToPath } from "node:url";

type Listener = (event: unknown) => unknown;
type Words = Record<string, unknown>;

class Disposable {
  constructor(private readonly end: () => unknown = () => undefined) {}
  static from(...all: { dispose(): unknown }[]): Disposable {
    return new Disposable(() => all.forEach(each => each.dispose()));
  }
  dispose(): void {
    this.end();
  }
}

class EventEmitter {
  private readonly listeners = new Set<Listener>();
  readonly event = (listener: Listener, receiver?: unknown, disposables?: Disposable[]): Disposable => {
    const bound: Listener = event => listener.call(receiver, event);
    this.listeners.add(bound);
    const disposable = new Disposable(() => this.listeners.delete(bound));
    disposables?.push(disposable);
    return disposable;
  };
  fire(event?: unknown): void {
    for (const listener of [...this.listeners]) listener(event);
  }
  dispose(): void {
    this.listeners.clear();
  }
}

class Uri {
  private constructor(readonly scheme: string, readonly path: string, private readonly text: string) {}
  static parse(text: string): Uri {
    return new Uri(text.slice(0, text.indexOf(":")), text.slice(text.indexOf(":") + 1).replace(/^\/\//, ""), text);
  }
  static file(name: string): Uri {
    return Uri.parse(pathToFileURL(name).href);
  }
  get fsPath(): string {
    return this.scheme === "file" ? fileURLToPath(this.text) : this.path;
  }
  get authority(): string {
    return "";
  }
  with(): Uri {
    return this;
  }
  toString(): string {
    return this.text;
  }
}

export class Position {
  constructor(readonly line: number, readonly character: number) {}
}

export class Range {
  readonly start: Position;
  readonly end: Position;
  constructor(start: Position | number, end: Position | number, line?: number, character?: number) {
    const isNumbers = typeof start === "number" && typeof end === "number";
    this.start = isNumbers ? new Position(start, end) : (start as Position);
    this.end = isNumbers ? new Position(line ?? 0, character ?? 0) : (end as Position);
  }
}

class Selection extends Range {
  get active(): Position {
    return this.end;
  }
}

/** Returns a class whose objects store the arguments of their constructor in these fields. */
function record(...fields: string[]) {
  return class {
    [field: string]: unknown;
    constructor(...values: unknown[]) {
      fields.forEach((field, k) => (this[field] = values[k]));
    }
  };
}

class WorkspaceEdit {
  readonly all: { uri: string; edits: unknown[] }[] = [];
  set(uri: Uri, edits: unknown[]): void {
    this.all.push({ uri: uri.toString(), edits });
  }
}

class TextEdit {
  constructor(readonly range: Range, readonly newText: string) {}
  static replace(range: Range, text: string): TextEdit {
    return new TextEdit(range, text);
  }
}

class MarkdownString {
  constructor(public value = "") {}
  appendMarkdown(text: string): this {
    this.value += text;
    return this;
  }
}

class CodeActionKind {
  constructor(readonly value: string) {}
  append(part: string): CodeActionKind {
    return new CodeActionKind(this.value ? `${this.value}.${part}` : part);
  }
  static readonly Empty = new CodeActionKind("");
  static readonly QuickFix = new CodeActionKind("quickfix");
  static readonly Refactor = new CodeActionKind("refactor");
  static readonly RefactorExtract = new CodeActionKind("refactor.extract");
  static readonly RefactorInline = new CodeActionKind("refactor.inline");
  static readonly RefactorRewrite = new CodeActionKind("refactor.rewrite");
  static readonly Source = new CodeActionKind("source");
  static readonly SourceOrganizeImports = new CodeActionKind("source.organizeImports");
}

class CancellationTokenSource {
  readonly token = { isCancellationRequested: false, onCancellationRequested: new EventEmitter().event };
  cancel(): void {}
  dispose(): void {}
}

export class TextDocument {
  version = 1;
  readonly languageId = "hlo";
  readonly isClosed = false;
  constructor(readonly uri: Uri, private text: string) {}
  getText(): string {
    return this.text;
  }
  validatePosition(position: Position): Position {
    return position;
  }
  getWordRangeAtPosition({ line, character }: Position): Range | undefined {
    const word = /^[%\w.-]+/.exec(this.text.split("\n")[line]?.slice(character) ?? "");
    return word === null ? undefined : new Range(line, character, line, character + word[0].length);
  }
  /** Replaces the text, as by typing. */
  become(text: string): void {
    this.text = text;
    this.version++;
  }
}

/** An editor for tests: the module that the extension gets as `vscode`, its output there, and actions of a user. */
export class Editor {
  settings: Words = {};
  readonly providers = new Map<string, unknown[][]>();
  readonly commands = new Map<string, (...args: unknown[]) => unknown>();
  readonly executed: unknown[][] = [];
  readonly errors: { message: string; actions: string[] }[] = [];
  readonly information: string[] = [];
  readonly channels = new Map<string, { text: string; isShown: boolean }>();
  readonly terminals: { text: string; isRun: boolean | undefined }[] = [];
  readonly panels: Panel[] = [];
  readonly shown: { document: TextDocument; options: unknown; selection?: Range; revealed?: Range }[] = [];
  /** Diagnostics by the URI of their text. */
  readonly findings = new Map<string, unknown[]>();
  /** The response of the user to the next error. */
  answer: string | undefined;
  folder: string | undefined;
  isTrusted = true;
  pythonExtension: unknown;
  activeTextEditor: { document: TextDocument; selection: Selection; viewColumn: number } | undefined;
  readonly documents: TextDocument[] = [];
  private readonly events = new Map<string, EventEmitter>();
  readonly module: Words;
  private readonly tab = record("uri");

  constructor() {
    this.module = { ...this.classes(), ...enums(), window: this.window(), workspace: this.workspace(), languages: this.languages() };
    this.module["commands"] = {
      registerCommand: (name: string, run: (...args: unknown[]) => unknown) => {
        if (this.commands.has(name)) throw new Error(`command '${name}' already exists`);
        this.commands.set(name, run);
        return new Disposable(() => this.commands.delete(name));
      },
      executeCommand: (...words: unknown[]) => Promise.resolve(void this.executed.push(words)),
    };
    this.module["extensions"] = { getExtension: (name: string) => (name === "ms-python.python" ? this.pythonExtension : undefined) };
    this.module["env"] = { appName: "fake", language: "en" };
    this.module["version"] = "1.90.0";
  }

  event(name: string): EventEmitter {
    const emitter = this.events.get(name) ?? new EventEmitter();
    this.events.set(name, emitter);
    return emitter;
  }

  /** Opens a text in an editor. */
  open(file: string, text: string): TextDocument {
    const document = new TextDocument(Uri.file(file), text);
    this.documents.push(document);
    this.activeTextEditor = { document, selection: new Selection(0, 0, 0, 0), viewColumn: 1 };
    this.event("onDidOpenTextDocument").fire(document);
    return document;
  }

  /** Replaces lines of a document, by default all, as by typing. */
  type(document: TextDocument, text: string, start = 0, end = document.getText().split("\n").length): void {
    const lines = document.getText().split("\n");
    const isAll = end >= lines.length;
    const range = isAll ? new Range(start, 0, lines.length - 1, lines.at(-1)?.length ?? 0) : new Range(start, 0, end, 0);
    const rangeLength = lines.slice(start, end).join("\n").length + (isAll || end === start ? 0 : 1);
    const before = lines.slice(0, start).map(line => `${line}\n`).join("");
    document.become(before + text + lines.slice(end).join("\n"));
    this.event("onDidChangeTextDocument").fire({ document, contentChanges: [{ range, rangeOffset: before.length, rangeLength, text }] });
  }

  /** Changes settings of the extension. */
  configure(settings: Words): void {
    const changed = Object.keys({ ...this.settings, ...settings }).filter(name => this.settings[name] !== settings[name]);
    this.settings = settings;
    this.event("onDidChangeConfiguration").fire({ affectsConfiguration: (section: string) => changed.includes(section) });
  }

  place(line: number, character: number): Position {
    return new Position(line, character);
  }

  /** The last provider of a kind, whose methods have the names of the API. */
  provider<Provider>(kind: string): Provider {
    const registered = this.providers.get(`register${kind}Provider`)?.at(-1);
    if (registered === undefined) throw new Error(`no provider of ${kind}; there are ${[...this.providers.keys()].join(", ")}`);
    return registered[1] as Provider;
  }

  private classes(): Words {
    const names: Record<string, string[]> = {
      CodeLens: ["range", "command"], CompletionItem: ["label", "kind"], Diagnostic: ["range", "message", "severity"],
      DiagnosticRelatedInformation: ["location", "message"], DocumentHighlight: ["range", "kind"], DocumentLink: ["range", "target"],
      DocumentSymbol: ["name", "detail", "kind", "range", "selectionRange"], FoldingRange: ["start", "end", "kind"],
      Hover: ["contents", "range"], InlayHint: ["position", "label", "kind"], Location: ["uri", "range"],
      ParameterInformation: ["label", "documentation"], RelativePattern: ["base", "pattern"], SelectionRange: ["range", "parent"],
      SemanticTokens: ["data", "resultId"], SemanticTokensLegend: ["tokenTypes", "tokenModifiers"], SignatureHelp: [],
      SignatureInformation: ["label", "documentation"], SnippetString: ["value"], SymbolInformation: ["name", "kind", "range", "uri"],
      CallHierarchyItem: ["kind", "name", "detail", "uri", "range", "selectionRange"], TypeHierarchyItem: [], CodeAction: ["title", "kind"],
      TabInputTextDiff: [], TabInputNotebook: [], TabInputNotebookDiff: [], TabInputCustom: [], FileSystemError: [],
      InlayHintLabelPart: ["value"], LinkedEditingRanges: [], ThemeIcon: ["id"], CancellationError: [],
    };
    const records = Object.fromEntries(Object.entries(names).map(([name, fields]) => [name, record(...fields)]));
    return {
      ...records, TabInputText: this.tab, Disposable, EventEmitter, Uri, Position, Range, Selection, WorkspaceEdit, TextEdit, MarkdownString, CodeActionKind,
      CancellationTokenSource,
    };
  }

  private window(): Words {
    return this.withEvents({
      createOutputChannel: (name: string) => {
        const channel = { text: "", isShown: false };
        this.channels.set(name, channel);
        return {
          name,
          append: (text: string) => (channel.text += text),
          appendLine: (text: string) => (channel.text += `${text}\n`),
          clear: () => (channel.text = ""),
          show: () => (channel.isShown = true),
          dispose: () => undefined,
        };
      },
      createTerminal: () => ({
        show: () => undefined,
        sendText: (text: string, isRun?: boolean) => this.terminals.push({ text, isRun }),
      }),
      createWebviewPanel: (type: string, title: string, column: unknown, options: Words) => {
        const panel = new Panel(type, title, column, options);
        this.panels.push(panel);
        return panel;
      },
      showErrorMessage: (message: string, ...actions: string[]) => {
        this.errors.push({ message, actions });
        const answer = this.answer;
        this.answer = undefined;
        return Promise.resolve(answer);
      },
      showInformationMessage: (message: string) => Promise.resolve(void this.information.push(message)),
      showTextDocument: (document: TextDocument, options: unknown) => {
        const shown: Editor["shown"][number] & Words = { document, options, revealRange: (range: Range) => (shown.revealed = range) };
        this.shown.push(shown);
        return Promise.resolve(shown);
      },
      withProgress: (_: unknown, task: () => Promise<unknown>) => task(),
      tabGroups: this.withEvents({}, { all: () => [{ tabs: this.documents.map(each => ({ input: new this.tab(each.uri) })) }] }),
    }, {
      activeTextEditor: () => this.activeTextEditor,
      visibleTextEditors: () => (this.activeTextEditor === undefined ? [] : [this.activeTextEditor]),
    });
  }

  private workspace(): Words {
    return this.withEvents({
      getConfiguration: (section: string) => ({
        get: (name: string, otherwise?: unknown) => this.settings[`${section}.${name}`] ?? otherwise,
      }),
      createFileSystemWatcher: () => this.withEvents({ dispose: () => undefined }),
      openTextDocument: (uri: Uri) => Promise.resolve(this.documents.find(each => each.uri.toString() === uri.toString())),
      notebookDocuments: [],
    }, {
      isTrusted: () => this.isTrusted,
      textDocuments: () => this.documents,
      workspaceFolders: () => (this.folder === undefined ? undefined : [{ uri: Uri.file(this.folder), name: "folder", index: 0 }]),
    });
  }

  private languages(): Words {
    const known: Words = {
      createDiagnosticCollection: () => ({
        set: (uri: Uri, found: unknown[]) => this.findings.set(uri.toString(), found),
        delete: (uri: Uri) => this.findings.delete(uri.toString()),
        clear: () => this.findings.clear(),
        dispose: () => this.findings.clear(),
      }),
      match: (selector: { language?: string; scheme?: string }[], document: TextDocument) => {
        const isMatch = selector.some(each => each.language === document.languageId && each.scheme === document.uri.scheme);
        return isMatch ? 10 : 0;
      },
    };
    return new Proxy(known, {
      get: (_, name: string) => known[name] ?? ((...args: unknown[]) => {
        const registered = this.providers.get(name) ?? [];
        this.providers.set(name, registered);
        registered.push(args);
        return new Disposable(() => registered.splice(registered.indexOf(args), 1));
      }),
    });
  }

  /** Returns an object with all events, including those that are never fired. */
  private withEvents(values: Words, getters: Record<string, () => unknown> = {}): Words {
    return new Proxy(values, {
      get: (_, name: string) => {
        if (name in getters) return getters[name]?.();
        return name in values || !/^on[A-Z]/.test(name) ? values[name] : this.event(name).event;
      },
    });
  }
}

/** A webview. */
export class Panel {
  readonly webview: { html: string; onDidReceiveMessage: EventEmitter["event"] };
  readonly messages = new EventEmitter();
  private readonly disposals = new EventEmitter();
  readonly onDidDispose = this.disposals.event;
  constructor(readonly type: string, public title: string, readonly column: unknown, readonly options: Words) {
    this.webview = { html: "", onDidReceiveMessage: this.messages.event };
  }
  reveal(): void {}
  dispose(): void {
    this.disposals.fire();
  }
}

/** Enumerations, whose members are numbered as in the API where their values are compared. */
function enums(): Words {
  const numbered = (text: string, first = 0): Words => Object.fromEntries(text.split(" ").map((name, k) => [name, k + first]));
  return {
    CodeActionTriggerKind: numbered("Invoke Automatic", 1),
    CompletionItemKind: numbered(
      "Text Method Function Constructor Field Variable Class Interface Module Property Unit Value Enum Keyword Snippet Color File Reference " +
        "Folder EnumMember Constant Struct Event Operator TypeParameter",
    ),
    CompletionItemTag: numbered("Deprecated", 1),
    CompletionTriggerKind: numbered("Invoke TriggerCharacter TriggerForIncompleteCompletions"),
    DiagnosticSeverity: numbered("Error Warning Information Hint"),
    DiagnosticTag: numbered("Unnecessary Deprecated", 1),
    DocumentHighlightKind: numbered("Text Read Write"),
    FoldingRangeKind: numbered("Comment Imports Region", 1),
    InlayHintKind: numbered("Type Parameter", 1),
    ProgressLocation: numbered("SourceControl Window Notification", 1),
    SignatureHelpTriggerKind: numbered("Invoke TriggerCharacter ContentChange", 1),
    SymbolKind: numbered("File Module Namespace Package Class Method Property Field Constructor Enum Interface Function Variable"),
    SymbolTag: numbered("Deprecated", 1),
    TextDocumentSaveReason: numbered("Manual AfterDelay FocusOut", 1),
    TextEditorRevealType: numbered("Default InCenter InCenterIfOutsideViewport AtTop"),
    ViewColumn: { Beside: -2, Active: -1, One: 1, Two: 2 },
    PrepareSupportDefaultBehavior: numbered("Identifier", 1),
  };
}

/** The bundled extension, loaded anew, in a fake editor. */
export interface Extension {
  activate(context: { subscriptions: Disposable[] }): void;
  deactivate(): Promise<void>;
}

export function load(editor: Editor): Extension {
  const bundle = path.resolve("dist/extension.js");
  const modules = Module as unknown as { _load(request: string, ...rest: unknown[]): unknown };
  const original = modules._load;
  modules._load = (request, ...rest) => (request === "vscode" ? editor.module : original.call(modules, request, ...rest));
  try {
    delete require.cache[bundle];
    return require(bundle) as Extension;
  } finally {
    modules._load = original;
  }
}
