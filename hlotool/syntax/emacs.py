"""Generates the Emacs major mode: a template with a lexer, and the lexer's table of states."""

from __future__ import annotations

import re
from importlib.resources import files

from hlotool.shapes.strings import TRIVIA
from hlotool.syntax.contexts import Rule, contexts
from hlotool.syntax.filetypes import FILE_NAMES, FIRST_LINE
from hlotool.syntax.kinds import KINDS
from hlotool.syntax.lexer_states import LexerState, lexer_states
from hlotool.syntax.regexes import EMACS, Class, Delimited, Group, Node, delimited_parts, parse

__all__ = ["emacs_mode"]

_TEMPLATE = "hlo-mode.el.template"
_TRIVIA = parse(TRIVIA)[0][0]
_CONDITIONS = {"?=": "yes", "?!": "not"}


def emacs_mode() -> str:
    """Returns the text of `hlo-mode.el`."""
    template = (files("hlotool.syntax") / _TEMPLATE).read_text(encoding="utf-8")
    body = next(number for number, lexer_state in enumerate(lexer_states()) if lexer_state.context == "body" and lexer_state.kind == "punctuation")
    values = {
        "faces": "\n".join(_face(name, kind.summary, kind.emacs) for name, kind in KINDS.items()),
        "lexer_states": "\n   ".join(["[", *map(_state_definition, lexer_states())]) + "]",
        "body": str(body),
        "names": _quote("\\(?:" + "\\|".join(map(_name, FILE_NAMES)) + "\\)\\'"),
        "first_line": _quote(EMACS.of(FIRST_LINE)),
    }
    return re.sub(r"\{(\w+)\}", lambda match: values.get(match[1], match[0]), template)


def _face(name: str, summary: str, inherited: str) -> str:
    face = "((t))" if inherited == "default" else f"((t :inherit font-lock-{inherited}-face))"
    return f"(defface hlo-{name}-face '{face} {_quote(f'Face of {summary}.')})"


def _name(pattern: str) -> str:
    """Converts a file name pattern to a regular expression."""
    return ".*".join(re.escape(piece) for piece in pattern.split("*")).removeprefix(".*")


def _quote(text: str) -> str:
    escaped = text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n").replace("\t", r"\t").replace("\r", r"\r")
    return f'"{escaped}"'


def _state_definition(lexer_state: LexerState) -> str:
    rules = "\n     ".join(map(_rule, contexts()[lexer_state.context].rules))
    close = f"({_alternatives(lexer_state.close)}) {lexer_state.kind}" if lexer_state.close else "nil nil"
    return f"[({rules})\n    {close} {contexts()[lexer_state.context].default or 'nil'}]"


def _rule(rule: Rule) -> str:
    if len(rule.kinds) == 1:
        parts = f"({rule.kinds[0]} {_alternatives(rule.pattern)})"
    else:
        (sequence,) = parse(rule.pattern)
        parts = " ".join(f"({kind} {_write(node)})" for node, kind in zip(sequence, rule.kinds, strict=True))
    numbers = list(lexer_states())
    inside = numbers.index(LexerState(rule.inside, rule.close, rule.kinds[-1])) if rule.inside else "nil"
    following = numbers.index(LexerState(rule.then, is_once=True)) if rule.then else "nil"
    return f"[({parts}) {inside} {following}]"


def _alternatives(pattern: str) -> str:
    """Returns the alternatives of a pattern, each a list of steps."""
    parts = delimited_parts(pattern)
    if not parts:
        return " ".join(map(_steps, parse(pattern)))
    return " ".join(map(_write_delimited, parts))


def _write_delimited(part: Delimited) -> str:
    opening, content, close = map(EMACS.write, part)
    if not close:
        rest = rf"\(?:{content}\)*"
        return f"({_quote(opening)} {_quote(rest)})"
    return f"({_quote(opening)} (until {_quote(close)} {_quote(content)}))"


def _write(node: Node) -> str:
    return " ".join(map(_steps, node.alternatives)) if isinstance(node, Group) else _steps((node,))


def _excluded_character(node: Node) -> str | None:
    """Returns the complement of a set if the node requires that no character of the set follows."""
    if isinstance(node, Group) and node.opening == "?!" and len(node.alternatives) == 1 and len(node.alternatives[0]) == 1:
        (inner,) = node.alternatives[0]
        if isinstance(inner, Class) and not inner.negated:
            return EMACS.write(((inner._replace(negated=True),),))
    return None


def _steps(sequence: tuple[Node, ...]) -> str:
    """Returns regular expressions and the conditions between them.

    Emacs's regular expressions cannot express these conditions.
    """
    steps: list[str] = []
    matched: list[Node] = []

    def flush() -> None:
        if matched:
            steps.append(_quote(EMACS.write((tuple(matched),))))
            matched.clear()

    # A group around the whole sequence has no effect.
    while len(sequence) == 1 and isinstance(sequence[0], Group) and sequence[0].opening == "?:" and len(sequence[0].alternatives) == 1:
        sequence = sequence[0].alternatives[0]
    for node in sequence:
        if node == _TRIVIA:
            flush()
            steps.append("trivia")
        elif matched and (excluded := _excluded_character(node)) is not None:
            # Use a single regular expression, because there is no backtracking between steps: `s1`
            # must not match the first half of `s16`.
            expression = rf"\({EMACS.write((tuple(matched),))}\)\(?:{excluded}\|\'\)"
            steps.append(f"(before {_quote(expression)})")
            matched.clear()
        elif isinstance(node, Group) and node.opening in _CONDITIONS:
            flush()
            steps.append(f"({_CONDITIONS[node.opening]} {_write(node)})")
        else:
            matched.append(node)
    flush()
    return f"({' '.join(steps)})"
