// Tests of the choice of hlotool, and of messages if there is none. Interpreters are scripts that answer or fail as Python would.
import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { Editor, load, type Extension } from "./fake_vscode";

// Answers `--version`; as the server, it exits on the first message, like one without its extra.
const HLOTOOL = `#!/bin/sh
for last; do :; done
if [ "$last" = --version ]; then echo "hlotool 0.1.0"; exit 0; fi
# More than the header, so that the text after it has been written, too.
head -c 400 > /dev/null
echo "hlotool: the language server needs an extra package: pip install 'hlotool[lsp]'" >&2
exit 2
`;
const WITHOUT = `#!/bin/sh
echo "$0: No module named hlotool" >&2
exit 1
`;

let editor: Editor, extension: Extension, folder: string;
const environment = { ...process.env };

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "hlotool-"));
  editor = new Editor();
  editor.folder = folder;
  process.env["PATH"] = `${path.join(folder, "path")}${path.delimiter}/usr/bin${path.delimiter}/bin`;
});

afterEach(async () => {
  await extension.deactivate();
  process.env = { ...environment };
  rmSync(folder, { recursive: true });
});

function program(name: string, text: string): string {
  const file = path.join(folder, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
  chmodSync(file, 0o755);
  return file;
}

/** The Python extension with an interpreter. */
function pythonExtension(interpreter: () => string): unknown {
  const environments = {
    getActiveEnvironmentPath: () => ({ path: path.dirname(interpreter()) }),
    resolveEnvironment: () => Promise.resolve({ executable: { uri: { fsPath: interpreter() } } }),
    onDidChangeActiveEnvironmentPath: editor.event("interpreter").event,
  };
  return { activate: () => Promise.resolve({ environments }) };
}

function log(): string {
  return editor.channels.get("HLO")?.text ?? "";
}

/** Activates the extension, whose server will not start, and returns its message. */
async function failure(count = 1): Promise<{ message: string; actions: string[] }> {
  if (!editor.commands.has("hlotool.showLog")) {
    extension = load(editor);
    extension.activate({ subscriptions: [] });
  }
  const end = Date.now() + 20_000;
  while (editor.errors.length < count) {
    assert.ok(Date.now() < end, `no message; log: ${log()}`);
    await new Promise(resolve => setTimeout(resolve, 10));
  }
  return editor.errors[count - 1] ?? { message: "", actions: [] };
}

/** Returns the last hlotool that was found, according to the log. */
function found(): string | undefined {
  return log().match(/^hlotool 0\.1\.0, from (.*)$/gm)?.at(-1)?.replace(/^.*, from /, "").replaceAll(`${folder}/`, "");
}

test("the order: setting, setting, Python extension, .venv, venv, PATH", async () => {
  const one = program("one/hlotool", HLOTOOL), two = program("two/python", HLOTOOL), three = program("three/python", HLOTOOL);
  program(".venv/bin/python", HLOTOOL);
  program("venv/bin/python", HLOTOOL);
  program("path/hlotool", HLOTOOL);
  editor.pythonExtension = pythonExtension(() => three);
  editor.settings = { "hlotool.command": [one, "--color", "never"], "hlotool.interpreter": two };
  await failure(1);
  assert.equal(found(), "the setting hlotool.command: one/hlotool --color never");
  editor.configure({ "hlotool.interpreter": "${workspaceFolder}/two/python" });
  await failure(2);
  assert.equal(found(), "the setting hlotool.interpreter: two/python -m hlotool");
  editor.configure({});
  await failure(3);
  assert.equal(found(), "the interpreter of the Python extension: three/python -m hlotool");
  program("three/python", WITHOUT);
  await editor.commands.get("hlotool.restartServer")?.();
  assert.equal(found(), ".venv: .venv/bin/python -m hlotool");
  rmSync(path.join(folder, ".venv"), { recursive: true });
  await editor.commands.get("hlotool.restartServer")?.();
  assert.equal(found(), "venv: venv/bin/python -m hlotool");
  program("venv/bin/python", WITHOUT);
  await editor.commands.get("hlotool.restartServer")?.();
  assert.equal(found(), "the PATH: hlotool");
});

test("another interpreter of the Python extension starts the server again", async () => {
  let active = program("one/python", HLOTOOL);
  const other = program("two/python", HLOTOOL);
  editor.pythonExtension = pythonExtension(() => active);
  await failure(1);
  editor.event("interpreter").fire();
  await new Promise(resolve => setTimeout(resolve, 100));
  assert.equal(editor.errors.length, 1);
  active = other;
  editor.event("interpreter").fire();
  await failure(2);
  assert.equal(found(), "the interpreter of the Python extension: two/python -m hlotool");
});

test("no hlotool at all", async () => {
  program(".venv/bin/python", WITHOUT);
  editor.answer = "Install in terminal";
  const { message, actions } = await failure();
  assert.equal(
    message,
    "HLO: expected hlotool in a Python environment, found none (tried: .venv, the PATH). " +
      `Install it with: pip install "hlotool[lsp]", or say in the settings where it is.`,
  );
  assert.deepEqual(actions, ["Install in terminal", "Open settings", "Show log"]);
  assert.match(log(), /no hlotool from \.venv: .*: No module named hlotool/);
  assert.match(log(), /no hlotool from the PATH: hlotool: there is no such program/);
  await new Promise(resolve => setImmediate(resolve));
  assert.deepEqual(editor.terminals, [{ text: `${path.join(folder, ".venv/bin/python")} -m pip install "hlotool[lsp]"`, isRun: false }]);
});

test("a setting that does not work is not passed over", async () => {
  program("path/hlotool", HLOTOOL);
  editor.settings = { "hlotool.command": ["no-such-program"] };
  editor.answer = "Open settings";
  const { message } = await failure();
  assert.match(message, /expected the setting hlotool\.command to start hlotool, found that 'no-such-program' fails: there is no such program\. /);
  await new Promise(resolve => setImmediate(resolve));
  assert.deepEqual(editor.executed, [["workbench.action.openSettings", "@ext:hlotool.hlotool"]]);
});

test("a setting that is another program", async () => {
  editor.settings = { "hlotool.command": ["echo"] };
  editor.answer = "Show log";
  const { message } = await failure();
  assert.match(message, /fails: it answers 'echo .*'\. Change/);
  await new Promise(resolve => setImmediate(resolve));
  assert.equal(editor.channels.get("HLO")?.isShown, true);
});

test("hlotool without its language server", async () => {
  program("venv/bin/python", HLOTOOL);
  const { message } = await failure();
  const where = `${path.join(folder, "venv/bin/python")} -m hlotool`;
  assert.equal(message, `HLO: expected hlotool with its language server, found hlotool without it (${where}). Install what it needs: pip install "hlotool[lsp]".`);
});

test("a server that ends at once", async () => {
  program("path/hlotool", HLOTOOL.replace(/echo "hlotool: the.*$/m, 'echo "first line\nImportError: something is missing" >&2'));
  const { message } = await failure();
  assert.match(message, /expected 'hlotool lsp' to start, found: ImportError: something is missing\. The log has more\./);
  assert.match(log(), /first line/);
});

test("a preview without a server says so", async () => {
  await failure();
  const document = editor.open(path.join(folder, "m.hlo"), "HloModule m\n");
  await editor.commands.get("hlotool.previewGraph")?.();
  assert.equal(editor.activeTextEditor?.document, document);
  assert.match(editor.panels[0]?.webview.html ?? "", /<body>expected a running language server, found none/);
});

test("nothing is started in a folder that is not trusted, until it is", async () => {
  program(".venv/bin/python", HLOTOOL);
  editor.isTrusted = false;
  extension = load(editor);
  extension.activate({ subscriptions: [] });
  await editor.commands.get("hlotool.restartServer")?.();
  assert.match(log(), /the folder is not trusted/);
  assert.doesNotMatch(log(), /hlotool 0\.1\.0/);
  editor.isTrusted = true;
  editor.event("onDidGrantWorkspaceTrust").fire();
  await failure();
  assert.equal(found(), ".venv: .venv/bin/python -m hlotool");
});
