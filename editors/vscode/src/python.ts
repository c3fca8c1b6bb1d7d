// Finds the interpreter that is selected in the Python extension, if that extension is installed.
import * as vscode from "vscode";

/** The part of the API of ms-python.python that is used. */
interface PythonApi {
  readonly environments: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { readonly path: string };
    resolveEnvironment(path: { readonly path: string }): Promise<{ readonly executable: { readonly uri?: vscode.Uri } } | undefined>;
    onDidChangeActiveEnvironmentPath(listener: () => void): vscode.Disposable;
  };
}

async function api(log: (line: string) => void): Promise<PythonApi | undefined> {
  const extension = vscode.extensions.getExtension<PythonApi | undefined>("ms-python.python");
  if (extension === undefined) return undefined;
  try {
    return (await extension.activate()) ?? undefined;
  } catch (error) {
    log(`the Python extension does not start: ${String(error)}`);
    return undefined;
  }
}

/** Returns the interpreter for a folder; undefined if there is none, or no Python extension. */
export async function activeInterpreter(folder: vscode.Uri | undefined, log: (line: string) => void): Promise<string | undefined> {
  const environments = (await api(log))?.environments;
  if (environments === undefined) return undefined;
  try {
    const active = environments.getActiveEnvironmentPath(folder);
    // The path may be the folder of the environment.
    const resolved = await environments.resolveEnvironment(active);
    return resolved?.executable.uri?.fsPath ?? active.path;
  } catch (error) {
    log(`the Python extension does not provide its interpreter: ${String(error)}`);
    return undefined;
  }
}

/** Calls a function whenever another interpreter is selected. */
export async function onInterpreterChange(listener: () => void, log: (line: string) => void): Promise<vscode.Disposable | undefined> {
  return (await api(log))?.environments.onDidChangeActiveEnvironmentPath(listener);
}
