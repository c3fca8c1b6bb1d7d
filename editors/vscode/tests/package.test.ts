// Tests of the packed extension: its contents, and the files that its manifest names.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { inflateRawSync } from "node:zlib";
import { test } from "node:test";

/** Returns the files of a ZIP archive by name. */
function unzipped(archive: Buffer): Map<string, string> {
  const files = new Map<string, string>();
  const end = archive.lastIndexOf("PK\x05\x06", undefined, "latin1");
  let entry = archive.readUInt32LE(end + 16);
  for (let count = archive.readUInt16LE(end + 10); count > 0; count--) {
    const [method, size] = [archive.readUInt16LE(entry + 10), archive.readUInt32LE(entry + 20)];
    const [name, extra, comment] = [28, 30, 32].map(at => archive.readUInt16LE(entry + at)) as [number, number, number];
    const local = archive.readUInt32LE(entry + 42);
    const start = local + 30 + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28);
    const data = archive.subarray(start, start + size);
    files.set(archive.toString("utf8", entry + 46, entry + 46 + name), (method === 8 ? inflateRawSync(data) : data).toString("utf8"));
    entry += 46 + name + extra + comment;
  }
  return files;
}

const files = unzipped(readFileSync("hlotool.vsix"));
const manifest = JSON.parse(files.get("extension/package.json") ?? "{}");
const grammar = JSON.parse(readFileSync("../textmate/hlo.tmLanguage.json", "utf8"));

test("the package has what it needs, and nothing else", () => {
  assert.deepEqual([...files.keys()].filter(name => name.startsWith("extension/")).map(name => name.slice("extension/".length)).sort(), [
    "LICENSE.txt", "changelog.md", "dist/NOTICE.txt", "dist/extension.js", "dist/hlo.tmLanguage.json", "icon.png", "language-configuration.json",
    "package.json", "readme.md",
  ]);
});

test("the grammar is the one of the repository", () => {
  const [{ path, scopeName }] = manifest.contributes.grammars;
  assert.equal(files.get(`extension/${path.replace("./", "")}`), readFileSync("../textmate/hlo.tmLanguage.json", "utf8"));
  assert.equal(scopeName, grammar.scopeName);
});

test("the bundle needs nothing but VS Code and Node", () => {
  const bundle = files.get(`extension/${manifest.main.replace("./", "")}`) ?? "";
  const needed = new Set([...bundle.matchAll(/\brequire\("([^"]+)"\)/g)].map(([, name]) => name?.replace("node:", "")));
  const builtin = new Set(process.getBuiltinModule("module").builtinModules);
  assert.ok(needed.delete("vscode"));
  assert.deepEqual([...needed].filter(name => !builtin.has(name ?? "")), []);
});

test("files that the manifest names exist", () => {
  const [language] = manifest.contributes.languages;
  for (const name of [manifest.main, manifest.icon, language.configuration]) assert.ok(files.has(`extension/${name.replace("./", "")}`), name);
});

test("the icon is a PNG of 128 by 128 pixels", () => {
  const icon = readFileSync("icon.png");
  assert.deepEqual([icon.toString("latin1", 1, 4), icon.readUInt32BE(16), icon.readUInt32BE(20)], ["PNG", 128, 128]);
});

test("the commands of menus exist, and have titles", () => {
  const commands = new Map(manifest.contributes.commands.map((each: { command: string }) => [each.command, each]));
  for (const items of Object.values<{ command: string }[]>(manifest.contributes.menus)) {
    for (const { command } of items) assert.ok(commands.has(command), command);
  }
  const bundle = files.get("extension/dist/extension.js") ?? "";
  for (const name of commands.keys()) assert.ok(bundle.includes(`"${String(name)}"`), String(name));
});

test("defaults of settings have the type of the setting, and every setting is documented", () => {
  const readme = files.get("extension/readme.md") ?? "";
  for (const [name, { type, default: value, markdownDescription }] of Object.entries<Record<string, unknown>>(manifest.contributes.configuration.properties)) {
    const actual = value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
    assert.ok([type].flat().includes(actual), name);
    assert.ok(markdownDescription, name);
    assert.ok(readme.includes(`\`${name}\``), name);
  }
  assert.equal(manifest.contributes.configurationDefaults["[hlo]"]["editor.defaultFormatter"], `${manifest.publisher}.${manifest.name}`);
});

test("words are names with their marks and dots", () => {
  const { wordPattern } = JSON.parse(files.get("extension/language-configuration.json") ?? "{}");
  assert.deepEqual('  ROOT %name.1 = f32[2,4] add-start(a_b.2, -1.5), x={"s"}'.match(new RegExp(wordPattern, "g")), [
    "ROOT", "%name.1", "f32", "2", "4", "add-start", "a_b.2", "-1.5", "x", "s",
  ]);
});
