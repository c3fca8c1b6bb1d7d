// Tests of the bundled extension with the real server, from HLOTOOL_COMMAND or the PATH.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { after, before, beforeEach, test } from "node:test";
import { Editor, load, type Extension, type Position, type Range, type TextDocument } from "./fake_vscode";

const TEXT = `HloModule m

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT sum = f32[] add(a, b)
}

ENTRY e {
  x = f32[4,8] parameter(0)
  zero = f32[] constant(0)
  s = f32[4] reduce(x, zero), dimensions={1}, to_apply=add
  dead = f32[4] negate(s)
  ROOT r = f32[4]   exponential(s)
}
`;
const HLOTOOL = (process.env["HLOTOOL_COMMAND"] ?? "hlotool").split(" ");
const NEVER = { isCancellationRequested: false, onCancellationRequested: () => ({ dispose: () => undefined }) };
const PATIENCE = 20_000;

interface Lens { range: Range; command?: { title: string; command: string; arguments?: unknown[] } }
interface Edit { range: Range; newText: string }
interface Finding { code: unknown; severity: number; range: Range; message: string; tags?: number[] }
type Asked<Answer> = (document: TextDocument, ...args: unknown[]) => Promise<Answer>;

let editor: Editor, extension: Extension, document: TextDocument, folder: string;

before(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "hlotool-"));
  editor = new Editor();
  editor.folder = folder;
  editor.settings = { "hlotool.command": HLOTOOL };
  document = editor.open(path.join(folder, "m.hlo"), TEXT);
  extension = load(editor);
  extension.activate({ subscriptions: [] });
  await running();
});

beforeEach(() => {
  editor.type(document, TEXT);
});

after(async () => {
  await extension.deactivate();
  rmSync(folder, { recursive: true });
});

/** Waits until a condition holds. */
async function until<Value>(value: () => Value | undefined | false, what: string): Promise<Value> {
  const end = Date.now() + PATIENCE;
  for (;;) {
    const found = value();
    if (found !== undefined && found !== false) return found;
    if (Date.now() > end) throw new Error(`waited in vain for ${what}; errors: ${JSON.stringify(editor.errors)}; log: ${editor.channels.get("HLO")?.text}`);
    await new Promise(resolve => setTimeout(resolve, 20));
  }
}

function running(): Promise<unknown> {
  return until(() => editor.providers.get("registerHoverProvider")?.length === 1 && editor.commands.has("hlotool.run"), "the server");
}

/** Waits for the finding with a code, and returns it. */
function finding(code: string): Promise<Finding> {
  const found = (): Finding | undefined => (editor.findings.get(document.uri.toString()) as Finding[] | undefined)?.find(each => codeOf(each) === code);
  return until(found, `the finding ${code}`);
}

function codeOf({ code }: Finding): unknown {
  return typeof code === "object" && code !== null && "value" in code ? code.value : code;
}

/** Returns the text after edits. */
function edited(text: string, edits: readonly Edit[]): string {
  const starts = text.split("\n").reduce<number[]>((all, line) => [...all, (all.at(-1) ?? 0) + line.length + 1], [0]);
  const offset = ({ line, character }: Position): number => (starts[line] ?? 0) + character;
  const last = [...edits].sort((a, b) => offset(b.range.start) - offset(a.range.start));
  return last.reduce((so, { range, newText }) => so.slice(0, offset(range.start)) + newText + so.slice(offset(range.end)), text);
}

test("findings are shown, and vanish with their reason", async () => {
  const dead = await finding("W001");
  assert.equal(dead.range.start.line, 12);
  assert.deepEqual(dead.tags, [1]);
  editor.type(document, TEXT.replace("negate(s)", "negate(t)"));
  const undefinedName = await finding("S002");
  assert.match(undefinedName.message, /'t'/);
  assert.equal(undefinedName.severity, 0);
});

test("a text is formatted", async () => {
  const { provideDocumentFormattingEdits: format } = editor.provider<{ provideDocumentFormattingEdits: Asked<Edit[]> }>("DocumentFormattingEdit");
  const edits = await format(document, { tabSize: 2, insertSpaces: true }, NEVER);
  assert.equal(edited(TEXT, edits), TEXT.replace("f32[4]   exponential", "f32[4] exponential"));
});

