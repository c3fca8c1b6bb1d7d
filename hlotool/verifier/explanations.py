"""Explanations of rules and opcodes, gathered from the code.

The sources are the table of codes, the docstrings of rules, the op definitions and the folder
`examples`. `cli.explain` renders explanations for terminals, and `verifier.markdown` renders them
for documentation and editors.

A file `examples/CODE.hlo` begins with a comment that gives the reason for the rule, followed by an
empty line. Next is a module that breaks the rule; a comment with the code marks the position of the
finding. A module that follows the rule comes last, after the separator `// -----`. The first
comment may also contain these lines:

- `// modes: NAME=VALUE ...`: the modes in which the rule applies;
- `// file: NAME`: the name of the file, if it matters;
- `// legacy:`: the bad module must be read with `--legacy`;
- `// run: OPTIONS`: only `hlotool run` finds the problem, with these options.

Three rules are about modules that cannot be written as text; their files give a reason but no
example.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from inspect import cleandoc
from pathlib import Path
from typing import Any, NamedTuple

from hlotool.codes import CODE_NAMES, FAMILIES, is_default, severity_of, summary_of
from hlotool.errors import HlotoolError, ParseError
from hlotool.opdefs.base import REQUIRED, OpDef
from hlotool.opdefs.codecs.enums import ENUMS
from hlotool.opdefs.kinds import DESCRIPTIONS
from hlotool.opdefs.modes import VerifyModes
from hlotool.opdefs.table import OPS
from hlotool.option_fields import options_of
from hlotool.text.parse.parser import parse_all
from hlotool.verifier.fixing import fix_rules, rewrite_fixes
from hlotool.verifier.registry import MODULE_RULES, SHAPE_RULES
from hlotool.verifier.selection import nearest_rule
from hlotool.verifier.suppressions import unused_suppression

__all__ = [
    "Example",
    "OpExplanation",
    "RuleExplanation",
    "UnknownSubjectError",
    "describe_kind",
    "example_of",
    "explain",
    "explain_op",
    "explain_rule",
    "has_fix",
    "page_of",
]

_EXAMPLES = Path(__file__).parent / "examples"
_SEPARATOR = "// -----\n"
_OPERATIONS = "https://openxla.org/xla/operation_semantics"
_DUMPS = "https://openxla.org/xla/hlo_dumps"
# XLA's documentation on the subject of each family of rules.
_PAGES = {
    "S": _DUMPS,
    "T": _OPERATIONS,
    "L": "https://openxla.org/xla/shapes",
    "C": _OPERATIONS,
    "A": "https://openxla.org/xla/async_ops",
    "P": _OPERATIONS,
    "M": "https://openxla.org/xla/aliasing",
    "R": _DUMPS,
    "W": _OPERATIONS,
}
_DIRECTIVE = re.compile(r"(modes|file|legacy|run):(.*)")


class UnknownSubjectError(HlotoolError):
    """Raised if the subject to explain is neither a rule nor an opcode."""

    exit_code = 2


class RuleExplanation(NamedTuple):
    """The explanation of a rule.

    `checks` is the text under *Checks* in the rule's docstring, or None if there is none. `bad` is
    the text of a module that breaks the rule, and `good` is the text of a module that follows it.
    `needs` contains the options with which `hlotool verify` (`hlotool run` for codes of the family
    R) reports the bad module. `configure` lists pairs of a setting and its effect.
    """

    code: str
    name: str
    severity: str
    is_default: bool
    family: str
    summary: str
    fix: str | None
    fix_is_safe: bool
    checks: str | None
    why: str
    bad: str
    good: str
    needs: str
    configure: tuple[tuple[str, str], ...]


class OpExplanation(NamedTuple):
    """The explanation of an opcode.

    `attributes` lists triples: the name of an attribute, a description of its values, and its
    default. The default is None if the attribute is required.
    """

    opcode: str
    summary: str
    details: str
    example: str
    operands: tuple[str, ...]
    is_variadic: bool
    attributes: tuple[tuple[str, str, str | None], ...]
    infers: bool


def explain(subject: str, others: Iterable[str] = ()) -> RuleExplanation | OpExplanation:
    """Returns the explanation of a code, a rule's name or an opcode.

    Raises UnknownSubjectError for other words; the error suggests a similar name. `others` lists
    the names of passes and rewrites for callers that can explain those, too.

    >>> explain("result-shape").code, explain("transpose").operands
    ('T003', ('operand',))
    """
    word = subject.strip()
    code = word.upper() if word.upper() in CODE_NAMES else next((code for code, name in CODE_NAMES.items() if name == word), None)
    # A few rules have the same names as opcodes; such a rule can only be selected by its code.
    if word in OPS:
        return explain_op(OPS[word])
    if code is not None:
        return explain_rule(code)
    rewrites = list(others)
    meant, kinds = nearest_rule(word, *OPS, *rewrites), "rule, opcode, pass or rewrite" if rewrites else "rule or opcode"
    raise UnknownSubjectError(f"there is no {kinds} '{word}'" + (f"; did you mean '{meant}'?" if meant else ""))


def explain_rule(code: str) -> RuleExplanation:
    """Returns the explanation of one code."""
    title, is_safe = _fix_of(code) or (None, False)
    example = example_of(code)
    return RuleExplanation(
        code,
        CODE_NAMES[code],
        severity_of(code),
        is_default(code),
        FAMILIES[code[0]][0],
        summary_of(code),
        title,
        is_safe,
        _checks_of(_docs().get(code, "")),
        example.why,
        example.bad,
        example.good,
        example.needs,
        tuple(_configuration(code)),
    )


def page_of(code: str) -> str:
    """Returns the URL of XLA's documentation on the subject of a rule.

    >>> page_of("A001")
    'https://openxla.org/xla/async_ops'
    """
    return _PAGES[code[0]]


def has_fix(code: str) -> bool:
    """Returns whether findings of this code have a fix."""
    return _fix_of(code) is not None


def _fix_of(code: str) -> tuple[str, bool] | None:
    """Returns the title of a code's fix and whether the fix is safe, or None."""
    rule, rewrite = fix_rules().get(code), rewrite_fixes().get(code)
    if rule is not None:
        return rule.title, rule.is_safe
    if rewrite is not None:
        return rewrite.title, True
    # The diagnostic itself contains this fix.
    return ("Remove the suppression", True) if code == "W050" else None


