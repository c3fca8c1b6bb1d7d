"""Value numbering: finds instructions and computations that compute the same value.

Equal instructions can only be merged if they have no effects (`analysis.effects`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from hlotool.ir.model import AttributeSet, Computation, Instruction, Module
from hlotool.opdefs.traits import NONDETERMINISTIC

__all__ = ["ComputationClasses", "value_numbers"]

Freeze = Callable[[AttributeSet], Any]


class ComputationClasses:
    """Equivalence classes of computations that are equal except for names and metadata.

    >>> from hlotool.text.parse.parser import parse
    >>> module = parse("f { ROOT x = f32[] parameter(0) } g { ROOT y = f32[] parameter(0) } ENTRY e { ROOT p = f32[4] parameter(0) }")
    >>> classes = ComputationClasses(module)
    >>> [classes.first[computation].name for computation in module.computations]
    ['f', 'f', 'e']
    """

    def __init__(self, module: Module) -> None:
        self.first: dict[Computation, Computation] = {}
        self._frozen: dict[int, Any] = {}
        known: dict[Any, Computation] = {}
        similar = Counter(map(_outline, module.computations))
        # Callees come first, so that calls to equal computations are equal.
        for computation in module.computations:
            outline = _outline(computation)
            if similar[outline] == 1:
                # No other computation can be equal to this one, so it is not numbered. Numbering a
                # large computation takes a long time.
                self.first[computation] = computation
                continue
            numbers, keys = _numbered(computation, self.freeze, parameters_by_number=True)
            key = (outline, numbers[computation.root], tuple(numbers.values()), tuple(keys))
            self.first[computation] = known.setdefault(key, computation)

    def freeze(self, attributes: AttributeSet) -> Any:
        """Returns attributes as a hashable value.

        Each called computation is replaced with the first computation of its class.
        Control predecessors are omitted, since `value_numbers` compares them separately.
        """
        # The cache uses identities, since the module keeps its attribute sets alive.
        frozen = self._frozen.get(id(attributes))
        if frozen is None:
            items = sorted(item for item in attributes.items() if item[0] != "control-predecessors")
            frozen = self._frozen[id(attributes)] = tuple((name, self._value(value)) for name, value in items)
        return frozen

    def _value(self, value: Any) -> Any:
        if isinstance(value, Computation):
            return self.first.get(value, value)
        if isinstance(value, tuple):
            return tuple([self.first.get(part, part) for part in value])
        return tuple(value.items()) if isinstance(value, dict) else value


def _outline(computation: Computation) -> Any:
    """Returns properties that equal computations share and that are fast to compute."""
    return (computation.execution_thread, computation.root.shape, tuple([x.op for x in computation.instructions]))


def value_numbers(computation: Computation, freeze: Freeze, *, parameters_by_number: bool = False) -> dict[Instruction, int]:
    """Assigns a number to each instruction; equal instructions get equal numbers.

    Equal instructions have the same opcode, shape, attributes, configuration, literal and operands.

    >>> from hlotool.text.parse.parser import parse
    >>> module = parse("ENTRY e { p = f32[] parameter(0) a = f32[] abs(p) b = f32[] abs(p) ROOT s = f32[] add(a, b) }")
    >>> list(value_numbers(module.entry, ComputationClasses(module).freeze).values())
    [0, 1, 1, 2]
    """
    return _numbered(computation, freeze, parameters_by_number=parameters_by_number)[0]


def _numbered(computation: Computation, freeze: Freeze, *, parameters_by_number: bool) -> tuple[dict[Instruction, int], dict[Any, int]]:
    """Returns the numbers of the instructions, and the key that each number stands for."""
    numbers: dict[Instruction, int] = {}
    known: dict[Any, int] = {}
    for x in computation.instructions:
        key: Any = x
        if not _is_separate(x, parameters_by_number):
            attributes = x.attributes
            predecessors = [numbers.get(y, y) for y in x.control_predecessors] if "control-predecessors" in attributes else ()
            operands = tuple([numbers[y] for y in x.operands])
            key = (x.op, x.shape, operands, x.immediate, freeze(attributes) if attributes else (), x.backend_config, *predecessors)
        numbers[x] = known.setdefault(key, len(known))
    return numbers, known


def _is_separate(x: Instruction, parameters_by_number: bool) -> bool:
    """Returns whether an instruction counts as different from all others."""
    literal = x.literal
    if literal is not None:
        return literal.elided
    return NONDETERMINISTIC in x.op.traits or (x.op.name == "parameter" and not parameters_by_number)
