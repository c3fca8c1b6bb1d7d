"""Prepares computations for the reference executor.

A program lists the kernels to run, the slots of their operands and results, and the slots that can
be freed. `obstacles` finds everything that prevents a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hlotool.analysis.callgraph import reachable
from hlotool.analysis.effects import has_effect, has_own_effect
from hlotool.errors import Diagnostic, HlotoolError, Violation
from hlotool.interp.arrays.literal_values import literal_value
from hlotool.interp.arrays.values import Value
from hlotool.interp.engine.batching import can_batch
from hlotool.interp.engine.binding import OPS, Binding
from hlotool.interp.failures import broken_rule, diagnostic_at, failure
from hlotool.interp.kernels.base import Invoke
from hlotool.interp.kernels.libraries.handlers import handler_of, no_handler
from hlotool.interp.run_options import ELIDED_FILLS, RunOptions
from hlotool.ir.model import Computation, Instruction, Module
from hlotool.ir.order import sorted_by_dependencies
from hlotool.opdefs.traits import CONTROL_FLOW
from hlotool.shapes.values import SliceRange

__all__ = [
    "Program",
    "ProgramCache",
    "Step",
    "computation_program",
    "dependency_order",
    "instruction_program",
    "obstacles",
    "runnable_instructions",
    "skipped_instructions",
]


class Step(Binding):
    """A bound instruction in a program.

    `operands` lists the slots of its operands, and `target` is the slot for its value. `dead` lists
    the slots that are not read after this step. `is_used` is true if the value is read.
    """

    __slots__ = ("dead", "is_used", "operands", "target")

    dead: tuple[int, ...]
    is_used: bool

    def __init__(self, instruction: Instruction, target: int, operands: tuple[int, ...], options: RunOptions, *, batch: bool) -> None:
        super().__init__(instruction, options, batch=batch)
        self.target = target
        self.operands = operands


class Program:
    """A sequence of steps that read and write numbered slots.

    `initial` contains the constants in their slots, and None in all other slots. `parameters` lists
    the slots of the arguments, and `result` is the slot of the result.
    """

    __slots__ = ("initial", "parameters", "result", "steps")

    def __init__(self, initial: list[Value], parameters: list[int], steps: list[Step], result: int) -> None:
        self.initial = initial
        self.parameters = parameters
        self.steps = steps
        self.result = result
        self._mark_last_uses()

    def _mark_last_uses(self) -> None:
        """Sets `dead` and `is_used` for all steps.

        Constants belong to the program and stay in their slots.
        """
        read_later = {self.result}
        for step in reversed(self.steps):
            step.is_used = step.target in read_later
            last_reads = [slot for slot in dict.fromkeys(step.operands) if slot not in read_later]
            read_later.update(last_reads)
            step.dead = tuple([slot for slot in last_reads if self.initial[slot] is None])


def computation_program(computation: Computation, root: Instruction, options: RunOptions, *, batch: bool = False) -> Program:
    """Returns the program that computes `root`, an instruction of the computation.

    If `root` is not the computation's own root, the program contains only instructions that `root`
    needs. If `batch` is set, the program is for a batch of scalars.

    >>> import hlotool
    >>> module = hlotool.parse("ENTRY e { x = f32[] parameter(0) c = f32[] constant(2) y = f32[] add(x, c) ROOT z = f32[] negate(y) }")
    >>> program = computation_program(module.entry, module.entry.root, RunOptions())
    >>> [(step.instruction.name, step.operands, step.dead) for step in program.steps]
    [('y', (0, 1), (0,)), ('z', (2,), (2,))]
    """
    slots = {x: k for k, x in enumerate(computation.instructions)}
    initial: list[Value] = [None] * len(slots)
    steps = []
    needed = None if root is computation.root else _needed(root)
    unknown = skipped_instructions(computation, options)
    for k, x in enumerate(dependency_order(computation)):
        if (needed is not None and x not in needed) or x in unknown:
            continue
        if x.literal is not None:
            initial[slots[x]] = literal_value(x.literal, options, k)
        elif x.parameter_number is None:
            steps.append(Step(x, slots[x], tuple([slots[operand] for operand in x.operands]), options, batch=batch))
    return Program(initial, [slots[x] for x in computation.parameters], steps, slots[root])


def instruction_program(x: Instruction, options: RunOptions) -> Program:
    """Returns the program that computes one instruction, with its operands as parameters."""
    count = len(x.operands)
    return Program([None] * (count + 1), list(range(count)), [Step(x, count, tuple(range(count)), options, batch=False)], count)


def skipped_instructions(computation: Computation, options: RunOptions) -> set[Instruction]:
    """Returns the unneeded custom calls that hlotool cannot compute.

    A call is unneeded if it has no effect, and if neither the result of the computation nor any
    effect depends on it. Unneeded instructions that run computations with unknown custom calls are
    included, and so is everything that depends on the instructions left out.

    >>> import hlotool
    >>> module = hlotool.parse('ENTRY e { x = f32[] parameter(0) y = f32[] custom-call(x), custom_call_target="f" ROOT r = f32[] negate(x) }')
    >>> [x.name for x in skipped_instructions(module.entry, RunOptions())]
    ['y']
    """
    unknown = {x for x in computation.instructions if _is_unknown(x, options)}
    callers = [x for x in computation.instructions if CONTROL_FLOW in x.op.traits]
    if not unknown and not callers:
        return unknown
    needed: set[Instruction] = set()
    effects = (x for x in computation.instructions if has_own_effect(x) or not (x.op.is_pure or x in unknown))
    _add_needed(needed, computation.root, *effects)
    for x in callers:
        if x in needed:
            continue
        called = [y for callee in reachable(x.called) for y in callee.instructions]
        if any(has_effect(y, set()) for y in called):
            _add_needed(needed, x)
        elif any(_is_unknown(y, options) for y in called):
            unknown.add(x)
    # One pass finds everything that depends on unknown calls, since operands precede their users.
    dependent: set[Instruction] = set()
    if unknown.issubset(needed):
        return dependent
    for x in dependency_order(computation):
        if x not in needed and (x in unknown or not dependent.isdisjoint(x.operands)):
            dependent.add(x)
    return dependent


def _is_unknown(x: Instruction, options: RunOptions) -> bool:
    return x.opcode == "custom-call" and handler_of(x.attributes["custom_call_target"], options) is None


def _needed(*roots: Instruction) -> set[Instruction]:
    """Returns these instructions and all instructions that they are computed from."""
    needed: set[Instruction] = set()
    _add_needed(needed, *roots)
    return needed


def _add_needed(needed: set[Instruction], *roots: Instruction) -> None:
    """Adds instructions to a set, and all instructions that they are computed from."""
    stack = [x for x in roots if x not in needed]
    needed.update(stack)
    while stack:
        fresh = [operand for operand in stack.pop().operands if operand not in needed]
        needed.update(fresh)
        stack += fresh


class ProgramCache:
    """The programs of one run of a module, prepared when they are first needed.

    A key consists of the computation, the instruction to compute, and whether the program is for
    batches. So the number of programs does not depend on how often they run.
    """

    def __init__(self, module: Module, options: RunOptions) -> None:
        self.module = module
        self.options = options
        self.programs: dict[tuple[Computation, Instruction, bool], Program] = {}
        self._can_batch: dict[Computation, bool] = {}

    def program_for(self, request: Invoke) -> Program:
        """Returns the program for a request.

        Raises EvaluationError if the constants of the computation cannot be read.
        """
        computation, root, batch = request.computation, request.root, request.batch is not None
        program = self.programs.get((computation, root, batch))
        if program is None:
            try:
                program = self.programs[computation, root, batch] = computation_program(computation, root, self.options, batch=batch)
            except (MemoryError, ValueError, HlotoolError) as error:
                reason = "not enough memory" if isinstance(error, MemoryError) else str(error)
                message = f"the constants of '{computation.name}' cannot be read: {reason}"
                raise failure(self.module, computation.root, "R004", message) from error
        return program

    def can_batch(self, computation: Computation) -> bool:
        """Returns whether the computation can be run for all instances of a batch at once."""
        known = self._can_batch.get(computation)
        if known is None:
            known = self._can_batch[computation] = can_batch(computation)
        return known


def dependency_order(computation: Computation) -> list[Instruction]:
    """Returns the instructions, with operands and control predecessors before their users.

    This is the textual order unless an instruction refers to a later one. Raises ValueError for a
    cycle, which only modules with errors can have.
    """
    seen: set[Instruction] = set()
    for x in computation.instructions:
        if not seen.issuperset(x.operands) or not seen.issuperset(x.control_predecessors):
            return sorted_by_dependencies(computation.instructions, lambda x: (*x.operands, *x.control_predecessors))
        seen.add(x)
    return computation.instructions


# ---- checks before a run -----------------------------------------------------------------------


def runnable_instructions(options: RunOptions, *starts: Computation) -> Iterator[Instruction]:
    """Yields the instructions that a run computes, in these computations and all their callees."""
    stack = list(dict.fromkeys(starts))
    seen = set(stack)
    while stack:
        computation = stack.pop()
        unknown = skipped_instructions(computation, options)
        for x in computation.instructions:
            if x not in unknown:
                yield x
                fresh = [called for called in x.called if called not in seen]
                seen.update(fresh)
                stack += fresh


_MISSING_HINT = "the opcode is not in hlotool's table"
_ELIDED_HINT = (
    f"dump with XLA_FLAGS=--xla_dump_large_constants, or choose values with --elided {', '.join(ELIDED_FILLS[:-1])} or {ELIDED_FILLS[-1]} "
    "(in Python, RunOptions(elided_fill=...))"
)


def obstacles(module: Module, instructions: Iterable[Instruction], options: RunOptions) -> list[Diagnostic]:
    """Returns a diagnostic for each instruction that cannot be computed, in textual order.

    Examples are elided constants and instructions without a kernel.
    """
    pairs = [(x, obstacle) for x in instructions if (obstacle := _obstacle(x, options)) is not None]
    return sorted([diagnostic_at(module, x, *obstacle) for x, obstacle in pairs], key=lambda d: (d.line, d.column))


def _obstacle(x: Instruction, options: RunOptions) -> tuple[str, str, str | None] | None:
    """Returns the code, message and hint for an instruction that cannot be computed, or None."""
    if x.literal is not None:
        if x.literal.elided and options.elided_fill is None:
            return "R003", f"the values of constant '{x.name}' of shape {x.shape.text_without_layout} are left out of the text", _ELIDED_HINT
        return None
    if x.op.kernel is None:
        message = f"hlotool cannot compute '{x.opcode}' yet"
        return None if x.parameter_number is not None else ("R001", message, None if x.opcode in OPS else _MISSING_HINT)
    if _is_unknown(x, options):
        return "R001", *no_handler(x.attributes["custom_call_target"])
    leaf = next((leaf for leaf in x.shape.leaves() if leaf.element_type in ("opaque", "buffer")), None)
    if leaf is not None:
        return "R001", f"'{x.name}' holds a value of type {leaf.text_without_layout}, which hlotool cannot compute with", None
    rule = _doubtful_rule(x)
    return None if rule is None else ("R004", f"'{x.opcode}' cannot be computed: {rule.message} ({rule.code})", None)


def _doubtful_rule(x: Instruction) -> Violation | None:
    """Returns the rule that an instruction breaks, but only if NumPy might accept the instruction.

    Some numbers in attributes are valid in NumPy but not in HLO.
    """
    return broken_rule(x) if any(_is_doubtful(value, x) for value in x.attributes.values()) else None


def _is_doubtful(value: object, x: Instruction) -> bool:
    """Returns whether an attribute contains a negative number, or a slice beyond the array.

    NumPy counts negative numbers from the end of a dimension, and truncates slices beyond the
    array.
    """
    if not isinstance(value, tuple):
        return isinstance(value, int) and value < 0
    if value and isinstance(value[0], SliceRange):
        ends = zip(value, x.operands[0].shape.dimensions, strict=False)
        return any(part.start < 0 or not 0 <= part.limit <= size for part, size in ends)
    return any(isinstance(number, int) and number < 0 for number in value)
