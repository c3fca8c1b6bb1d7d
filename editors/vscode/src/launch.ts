// Finds hlotool: the order in which locations are tried, and the message if none of them has it.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import * as path from "node:path";

/** A way to start hlotool: the words before its own arguments, and where they come from. */
export interface Launch {
  readonly words: readonly [string, ...string[]];
  readonly origin: string;
  /** The Python interpreter, if it is known: packages are installed by it. */
  readonly interpreter?: string;
  /** True if the user has chosen it, so that nothing else is tried if it does not work. */
  readonly isChosen?: boolean;
}

/** The locations to search, as far as they are known. */
export interface Places {
  readonly command: readonly string[];
  readonly interpreter: string;
  /** The interpreter of the Python extension. */
  readonly active: string | undefined;
  readonly folders: readonly string[];
}

/** The reason why hlotool cannot be started: a message, and the interpreter in which to install it. */
export class LaunchError extends Error {
  constructor(message: string, readonly interpreter?: string) {
    super(message);
  }
}

const PROBE_TIMEOUT = 20_000;
const VARIABLE = /\$\{(?:(workspaceFolder)|(userHome)|env:(\w+))\}/g;

/** Returns a setting with its variables replaced. */
export function substituted(text: string, folder: string | undefined): string {
  return text.replace(VARIABLE, (whole, isFolder?: string, isHome?: string, name?: string) => {
    if (isFolder) return folder ?? whole;
    return isHome ? homedir() : process.env[name ?? ""] ?? "";
  });
}

/** Returns the ways to start hlotool, in order of preference. A way that the user has chosen is the only one. */
export function candidates(places: Places): Launch[] {
  const [first, ...rest] = places.command;
  if (first !== undefined) return [{ words: [first, ...rest], origin: "the setting hlotool.command", isChosen: true }];
  if (places.interpreter) return [{ ...byPython(places.interpreter, "the setting hlotool.interpreter"), isChosen: true }];
  const found: Launch[] = [];
  if (places.active) found.push(byPython(places.active, "the interpreter of the Python extension"));
  for (const folder of places.folders) {
    for (const name of [".venv", "venv"]) {
      const python = pythonOf(path.join(folder, name));
      if (python !== undefined && python !== places.active) found.push(byPython(python, name));
    }
  }
  return [...found, { words: ["hlotool"], origin: "the PATH" }];
}

function byPython(interpreter: string, origin: string): Launch {
  return { words: [interpreter, "-m", "hlotool"], origin, interpreter };
}

/** Returns the interpreter of a virtual environment, if there is one in the folder. */
function pythonOf(environment: string): string | undefined {
  return [path.join(environment, "bin", "python"), path.join(environment, "Scripts", "python.exe")].find(existsSync);
}

/** Returns the environment of hlotool's processes, in which modules next to the texts are not imported. */
export function environment(): NodeJS.ProcessEnv {
  return { ...process.env, PYTHONSAFEPATH: "1", PYTHONUTF8: "1" };
}

/** Returns the first way that starts hlotool, and logs its version. Throws a LaunchError if there is none. */
export async function firstThatWorks(launches: readonly Launch[], cwd: string | undefined, log: (line: string) => void): Promise<Launch> {
  for (const launch of launches) {
    const answer = await probe(launch, cwd);
    if (answer.version !== undefined) {
      log(`${answer.version}, from ${launch.origin}: ${launch.words.join(" ")}`);
      return launch;
    }
    log(`no hlotool from ${launch.origin}: ${launch.words.join(" ")}: ${answer.failure}`);
    if (launch.isChosen) {
      throw new LaunchError(
        `expected ${launch.origin} to start hlotool, found that '${launch.words.join(" ")}' fails: ${answer.failure}. ` +
          "Change the setting, or install hlotool there.",
        launch.interpreter,
      );
    }
  }
  const tried = launches.map(launch => launch.origin).join(", ");
  throw new LaunchError(
    `expected hlotool in a Python environment, found none (tried: ${tried}). ` +
      `Install it with: ${installation()}, or say in the settings where it is.`,
    launches.find(launch => launch.interpreter !== undefined)?.interpreter,
  );
}

/** Returns the command that installs the packages that the extension needs. Double quotes work in all shells. */
export function installation(interpreter?: string): string {
  if (interpreter === undefined) return 'pip install "hlotool[lsp]"';
  const program = /\s/.test(interpreter) ? `"${interpreter}"` : interpreter;
  return `${program} -m pip install "hlotool[lsp]"`;
}

function probe(launch: Launch, cwd: string | undefined): Promise<{ version?: string; failure?: string }> {
  const [program, ...words] = launch.words;
  return new Promise(resolve => {
    execFile(program, [...words, "--version"], { cwd, env: environment(), timeout: PROBE_TIMEOUT }, (error, output, errors) => {
      const version = output.trim();
      if (error === null && version.startsWith("hlotool ")) resolve({ version });
      else resolve({ failure: failureOf(error, errors, version) });
    });
  });
}

function failureOf(error: (Error & { code?: unknown; killed?: boolean }) | null, errors: string, output: string): string {
  if (error === null) return `it answers '${output.split("\n", 1)[0]}'`;
  if (error.code === "ENOENT") return "there is no such program";
  if (error.killed) return `no answer after ${PROBE_TIMEOUT / 1000} seconds`;
  return lastLine(errors) || error.message;
}

/** Returns the last line that is not empty, which is the exception in a traceback. */
export function lastLine(text: string): string {
  return text.trim().split(/\r?\n/).pop()?.trim() ?? "";
}
