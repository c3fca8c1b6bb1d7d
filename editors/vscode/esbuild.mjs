// Bundles the extension, or its tests with --tests. The grammar and the license have their homes elsewhere in the repository.
import { copyFileSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { build } from "esbuild";

const forNode = { bundle: true, platform: "node", target: "node18", external: ["vscode"], logLevel: "warning" };

if (process.argv.includes("--tests")) {
  rmSync("dist/tests", { recursive: true, force: true });
  const entryPoints = readdirSync("tests").filter(name => name.endsWith(".test.ts")).map(name => `tests/${name}`);
  await build({ ...forNode, entryPoints, outdir: "dist/tests", outExtension: { ".js": ".cjs" } });
} else {
  mkdirSync("dist", { recursive: true });
  copyFileSync("../textmate/hlo.tmLanguage.json", "dist/hlo.tmLanguage.json");
  copyFileSync("../../LICENSE", "LICENSE");
  await build({ ...forNode, entryPoints: ["src/extension.ts"], outfile: "dist/extension.js", minify: true });
}
