"""Renders explanations of rules and opcodes as Markdown for documents, editors and terminals."""

from __future__ import annotations

from hlotool.verifier.explanations import OpExplanation, RuleExplanation

__all__ = ["default_phrase", "op_markdown", "operands_phrase", "options_phrase", "plain", "rule_markdown"]


def options_phrase(rule: RuleExplanation) -> str:
    """Returns the options that a rule's bad example requires, in parentheses, or "" for none."""
    return f" (with {rule.needs})" if rule.needs else ""


def operands_phrase(op: OpExplanation) -> str:
    """Returns the names of an opcode's operands as a phrase."""
    names = ", ".join(op.operands)
    if not op.is_variadic:
        return names or "none"
    return f"{names}, and any number of others" if names else "any number"


def default_phrase(default: str | None) -> str:
    """Returns "required", "optional" or the default of an attribute."""
    return "required" if default is None else "optional" if default == "left out" else f"default {default}" if default else 'default ""'


def rule_markdown(rule: RuleExplanation, note: str = "") -> str:
    """Returns a section about a rule, with a heading; `note` is appended to the section."""
    state = "reported by default" if rule.is_default else "reported on demand"
    lines = [f"## {rule.code} {rule.name}", "", f"*{rule.severity}, {state}*", "", plain(rule.summary)]
    for heading, text in (("Checks", rule.checks), ("Why", rule.why)):
        if text:
            lines += ["", f"**{heading}:** {plain(text)}"]
    for heading, text in ((f"Bad{options_phrase(rule)}", rule.bad), ("Good", rule.good)):
        if text:
            lines += ["", f"**{heading}:**", "", "```hlo", text.rstrip("\n"), "```"]
    if rule.fix:
        lines += ["", f"**Fix:** {rule.fix} (`{'--fix' if rule.fix_is_safe else '--fix --unsafe-fixes'}`)"]
    lines += ["", "**Configure:**", "", *(f"- `{setting}`: {plain(effect)}" for setting, effect in rule.configure)]
    return "\n".join(lines) + "\n" + note


def op_markdown(op: OpExplanation) -> str:
    """Returns a section about an opcode, with a heading."""
    lines = [f"## {op.opcode}", "", plain(op.summary)]
    if op.details:
        lines += ["", plain(op.details)]
    if op.example:
        lines += ["", "```hlo", *op.example.splitlines(), "```"]
    lines += ["", f"Operands: {operands_phrase(op)}. The result shape {'is inferred' if op.infers else 'must be written'}."]
    if op.attributes:
        lines += ["", "| attribute | value | |", "|---|---|---|"]
        lines += [f"| `{name}` | {plain(values)} | {default_phrase(default)} |" for name, values, default in op.attributes]
    return "\n".join(lines) + "\n"


def plain(text: str) -> str:
    """Escapes the special characters of Markdown, except in code between backticks."""
    parts = text.split("`")
    return "`".join(part if k % 2 else "".join(f"\\{c}" if c in "\\*_[]<>|" else c for c in part) for k, part in enumerate(parts))
