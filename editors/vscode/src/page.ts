// Prepares the page of a picture for a webview: only its own scripts and styles, and a bridge to the editor.

// The colors of the page, from the theme of the editor.
const THEME = `:root {
  --back: var(--vscode-editor-background); --text: var(--vscode-editor-foreground); --faint: var(--vscode-descriptionForeground);
  --line: var(--vscode-panel-border, var(--vscode-contrastBorder, #8884)); --panel: var(--vscode-editorWidget-background);
  --link: var(--vscode-textLink-foreground); --edge: var(--vscode-descriptionForeground); --frame: var(--vscode-descriptionForeground);
}
body { padding: 0; }`;

const BRIDGE = `(() => {
  const editor = acquireVsCodeApi();
  document.addEventListener("hlotool-select", event => {
    const { line, character } = event.detail;
    editor.postMessage({ line, character });
  });
})();`;

const ELEMENT = /<(script|style)\b([^>]*)>([\s\S]*?)<\/\1>/g;

/** Returns a complete page with a content security policy, the bridge, and the colors of the editor. */
export function forWebview(html: string, nonce: string): string {
  const policy = `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'nonce-${nonce}'; img-src data: blob:`;
  const own = html.replace(ELEMENT, (_, tag: string, attributes: string, content: string) => {
    return `<${tag} nonce="${nonce}"${attributes}>${content}</${tag}>`;
  });
  const first = `<meta http-equiv="Content-Security-Policy" content="${policy}">\n<script nonce="${nonce}">${BRIDGE}</script>\n`;
  const last = `<style nonce="${nonce}">${THEME}</style>\n`;
  return own.replace("<head>", head => `${head}\n${first}`).replace("</head>", end => last + end);
}

/** Returns a page with a message instead of a picture. */
export function messagePage(title: string, message: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${escaped(title)}</title>
<style>
body { margin: 2em; white-space: pre-wrap; overflow-wrap: anywhere; color: var(--text); background: var(--back); }
</style>
</head>
<body>${escaped(message)}</body>
</html>`;
}

const ESCAPES: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, character => ESCAPES[character] ?? character);
}
