// The language server: a process that is started, restarted and stopped, and its client.
import { spawn, type ChildProcess } from "node:child_process";
import * as path from "node:path";
import * as vscode from "vscode";
import {
  CloseAction, ErrorAction, ExecuteCommandRequest, LanguageClient, State,
  type CloseHandlerResult, type ErrorHandler, type ExecuteCommandSignature, type LanguageClientOptions,
} from "vscode-languageclient/node";
import { candidates, environment, firstThatWorks, lastLine, LaunchError, substituted, type Launch } from "./launch";
import { activeInterpreter } from "./python";

/** The settings that become initialization options of the same names. */
export const RULE_SETTINGS = ["select", "extendSelect", "ignore", "preset", "config"] as const;
const MAX_RESTARTS = 4;
const RESTART_PERIOD = 3 * 60_000;
const MISSING_EXTRA = /pip install 'hlotool\[lsp\]'/;

/** The extension's handler for commands of the server in code lenses. */
export type Middleware = (command: string, args: unknown[], next: ExecuteCommandSignature) => vscode.ProviderResult<unknown>;

export class Server implements vscode.Disposable {
  private client: LanguageClient | undefined;
  /** A queue, so that starts and stops happen one after the other. */
  private queue: Promise<void> = Promise.resolve();
  private isWaiting = false;
  private launched: string | undefined;
  private readonly settingsFiles = vscode.workspace.createFileSystemWatcher("**/{hlotool,.hlotool,pyproject}.toml");

  constructor(
    private readonly log: vscode.OutputChannel,
    private readonly onCommand: Middleware,
    private readonly onFailure: (error: LaunchError) => void,
  ) {}

  /** Starts or restarts the server. */
  restart(): Promise<void> {
    // A restart that has not begun will see the latest settings.
    if (this.isWaiting) return this.queue;
    this.isWaiting = true;
    this.queue = this.queue.then(async () => {
      this.isWaiting = false;
      await this.stop();
      await this.start();
    });
    return this.queue;
  }

  /** Restarts the server if it would be a different one, as after a change of the interpreter. */
  async restartIfMoved(): Promise<void> {
    await this.queue;
    const first = (await this.launches())[0];
    if (first?.words.join("\0") !== this.launched) await this.restart();
  }

  /** Executes a command of the server. */
  async execute<Answer>(command: string, args: unknown[]): Promise<Answer> {
    await this.queue;
    if (this.client?.state !== State.Running) {
      throw new Error("expected a running language server, found none; see 'HLO: Show log', and try 'HLO: Restart language server'");
    }
    return (await this.client.sendRequest(ExecuteCommandRequest.type, { command, arguments: args })) as Answer;
  }

  private async start(): Promise<void> {
    if (!vscode.workspace.isTrusted) {
      this.write("the folder is not trusted, so no language server is started");
      return;
    }
    try {
      const launches = await this.launches();
      const launch = await firstThatWorks(launches, this.folder()?.fsPath, line => this.write(line));
      this.launched = launches[0]?.words.join("\0");
      await this.connect(launch);
    } catch (error) {
      const failure = error instanceof LaunchError ? error : new LaunchError(`the language server does not start: ${String(error)}`);
      this.write(failure.message);
      this.onFailure(failure);
    }
  }

  private async launches(): Promise<Launch[]> {
    const settings = vscode.workspace.getConfiguration("hlotool");
    const folder = this.folder();
    const command = settings.get<string[]>("command", []).map(word => substituted(word, folder?.fsPath));
    const interpreter = substituted(settings.get<string>("interpreter", ""), folder?.fsPath);
    // A query to the Python extension may start it.
    const active = command.length || interpreter ? undefined : await activeInterpreter(folder, line => this.write(line));
    const folders = (vscode.workspace.workspaceFolders ?? []).map(each => each.uri.fsPath);
    return candidates({ command, interpreter, active, folders });
  }

  private folder(): vscode.Uri | undefined {
    return vscode.workspace.workspaceFolders?.find(folder => folder.uri.scheme === "file")?.uri;
  }

  private async connect(launch: Launch): Promise<void> {
    const run = new Run(launch, this.folder()?.fsPath, line => this.write(line));
    const client = new Client("hlotool", "HLO", () => run.start(), this.options(run));
    this.client = client;
    try {
      // If the process ends meanwhile, the first call forgets its promise, and only the second one fails.
      await Promise.all([client.start(), client.start()]);
      run.isStarted = true;
    } catch (error) {
      this.client = undefined;
      throw await run.failure(error);
    }
  }

