"""Syntax files for editors: they are up to date, and correct as far as Python alone can check.

`tests/tools/agreement.py` runs the highlighters themselves.
"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from agreement import disagreements
from highlighted import TEXT, TEXTS
from parser_tokens import tokens
from textmate_rules import Grammar

from hlotool.dev import syntax, tasks
from hlotool.syntax.filetypes import FILE_NAMES, FIRST_LINE, suffixes
from hlotool.syntax.kinds import KINDS
from hlotool.syntax.regexes import EMACS, JAVASCRIPT, ONIGURUMA, VIM, words
from hlotool.syntax.scanner import Token
from hlotool.syntax.textmate import scope, textmate_grammar
from hlotool.syntax.tree_sitter import tree_sitter_files
from hlotool.text.source.files import read_text

EDITORS = Path(__file__).resolve().parents[2] / "editors"
KIND_OF_SCOPE = {scope(kind): kind for kind in KINDS}


def test_files_are_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert tasks.main(["syntax", "--check"]) == 0, "run python -m hlotool.dev syntax"
    assert capsys.readouterr().out == ""


def test_a_changed_file_is_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "editors"
    shutil.copytree(EDITORS, folder, ignore=shutil.ignore_patterns("node_modules"))
    monkeypatch.setattr(syntax, "_FOLDER", folder)
    (folder / "vim/syntax/hlo.vim").write_text("old")
    (folder / "tree-sitter-hlo/grammar.js").unlink()
    assert syntax.write() == ["vim/syntax/hlo.vim", "tree-sitter-hlo/grammar.js"]
    assert syntax.stale() == []


# ---- TextMate ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def textmate() -> Grammar:
    return Grammar(textmate_grammar())


def by_textmate(grammar: Grammar, text: str) -> list[Token]:
    return [Token(start, end, KIND_OF_SCOPE.get(name, "")) for start, end, name in grammar.scopes(text)]


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_textmate_agrees_with_the_parser(path: Path, textmate: Grammar) -> None:
    text = read_text(str(path))
    assert disagreements(text, tokens(text), by_textmate(textmate, text)) == []


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        "/* a\nb */ HloModule m // c\ne { ROOT p = f32[] parameter(0) }",
        'HloModule m, frontend_attributes={a="two\nlines"}\ne { ROOT p = f32[] parameter(0) }',
        "e { p = f32[] parameter(0) ROOT c = f32[] call(p), to_apply={ q = f32[] parameter(0) ROOT n = f32[] negate(q) } }",
    ],
    ids=["all kinds", "comments", "string", "inline"],
)
def test_textmate_agrees_on_texts(text: str, textmate: Grammar) -> None:
    assert disagreements(text, tokens(text), by_textmate(textmate, text)) == []


# ---- tree-sitter ------------------------------------------------------------------------------------------------------


def test_tree_sitter_rules_are_defined() -> None:
    grammar = tree_sitter_files()["grammar.js"]
    defined = re.findall(r"^    (\w+): \$", grammar, re.MULTILINE)
    used = set(re.findall(r"\$\.(\w+)", grammar))
    aliases = set(re.findall(r"alias\([^,]+, \$\.(\w+)\)", grammar)) | {"key"}
    assert len(set(defined)) == len(defined)
    assert used - aliases <= set(defined)
    assert set(defined) - used == {"source_file"}


@pytest.mark.parametrize("name", [name for name in tree_sitter_files() if name.endswith(".scm")])
def test_queries_name_nodes_of_the_grammar(name: str) -> None:
    files = tree_sitter_files()
    nodes = set(re.findall(r"\((\w+)", files[name]))
    known = set(re.findall(r"^    (\w+): \$|\$\.(\w+)", files["grammar.js"], re.MULTILINE))
    assert nodes
    assert nodes <= {word for pair in known for word in pair}


def test_every_kind_has_a_capture() -> None:
    captures = set(re.findall(r"@([\w.]+)", tree_sitter_files()["queries/highlights.scm"]))
    assert captures == {kind.capture for kind in KINDS.values()}


# ---- file names, and dialects of regular expressions ------------------------------------------------------------------


def test_file_names() -> None:
    names = ["a.hlo", "module_0001.jit_f.before_optimizations.txt", "module_0001.jit_f.sm_9.0_gpu_after_optimizations.txt", "a.hlo.txt"]
    others = ["module_0001.jit_f.cpu_after_optimizations-buffer-assignment.txt", "notes.txt"]
    assert [name for name in [*names, *others] if any(Path(name).match(pattern) for pattern in FILE_NAMES)] == names
    assert json.loads(textmate_grammar())["fileTypes"] == suffixes()
    assert [bool(re.match(FIRST_LINE, line)) for line in ("HloModule m", "HloModule m, x=1", "HloModules")] == [True, True, False]


@pytest.mark.parametrize(
    ("pattern", "oniguruma", "vim", "emacs", "javascript"),
    [
        ("a++", "a++", r"\%(a\+\)\@>", "a+", "a+"),
        ("[a]{2,}+", "(?>[a]{2,})", r"\%([a]\{2,}\)\@>", r"[a]\{2,\}", "[a][a]+"),
        ("(?:a|b)?", "(?:a|b)?", r"\%(a\|b\)\?", r"\(?:a\|b\)?", "(?:a|b)?"),
        ("a(?=b)", "a(?=b)", r"a\%(b\)\@=", "a", "a"),
        ("a(?!b)", "a(?!b)", r"a\%(b\)\@!", "a", "a"),
        ("(?<=-)a", "(?<=-)a", r"\%(-\)\@<=a", "a", "a"),
        (r"\{\*", r"\{\*", r"{\*", r"{\*", r"\{\*"),
        (r"[a-z_.\-]", r"[a-z_.\-]", r"[a-z_.\-]", "[a-z_.-]", r"[a-z_.\-]"),
        ("[^\\r\\n]", r"[^\r\n]", r"[^\r\n]", "[^\r\n]", r"[^\r\n]"),
        (r"[^\]^]", r"[^\]^]", r"[^\]^]", "[^]^]", r"[^\]^]"),
        ("#", r"\#", "#", "#", "#"),
    ],
)
def test_dialects(pattern: str, oniguruma: str, vim: str, emacs: str, javascript: str) -> None:
    assert [dialect.of(pattern) for dialect in (ONIGURUMA, VIM, EMACS, JAVASCRIPT)] == [oniguruma, vim, emacs, javascript]


@pytest.mark.parametrize(("pattern", "texts"), [("a|bc", ["a", "bc"]), ("[DC]x", ["Dx", "Cx"]), ("a*", []), ("(?!b)c", ["c"]), ("[a-z]", [])])
def test_words(pattern: str, texts: list[str]) -> None:
    assert words(pattern) == texts
