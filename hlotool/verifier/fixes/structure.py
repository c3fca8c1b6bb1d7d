"""Fixes for findings of the family S: roots, entries, signatures and annotations."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hlotool.errors import Edit
from hlotool.text.locate.instruction import first_word
from hlotool.text.source.tokens import WORD, closing
from hlotool.text.source.trivia import skip_trivia
from hlotool.verifier.fixing import FindingContext, fixer

__all__: list[str] = []

_ARRAY = re.compile(r"[a-z][a-z0-9]*+\[[^\[\]\n]*+\](?:\{[^{}\n]*+\})?+")
_OPENING = re.compile(rf"{WORD.pattern}[ \t]*+\(")


@fixer("S007")
def missing_root(finding: FindingContext) -> Iterator[Edit]:
    """Make the last instruction the root."""
    computation = finding.computation
    if computation is not None and computation.instructions and computation.instructions[-1].start >= 0:
        at = skip_trivia(finding.source.text, computation.instructions[-1].start)
        if not finding.source.text.startswith("ROOT ", at):
            yield Edit(at, at, "ROOT ")


@fixer("S009")
def no_entry(finding: FindingContext) -> Iterator[Edit]:
    """Make the last computation the entry."""
    computations = finding.module.computations
    if computations and computations[-1].start >= 0:
        at = skip_trivia(finding.source.text, computations[-1].start)
        if not finding.source.text.startswith("ENTRY", at):
            yield Edit(at, at, "ENTRY ")


@fixer("S022")
def operand_annotation(finding: FindingContext) -> Iterator[Edit]:
    """Annotate the operand with its shape."""
    text, at = finding.source.text, finding.offset
    end = _shape_end(text, at)
    name = text[slice(*first_word(text, end))].removeprefix("%")
    computation = finding.computation
    defined = next((x for x in computation.instructions if x.name == name), None) if computation is not None else None
    if defined is not None and at < end:
        yield Edit(at, end, defined.shape.text_without_layout)


@fixer("S023")
def signature_result(finding: FindingContext) -> Iterator[Edit]:
    """Write the root's shape into the signature."""
    computation, text = finding.computation, finding.source.text
    start = skip_trivia(text, finding.offset)
    end = _shape_end(text, start)
    if computation is not None and computation.root is not None and end > start:
        yield Edit(start, end, computation.root.shape.text_without_layout)


@fixer("S024")
def signature_parameters(finding: FindingContext) -> Iterator[Edit]:
    """Write the parameters into the signature."""
    computation, text = finding.computation, finding.source.text
    if computation is None or computation.start < 0:
        return
    start = skip_trivia(text, computation.start)
    opening = _OPENING.match(text, skip_trivia(text, start + len("ENTRY")) if text.startswith("ENTRY", start) else start)
    if opening is None:
        return
    end = closing(text, opening.end() - 1)
    percent = "%" if text[opening.end() : opening.end() + 1] == "%" else ""
    if end > 0 and "//" not in text[opening.end() : end] and "/*" not in text[opening.end() : end]:
        parameters = ", ".join(f"{percent}{p.name}: {p.shape.text_without_layout}" for p in computation.parameters)
        yield Edit(opening.end(), end - 1, parameters)


def _shape_end(text: str, start: int) -> int:
    """Returns the offset after the shape at `start`, or `start` if there is no shape."""
    if text.startswith("(", start):
        return max(start, closing(text, start))
    array = _ARRAY.match(text, start)
    return array.end() if array is not None else start
