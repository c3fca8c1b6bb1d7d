// Bundles the extension, or its tests with --tests. The grammar and the license come from elsewhere in the repository.
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
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
  const { metafile } = await build({
    ...forNode, entryPoints: ["src/extension.ts"], outfile: "dist/extension.js", minify: true, metafile: true,
  });
  writeFileSync("dist/NOTICE.txt", notices(metafile));
}

/** Returns the licenses of the packages in the bundle, which must be distributed with it. */
function notices(metafile) {
  const packages = new Set();
  for (const input of Object.keys(metafile.inputs)) {
    const found = /^node_modules\/(?:@[^/]+\/)?[^/]+(?:\/node_modules\/(?:@[^/]+\/)?[^/]+)*/.exec(input);
    if (found !== null) packages.add(found[0]);
  }
  return [...packages].sort().map(folder => {
    const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
    const file = readdirSync(folder).find(each => /^licen[cs]e/i.test(each));
    if (file === undefined) throw new Error(`${folder} has no license file`);
    return `${name} ${version} (${license})\n\n${readFileSync(`${folder}/${file}`, "utf8").trim()}\n`;
  }).join(`\n${"-".repeat(80)}\n\n`);
}
