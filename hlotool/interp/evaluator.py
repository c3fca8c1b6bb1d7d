"""The reference evaluator: one kernel call for each instruction, values forgotten after their last use.

Knows no opcode. Computations that call others are generators on a stack of our own, so nesting is limited by memory only.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Generator, Sequence
from copy import copy
from typing import Any

import numpy as np

from hlotool.errors import EvaluationError, HlotoolError, Violation
from hlotool.interp.devices import Device, DeviceGrid, Wait
from hlotool.interp.dtypes import NUMPY_TYPES
from hlotool.interp.failures import failure
from hlotool.interp.kernels.base import Invoke, Run
from hlotool.interp.lockstep import in_lockstep
from hlotool.interp.memory import too_much_memory
from hlotool.interp.observers import Observer, Observers
from hlotool.interp.options import RunOptions
from hlotool.interp.program import Program, Step, is_worth_keeping, obstacles, works_on_lanes
from hlotool.interp.queues import HostQueues
from hlotool.interp.values import Value, checked_argument, leaves, owned, owns_memory, with_leaves
from hlotool.ir.model import Computation, Module
from hlotool.shapes.shape import Shape

__all__ = ["Evaluator", "evaluate", "evaluate_replicas"]

EXECUTORS = ("auto", "reference")
_DEFAULTS = RunOptions()


def evaluate(
    module: Module, arguments: Sequence[Any], *, executor: str = "auto", options: RunOptions = _DEFAULTS, observers: Sequence[Observer] = ()
) -> Value:
    """The value of the module's entry computation for these arguments, one for each parameter, or one for each leaf of tuple parameters.

    Arguments are anything that NumPy makes arrays of, and nested tuples of such; floats are converted to the parameter's float type
    and integers to its integer type. The result's arrays have the exact element type (bf16 and its kin as ml_dtypes types) and belong
    to the caller; tuples are tuples. Raises EvaluationError, and nothing else, whatever the module and the arguments are. `executor`
    is "reference", or "auto" for the fastest there is; `observers` are told of every instruction.

    >>> import hlotool
    >>> module = hlotool.parse("ENTRY e { x = f32[2] parameter(0) ROOT r = f32[2] negate(x) }")
    >>> evaluate(module, [[1.0, 2.0]])
    array([-1., -2.], dtype=float32)
    """
    return _evaluate(module, [arguments], 1, executor, options, observers)[0]


def evaluate_replicas(
    module: Module,
    arguments: Sequence[Sequence[Any]],
    *,
    num_partitions: int = 1,
    executor: str = "auto",
    options: RunOptions = _DEFAULTS,
) -> list[Value]:
    """The value that each device computes when all run the module together; `arguments` has an entry for each device.

    There are `len(arguments) / num_partitions` replicas of `num_partitions` devices each, listed replica by replica. Devices take turns
    in one process. Arguments, results and errors are those of `evaluate`; an EvaluationError also tells of devices that wait for each
    other forever.

    >>> import hlotool
    >>> text = "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }"
    >>> text += "ENTRY e { x = f32[] parameter(0) ROOT r = f32[] all-reduce(x), to_apply=add }"
    >>> [float(value) for value in evaluate_replicas(hlotool.parse(text), [[1.0], [2.0]])]
    [3.0, 3.0]
    """
    return _evaluate(module, arguments, num_partitions, executor, options, ())


def _evaluate(
    module: Module, arguments: Sequence[Sequence[Any]], num_partitions: int, executor: str, options: RunOptions, observers: Sequence[Observer]
) -> list[Value]:
    if executor not in EXECUTORS:
        raise failure(module, None, "R002", f"there is no executor '{executor}'", f"executors are {', '.join(EXECUTORS)}")
    count = len(arguments)
    if not count or num_partitions < 1 or count % num_partitions:
        raise failure(module, None, "R002", f"arguments for {count} devices do not make replicas of {num_partitions} partitions each")
    if found := obstacles(module, options) or too_much_memory(module, options.max_memory):
        raise EvaluationError(found)
    queues = options.queues or ()
    grid = DeviceGrid(count // num_partitions, num_partitions, (queues,) if isinstance(queues, HostQueues) else queues)
    values = [_checked_arguments(module, given) for given in arguments]
    evaluator = Evaluator(module, options, grid.devices[0], observers)
    # Once for all: entering it for each operation would triple the cost of small ones.
    with np.errstate(all="ignore"):
        runs = [evaluator.on(device).running(Invoke(module.entry, given)) for device, given in zip(grid.devices, values, strict=True)]
        results = in_lockstep(runs)
        try:
            return [owned(result, module.entry.root.shape, given) for result, given in zip(results, values, strict=True)]
        except MemoryError:
            # What is held as a view of few elements may be more than there is room for.
            raise failure(module, module.entry.root, "R004", "the result cannot be computed: not enough memory") from None


def _checked_arguments(module: Module, arguments: Sequence[Any]) -> tuple[Value, ...]:
    parameters = module.entry.parameters
    arguments = _grouped(arguments, [p.shape for p in parameters])
    if len(arguments) != len(parameters):
        message = f"'{module.entry.name}' takes {len(parameters)} arguments, got {len(arguments)}"
        raise failure(module, None, "R002", message, f"its parameters are {', '.join(p.name for p in parameters)}" if parameters else None)
    values = []
    for parameter, argument in zip(parameters, arguments, strict=True):
        try:
            values.append(checked_argument(argument, parameter.shape, parameter.name))
        except Violation as violation:
            raise failure(module, parameter, violation.code, f"parameter {violation.message}", violation.hint) from None
    return tuple(values)


def _grouped(arguments: Sequence[Any], shapes: list[Shape]) -> Sequence[Any]:
    """The arguments as tuples where they are given leaf by leaf, as compiled programs take them."""
    counts = [sum(1 for _ in shape.leaves()) for shape in shapes]
    if len(arguments) == len(shapes) or len(arguments) != sum(counts):
        return arguments
    rest = iter(arguments)
    return [with_leaves(shape, [next(rest) for _ in range(count)]) for shape, count in zip(shapes, counts, strict=True)]


class Evaluator:
    """One run of a module on one device: prepared programs are kept for computations that are called again."""

    def __init__(self, module: Module, options: RunOptions, device: Device, observers: Sequence[Observer] = ()) -> None:
        self.module = module
        self.options = options
        self.device = device
        self.observers = Observers(module.entry, observers) if observers else None
        self.deadline = None if options.timeout_seconds is None else time.monotonic() + options.timeout_seconds
        self.programs: dict[tuple[Computation, bool], Program] = {}
        self.lane_computations: dict[Computation, bool] = {}

    def on(self, device: Device) -> Evaluator:
        """The same run on another device; prepared programs and limits are shared."""
        other = copy(self)
        other.device = device
        return other

    def running(self, request: Invoke) -> Generator[Wait, None, Value]:
        """Computes a computation's value and returns it; yields whenever the device has to wait. Raises EvaluationError."""
        stack = [self._start(request)]
        # Whoever keeps a value alive that a computation has used for the last time keeps it from being overwritten in place.
        del request
        value: Value = None
        while stack:
            try:
                wanted = stack[-1].send(value)
            except StopIteration as end:
                stack.pop()
                value = end.value
                continue
            value = None
            if isinstance(wanted, Invoke):
                stack.append(self._start(wanted))
                del wanted
                continue
            try:
                yield wanted
            except Violation as violation:
                # It will never be ready; the computation knows the instruction.
                stack[-1].throw(violation)
        return value

    def _start(self, request: Invoke) -> Run:
        # Here and not with the instructions only: a loop may have none.
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise failure(self.module, request.computation.root, "R005", self._too_late())
        if request.lanes is None:
            return self._execute(request)
        known = self.lane_computations.get(request.computation)
        if known is None:
            known = self.lane_computations[request.computation] = works_on_lanes(request.computation)
        return self._execute_lanes(request) if known else self._execute_one_by_one(request)

    def _too_late(self) -> str:
        return f"the run took longer than {self.options.timeout_seconds:g} seconds"

    def _program(self, computation: Computation, *, on_lanes: bool) -> Program:
        program = self.programs.get((computation, on_lanes))
        if program is None:
            try:
                program = self.programs[computation, on_lanes] = Program(computation, self.options, on_lanes=on_lanes)
            except (MemoryError, ValueError, HlotoolError) as error:
                reason = "not enough memory" if isinstance(error, MemoryError) else str(error)
                message = f"the constants of '{computation.name}' cannot be read: {reason}"
                raise failure(self.module, computation.root, "R004", message) from error
        return program

    def _execute(self, request: Invoke) -> Run:
        program, observers = self._program(request.computation, on_lanes=request.lanes is not None), self.observers
        slots, lanes, deadline = self._initial_slots(program, request), request.lanes, self.deadline
        del request
        constants: dict[int, Value] | None = None if program.is_settled or program.runs < 2 or observers is not None else {}
        for step in program.steps:
            operands = [slots[k] for k in step.operands]
            # From here on the list alone holds what nobody reads any more.
            for k in step.dead:
                slots[k] = None
            keywords = self._with_late(step, operands, lanes) if step.late else step.keywords
            try:
                if observers is not None:
                    observers.begun(step.instruction)
                value = step.function(*operands, **keywords)
                if step.suspends:
                    if observers is None:
                        operands.clear()
                    value = yield from value
                # Most values are what they should be, and the call would cost as much as a small operation.
                if step.dtype is not None and (type(value) is not np.ndarray or value.dtype is not step.dtype or value.shape != step.dimensions):
                    value = self._checked(value, step)
                if deadline is not None and time.monotonic() > deadline:
                    raise Violation("R005", "opcode", self._too_late())
                if observers is not None:
                    observers.ended(step.instruction, operands, value)
            except EvaluationError:
                raise
            except Exception as error:
                raise self._failed(step, error) from error
            if step.is_used:
                slots[step.target] = value
            if constants is not None and step.is_constant and is_worth_keeping(value):
                constants[step.target] = value
            value = None
            operands.clear()
        if constants is not None and not program.is_settled:
            program.settle(constants)
        return slots[program.result]

    def _initial_slots(self, program: Program, request: Invoke) -> list[Value]:
        """Constants and arguments in their places; the request gives its arguments away."""
        computation, arguments = request.computation, request.taken()
        if len(arguments) != len(program.parameters):
            message = f"'{computation.name}' takes {len(program.parameters)} arguments, got {len(arguments)}"
            raise failure(self.module, computation.root, "R004", message)
        if self.observers is not None:
            self.observers.entered(computation, arguments)
        program.runs += 1
        slots = program.initial.copy()
        for slot, argument in zip(program.parameters, arguments, strict=True):
            slots[slot] = argument
        return slots

    def _with_late(self, step: Step, operands: list[Value], lanes: tuple[int, ...] | None) -> dict[str, Any]:
        """The keywords of a step, with what differs from call to call."""
        keywords = dict(step.keywords)
        if "lanes" in step.late:
            keywords["lanes"] = lanes
        if "device" in step.late:
            keywords["device"] = self.device
        if "donated" in step.late:
            # The list, and the argument of getrefcount: nobody else has the array or a view of it.
            keywords["donated"] = sys.getrefcount(operands[0]) <= 2 and owns_memory(operands[0])
        return keywords

    def _checked(self, value: Value, step: Step) -> Value:
        """The value as an array of the declared shape: a wrong shape must not go unnoticed, since the parser believes what is written."""
        value = np.asarray(value)
        if value.dtype != step.dtype or (step.dimensions is not None and value.shape != step.dimensions):
            wanted, found = step.instruction.shape.text_without_layout, f"{value.dtype}{list(value.shape)}"
            raise self._failed(step, Violation("R004", "shape", f"the result of '{step.instruction.opcode}' is {found}, not {wanted} as written"))
        return value

    def _failed(self, step: Step, error: Exception) -> EvaluationError:
        x = step.instruction
        place = f" on device {self.device.number}" if self.device.grid.count > 1 else ""
        if isinstance(error, Violation):
            return failure(self.module, x, error.code, error.message + (place if error.code != "R007" else ""), error.hint, error.notes)
        reason = "not enough memory" if isinstance(error, MemoryError) else str(error).partition("\n")[0]
        return failure(
            self.module, x, "R004", f"'{x.opcode}' cannot be computed{place}: {reason}", "hlotool verify tells whether the module is valid"
        )

    def _execute_lanes(self, request: Invoke) -> Run:
        """All lanes at once; what does not depend on the arguments stays scalar until the end."""
        assert request.lanes is not None
        lanes, root = request.lanes, request.computation.root
        value = yield from self._execute(request)
        return with_leaves(root.shape, [self._on_lanes(leaf, lanes, request.computation) for leaf in leaves(value)])

    def _on_lanes(self, leaf: Value, lanes: tuple[int, ...], computation: Computation) -> Value:
        """The array with an element for each lane; other sizes are those of arguments in a module that is not valid."""
        try:
            return np.broadcast_to(leaf, lanes)
        except ValueError:
            message = f"'{computation.name}' is applied to arrays with the dimensions {list(leaf.shape)} instead of {list(lanes)}"
            raise failure(self.module, computation.root, "R004", message, "hlotool verify tells whether the module is valid") from None

    def _execute_one_by_one(self, request: Invoke) -> Run:
        """For computations that use arrays inside: each lane is a run of its own."""
        assert request.lanes is not None
        lanes, parameters = request.lanes, request.computation.parameters
        columns = [[self._on_lanes(leaf, lanes, request.computation).reshape(-1) for leaf in leaves(argument)] for argument in request.taken()]
        shape, rows = request.computation.root.shape, []
        for lane in range(int(np.prod(lanes))):
            pairs = zip(parameters, columns, strict=True)
            arguments = tuple(with_leaves(p.shape, [np.asarray(leaf[lane]) for leaf in column]) for p, column in pairs)
            value = yield Invoke(request.computation, arguments)
            rows.append(list(leaves(value)))
        types = [NUMPY_TYPES[leaf.element_type] for leaf in shape.leaves()]
        return with_leaves(shape, [np.array([row[k] for row in rows], dtype).reshape(lanes) for k, dtype in enumerate(types)])
