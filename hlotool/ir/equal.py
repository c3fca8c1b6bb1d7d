"""Comparison of modules, without recursion.

Names, shapes, operands, attributes and order must be equal; offsets in the source may differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from hlotool.ir.model import Computation, Instruction, Module
from hlotool.literals.literal import Literal

__all__ = ["differences", "same_computation"]


def differences(first: Module, second: Module) -> Iterator[str]:
    """Yields a description of each difference between two modules.

    >>> from hlotool.text.parse.parser import parse
    >>> list(differences(parse("ENTRY e { ROOT p = f32[2] parameter(0) }"), parse("ENTRY e { ROOT p = f32[3] parameter(0) }")))
    ['e: p: shapes f32[2]{0} and f32[3]{0}']
    """
    yield from _Comparison(first, second).all()


def same_computation(first: Computation, second: Computation) -> bool:
    """Returns whether two computations have the same instructions in the same order.

    Names and metadata are ignored. Called computations are compared in the same way.

    >>> from hlotool.text.parse.parser import parse
    >>> a, b = parse("a { ROOT p = f32[] parameter(0) } b { ROOT q = f32[] parameter(0) }").computations
    >>> same_computation(a, b)
    True
    """
    pending = [(first, second)]
    seen: set[tuple[Computation, Computation]] = set()
    while pending:
        a, b = pair = pending.pop()
        if a is b or pair in seen:
            continue
        seen.add(pair)
        if len(a.instructions) != len(b.instructions):
            return False
        numbers: dict[Any, int] = {}
        for k, (x, y) in enumerate(zip(a.instructions, b.instructions, strict=True)):
            numbers[x] = numbers[y] = k
            if x.op is not y.op or x.shape != y.shape or x.immediate != y.immediate:
                return False
            if [numbers.get(z) for z in x.operands] != [numbers.get(z) for z in y.operands]:
                return False
            if len(x.called) != len(y.called) or not _same_plain_attributes(x, y, numbers):
                return False
            pending += zip(x.called, y.called, strict=True)
        if numbers[a.root] != numbers[b.root]:
            return False
    return True


def _same_plain_attributes(x: Instruction, y: Instruction, numbers: dict[Any, int]) -> bool:
    """Compares backend configurations and all attributes except called computations."""
    if x.backend_config != y.backend_config or x.attributes.keys() != y.attributes.keys():
        return False
    if [numbers.get(z) for z in x.control_predecessors] != [numbers.get(z) for z in y.control_predecessors]:
        return False
    names = x.attributes.keys() - {"control-predecessors", *x.op.calls}
    return all(x.attributes[name] == y.attributes[name] or repr(x.attributes[name]) == repr(y.attributes[name]) for name in names)


class _Comparison:
    """A comparison of two modules. Computations are identified by their number in the module."""

    def __init__(self, first: Module, second: Module) -> None:
        self.first = first
        self.second = second
        self.numbers: dict[Computation, int] = {}
        for module in (first, second):
            self.numbers.update({computation: number for number, computation in enumerate(module.computations)})
        # The ids of each pair of attribute sets found to be equal; parsed instructions share sets.
        self.equal_sets: set[tuple[int, int]] = set()

    def all(self) -> Iterator[str]:
        a, b = self.first, self.second
        if a.name != b.name:
            yield f"module names {a.name} and {b.name}"
        # Compares the decoded tables, because the row numbers in the text have no meaning.
        if a.stack_tables_text != b.stack_tables_text and a.stack_tables != b.stack_tables:
            yield "stack frames"
        yield from self._values("header", dict(a.attributes), dict(b.attributes))
        if self.numbers.get(a.entry) != self.numbers.get(b.entry):
            yield "entry computations"
        if {self.numbers[c] for c in a.hidden} != {self.numbers[c] for c in b.hidden}:
            yield "hidden computations"
        for x, y in zip_longest(a.computations, b.computations):
            if x is None or y is None:
                yield f"computation {(x or y).name} is in only one module"
            else:
                yield from self._computations(x, y)

    def _computations(self, a: Computation, b: Computation) -> Iterator[str]:
        if (a.name, a.execution_thread) != (b.name, b.execution_thread):
            yield f"{a.name}: {b.name}, threads {a.execution_thread} and {b.execution_thread}"
        if a.root.name != b.root.name:
            yield f"{a.name}: roots {a.root.name} and {b.root.name}"
        for x, y in zip_longest(a.instructions, b.instructions):
            if x is None or y is None:
                yield f"{a.name}: instruction {(x or y).name} is in only one module"
            elif not self._same(x, y):
                yield from self._instructions(f"{a.name}: {x.name}", x, y)

    def _same(self, a: Instruction, b: Instruction) -> bool:
        """Returns whether two instructions are equal, without listing the differences.

        Operands are compared by name, because names are unique in a computation.
        """
        return (
            a.name == b.name
            and a.op is b.op
            and (a.shape is b.shape or a.shape == b.shape)
            and [x.name for x in a.operands] == [y.name for y in b.operands]
            and a.metadata_text == b.metadata_text
            and a.backend_config == b.backend_config
            and a.immediate == b.immediate
            and self._same_attributes(a, b)
        )

    def _same_attributes(self, a: Instruction, b: Instruction) -> bool:
        pair = id(a.attributes), id(b.attributes)
        if pair in self.equal_sets:
            return True
        if next(self._attributes("", a, b), None) is not None:
            return False
        self.equal_sets.add(pair)
        return True

    def _instructions(self, at: str, a: Instruction, b: Instruction) -> Iterator[str]:
        if a.name != b.name or a.op.name != b.op.name:
            yield f"{at}: {a} and {b}"
        if a.shape is not b.shape and a.shape != b.shape:
            yield f"{at}: shapes {a.shape} and {b.shape}"
        if [x.name for x in a.operands] != [y.name for y in b.operands]:
            yield f"{at}: operands {list(a.operands)} and {list(b.operands)}"
        if (a.metadata_text, a.backend_config) != (b.metadata_text, b.backend_config):
            yield f"{at}: metadata or backend configuration: {a.metadata_text} {a.backend_config} and {b.metadata_text} {b.backend_config}"
        yield from self._values(f"{at}: immediate", a.immediate, b.immediate)
        yield from self._attributes(at, a, b)

    def _attributes(self, at: str, a: Instruction, b: Instruction) -> Iterator[str]:
        # Called computations and control predecessors are values of attributes.
        yield from self._values(f"{at}: attribute", a.attributes, b.attributes)

    def _values(self, at: str, first: Any, second: Any) -> Iterator[str]:
        stack = [(at, first, second)]
        while stack:
            at, a, b = stack.pop()
            if a is b:
                continue
            if type(a) is not type(b):
                yield f"{at}: {a!r} and {b!r}"
            elif isinstance(a, Computation):
                if self.numbers.get(a) != self.numbers.get(b):
                    yield f"{at}: {a!r} and {b!r}"
            elif isinstance(a, Instruction):
                if a.name != b.name:
                    yield f"{at}: {a!r} and {b!r}"
            elif isinstance(a, dict):
                if a.keys() != b.keys():
                    yield f"{at}: {sorted(a)} and {sorted(b)}"
                else:
                    stack.extend((f"{at} {key}", a[key], b[key]) for key in a)
            elif isinstance(a, tuple):
                if len(a) != len(b):
                    yield f"{at}: {a!r} and {b!r}"
                else:
                    stack.extend((at, x, y) for x, y in zip(a, b, strict=True))
            # A value that contains a NaN is not equal to itself, so the `repr` of unequal values is
            # compared, too. Literals are an exception: they compare correctly, and their `repr` is
            # abbreviated.
            elif a != b and (isinstance(a, Literal) or repr(a) != repr(b)):
                yield f"{at}: {a!r} and {b!r}"
