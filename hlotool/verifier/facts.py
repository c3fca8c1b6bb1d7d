"""Facts about a module that several rules share, each computed only once and only if needed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from hlotool.analysis.callgraph import Call, callers, reachable
from hlotool.analysis.effects import computations_with_effects, has_effect
from hlotool.analysis.users import users
from hlotool.analysis.value_numbers import ComputationClasses
from hlotool.ir.async_chain import loops_by_parameter
from hlotool.ir.model import Computation, Instruction, Module
from hlotool.memo import cached_property
from hlotool.opdefs.base import OpDef
from hlotool.opdefs.modes import VerifyModes
from hlotool.opdefs.traits import CONTROL_FLOW
from hlotool.shapes.shape import ProgramShape, Shape

__all__ = ["Facts", "has_mixed_precision", "is_optimized"]


def is_optimized(module: Module, modes: VerifyModes) -> bool:
    """Returns whether a module is optimized.

    The mode `stage` decides; by default, a module counts as optimized if it is scheduled.

    >>> from hlotool.text.parse.parser import parse
    >>> module = parse("ENTRY e { ROOT p = s32[] parameter(0) }")
    >>> is_optimized(module, VerifyModes()), is_optimized(module, VerifyModes(stage="after-opt"))
    (False, True)
    """
    return module.is_scheduled if modes.stage == "auto" else modes.stage == "after-opt"


def has_mixed_precision(module: Module, modes: VerifyModes) -> bool:
    """Returns whether instructions may legally have float operands of different types.

    Compilers produce such instructions when they optimize a module or compile it for TPUs.

    >>> from hlotool.text.parse.parser import parse
    >>> module = parse("ENTRY e { ROOT p = f32[8]{0:T(128)} parameter(0) }")
    >>> has_mixed_precision(module, VerifyModes()), has_mixed_precision(module, VerifyModes(stage="before-opt"))
    (True, False)
    """
    if modes.stage == "before-opt":
        return False
    return modes.target == "tpu" or is_optimized(module, modes) or any(map(_has_tiles, _distinct_shapes(module)))


def _has_tiles(shape: Shape) -> bool:
    return any(leaf.layout is not None and leaf.layout.tiles for leaf in shape.leaves())


def _distinct_shapes(module: Module) -> list[Shape]:
    return list({id(x.shape): x.shape for computation in module.computations for x in computation.instructions}.values())


class Facts:
    """The facts about one module, under one set of modes."""

    def __init__(self, module: Module, modes: VerifyModes) -> None:
        self.module = module
        self.modes = modes
        self._program_shapes: dict[Computation, ProgramShape] = {}
        self._users: dict[Computation, dict[Instruction, list[Instruction]]] = {}

    def program_shape(self, computation: Computation) -> ProgramShape:
        """Returns the shapes of a computation's parameters and of its result."""
        shape = self._program_shapes.get(computation)
        if shape is None:
            shape = self._program_shapes[computation] = computation.program_shape
        return shape

    def users(self, computation: Computation) -> dict[Instruction, list[Instruction]]:
        """Returns the users of each used instruction in a computation."""
        result = self._users.get(computation)
        if result is None:
            result = self._users[computation] = users(computation)
        return result

    @cached_property
    def callers(self) -> dict[Computation, list[Call]]:
        """The calls to each called computation."""
        return callers(self.module)

    @cached_property
    def loops(self) -> dict[Instruction, Instruction]:
        """The while instruction of each loop body, by the body's parameter."""
        return loops_by_parameter(self.module)

    @cached_property
    def reachable(self) -> set[Computation]:
        """The entry computation and all computations that it calls, directly or indirectly."""
        return reachable([self.module.entry])

    @cached_property
    def _computations_with_effects(self) -> set[Computation]:
        return computations_with_effects(self.module)

    def has_effect(self, x: Instruction) -> bool:
        """Returns whether an instruction does more than compute its value."""
        return has_effect(x, self._computations_with_effects)

    @cached_property
    def classes(self) -> ComputationClasses:
        """The computations, grouped by equality up to names and metadata."""
        return ComputationClasses(self.module)

    @cached_property
    def bodies(self) -> set[Computation]:
        """The computations that fusions, reductions and similar instructions apply.

        They are parts of one operation, not steps of the program.
        """
        return {called for called, calls in self.callers.items() if any(CONTROL_FLOW not in x.op.traits for _, x in calls)}

    @cached_property
    def _by_op(self) -> dict[OpDef, list[Call]]:
        calls: defaultdict[OpDef, list[Call]] = defaultdict(list)
        for computation in self.module.computations:
            for x in computation.instructions:
                calls[x.op].append((computation, x))
        return calls

    @cached_property
    def _by_opcode(self) -> dict[str, list[Call]]:
        return {op.name: calls for op, calls in self._by_op.items()}

    @cached_property
    def distinct_shapes(self) -> list[Shape]:
        """The result shapes of all instructions, without repetitions."""
        return _distinct_shapes(self.module)

    def instructions_of(self, *opcodes: str) -> Sequence[Call]:
        """Returns the instructions with these opcodes, paired with their computations.

        The result is ordered by opcode, then by position in the text.
        """
        return [pair for opcode in opcodes for pair in self._by_opcode.get(opcode, ())]

    def instructions_with(self, trait: str) -> Sequence[Call]:
        """Returns the instructions with a trait and their computations, in textual order."""
        return self.instructions_where(lambda op: trait in op.traits)

    def instructions_where(self, holds: Callable[[OpDef], object]) -> Sequence[Call]:
        """Returns the instructions whose ops satisfy a predicate, with their computations.

        The result is in textual order.
        """
        ops = {op for op in self._by_op if holds(op)}
        if len(ops) < 2:
            return [call for op in ops for call in self._by_op[op]]
        return [(computation, x) for computation in self.module.computations for x in computation.instructions if x.op in ops]
