"""Prepares computations for the reference executor.

A program lists the kernels to run, the slots of their operands and results, and the slots that can
be freed.
"""

from __future__ import annotations

from hlotool.interp.arrays.literal_values import literal_value
from hlotool.interp.arrays.values import Value
from hlotool.interp.engine.batching import can_batch
from hlotool.interp.engine.binding import Binding
from hlotool.interp.engine.order import dependency_order, needed_instructions, skipped_instructions
from hlotool.interp.kernels.base import Invoke
from hlotool.interp.run_options import RunOptions
from hlotool.ir.model import Computation, Instruction
from hlotool.memo import Memo

__all__ = ["Program", "Programs", "Step", "computation_program", "instruction_program"]


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


class Programs:
    """Facts about computations for runs with the same options, which all executors share.

    Everything is prepared when it is first needed. `order` contains the instructions that a run
    computes, with operands and control predecessors before their users; each has the number of a
    stream, by which random constants differ. `bindings` contains the instructions' kernels.
    `can_batch` is true for computations that can be run for all instances of a batch at once.
    """

    def __init__(self, options: RunOptions) -> None:
        self.options = options
        self.order: Memo[Computation, list[tuple[int, Instruction]]] = Memo(self._order_of)
        self.bindings: Memo[Instruction, Binding] = Memo(lambda x: Binding(x, options))
        self.can_batch: Memo[Computation, bool] = Memo(can_batch)
        self.programs: dict[tuple[Instruction, bool], Program] = {}

    def program_for(self, request: Invoke) -> Program:
        """Returns the program for a request.

        Raises MemoryError, ValueError or HlotoolError if the constants of the computation cannot be
        read.
        """
        # The number of programs does not depend on how often they run.
        key = request.root, request.batch is not None
        program = self.programs.get(key)
        if program is None:
            program = self.programs[key] = computation_program(request.computation, request.root, self, batch=request.batch is not None)
        return program

    def _order_of(self, computation: Computation) -> list[tuple[int, Instruction]]:
        skipped = skipped_instructions(computation, self.options)
        return [(k, x) for k, x in enumerate(dependency_order(computation)) if x not in skipped]


def computation_program(computation: Computation, root: Instruction, programs: Programs, *, batch: bool = False) -> Program:
    """Returns the program that computes `root`, an instruction of the computation.

    If `root` is not the computation's own root, the program contains only instructions that `root`
    needs. If `batch` is set, the program is for a batch of scalars.

    >>> import hlotool
    >>> module = hlotool.parse("ENTRY e { x = f32[] parameter(0) c = f32[] constant(2) y = f32[] add(x, c) ROOT z = f32[] negate(y) }")
    >>> program = computation_program(module.entry, module.entry.root, Programs(RunOptions()))
    >>> [(step.instruction.name, step.operands, step.dead) for step in program.steps]
    [('y', (0, 1), (0,)), ('z', (2,), (2,))]
    """
    options = programs.options
    slots = {x: k for k, x in enumerate(computation.instructions)}
    initial: list[Value] = [None] * len(slots)
    steps = []
    needed = None if root is computation.root else needed_instructions(root)
    for k, x in programs.order[computation]:
        if needed is not None and x not in needed:
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
