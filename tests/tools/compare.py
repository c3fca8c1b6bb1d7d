"""Compares two modules that should be equal in every node, including source positions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice

from hlotool.ir.equal import differences as different
from hlotool.ir.model import Computation, Instruction, Module
from hlotool.text.source.trivia import skip_trivia

__all__ = ["differences"]


def differences(first: Module, second: Module, *, positions: bool = True, limit: int = 20) -> list[str]:
    """Describes at most `limit` differences; returns an empty list if the modules are equal.

    With `positions`, also compares offsets in the sources.
    """
    found = chain(different(first, second), _orders(first, second), _extents(first, second) if positions else ())
    return list(islice(found, limit))


def _orders(first: Module, second: Module) -> Iterator[str]:
    """Compares the order of attributes, which follows the source text.

    Only the two paths of the parser have to agree on it.
    """
    for a, b in zip(first.all_instructions(), second.all_instructions(), strict=False):
        if list(a.attributes) != list(b.attributes) and set(a.attributes) == set(b.attributes):
            yield f"{a.name}: order of attributes {list(a.attributes)} and {list(b.attributes)}"


def _extents(first: Module, second: Module) -> Iterator[str]:
    source = first.source
    text = source.text if source is not None else ""
    for a, b in zip(first.computations, second.computations, strict=False):
        if not _same_extent(text, a, b):
            yield f"computation {a.name}: extents {a.start}:{a.end} and {b.start}:{b.end}"
        for x, y in zip(a.instructions, b.instructions, strict=False):
            if not _same_extent(text, x, y):
                yield f"{a.name}: {x.name}: extents {x.start}:{x.end} and {y.start}:{y.end}"


def _same_extent(text: str, a: Computation | Instruction, b: Computation | Instruction) -> bool:
    """Compares offsets, ignoring trivia.

    The fast path counts the whitespace and comments around an instruction as part of it.
    """
    if (a.start < 0) != (b.start < 0) or (a.end < 0) != (b.end < 0):
        return False
    if a.start < 0 or (a.start, a.end) == (b.start, b.end):
        return True
    return skip_trivia(text, a.start) == skip_trivia(text, b.start) and skip_trivia(text, min(a.end, b.end)) >= max(a.end, b.end)