  private options(run: Run): LanguageClientOptions {
    return {
      documentSelector: [{ language: "hlo", scheme: "file" }, { language: "hlo", scheme: "untitled" }],
      initializationOptions: initializationOptions(this.folder()?.fsPath),
      outputChannel: this.log,
      errorHandler: new Restarts(run, this.onFailure),
      initializationFailedHandler: () => false,
      synchronize: { fileEvents: this.settingsFiles },
      middleware: { executeCommand: (command, args, next) => this.onCommand(command, args as unknown[], next) },
    };
  }

  private async stop(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    this.launched = undefined;
    if (client === undefined) return;
    try {
      await client.dispose();
    } catch (error) {
      this.write(`the language server did not stop in time: ${String(error)}`);
    }
  }

  private write(line: string): void {
    this.log.appendLine(line);
  }

  /** Stops the server for good. */
  async dispose(): Promise<void> {
    await this.queue;
    await this.stop();
    this.settingsFiles.dispose();
  }
}

/** Returns the settings in the form that the server expects; those that are not set are left to `hlotool.toml`. */
export function initializationOptions(folder: string | undefined): Record<string, unknown> {
  const settings = vscode.workspace.getConfiguration("hlotool");
  // The outputs of commands are shown in their own channel.
  const options: Record<string, unknown> = { showOutput: false };
  for (const name of RULE_SETTINGS) {
    const value = settings.get<string | string[] | null>(name);
    if (value?.length) options[name] = value;
  }
  if (typeof options["config"] === "string") {
    const file = substituted(options["config"], folder);
    options["config"] = folder === undefined ? file : path.resolve(folder, file);
  }
  return options;
}

/**
 * A client whose server may end while it starts. The base class would then stop a server that is gone, and report less
 * than is known about it here.
 */
class Client extends LanguageClient {
  override error(message: string, data?: unknown, showNotification?: boolean | "force"): void {
    super.error(message, data, this.state === State.Running && showNotification);
  }

  override async stop(timeout?: number): Promise<void> {
    if (this.state === State.Running) await super.stop(timeout);
    else await super.stop(timeout).catch(() => undefined);
  }
}

/** The process of a server, and its output on standard error. */
class Run {
  isStarted = false;
  private errors = "";
  private process: ChildProcess | undefined;

  constructor(private readonly launch: Launch, private readonly cwd: string | undefined, private readonly log: (line: string) => void) {}

  start(): Promise<ChildProcess> {
    const [program, ...words] = this.launch.words;
    const child = spawn(program, [...words, "lsp"], { cwd: this.cwd, env: environment() });
    this.process = child;
    this.errors = "";
    child.stderr.on("data", (data: Buffer) => (this.errors = (this.errors + data.toString()).slice(-10_000)));
    return new Promise((resolve, reject) => {
      child.once("spawn", () => {
        this.log(`started '${this.launch.words.join(" ")} lsp', process ${child.pid}`);
        resolve(child);
      });
      child.once("error", reject);
    });
  }

  /** Returns the reason why the server did not start. */
  async failure(error: unknown): Promise<LaunchError> {
    await this.ended();
    if (MISSING_EXTRA.test(this.errors)) {
      const where = this.launch.words.join(" ");
      const message = `expected hlotool with its language server, found hlotool without it (${where}). Install what it needs: pip install "hlotool[lsp]".`;
      return new LaunchError(message, this.launch.interpreter);
    }
    const reason = lastLine(this.errors) || (error instanceof Error ? error.message : String(error));
    return new LaunchError(`expected '${this.launch.words.join(" ")} lsp' to start, found: ${reason}. The log has more.`, this.launch.interpreter);
  }

  /** Waits until the process has ended, so that its output is complete; kills it if it does not end. */
  private async ended(): Promise<void> {
    const child = this.process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
    await new Promise<void>(resolve => {
      const timer = setTimeout(() => child.kill(), 2_000);
      child.once("close", () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }
}

/** Restarts a server that has ended by itself, unless it keeps doing so. */
class Restarts implements ErrorHandler {
  private ends: number[] = [];

  constructor(private readonly run: Run, private readonly onFailure: (error: LaunchError) => void) {}

  error(): { action: ErrorAction } {
    return { action: ErrorAction.Continue };
  }

  closed(): CloseHandlerResult {
    // The code that waits for the start reports it.
    if (!this.run.isStarted) return { action: CloseAction.DoNotRestart, handled: true };
    const now = Date.now();
    this.ends = [...this.ends.filter(end => now - end < RESTART_PERIOD), now];
    if (this.ends.length <= MAX_RESTARTS) return { action: CloseAction.Restart, handled: true };
    void this.run.failure(`it ended ${this.ends.length} times in ${RESTART_PERIOD / 60_000} minutes`).then(this.onFailure);
    return { action: CloseAction.DoNotRestart, handled: true };
  }
}
