"""Explanations of rules, opcodes, rewrite rules and passes, and the list of all rules.

An explanation is Markdown, JSON, or text for a terminal. `verifier.explanations` and
`optimizer.explanations` collect the contents.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING

from hlotool.cli.output import visible
from hlotool.codes import CODE_NAMES, severity_of
from hlotool.opdefs.common import COMMON_ATTRIBUTES
from hlotool.verifier import explanations
from hlotool.verifier.explanations import OpExplanation, RuleExplanation, explain_rule, has_fix
from hlotool.verifier.markdown import default_phrase, op_markdown, operands_phrase, options_phrase, plain, rule_markdown
from hlotool.verifier.selection import Selection

if TYPE_CHECKING:
    from hlotool.optimizer.explanations import PassExplanation, RewriteExplanation

__all__ = ["explain", "list_rules", "rewrite_markdown"]

_WIDTH = 80


def explain(subject: str, output_format: str) -> str:
    """Returns the explanation of a code, a name or an opcode, as "text", "markdown" or "json".

    Raises UnknownSubjectError for any other subject.
    """
    try:
        explanation = explanations.explain(subject)
    except explanations.UnknownSubjectError:
        return _explain_rewriting(subject.strip(), output_format)
    if output_format == "json":
        return json.dumps(explanation._asdict(), indent=1) + "\n"
    if isinstance(explanation, RuleExplanation):
        return rule_markdown(explanation) if output_format == "markdown" else "\n".join(_rule_lines(explanation)) + "\n"
    return op_markdown(explanation) if output_format == "markdown" else "\n".join(_op_lines(explanation)) + "\n"


def _wrap(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def _rule_lines(rule: RuleExplanation) -> Iterator[str]:
    yield f"{rule.code} {rule.name}"
    yield f"{rule.severity}, {'reported by default' if rule.is_default else f'reported with --extend-select {rule.code}'}"
    yield f"category: {rule.family}"
    yield ""
    yield from _wrap(rule.summary)
    for heading, text in (("Checks", rule.checks), ("Why", rule.why)):
        if text:
            yield ""
            yield f"{heading}:"
            yield from _wrap(text, "  ")
    for heading, text in ((f"Bad{options_phrase(rule)}", rule.bad), ("Good", rule.good)):
        if text:
            yield ""
            yield f"{heading}:"
            yield from (f"    {visible(line)}".rstrip() for line in text.splitlines())
    if rule.fix:
        yield ""
        yield f"Fix: {rule.fix} ({'--fix' if rule.fix_is_safe else '--fix --unsafe-fixes'})"
    yield ""
    yield "Configure:"
    longest = max(len(setting) for setting, _ in rule.configure)
    for setting, effect in rule.configure:
        lines = _wrap(effect, " " * (longest + 4))
        yield f"  {setting:<{longest}}  {lines[0].strip()}"
        yield from lines[1:]


def _op_lines(op: OpExplanation) -> Iterator[str]:
    yield op.opcode
    yield ""
    yield from _wrap(op.summary)
    if op.details:
        yield ""
        yield from _wrap(op.details)
    if op.example:
        yield ""
        yield from (f"    {line}" for line in op.example.splitlines())
    yield ""
    yield f"Operands: {operands_phrase(op)}"
    if op.attributes:
        yield "Attributes:"
        longest = max(len(name) for name, _, _ in op.attributes)
        for name, values, default in op.attributes:
            lines = _wrap(f"{default_phrase(default)}; {values}", " " * (longest + 4))
            yield f"  {name:<{longest}}  {lines[0].strip()}"
            yield from lines[1:]
    yield from _wrap(f"Attributes of every instruction: {', '.join(COMMON_ATTRIBUTES)}")
    yield f"Result shape: {'inferred from operands and attributes' if op.infers else 'must be written'}"


# ---- rewrite rules and passes ------------------------------------------------------------------


def _explain_rewriting(subject: str, output_format: str) -> str:
    # Imported on use, since the optimizer imports NumPy.
    optimizer = import_module("hlotool.optimizer.explanations")
    rewrite: RewriteExplanation | None = optimizer.explain_rewrite(subject)
    if rewrite is not None:
        if output_format == "json":
            return json.dumps({**rewrite._asdict(), "exactness": rewrite.exactness}, indent=1) + "\n"
        return rewrite_markdown(rewrite) if output_format == "markdown" else "\n".join(_rewrite_lines(rewrite)) + "\n"
    known: PassExplanation | None = optimizer.explain_pass(subject)
    if known is None:
        # This lookup fails again, but with more names to suggest.
        return str(explanations.explain(subject, [*optimizer.all_rules(), *optimizer.pass_names()]))
    if output_format == "json":
        return json.dumps(known._asdict(), indent=1) + "\n"
    return _pass_markdown(known) if output_format == "markdown" else "\n".join(_pass_lines(known)) + "\n"


def _rewrite_lines(rewrite: RewriteExplanation) -> Iterator[str]:
    yield rewrite.name
    yield f"rewrite rule of hlotool opt; group {rewrite.topic}"
    yield ""
    yield from _wrap(rewrite.summary, "  ")
    for text in (rewrite.details, f"{rewrite.exactness[:1].upper()}{rewrite.exactness[1:]}."):
        if text:
            yield ""
            yield from _wrap(text)
    yield ""
    yield from _wrap(f"Opcodes: {', '.join(rewrite.opcodes)}")
    yield f"Run only the rules of its group: hlotool opt --passes {rewrite.topic}"


def _pass_lines(known: PassExplanation) -> Iterator[str]:
    yield known.name
    yield "group of rewrite rules of hlotool opt, and a pass" if known.rules else "pass of hlotool opt"
    yield ""
    yield from _wrap(known.summary)
    if known.details:
        yield ""
        yield from _wrap(known.details)
    yield ""
    if known.rules:
        yield from _wrap(f"Rules: {', '.join(known.rules)}")
    yield from _wrap(f"Run it: hlotool opt --passes {known.name}" + (f"; part of {', '.join(known.levels)}" if known.levels else ""))


def rewrite_markdown(rewrite: RewriteExplanation, note: str = "") -> str:
    """Returns a Markdown section about a rewrite rule, with a heading; `note` is appended."""
    lines = [f"## {rewrite.name}", "", *(f"`{part.strip()}`\\" for part in rewrite.summary.split("; "))]
    lines[-1] = lines[-1].removesuffix("\\")
    if rewrite.details:
        lines += ["", plain(rewrite.details)]
    exactness = "exact" if not rewrite.flags else f"needs {', '.join(f'`{name}`' for name, _ in rewrite.flags)}"
    lines += ["", f"*{exactness}*; opcodes: {', '.join(f'`{opcode}`' for opcode in rewrite.opcodes)}"]
    return "\n".join(lines) + "\n" + note


def _pass_markdown(known: PassExplanation) -> str:
    lines = [f"## {known.name}", "", plain(known.summary)]
    if known.details:
        lines += ["", plain(known.details)]
    if known.rules:
        lines += ["", f"Rules: {', '.join(f'`{name}`' for name in known.rules)}"]
    return "\n".join(lines) + "\n"


# ---- the list ----------------------------------------------------------------------------------


def list_rules(selection: Selection, as_json: bool) -> str:
    """Returns a list of all rules, with marks for those that are selected or have a fix."""
    if as_json:
        rules = [{**explain_rule(code)._asdict(), "is_selected": selection.has(code)} for code in CODE_NAMES]
        return json.dumps(rules, indent=1) + "\n"
    longest = max(map(len, CODE_NAMES.values()))
    rows = []
    for code, name in CODE_NAMES.items():
        mark, fix = "+" if selection.has(code) else "-", "  [fix]" if has_fix(code) else ""
        rows.append(f"{mark} {code} {name:<{longest}}  {severity_of(code):<7}{fix}".rstrip())
    return "\n".join(rows) + "\n+ selected, - not selected, [fix] has a fix\n"
