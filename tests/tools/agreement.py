"""Compares the tokens of highlighters with those of the parser, character by character.

Usage: `python tests/tools/agreement.py HIGHLIGHTER FILE...`. The highlighters are `scanner`,
`pygments`, `textmate` (needs Node with vscode-textmate and vscode-oniguruma, from the folder in
HLOTOOL_NODE), `vim`, `emacs`, `rouge` (needs Ruby with Rouge) and `tree-sitter` (needs the Python
package, and the compiled parser in HLOTOOL_TREE_SITTER). Each runs with the files in `editors/`.
Files may be compressed.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from parser_tokens import tokens

from hlotool.errors import Source
from hlotool.syntax.kinds import KINDS
from hlotool.syntax.scanner import Token, scan
from hlotool.syntax.textmate import scope
from hlotool.syntax.vim import kind_of_group
from hlotool.text.source.files import read_text

__all__ = ["disagreements", "main"]

ROOT = Path(__file__).resolve().parents[2]
TOOLS = Path(__file__).parent


def disagreements(text: str, expected: Iterable[Token], actual: Iterable[Token]) -> list[tuple[Token, str]]:
    """Returns the tokens to which a highlighter assigns a different kind.

    Each token comes with the highlighter's kind for the first character that differs. Spaces inside
    tokens do not count. Text outside of tokens must not have a kind.
    """
    kinds = [""] * len(text)
    for start, end, kind in actual:
        kinds[start:end] = [kind] * (end - start)
    wrong, at = [], 0
    for token in expected:
        wrong += _wrong_in(text, kinds, Token(at, token.start, ""))
        wrong += _wrong_in(text, kinds, token)
        at = token.end
    return wrong + _wrong_in(text, kinds, Token(at, len(text), ""))


def _wrong_in(text: str, kinds: list[str], token: Token) -> list[tuple[Token, str]]:
    start, end, kind = token
    if kinds[start:end].count(kind) == end - start:
        return []
    at = next((k for k in range(start, end) if kinds[k] != kind and not text[k].isspace()), None)
    return [] if at is None else [(token, kinds[at])]


def by_pygments(text: str, _folder: Path) -> Iterator[Token]:
    from hlotool.syntax.pygments_lexer import HloLexer

    kind_of = {kind.pygments: name for name, kind in KINDS.items()}
    for start, kind, piece in HloLexer().get_tokens_unprocessed(text):
        yield Token(start, start + len(piece), kind_of.get(str(kind).removeprefix("Token."), ""))


def by_textmate(text: str, folder: Path) -> Iterator[Token]:
    kind_of = {scope(kind): kind for kind in KINDS}
    for start, end, *scopes in _run(text, folder, "node", TOOLS / "highlight_textmate.js", ROOT / "editors/textmate/hlo.tmLanguage.json"):
        # JavaScript counts columns in UTF-16 units. Here, each unit is one character, since `_run`
        # writes only ASCII.
        yield Token(int(start), int(end), next((kind_of[name] for name in scopes if name in kind_of), ""))


def by_rouge(text: str, folder: Path) -> Iterator[Token]:
    kind_of = {kind.pygments: name for name, kind in KINDS.items()}
    for start, end, name in _run(text, folder, "ruby", TOOLS / "highlight_rouge.rb", ROOT / "editors/rouge/hlo.rb"):
        yield Token(int(start), int(end), kind_of.get(name, ""))


def by_emacs(text: str, folder: Path) -> Iterator[Token]:
    for start, end, face in _run(text, folder, "emacs", "-Q", "--batch", "-l", TOOLS / "highlight_emacs.el", ROOT / "editors/emacs/hlo-mode.el"):
        yield Token(int(start), int(end), face.removeprefix("hlo-").removesuffix("-face"))


def by_tree_sitter(text: str, _folder: Path) -> Iterator[Token]:
    from tree_sitter import Language, Parser, Query, QueryCursor

    library = ctypes.CDLL(os.environ["HLOTOOL_TREE_SITTER"])
    library.tree_sitter_hlo.restype = ctypes.c_void_p
    with warnings.catch_warnings():
        # Language packages pass a capsule. Passing an address, as this code does, is deprecated.
        warnings.simplefilter("ignore", DeprecationWarning)
        language = Language(library.tree_sitter_hlo())
    tree = Parser(language).parse(text.encode("ascii", "replace"))
    query = Query(language, (ROOT / "editors/tree-sitter-hlo/queries/highlights.scm").read_text(encoding="utf-8"))
    kind_of = {kind.capture: name for name, kind in KINDS.items()}
    for capture, nodes in QueryCursor(query).captures(tree.root_node).items():
        for node in nodes:
            yield Token(node.start_byte, node.end_byte, kind_of[capture])


def by_vim(text: str, folder: Path) -> Iterator[Token]:
    output = folder / "groups.txt"
    for first, piece in _pieces(text):
        # Vim prints nothing to standard output in this mode.
        list(_run(piece, folder, "vim", "-u", "NONE", "-i", "NONE", "-es", "-S", TOOLS / "highlight_vim.vim", output))
        for line in output.read_text(encoding="ascii").splitlines():
            start, end, group = line.split()
            yield Token(first + int(start), first + int(end), kind_of_group(group))


def _pieces(text: str, size: int = 200_000) -> Iterator[tuple[int, str]]:
    """Yields the text in pieces that end after computations, each with its offset.

    Vim would take hours to highlight one of the longest dumps in one piece.
    """
    start = 0
    while start < len(text):
        end = text.find("\n}\n", start + size) + 3
        end = end if end > 2 else len(text)
        yield start, text[start:end]
        start = end


# Settings for glibc. By default, it returns memory to the system after each match, which takes four
# fifths of Vim's time.
_KEEP_MEMORY = {"MALLOC_TOP_PAD_": str(1 << 26), "MALLOC_MMAP_THRESHOLD_": str(1 << 30), "MALLOC_TRIM_THRESHOLD_": str(1 << 31)}


def _run(text: str, folder: Path, *command: str | Path) -> Iterator[list[str]]:
    """Runs a program on a file with the text, and yields the words of each line that it prints.

    The text is reduced to ASCII, for which all programs count columns in the same way.
    """
    path = folder / "text.hlo"
    path.write_text(text.encode("ascii", "replace").decode(), encoding="ascii")
    cwd = os.environ.get("HLOTOOL_NODE", str(folder))
    run = subprocess.run([*map(str, command), str(path)], cwd=cwd, env={**os.environ, **_KEEP_MEMORY}, capture_output=True, text=True, check=False)
    if run.returncode:
        raise SystemExit(f"{command[0]} failed: {run.stderr[-2000:]}")
    return (line.split() for line in run.stdout.splitlines() if line)


HIGHLIGHTERS: dict[str, Callable[[str, Path], Iterable[Token]]] = {
    "scanner": lambda text, _: scan(text),
    "pygments": by_pygments,
    "textmate": by_textmate,
    "vim": by_vim,
    "tree-sitter": by_tree_sitter,
    "emacs": by_emacs,
    "rouge": by_rouge,
}


def main(arguments: list[str]) -> int:
    name, *files = arguments
    total = wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for file in files:
            text = read_text(file)
            expected = tokens(text)
            started = time.monotonic()
            differing = disagreements(text, expected, HIGHLIGHTERS[name](text, Path(folder)))
            total, wrong = total + len(expected), wrong + len(differing)
            print(f"{len(expected) - len(differing):>8} of {len(expected):>8} tokens  {time.monotonic() - started:6.1f} s  {file}", flush=True)
            source = Source(text, file)
            for token, kind in differing[:5]:
                line, column = source.line_column(token.start)
                print(f"    {line}:{column}: {text[token.start : token.end][:60]!r} is {token.kind or 'no token'}, but {kind or 'no token'} here")
    print(f"{name}: {total - wrong} of {total} tokens agree")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
