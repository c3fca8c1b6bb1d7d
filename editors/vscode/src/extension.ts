// The extension: commands, and the server that does the rest.
import * as vscode from "vscode";
import { installation, type LaunchError } from "./launch";
import { Previews, type Picture, type Place } from "./preview";
import { onInterpreterChange } from "./python";
import { RULE_SETTINGS, Server, type Middleware } from "./server";

/** The server's command that returns a picture, and the commands of code lenses. */
const GRAPH = "hlotool.graph";
const SHOW_GRAPH = "hlotool.showGraph";
const WITH_OUTPUT: ReadonlyMap<string, string> = new Map([["hlotool.run", "Running the module"], ["hlotool.diff", "Comparing the dumps"]]);
/** Settings that restart the server when they change. */
const SETTINGS = ["command", "interpreter", ...RULE_SETTINGS].map(name => `hlotool.${name}`);

let server: Server | undefined;

export function activate(context: vscode.ExtensionContext): void {
  const log = vscode.window.createOutputChannel("HLO");
  const results = vscode.window.createOutputChannel("HLO output", "hlo");
  const previews: Previews = new Previews((uri, position) => withProgress("Drawing the graph", () => running.execute<Picture>(GRAPH, [uri, position])));
  const running: Server = new Server(log, commands(results, previews), error => void explain(error, log));
  server = running;
  context.subscriptions.push(
    log,
    results,
    previews,
    vscode.commands.registerCommand("hlotool.previewGraph", (uri?: unknown) => preview(previews, uri)),
    vscode.commands.registerCommand("hlotool.restartServer", () => running.restart()),
    vscode.commands.registerCommand("hlotool.showLog", () => log.show()),
    vscode.workspace.onDidChangeConfiguration(event => {
      if (SETTINGS.some(name => event.affectsConfiguration(name))) void running.restart();
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => void running.restart()),
  );
  void running.restart();
  void onInterpreterChange(() => void running.restartIfMoved(), line => log.appendLine(line)).then(listener => {
    if (listener !== undefined) context.subscriptions.push(listener);
  });
}

export async function deactivate(): Promise<void> {
  await server?.dispose();
  server = undefined;
}

/** Handles clicks on lenses: pictures and outputs are shown here, since the server can only open other programs. */
function commands(results: vscode.OutputChannel, previews: Previews): Middleware {
  return async (command, args, next) => {
    const [uri, position] = args;
    if (command === SHOW_GRAPH && typeof uri === "string") {
      return previews.show(vscode.Uri.parse(uri), (position as Place | undefined) ?? null);
    }
    const title = WITH_OUTPUT.get(command);
    if (title === undefined) return next(command, args);
    const output: unknown = await withProgress(title, async () => next(command, args));
    if (typeof output === "string") {
      results.clear();
      results.append(output);
      results.show(true);
    }
    return output;
  };
}

function withProgress<Answer>(title: string, task: () => Promise<Answer>): Promise<Answer> {
  return Promise.resolve(vscode.window.withProgress({ location: vscode.ProgressLocation.Window, title: `HLO: ${title}` }, task));
}

/** Shows the computation at the cursor. The button in the title of an editor passes the URI of its text. */
async function preview(previews: Previews, argument: unknown): Promise<void> {
  const editors = [vscode.window.activeTextEditor, ...vscode.window.visibleTextEditors];
  const uri = argument instanceof vscode.Uri ? argument : vscode.window.activeTextEditor?.document.uri;
  const editor = editors.find(each => each?.document.uri.toString() === uri?.toString());
  if (uri === undefined || editor?.document.languageId !== "hlo") {
    void vscode.window.showInformationMessage("HLO: expected an editor with HLO, found none. Open a file, or choose its language with 'Change Language Mode'.");
    return;
  }
  const { line, character } = editor.selection.active;
  await previews.show(uri, { line, character });
}

/** Shows why there is no language server, and offers remedies. */
async function explain(error: LaunchError, log: vscode.OutputChannel): Promise<void> {
  const actions: Readonly<Record<string, () => unknown>> = {
    "Install in terminal": () => {
      const terminal = vscode.window.createTerminal("hlotool");
      terminal.show();
      // Not executed, so that the user can check the environment first.
      terminal.sendText(installation(error.interpreter), false);
    },
    "Open settings": () => vscode.commands.executeCommand("workbench.action.openSettings", "@ext:hlotool.hlotool"),
    "Show log": () => log.show(),
  };
  const chosen = await vscode.window.showErrorMessage(`HLO: ${error.message}`, ...Object.keys(actions));
  if (chosen !== undefined) actions[chosen]?.();
}