class Example(NamedTuple):
    """The contents of a file in `examples`; the modes and the `run` options are as written."""

    why: str
    bad: str
    good: str
    modes: tuple[tuple[str, str], ...]
    file: str
    is_legacy: bool
    run: str

    @property
    def needs(self) -> str:
        """The options that are required to report the bad module."""
        legacy = ["--legacy"] if self.is_legacy else []
        return self.run or " ".join(legacy + [f"--{name.replace('_', '-')}{_value_after(name, value)}" for name, value in self.modes])


def _value_after(name: str, value: str) -> str:
    return "" if not value and options_of(VerifyModes)[name].kind == "flag" else f" {value or 'true'}"


@lru_cache(maxsize=64)
def example_of(code: str) -> Example:
    """Returns the example for a code.

    >>> example_of("L012").why, example_of("L012").needs
    ('After layout assignment, the compiler emits no code for a reshape.', '--layout-sensitive true --reshape-is-bitcast')
    """
    header, _, texts = (_EXAMPLES / f"{code}.hlo").read_text(encoding="utf-8").partition("\n\n")
    bad, _, good = texts.partition(_SEPARATOR)
    lines = [line.removeprefix("//").strip() for line in header.splitlines()]
    directives = {match[1]: match[2].strip() for line in lines if (match := _DIRECTIVE.fullmatch(line))}
    why = " ".join(line for line in lines if not _DIRECTIVE.fullmatch(line))
    modes = tuple((name, value) for name, _, value in (word.partition("=") for word in directives.get("modes", "").split()))
    return Example(why, bad, good, modes, directives.get("file", "module.hlo"), "legacy" in directives, directives.get("run", ""))


def _is_parse_error(code: str) -> bool:
    """Returns whether the parser reports this code; parser errors cannot be turned off."""
    try:
        parse_all(example_of(code).bad, legacy=example_of(code).is_legacy)
    except ParseError as error:
        return any(d.code == code for d in error.diagnostics)
    return False


def _configuration(code: str) -> Iterator[tuple[str, str]]:
    """Yields the settings that affect a rule, with their effects."""
    severity = severity_of(code)
    if code[0] == "R":
        yield "hlotool run", "reports the problem; options of this command set limits and enable checks"
        return
    if _is_parse_error(code):
        yield "always reported", "text with this error cannot be parsed"
        return
    if is_default(code):
        yield f"--ignore {code}", f'or `ignore = ["{code}"]` in [lint]: do not report it'
    else:
        yield f"--extend-select {code}", f'or `extend-select = ["{code}"]` in [lint]: report it'
    yield f"// hlotool: ignore[{code}]", "in a comment: do not report it for this instruction"
    other = "warning" if severity == "error" else "error"
    yield f'{code} = "{other}"', f"in [lint.severity]: report it as {'a warning' if other == 'warning' else 'an error'}"
    for name, option in options_of(VerifyModes).items():
        if code in (*option.enables, *option.disables, *option.concerns):
            yield f"--{name.replace('_', '-')}", option.description[:1].lower() + option.description[1:].rstrip(".")


def explain_op(op: OpDef) -> OpExplanation:
    """Returns the explanation of one opcode."""
    *texts, example = cleandoc(op.doc).split("\n\n")
    summary, details = (" ".join(text.split()) for text in (texts[0], " ".join(texts[1:])))
    attributes = tuple(
        (spec.name, describe_kind(spec.kind), None if spec.default is REQUIRED else _default_text(spec.default)) for spec in op.attributes.values()
    )
    return OpExplanation(op.name, summary, details, cleandoc("\n" + example), op.operands, op.variadic, attributes, op.infers)


def describe_kind(kind: str) -> str:
    """Returns a description of the values of a kind.

    >>> describe_kind("Dims"), describe_kind("FftType")
    ('list of integers: {0,1}', 'FFT, IFFT, RFFT or IRFFT')
    """
    if kind in DESCRIPTIONS:
        return DESCRIPTIONS[kind]
    *words, last = ENUMS[kind].words
    return f"{', '.join(words)} or {last}"


def _default_text(default: Any) -> str:
    return "left out" if default is None or default == () else str(default).lower() if isinstance(default, bool) else str(default)


@lru_cache(maxsize=1)
def _docs() -> dict[str, str]:
    """Returns the docstrings of rules, by code."""
    docs = {"W050": unused_suppression.__doc__ or ""}
    for codes, check in _checks():
        for code in codes:
            docs[code] = check.__doc__ or ""
    return docs


def _checks() -> Iterator[tuple[tuple[str, ...], Callable[..., Any]]]:
    yield from ((rule.codes, rule.check) for rule in SHAPE_RULES)
    yield from ((rule.codes, rule.check) for rule in MODULE_RULES)


def _checks_of(doc: str) -> str | None:
    """Returns the text under the heading `Checks` of a rule's docstring, or None."""
    _, heading, text = cleandoc(doc).partition("\nChecks:")
    return " ".join(text.split()) if heading else None
