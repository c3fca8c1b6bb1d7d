"""Deep comparison of two modules that should be the same in every node; names the places where they are not.

Iterative, so that it can compare modules of any depth; knows nothing of how the modules came about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from hlotool.ir.model import AttributeSet, Computation, Instruction, Module

__all__ = ["differences"]

_BLANK = re.compile(r"(?:[ \t\r\n]++|//[^\r\n]*+|/\*(?:[^*]++|\*(?!/))*+\*/)*+")


def differences(first: Module, second: Module, *, positions: bool = True, limit: int = 20) -> list[str]:
    """What differs, at most `limit` places; empty when the modules are the same. `positions` compares offsets in the sources too."""
    found = []
    for difference in _Comparison(first, second, positions).all():
        found.append(difference)
        if len(found) == limit:
            break
    return found


class _Comparison:
    """Two modules, with the place of each part in its module, by which references are compared."""

    def __init__(self, first: Module, second: Module, positions: bool) -> None:
        self.modules = first, second
        self.positions = positions
        self.places: dict[Any, tuple[int, ...]] = {}
        for module in self.modules:
            for c, computation in enumerate(module.computations):
                self.places[computation] = (c,)
                for k, x in enumerate(computation.instructions):
                    self.places[x] = (c, k)

    def all(self) -> Iterator[str]:
        a, b = self.modules
        if a.name != b.name:
            yield f"module name: {a.name} and {b.name}"
        # Not their text: it may keep the row numbers that the author wrote, which mean nothing.
        if a.stack_tables != b.stack_tables:
            yield f"stack tables: {a.stack_tables_text!r} and {b.stack_tables_text!r}"
        yield from self._values("header", dict(a.attributes), dict(b.attributes))
        if self.places.get(a.entry) != self.places.get(b.entry):
            yield "entry"
        if {self.places[c] for c in a.hidden} != {self.places[c] for c in b.hidden}:
            yield "hidden computations"
        for x, y in zip_longest(a.computations, b.computations):
            if x is None or y is None:
                yield f"computation {x or y} is in one only"
            else:
                yield from self._computations(x, y)

    def _computations(self, a: Computation, b: Computation) -> Iterator[str]:
        at = f"computation {a.name}"
        if (a.name, a.execution_thread) != (b.name, b.execution_thread):
            yield f"{at}: {b.name}, threads {a.execution_thread} and {b.execution_thread}"
        if self.places.get(a.root) != self.places.get(b.root):
            yield f"{at}: roots {a.root} and {b.root}"
        if self.positions and not self._same_extent(a, b):
            yield f"{at}: extents {a.start}:{a.end} and {b.start}:{b.end}"
        for x, y in zip_longest(a.instructions, b.instructions):
            if x is None or y is None:
                yield f"{at}: instruction {x or y} is in one only"
            else:
                yield from self._instructions(f"{at}: {x.name}", x, y)

    def _instructions(self, at: str, a: Instruction, b: Instruction) -> Iterator[str]:
        if a.name != b.name or a.op is not b.op:
            yield f"{at}: {a} and {b}"
        if a.shape is not b.shape and (a.shape.text, a.shape.element_type) != (b.shape.text, b.shape.element_type):
            yield f"{at}: shapes {a.shape} and {b.shape}"
        if [self.places[x] for x in a.operands] != [self.places[y] for y in b.operands]:
            yield f"{at}: operands {list(a.operands)} and {list(b.operands)}"
        if [self.places[c] for c in a.called] != [self.places[c] for c in b.called]:
            yield f"{at}: called computations {a.called} and {b.called}"
        if [self.places[x] for x in a.control_predecessors] != [self.places[y] for y in b.control_predecessors]:
            yield f"{at}: control predecessors"
        if (a.metadata_text, a.backend_config) != (b.metadata_text, b.backend_config):
            yield f"{at}: metadata or backend configuration: {a.metadata_text} {a.backend_config} and {b.metadata_text} {b.backend_config}"
        if list(a.attributes) != list(b.attributes) and set(a.attributes) == set(b.attributes):
            yield f"{at}: order of attributes {list(a.attributes)} and {list(b.attributes)}"
        yield from self._values(f"{at}: attribute", a.attributes, b.attributes)
        yield from self._values(f"{at}: immediate", a.immediate, b.immediate)
        if self.positions and not self._same_extent(a, b):
            yield f"{at}: extents {a.start}:{a.end} and {b.start}:{b.end}"

    # ---- values -------------------------------------------------------------------------------------------------------

    def _values(self, at: str, first: Any, second: Any) -> Iterator[str]:
        stack = [(at, first, second)]
        while stack:
            at, a, b = stack.pop()
            if a is b:
                continue
            if type(a) is not type(b):
                yield f"{at}: {a!r} and {b!r}"
            elif isinstance(a, Computation | Instruction):
                if self.places.get(a) != self.places.get(b):
                    yield f"{at}: {a!r} and {b!r}"
            elif isinstance(a, AttributeSet | dict):
                if a.keys() != b.keys():
                    yield f"{at}: {sorted(a)} and {sorted(b)}"
                else:
                    stack.extend((f"{at} {key}", a[key], b[key]) for key in a)
            elif isinstance(a, tuple | list):
                if len(a) != len(b):
                    yield f"{at}: {a!r} and {b!r}"
                else:
                    stack.extend((at, x, y) for x, y in zip(a, b, strict=True))
            # Values that hold a NaN are not equal to themselves, but are written alike.
            elif a != b and repr(a) != repr(b):
                yield f"{at}: {a!r} and {b!r}"

    # ---- extents ------------------------------------------------------------------------------------------------------

    def _same_extent(self, a: Computation | Instruction, b: Computation | Instruction) -> bool:
        """The fused path counts the blanks and comments around an instruction to it."""
        source = self.modules[0].source
        if (a.start < 0) != (b.start < 0) or (a.end < 0) != (b.end < 0):
            return False
        if a.start < 0 or source is None or (a.start, a.end) == (b.start, b.end):
            return True
        text = source.text
        return _skip(text, a.start) == _skip(text, b.start) and _skip(text, min(a.end, b.end)) >= max(a.end, b.end)


def _skip(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at