test("an instruction is renamed everywhere", async () => {
  const { provideRenameEdits: rename } = editor.provider<{ provideRenameEdits: Asked<{ all: { uri: string; edits: Edit[] }[] }> }>("Rename");
  const changes = await rename(document, editor.place(11, 2), "sums", NEVER);
  assert.deepEqual(changes.all.map(each => each.uri), [document.uri.toString()]);
  const after = edited(TEXT, changes.all.flatMap(each => each.edits));
  assert.deepEqual(after.split("\n").slice(11, 14), [
    "  sums = f32[4] reduce(x, zero), dimensions={1}, to_apply=add",
    "  dead = f32[4] negate(sums)",
    "  ROOT r = f32[4]   exponential(sums)",
  ]);
});

test("hover says what an instruction is", async () => {
  const { provideHover: hover } = editor.provider<{ provideHover: Asked<{ contents: { value: string }[] | { value: string } }> }>("Hover");
  const { contents } = await hover(document, editor.place(11, 14), NEVER);
  assert.match([contents].flat().map(each => each.value).join("\n"), /reduce/);
});

test("lenses have commands that the editor knows", async () => {
  const { provideCodeLenses: ask, resolveCodeLens: resolve } =
    editor.provider<{ provideCodeLenses: Asked<Lens[]>; resolveCodeLens(lens: Lens, token: unknown): Promise<Lens> }>("CodeLens");
  const lenses = await Promise.all((await ask(document, NEVER)).map(lens => (lens.command === undefined ? resolve(lens, NEVER) : lens)));
  const found = lenses.map(({ range, command }) => `${range.start.line}: ${command?.title}`);
  assert.deepEqual(found.map(each => each.replace(/: .*instructions.*/, ": costs")), ["2: called once", "2: graph", "8: costs", "8: graph", "8: run"]);
  for (const { command } of lenses) assert.ok(command?.command === "" || editor.commands.has(command?.command ?? "?"), command?.command);
});

test("the lens 'run' shows the output", async () => {
  await editor.commands.get("hlotool.run")?.(document.uri.toString());
  const channel = editor.channels.get("HLO output");
  assert.match(channel?.text ?? "", /f32\[4\]/);
  assert.ok(channel?.isShown);
});

