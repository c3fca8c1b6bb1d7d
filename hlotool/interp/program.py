"""Computations prepared for the evaluator: which kernel runs when, on which slots, and what can be forgotten afterwards.

Runs nothing; finds before a run what cannot be run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from hlotool.analysis.collectives import group_mode
from hlotool.errors import Diagnostic
from hlotool.interp.custom_calls import handler_of
from hlotool.interp.dtypes import NUMPY_TYPES
from hlotool.interp.failures import diagnostic_at
from hlotool.interp.kernels.base import FACTS, LATE_FACTS, Kernel, default_of
from hlotool.interp.kernels.table import OPS
from hlotool.interp.literal import literal_value
from hlotool.interp.options import ELIDED_MODES, RunOptions
from hlotool.interp.values import Value
from hlotool.ir.model import Computation, Instruction, Module
from hlotool.opdefs.traits import NONDETERMINISTIC
from hlotool.shapes.shape import Shape

__all__ = ["Program", "Step", "in_order", "is_worth_keeping", "obstacles", "works_on_lanes"]


class Step:
    """One instruction: the slots `dead` are emptied, and `function(*operands, **keywords)` goes to slot `target` if anybody reads it.

    `late` names the facts that the function wants to know and that differ from call to call. `is_constant` says that every run of the
    computation gives the same value.
    Results must be of NumPy type `dtype` and have `dimensions`; None where nobody can say, as for tuples and dynamic shapes.
    """

    __slots__ = (
        "dead", "dimensions", "dtype", "function", "instruction", "is_constant", "is_used", "keywords", "late", "operands", "suspends", "target",
    )  # fmt: skip

    def __init__(self, instruction: Instruction, target: int, operands: tuple[int, ...], options: RunOptions, *, on_lanes: bool) -> None:
        kernel: Kernel = instruction.op.kernel
        self.instruction = instruction
        self.target = target
        self.operands = operands
        self.dead: tuple[int, ...] = ()
        self.is_used = True
        self.is_constant = False
        self.function: Callable[..., Any] = kernel.function
        self.suspends = kernel.suspends
        wanted = kernel.wanted
        if on_lanes:
            assert kernel.lanes is not None, "computations that do not work on lanes are run one by one"
            self.function, self.suspends, wanted = kernel.lanes, kernel.lanes_suspend, kernel.lanes_wanted
        self.late = tuple(name for name in wanted if name in LATE_FACTS)
        self.keywords = {name: _keyword(instruction, name, options) for name in wanted if name not in LATE_FACTS}
        shape = instruction.shape
        self.dtype: np.dtype[Any] | None = NUMPY_TYPES.get(shape.element_type)
        self.dimensions = shape.dimensions if self.dtype is not None and not on_lanes and not shape.dynamic else None


_FACTS: dict[str, Callable[[Instruction, RunOptions], Any]] = {
    "result": lambda x, options: x.shape,
    "operand_shapes": lambda x, options: tuple(operand.shape for operand in x.operands),
    "options": lambda x, options: options,
    "site": lambda x, options: x,
    "group_mode": lambda x, options: group_mode(x),
    "frontend_attributes": lambda x, options: x.attributes.get("frontend_attributes", {}),
    "backend_config": lambda x, options: x.backend_config,
}
"""What the facts are that an instruction tells about itself."""


def _keyword(x: Instruction, name: str, options: RunOptions) -> Any:
    if name in FACTS:
        return _FACTS[name](x, options)
    return x.attributes[name] if name in x.attributes else default_of(x.opcode, name)


class Program:
    """A computation as a list of steps over numbered slots, for one run or, `on_lanes`, for many runs of scalars at once."""

    __slots__ = ("initial", "is_settled", "parameters", "result", "runs", "steps")

    def __init__(self, computation: Computation, options: RunOptions, *, on_lanes: bool) -> None:
        instructions = computation.instructions
        slots = {x: k for k, x in enumerate(instructions)}
        self.initial: list[Value] = [None] * len(instructions)
        self.parameters = [slots[x] for x in computation.parameters]
        self.result = slots[computation.root]
        self.steps: list[Step] = []
        self.runs = 0
        self.is_settled = False
        for slot, x in enumerate(in_order(computation)):
            if x.literal is not None:
                self.initial[slots[x]] = literal_value(x.literal, options, slot)
            elif x.parameter_number is None:
                self.steps.append(Step(x, slots[x], tuple([slots[operand] for operand in x.operands]), options, on_lanes=on_lanes))
        self._mark_constants()
        self._forget_early()

    def _mark_constants(self) -> None:
        """Finds the steps that depend on nothing but constants."""
        known = {slot for slot, value in enumerate(self.initial) if value is not None}
        for step in self.steps:
            if known.issuperset(step.operands) and not step.late and _is_repeatable(step.instruction):
                step.is_constant = True
                known.add(step.target)

    def settle(self, found: dict[int, Value]) -> None:
        """Takes values of constant steps for good, when the computation is one that runs often; such steps are done with."""
        self.is_settled = True
        for slot, value in found.items():
            self.initial[slot] = value
        needed, steps = {self.result}, []
        for step in reversed(self.steps):
            if step.is_constant and (step.target not in needed or self.initial[step.target] is not None):
                continue
            needed.update(step.operands)
            steps.append(step)
        self.steps = steps[::-1]
        self._forget_early()

    def _forget_early(self) -> None:
        """Notes for each step which values nobody reads after it; constants, which belong to the program, cost nothing to keep."""
        last = {self.result: -1}
        for step in reversed(self.steps):
            step.is_used = step.target in last
            dead = [slot for slot in dict.fromkeys(step.operands) if slot not in last]
            last.update(dict.fromkeys(dead, 0))
            step.dead = tuple([slot for slot in dead if self.initial[slot] is None])


_SMALL = 1 << 16
"""Bytes of constant values that are kept from one run to the next."""


def is_worth_keeping(value: Value) -> bool:
    """Whether a constant value is small; what is large may be computed again, or is of no use beside what was computed from it.

    >>> is_worth_keeping(np.zeros(9)), is_worth_keeping(np.zeros(9_000_000)), is_worth_keeping(np.broadcast_to(np.zeros(()), 9_000_000))
    (True, False, True)
    """
    return isinstance(value, np.ndarray) and (value.nbytes <= _SMALL or not any(value.strides))


def _is_repeatable(x: Instruction) -> bool:
    """Whether the same operands always give the same value: nothing that is done knows of a device, of chance or of a user's function."""
    seen = set(x.called)
    stack = [x]
    while stack:
        y = stack.pop()
        kernel: Kernel | None = y.op.kernel
        if NONDETERMINISTIC in y.op.traits or (kernel is not None and not _CHANGING_FACTS.isdisjoint(kernel.wanted)):
            return False
        fresh = [called for called in y.called if called not in seen or y is x]
        seen.update(fresh)
        stack += [z for called in fresh for z in called.instructions]
    return True


