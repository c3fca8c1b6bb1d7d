"""Tests the language server and the recipes of `docs/editors.md` in real editors.

Usage: `python tests/tools/editors.py EDITOR...`. The editors are `neovim` (0.11 or newer),
`neovim-old`, `neovim-plain` (without the server, with tree-sitter if HLOTOOL_TREE_SITTER is the
compiled parser), `emacs` (with Eglot), `emacs-lsp-mode`, `emacs-flycheck`, `emacs-plain`,
`vim-plain` and `vim-ale` (with ALE). Each runs as users run it, in an empty home directory, with
the code from the guide and a script that does what a user would do. The results are printed, and
compared with the expected ones.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from texts import ROW_SUMS

__all__ = ["main"]

ROOT = Path(__file__).resolve().parents[2]
TOOLS = Path(__file__).parent
FORMATTED = ROW_SUMS
SAMPLE = FORMATTED.replace("f32[4] reduce", "f32[4]   reduce")
EXPECTED = {
    "finding": "'dead' is never used",
    "hover": "Reduces the given dimensions",
    "definition": "3",
    "references": "13 14",
    "symbols": "add",
    "completion": "ROOT r = f32[4] exponential",
    "signature": "reduce(",
    "renamed": SAMPLE.replace("  s =", "  total =").replace("(s)", "(total)"),
    "formatted": FORMATTED,
    "formatted on save": FORMATTED,
    "formatted lines": FORMATTED,
    "kept": SAMPLE.replace("negate(s)", "negate(s"),
    "without dead code": SAMPLE.replace("  dead = f32[4] negate(s)\n", ""),
    "message": "13:3",
    "tokens": "variable macro function",
    "hints": "97.7 MiB",
    "lenses": "called once",
    "run": "f32[4]",
    "folds": "0 1 1 0",
    "callers": "12",
    "highlights": "function",
    "servers at the end": "0",
}
"""The result, or a part of it, that an editor must report for each step, by step name."""


def recipe(part: str) -> str:
    """Returns the first code block of the guide that contains `part`."""
    guide = (ROOT / "docs/editors.md").read_text(encoding="utf-8")
    (code,) = (code for code in re.findall(r"^```\w+\n(.*?)^```", guide, re.DOTALL | re.MULTILINE) if part in code)
    return str(code).replace("~/src/hlotool", str(ROOT))


def write(path: Path, *texts: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(texts), encoding="utf-8")


def neovim(home: Path, *recipes: str) -> list[str]:
    write(home / ".config/nvim/init.lua", *map(recipe, recipes))
    return ["nvim", "--headless", "-n", "-c", f"luafile {TOOLS / 'editor_neovim.lua'}"]


def neovim_plain(home: Path) -> list[str]:
    parser = os.environ.get("HLOTOOL_TREE_SITTER")
    if parser is None:
        return neovim(home, "vim.filetype.add(", "HlotoolFormatExpr")
    shutil.copytree(ROOT / "editors/tree-sitter-hlo/queries", home / ".config/nvim/queries/hlo")
    (home / ".config/nvim/parser").mkdir()
    shutil.copy(parser, home / ".config/nvim/parser/hlo.so")
    return neovim(home, "vim.filetype.add(", "HlotoolFormatExpr", "vim.treesitter.start()")


def emacs(home: Path, *recipes: str) -> list[str]:
    write(home / ".emacs.d/init.el", *map(recipe, recipes))
    return ["emacs", "--batch", "--eval", "(package-initialize)", "-l", str(home / ".emacs.d/init.el"), "-l", str(TOOLS / "editor_emacs.el")]


def vim(home: Path, *recipes: str) -> list[str]:
    write(home / ".vimrc", "set nocompatible", *map(recipe, recipes))
    return ["vim", "-T", "dumb", "--not-a-term", "-n", "-S", str(TOOLS / "editor_vim.vim")]


EDITORS: dict[str, Callable[[Path], list[str]]] = {
    "neovim": lambda home: neovim(home, "vim.filetype.add(", "vim.lsp.enable("),
    "neovim-old": lambda home: neovim(home, "vim.filetype.add(", "vim.lsp.start_client("),
    "neovim-plain": neovim_plain,
    "emacs": lambda home: emacs(home, "(require 'hlo-mode)", "'eglot-server-programs"),
    "emacs-lsp-mode": lambda home: emacs(home, "(require 'hlo-mode)", "lsp-register-client"),
    "emacs-flycheck": lambda home: emacs(home, "(require 'hlo-mode)", "flycheck-define-checker"),
    "emacs-plain": lambda home: emacs(home, "(require 'hlo-mode)"),
    "vim-plain": lambda home: vim(home, "set runtimepath^="),
    "vim-ale": lambda home: vim(home, "set runtimepath^=", "ale#linter#Define"),
}
"""Functions that write an editor's files into a home directory and return the editor's command."""


def run(name: str, seconds: float = 60.0) -> list[tuple[str, str]]:
    """Runs an editor, and returns the steps and results that its script reports."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        program = home / "bin/hlotool"
        write(program, f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m hlotool "$@"\n')
        program.chmod(0o755)
        write(home / "work/sample.hlo", SAMPLE)
        kept = {key: value for key, value in os.environ.items() if not key.startswith("XDG_")}
        told = home / "told"
        told.touch()
        env = {**kept, "HOME": folder, "PATH": f"{program.parent}:{kept['PATH']}", "HLOTOOL_TOLD": str(told), "HLOTOOL_EDITOR": name}
        command = EDITORS[name](home)
        try:
            done = subprocess.run(command, cwd=home / "work", env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, check=False)
            output = (done.stdout + done.stderr).decode("utf-8", "replace")
        except subprocess.TimeoutExpired:
            output = f"{command[0]} did not exit in time"
        steps = [tuple(json.loads(line)) for line in told.read_text(encoding="utf-8").splitlines()]
    return [*steps, ("output", output)] if output.strip() else steps


def failures(steps: Sequence[tuple[str, str]]) -> list[str]:
    """Returns the steps that did not have the expected result."""
    failed = [name for name, result in steps if EXPECTED.get(name, "").strip() not in result]
    return failed if any(name == "end" for name, _ in steps) else [*failed, "end"]


def main(names: Sequence[str]) -> int:
    unknown = sorted(set(names) - set(EDITORS))
    if unknown:
        print(f"unknown: {', '.join(unknown)}; the editors are {', '.join(sorted(EDITORS))}", file=sys.stderr)
        return 2
    failed = False
    for name in names:
        print(f"==== {name}", flush=True)
        steps = run(name)
        for step, result in steps:
            print(f"{step}:", f"\n{result}".replace("\n", "\n    ") if "\n" in result else result)
        wrong = failures(steps)
        failed |= bool(wrong)
        print(f"{name}: failed: {', '.join(wrong)}" if wrong else f"{name}: passed", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or sorted(EDITORS)))