test("the graph of the computation at the cursor is shown, and a click selects the instruction", async () => {
  await editor.commands.get("hlotool.previewGraph")?.();
  const panel = await until(() => editor.panels.at(-1), "a panel");
  assert.equal(panel.options["enableScripts"], true);
  assert.equal(panel.options["retainContextWhenHidden"], true);
  const html = panel.webview.html;
  const nonce = /script-src 'nonce-(\w+)'/.exec(html)?.[1];
  assert.ok(nonce !== undefined, html.slice(0, 1000));
  assert.match(html, /default-src 'none'/);
  const tags = html.match(/<(?:script|style)\b[^>]*>/g) ?? [];
  assert.ok(tags.length >= 4);
  for (const tag of tags) assert.ok(tag.includes(`nonce="${nonce}"`), tag);
  // The bridge listens before the page's own script dispatches.
  assert.ok(html.indexOf("acquireVsCodeApi") < html.indexOf("dispatchEvent"));
  // The colors that are replaced are the page's.
  for (const name of html.match(/--[a-z]+(?=: var\(--vscode)/g) ?? []) assert.ok(html.includes(`${name}: #`), name);

  panel.messages.fire({ line: 11, character: 2 });
  const shown = await until(() => editor.shown.at(-1), "a selection");
  const range = { start: { line: 11, character: 2 }, end: { line: 11, character: 3 } };
  assert.deepEqual(JSON.parse(JSON.stringify([shown.selection, shown.revealed])), [range, range]);
  assert.deepEqual(shown.options, { viewColumn: 1, preserveFocus: true });
  panel.dispose();
});

test("the lens 'graph' shows its computation, saving draws it again, and edits above move it", async () => {
  await editor.commands.get("hlotool.showGraph")?.(document.uri.toString(), { line: 2, character: 0 });
  const panel = await until(() => editor.panels.at(-1), "a panel");
  assert.match(panel.title, /^add in m\.hlo$/);
  assert.deepEqual(editor.executed, []);
  editor.type(document, "\n\n\n", 1, 1);
  editor.type(document, "  ROOT sum = f32[] multiply(a, b)\n", 8, 9);
  editor.event("onDidSaveTextDocument").fire(document);
  await until(() => panel.webview.html.includes("multiply"), "the new picture");
  assert.match(panel.title, /^add in m\.hlo$/);
  panel.dispose();
  assert.equal(editor.panels.filter(each => each === panel).length, 1);
});

test("a preview of a text that cannot be drawn says why", async () => {
  editor.type(document, "");
  await editor.commands.get("hlotool.previewGraph")?.();
  const panel = await until(() => editor.panels.at(-1), "a panel");
  assert.match(panel.webview.html, /<body>there is no module at this position<\/body>/);
  panel.dispose();
});

test("the entry is drawn if the cursor is above the module", async () => {
  editor.type(document, `// A comment.\n\n${TEXT}`);
  await editor.commands.get("hlotool.previewGraph")?.();
  const panel = await until(() => editor.panels.at(-1), "a panel");
  assert.match(panel.webview.html, /<canvas/);
  panel.dispose();
});

test("a package that graphs need is named if it is missing", async () => {
  const blocked = path.join(folder, "blocked"), before = process.env["PYTHONPATH"];
  mkdirSync(blocked);
  writeFileSync(path.join(blocked, "igraph.py"), 'raise ModuleNotFoundError("No module named igraph", name="igraph")\n');
  process.env["PYTHONPATH"] = [blocked, before].filter(Boolean).join(path.delimiter);
  await editor.commands.get("hlotool.restartServer")?.();
  await editor.commands.get("hlotool.previewGraph")?.();
  const panel = await until(() => editor.panels.at(-1), "a panel");
  assert.match(panel.webview.html, /<body>.*pip install 'hlotool\[graph\]'/s);
  panel.dispose();
  if (before === undefined) delete process.env["PYTHONPATH"];
  else process.env["PYTHONPATH"] = before;
  await editor.commands.get("hlotool.restartServer")?.();
});

test("an editor without HLO has no preview", async () => {
  const before = editor.activeTextEditor;
  editor.activeTextEditor = undefined;
  await editor.commands.get("hlotool.previewGraph")?.();
  editor.activeTextEditor = before;
  assert.match(editor.information.at(-1) ?? "", /expected an editor with HLO/);
});

/** Changes settings and waits for the server that is started then. */
async function restartedWith(settings: Record<string, unknown>): Promise<void> {
  const starts = (): number => editor.channels.get("HLO")?.text.match(/from the setting/g)?.length ?? 0;
  const before = starts();
  editor.configure({ "hlotool.command": HLOTOOL, ...settings });
  await until(() => starts() > before, "another start");
  await running();
}

/** Waits until the text has been checked, without findings. */
function clean(): Promise<unknown> {
  return until(() => editor.findings.get(document.uri.toString())?.length === 0, "a text without findings");
}

test("changed rules start the server again", async () => {
  await finding("W001");
  await restartedWith({ "hlotool.ignore": ["W001"] });
  await clean();
  await restartedWith({ "hlotool.preset": "parse" });
  await clean();
  await restartedWith({});
  await finding("W001");
});

test("a settings file is named relative to the folder", async () => {
  writeFileSync(path.join(folder, "other.toml"), '[lint]\nignore = ["W001"]\n');
  await restartedWith({ "hlotool.config": "other.toml" });
  await clean();
  await restartedWith({});
});

test("a rule that does not exist is reported", async () => {
  await restartedWith({ "hlotool.select": ["W999"] });
  const { message } = await until(() => editor.errors.at(-1), "a message");
  assert.match(message, /W999/);
  await restartedWith({});
});

test("a server that has been killed is started again", async () => {
  const log = editor.channels.get("HLO");
  assert.ok(log !== undefined);
  const id = Number(/process (\d+)\D*$/.exec(log.text)?.[1]);
  assert.ok(id > 0, log.text);
  process.kill(id);
  await until(() => Number(/process (\d+)\D*$/.exec(log.text)?.[1]) !== id, "another process");
  editor.type(document, TEXT.replace("negate(s)", "negate(t)"));
  await finding("S002");
});
