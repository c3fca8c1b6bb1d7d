"""Generates `docs/rules` and `docs/ops` from the code: tables, docstrings, op definitions, and the cases that test the rules.

What it says of a rule or an opcode is gathered by `verifier.explanations`; run it with `python -m hlotool.dev docs`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from inspect import getdoc
from itertools import chain
from pathlib import Path
from sys import modules

from hlotool.cli.explain import op_markdown, rule_markdown
from hlotool.codes import CODE_NAMES, FAMILIES
from hlotool.opdefs.base import OpDef
from hlotool.opdefs.table import OPS
from hlotool.verifier.explanations import explain_op, explain_rule

__all__ = ["pages", "stale", "write"]

_PACKAGE = Path(__file__).parent
_ROOT = _PACKAGE.parent
_HEADER = "<!-- Made by `python -m hlotool.dev docs`; edit the code that it is made of. -->\n"
_CODE = re.compile(r"\"([STLCAPMRW]\d{3})\"")
_SEPARATOR = "// -----\n"
_EXPECTED = re.compile(r"[ \t]*// error(@[+-]\d+)?: ([A-Z]\d{3}(?:, [A-Z]\d{3})*)[^\n]*")
# These name codes without finding anything.
_TABLES = ("codes.py", "presets.py", "selection.py", "fixing.py", "explanations.py")
# Longer examples show little.
_MOST_LINES = 24


def pages() -> dict[str, str]:
    """Every page that is made of code, by its path below the checkout."""
    return dict(chain(_rule_pages(), _op_pages()))


def stale() -> list[str]:
    """The pages that are not what the code says, or that nothing stands after any more."""
    wanted = pages()
    present = {path.relative_to(_ROOT).as_posix() for folder in ("rules", "ops") for path in (_ROOT / "docs" / folder).glob("*.md")}
    differing = [name for name, text in wanted.items() if name not in present or (_ROOT / name).read_text(encoding="utf-8") != text]
    return sorted({*differing, *(present - wanted.keys())})


def write() -> list[str]:
    """Writes what is stale, removes what is gone, and names both."""
    wanted, changed = pages(), stale()
    for name in changed:
        path = _ROOT / name
        if name in wanted:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(wanted[name], encoding="utf-8")
        else:
            path.unlink()
    return changed


# ---- rules ------------------------------------------------------------------------------------------------------------


def _rule_pages() -> Iterator[tuple[str, str]]:
    checked = _checked_codes()
    index = [_HEADER, "# Rules\n", "What `hlotool verify` reports, by the letter of the codes. `hlotool explain CODE` says the same on a terminal.\n"]
    index.append("| codes | | rules |\n|---|---|---|")
    for letter, (title, page) in FAMILIES.items():
        codes = [code for code in CODE_NAMES if code[0] == letter]
        index.append(f"| {letter} | [{title}]({page}.md) | {len(codes)} |")
        parts = [f"{_HEADER}\n# {letter}: {title}\n"]
        for code in codes:
            note = "" if code in checked or letter == "R" else "\nNot checked yet.\n"
            parts.append(rule_markdown(explain_rule(code), note + _example(code)))
        yield f"docs/rules/{page}.md", "\n".join(parts)
    yield "docs/rules/README.md", "\n".join(index) + "\n"


def _checked_codes() -> set[str]:
    """Codes that some file of the package names; tables do not count."""
    files = (path for path in _PACKAGE.rglob("*.py") if path.name not in _TABLES and path.parent.name != "fixes")
    return {code for path in files for code in _CODE.findall(path.read_text(encoding="utf-8"))} | {"W050"}


def _example(code: str) -> str:
    """The first case of the rule's test that has the finding, with the code where it is found."""
    path = _ROOT / "tests" / "verify" / f"{CODE_NAMES[code]}.hlo"
    if not path.exists():
        return ""
    for case in path.read_text(encoding="utf-8").split(_SEPARATOR):
        expected = _EXPECTED.search(case)
        if expected and code in expected[2] and expected[1] is None and case.count("\n") <= _MOST_LINES:
            shown = _EXPECTED.sub(lambda m: f" // {m[2]}", case).strip("\n")
            return f"\n```hlo\n{shown}\n```\n"
    return ""


# ---- ops --------------------------------------------------------------------------------------------------------------


def _op_pages() -> Iterator[tuple[str, str]]:
    families: dict[str, list[OpDef]] = {}
    for op in OPS.values():
        families.setdefault(_family(op), []).append(op)
    index = [
        _HEADER,
        "# Opcodes\n",
        "What `hlotool explain OPCODE` says, by the file in which an opcode is defined.\n",
        "| page | opcodes |\n|---|---|",
    ]
    for family, ops in sorted(families.items()):
        index.append(f"| [{family}]({family}.md) | {', '.join(op.name for op in ops)} |")
        summary = (getdoc(modules[f"hlotool.opdefs.{family}"]) or "").partition("\n")[0]
        parts = [f"{_HEADER}\n# {family.replace('_', ' ').capitalize()}\n\n{summary}\n", *(op_markdown(explain_op(op)) for op in ops)]
        yield f"docs/ops/{family}.md", "\n".join(parts)
    yield "docs/ops/README.md", "\n".join(index) + "\n"


def _family(op: OpDef) -> str:
    return op.infer.__module__.rpartition(".")[2]
