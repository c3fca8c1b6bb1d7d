// Prints the scopes that a TextMate grammar assigns to a text, with a line `start end scope` for each token: node textmate.js GRAMMAR TEXT.
// It uses the interpreter of VS Code: npm install vscode-textmate vscode-oniguruma.
"use strict";

const fs = require("fs");
const { createRequire } = require("module");
const load = createRequire(process.cwd() + "/");
const oniguruma = load("vscode-oniguruma");
const textmate = load("vscode-textmate");

async function main([grammarFile, textFile]) {
  const wasm = fs.readFileSync(load.resolve("vscode-oniguruma/release/onig.wasm"));
  await oniguruma.loadWASM(wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.byteLength));
  const registry = new textmate.Registry({
    onigLib: Promise.resolve({
      createOnigScanner: (patterns) => new oniguruma.OnigScanner(patterns),
      createOnigString: (text) => new oniguruma.OnigString(text),
    }),
    loadGrammar: async () => textmate.parseRawGrammar(fs.readFileSync(grammarFile, "utf8"), grammarFile),
  });
  const grammar = await registry.loadGrammar("source.hlo");
  const out = [];
  let state = textmate.INITIAL;
  let offset = 0;
  for (const line of fs.readFileSync(textFile, "utf8").split("\n")) {
    const result = grammar.tokenizeLine(line, state);
    state = result.ruleStack;
    for (const token of result.tokens) {
      const scopes = token.scopes.slice(1);
      if (scopes.length) out.push(`${offset + token.startIndex} ${offset + token.endIndex} ${scopes.reverse().join(" ")}`);
    }
    offset += line.length + 1;
  }
  fs.writeSync(1, "");
  process.stdout.write(out.join("\n") + "\n");
}

main(process.argv.slice(2));