_CHANGING_FACTS = frozenset({"device", "options"})


def in_order(computation: Computation) -> list[Instruction]:
    """The instructions with operands before users: the text's own order, unless it refers forward."""
    seen: set[Instruction] = set()
    for x in computation.instructions:
        if not all(operand in seen for operand in x.operands):
            return _sorted(computation)
        seen.add(x)
    return computation.instructions


def _sorted(computation: Computation) -> list[Instruction]:
    done: dict[Instruction, None] = {}
    for start in computation.instructions:
        stack = [start]
        while stack:
            missing = [operand for operand in stack[-1].operands if operand not in done]
            if missing:
                stack += missing
            else:
                done.setdefault(stack.pop())
    return list(done)


# ---- what can be told before a run ------------------------------------------------------------------------------------


def works_on_lanes(computation: Computation) -> bool:
    """Whether every instruction is one of scalars that can be computed for many lanes at once."""
    return all(_scalar(x.shape) and (x.op.kernel is None or x.op.kernel.lanes is not None) for x in computation.instructions)


def _scalar(shape: Shape) -> bool:
    return all(leaf.is_array and not leaf.dimensions for leaf in shape.leaves())


def reachable(module: Module) -> Iterator[Computation]:
    """The entry computation and all that it calls, each once."""
    seen, stack = {module.entry}, [module.entry]
    while stack:
        computation = stack.pop()
        yield computation
        for x in computation.instructions:
            fresh = [called for called in x.called if called not in seen]
            seen.update(fresh)
            stack += fresh


_MISSING_HINT = "the opcode is not in hlotool's table"
_TARGET_HINT = "say which function computes it: --custom-call target=module:function, or RunOptions(custom_calls={target: function})"
_ELIDED_HINT = f"print the module with its large constants, or run it with elided set to one of {', '.join(ELIDED_MODES)}"


def obstacles(module: Module, options: RunOptions) -> list[Diagnostic]:
    """Everything that stands in the way of running the module, in textual order: opcodes without a kernel, elided constants."""
    found = []
    for computation in reachable(module):
        for x in computation.instructions:
            if x.literal is not None:
                if x.literal.elided and options.elided is None:
                    message = f"the values of constant '{x.name}' of shape {x.shape.text_without_layout} are left out of the text"
                    found.append(diagnostic_at(module, x, "R003", message, _ELIDED_HINT))
            elif x.op.kernel is None and x.parameter_number is None:
                message = f"hlotool cannot compute '{x.opcode}' yet"
                found.append(diagnostic_at(module, x, "R001", message, None if x.opcode in OPS else _MISSING_HINT))
            elif x.opcode == "custom-call" and handler_of(target := x.attributes["custom_call_target"], options) is None:
                message = f"hlotool does not know what the custom-call target '{target}' computes"
                found.append(diagnostic_at(module, x, "R001", message, _TARGET_HINT))
            elif bad := next((leaf for leaf in x.shape.leaves() if leaf.element_type in ("opaque", "buffer")), None):
                message = f"'{x.name}' holds a value of type {bad.text_without_layout}, which cannot be computed with"
                found.append(diagnostic_at(module, x, "R001", message))
    return sorted(found, key=lambda d: (d.line, d.column))
