"""Converts Markdown to plain text, for clients that do not show Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeVar

from lsprotocol import types

__all__ = ["make_readable", "without_markup"]

Answer = TypeVar("Answer", types.Hover | None, types.SignatureHelp | None, types.CompletionItem)
Shown = TypeVar("Shown")
_MARK = re.compile(r"`(?P<code>[^`]*)`|\*\*|\\(?P<escaped>.)|\[(?P<words>[^\]]*)\]\([^)]*\)")
_HEADING = re.compile(r"^#+ ")
_TABLE_RULE = re.compile(r"\|[|\-]+\|")


def without_markup(text: str) -> str:
    r"""Returns the text without Markdown syntax; rows of tables become lines.

    >>> print(without_markup("## add\n\n**a\\_b** is `a_b`\n\n| value | |\n|---|---|\n| `x` | y \\| z |\n```hlo\nn = `x`\n```"))
    add
    <BLANKLINE>
    a_b is a_b
    <BLANKLINE>
    value
    x  y | z
    n = `x`
    """
    return "\n".join(_lines(text))


def _lines(text: str) -> Iterator[str]:
    is_code = False
    for line in text.split("\n"):
        if line.startswith("```"):
            is_code = not is_code
        elif is_code:
            yield line
        elif not _TABLE_RULE.fullmatch(line):
            yield _row(line) if line.startswith("|") else _words(_HEADING.sub("", line, count=1))


def _row(line: str) -> str:
    # An escaped bar is a part of its cell.
    return "  ".join(_words(cell).strip() for cell in line.strip("|").split(" | ")).rstrip()


def _words(text: str) -> str:
    return _MARK.sub(lambda mark: mark["code"] or mark["escaped"] or mark["words"] or "", text)


def make_readable(answer: Answer, *, with_markdown: bool) -> Answer:
    """Returns the response in a form that the client can show."""
    if with_markdown or answer is None:
        return answer
    if isinstance(answer, types.Hover):
        answer.contents = _plain(answer.contents)
    elif isinstance(answer, types.CompletionItem):
        answer.documentation = _plain(answer.documentation)
    else:
        for signature in answer.signatures:
            signature.documentation = _plain(signature.documentation)
            for parameter in signature.parameters or ():
                parameter.documentation = _plain(parameter.documentation)
    return answer


def _plain(shown: Shown) -> Shown | types.MarkupContent:
    return types.MarkupContent(types.MarkupKind.PlainText, without_markup(shown.value)) if isinstance(shown, types.MarkupContent) else shown
