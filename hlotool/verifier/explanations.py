"""What is known about rules and opcodes: from the table of codes, the docstrings of rules, and the definitions of ops.

`cli.explain` prints it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from inspect import cleandoc
from typing import Any, NamedTuple

from hlotool.codes import CODE_NAMES, FAMILIES, is_default, severity_of, summary_of
from hlotool.errors import HlotoolError, nearest
from hlotool.opdefs.base import REQUIRED, OpDef
from hlotool.opdefs.table import OPS
from hlotool.verifier.fixing import fix_rules
from hlotool.verifier.registry import MODULE_RULES, SHAPE_RULES
from hlotool.verifier.suppressions import unused_suppression

__all__ = ["OpExplanation", "RuleExplanation", "UnknownSubjectError", "explain", "explain_op", "explain_rule"]

_HEADINGS = ("Checks", "Why", "Bad", "Good")


class UnknownSubjectError(HlotoolError):
    """The subject to explain is neither a rule nor an opcode."""

    exit_code = 2


class RuleExplanation(NamedTuple):
    """All that is known about a rule; `checks`, `why`, `bad` and `good` are sections of its docstring, or empty."""

    code: str
    name: str
    severity: str
    is_default: bool
    family: str
    summary: str
    fix: str | None
    fix_is_safe: bool
    checks: str | None = None
    why: str | None = None
    bad: str | None = None
    good: str | None = None


class OpExplanation(NamedTuple):
    """All that is known about an opcode; `attributes` are names with the kinds and the defaults of their values, None if required."""

    opcode: str
    summary: str
    example: str
    operands: tuple[str, ...]
    is_variadic: bool
    attributes: tuple[tuple[str, str, str | None], ...]
    infers: bool


def explain(subject: str) -> RuleExplanation | OpExplanation:
    """The explanation of a code, a rule's name or an opcode. Raises UnknownSubjectError, which suggests a similar name.

    >>> explain("result-shape").code, explain("transpose").operands
    ('T003', ('operand',))
    """
    word = subject.strip()
    code = word.upper() if word.upper() in CODE_NAMES else next((code for code, name in CODE_NAMES.items() if name == word), None)
    # A few rules have the names of opcodes; their codes are unambiguous.
    if word in OPS:
        return explain_op(OPS[word])
    if code is not None:
        return explain_rule(code)
    meant = nearest(word, [*OPS, *CODE_NAMES.values(), *CODE_NAMES])
    raise UnknownSubjectError(f"there is no rule and no opcode '{word}'" + (f"; did you mean '{meant}'?" if meant else ""))


def explain_rule(code: str) -> RuleExplanation:
    """The explanation of one code."""
    rule = fix_rules().get(code)
    title, is_safe = (rule.title, rule.is_safe) if rule is not None else ("Remove the suppression", True) if code == "W050" else (None, False)
    sections = _sections(_docs().get(code, ""))
    return RuleExplanation(
        code,
        CODE_NAMES[code],
        severity_of(code),
        is_default(code),
        FAMILIES[code[0]][0],
        summary_of(code),
        title,
        is_safe,
        *(sections.get(heading) for heading in _HEADINGS),
    )


def explain_op(op: OpDef) -> OpExplanation:
    """The explanation of one opcode."""
    summary, _, example = cleandoc(op.doc).partition("\n\n")
    attributes = tuple((spec.name, spec.kind, None if spec.default is REQUIRED else _spelled(spec.default)) for spec in op.attributes.values())
    return OpExplanation(op.name, " ".join(summary.split()), cleandoc("\n" + example), op.operands, op.variadic, attributes, op.infers)


def _spelled(default: Any) -> str:
    return "left out" if default is None or default == () else str(default).lower() if isinstance(default, bool) else str(default)


@lru_cache(maxsize=1)
def _docs() -> dict[str, str]:
    """The docstrings of rules, by code."""
    docs = {"W050": unused_suppression.__doc__ or ""}
    for codes, check in _checks():
        for code in codes:
            docs[code] = check.__doc__ or ""
    return docs


def _checks() -> Iterator[tuple[tuple[str, ...], Callable[..., Any]]]:
    yield from ((rule.codes, rule.check) for rule in SHAPE_RULES)
    yield from ((rule.codes, rule.check) for rule in MODULE_RULES)


def _sections(doc: str) -> dict[str, str]:
    """The sections of a rule's docstring by heading, with the lines of each section joined."""
    sections: dict[str, list[str]] = {}
    heading = ""
    for line in cleandoc(doc).splitlines():
        word, colon, rest = line.partition(":")
        if colon and word in _HEADINGS:
            heading, line = word, rest
        if heading:
            sections.setdefault(heading, []).append(line.strip())
    return {heading: " ".join(filter(None, lines)) for heading, lines in sections.items()}
