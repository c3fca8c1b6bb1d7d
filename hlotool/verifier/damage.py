"""Finds the parts of a module that are affected by errors in its text; the rest can be verified."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from hlotool.errors import Diagnostic, Source
from hlotool.ir.model import Instruction, Module

__all__ = ["Damage"]


class Damage:
    """The parts of a module that errors in its text may have changed.

    The parser leaves out instructions with syntax errors, instructions that use those, and calls to
    computations from which it left out an instruction. `in_header` is True if the attributes of the
    module may be incomplete.

    >>> from hlotool.text.parse.parser import parse
    >>> module = parse("ENTRY e {\\n  p = f32[2] parameter(0)\\n  ROOT n = f32[2] negate(p), dimension={0}\\n}", strict=False)
    >>> damage = Damage(module, module.diagnostics)
    >>> [damage.affects(x) for x in module.entry.instructions]
    [False, True]
    """

    def __init__(self, module: Module, errors: Iterable[Diagnostic]) -> None:
        source = module.source or Source("")
        self._text = source.text
        self._offsets = sorted(source.offset(d.line, d.column) for d in errors)
        first = min((computation.start for computation in module.computations if computation.start >= 0), default=len(source.text))
        self.in_header = bool(self._offsets) and self._offsets[0] < first

    def affects(self, x: Instruction) -> bool:
        """Returns whether an error is in the instruction, or after it on the same line.

        Text that follows an instruction on its line may be intended as a part of the instruction.
        """
        line_end = self._text.find("\n", max(x.start, x.end - 1)) if x.start >= 0 else -1
        k = bisect_left(self._offsets, x.start)
        return x.start >= 0 and k < len(self._offsets) and (line_end < 0 or self._offsets[k] <= line_end)
