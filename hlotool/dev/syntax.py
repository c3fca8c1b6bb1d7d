"""The generator of the editors' syntax files in `editors/`, which uses the grammar.

Run `python -m hlotool.dev syntax` to generate the files.
"""

from __future__ import annotations

from pathlib import Path

from hlotool.syntax.emacs import emacs_mode
from hlotool.syntax.rouge import rouge_lexer
from hlotool.syntax.textmate import textmate_grammar
from hlotool.syntax.tree_sitter import tree_sitter_files
from hlotool.syntax.vim import vim_filetype, vim_syntax

__all__ = ["files", "stale", "write"]

_FOLDER = Path(__file__).parents[2] / "editors"


def files() -> dict[str, str]:
    """Returns the text of every generated file, by its path in `editors/`."""
    return {
        "textmate/hlo.tmLanguage.json": textmate_grammar(),
        "vim/syntax/hlo.vim": vim_syntax(),
        "vim/ftdetect/hlo.vim": vim_filetype(),
        "emacs/hlo-mode.el": emacs_mode(),
        "rouge/hlo.rb": rouge_lexer(),
        **{f"tree-sitter-hlo/{name}": text for name, text in tree_sitter_files().items()},
    }


def stale() -> list[str]:
    """Returns the files that are out of date."""
    return [name for name, text in files().items() if not (_FOLDER / name).exists() or (_FOLDER / name).read_text(encoding="utf-8") != text]


def write() -> list[str]:
    """Writes the files that are out of date, and returns their names."""
    changed, texts = stale(), files()
    for name in changed:
        path = _FOLDER / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(texts[name], encoding="utf-8")
    return changed
