"""Tests those rules of docs/style.md that need no judgment: openings, words and widths of prose."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted(path for path in (ROOT / "hlotool").rglob("*.py") if "generated" not in path.parts)
GUIDES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"]
GENERATED = {"operations.md", "verifier.md"}

OPENINGS = re.compile(r"(What|Which|How|Where|Whether|Of|That|Who|Whose|Whom)\b")
# Words to avoid, each with a replacement.
WORDS = {
    "told": "reported",
    "alike": "equal",
    "dearer": "more expensive",
    "otherwise than": "other than",
    "else than": "other than",
    "until now": "so far",
    "somebody": "a user",
    "nobody": "no one",
    "whoever": "a user who",
    "hull": "range",
    "adoption": "reuse",
}
BANNED = re.compile(rf"\b({'|'.join(WORDS)})\b", re.IGNORECASE)
MAX_COLUMNS = 100


def prose(source: str) -> Iterator[tuple[int, str]]:
    """Yields the docstrings and blocks of comments of a file, each with its first line's number."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.lineno, node.value.value.partition(">>>")[0]
    comments = [token for token in tokenize.generate_tokens(io.StringIO(source).readline) if token.type == tokenize.COMMENT]
    # Adjacent lines that contain only a comment form one block.
    number, block = 0, list[str]()
    for token in comments:
        stands_alone = token.line.lstrip().startswith("#")
        if block and not (stands_alone and token.start[0] == number + len(block)):
            yield number, "\n".join(block)
            block = []
        number = number if block else token.start[0]
        block.append(token.string.lstrip("# "))
    if block:
        yield number, "\n".join(block)


def is_wide(line: str) -> bool:
    """Returns whether a line is too wide; tables and the examples of opcodes may be wider."""
    return len(line) > MAX_COLUMNS and not line.lstrip().startswith(("|", "r = "))


def faults(source: str) -> list[str]:
    found = []
    for number, text in prose(source):
        found += [f"{number}: {len(line)} columns" for line in text.split("\n") if is_wide(line)]
        if OPENINGS.match(text.strip()):
            found.append(f"{number}: begins with {text.split()[0]!r}")
        found += [f"{number}: {m[1]!r}; write {WORDS[m[1].lower()]!r}" for m in BANNED.finditer(re.sub(r"`[^`]*`|\s+", " ", text))]
    return found


@pytest.mark.parametrize("path", FILES, ids=[path.relative_to(ROOT).as_posix() for path in FILES])
def test_docstrings_and_comments(path):
    assert faults(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", [path for path in GUIDES if path.name not in GENERATED], ids=lambda path: path.name)
def test_guides(path):
    text = re.sub(r"```.*?```|`[^`\n]*`|^\|.*$", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    assert [m[1] for m in BANNED.finditer(text)] == [] if path.name != "style.md" else True
    wide = [line for line in text.splitlines() if len(line) > MAX_COLUMNS and "](" not in line]
    assert wide == []


def test_faults_are_found():
    source = '"""What follows.\n\nNobody is told."""\n# Where it is,\n# nothing is alike\nx = 1\n# fine\n'
    assert faults(source) == [
        "1: begins with 'What'",
        "1: 'Nobody'; write 'no one'",
        "1: 'told'; write 'reported'",
        "4: begins with 'Where'",
        "4: 'alike'; write 'equal'",
    ]
