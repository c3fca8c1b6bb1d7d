"""The reference executor: one kernel call per instruction; values are freed after their last use.

There are no special cases for opcodes. Each running computation is a generator on an explicit
stack, so the depth of calls is limited only by memory.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from copy import copy

import numpy as np

from hlotool.errors import EvaluationError, HlotoolError, Violation
from hlotool.interp.arrays.values import Value
from hlotool.interp.devices import Device, Wait
from hlotool.interp.engine.batching import run_all_at_once, run_one_by_one
from hlotool.interp.engine.observers import Observer, Observers
from hlotool.interp.engine.program import Program, Programs, instruction_program
from hlotool.interp.failures import failure
from hlotool.interp.kernels.base import Invoke, Run
from hlotool.ir.model import Instruction, Module

__all__ = ["ReferenceExecutor"]


class ReferenceExecutor:
    """One run of a module on one device.

    >>> import hlotool
    >>> from hlotool.interp.devices import DeviceGrid
    >>> from hlotool.interp.run_options import RunOptions
    >>> module = hlotool.parse("ENTRY e { x = f32[] parameter(0) ROOT r = f32[] negate(x) }")
    >>> run = ReferenceExecutor(module, Programs(RunOptions()), DeviceGrid().devices[0]).run(Invoke(module.entry, (np.float32(2.0),)))
    >>> try:
    ...     next(run)
    ... except StopIteration as end:
    ...     print(end.value)
    -2.0
    """

    def __init__(self, module: Module, programs: Programs, device: Device, observers: Sequence[Observer] = ()) -> None:
        options = programs.options
        self.module = module
        self.options = options
        self.programs = programs
        self.device = device
        self.observers = Observers(module.entry, observers, device) if observers else None
        self.deadline = None if options.timeout_seconds is None else time.monotonic() + options.timeout_seconds

    def on(self, device: Device) -> ReferenceExecutor:
        """Returns the same run for another device; programs and limits are shared."""
        other = copy(self)
        other.device = device
        other.observers = None if self.observers is None else self.observers.on(device)
        return other

    def run(self, request: Invoke) -> Generator[Wait, None, Value]:
        """Computes and returns the value of a computation; yields when the device has to wait.

        Raises EvaluationError if the computation fails.
        """
        return self._drive(self._start(request))

    def compute(self, x: Instruction, values: Sequence[Value]) -> Generator[Wait, None, Value]:
        """Computes and returns the value of one instruction, like `run`."""
        return self._drive(self._execute(instruction_program(x, self.options), [*values, None]))

    def _drive(self, run: Run) -> Generator[Wait, None, Value]:
        """Drives a run and all runs that it invokes, with a stack of suspended runs."""
        stack = [run]
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
                continue
            try:
                if self.observers is None:
                    yield wanted
                else:
                    yield from self.observers.wait(wanted)
            except Violation as violation:
                # The wait will never end. The running computation knows the waiting instruction.
                stack[-1].throw(violation)
        return value

    def _start(self, request: Invoke) -> Run:
        # The deadline is also checked here, because the computations of a loop may have no
        # instructions to run.
        if self._is_late():
            raise failure(self.module, request.computation.root, "R005", self._too_late())
        if request.batch is not None and not self.programs.can_batch[request.computation]:
            return run_one_by_one(self.module, request, request.batch)
        program = self._program_for(request)
        run = self._execute(program, self._initial_slots(program, request), request.batch)
        return run if request.batch is None else run_all_at_once(self.module, request, request.batch, run)

    def _program_for(self, request: Invoke) -> Program:
        try:
            return self.programs.program_for(request)
        except (MemoryError, ValueError, HlotoolError) as error:
            reason = "not enough memory" if isinstance(error, MemoryError) else str(error)
            message = f"the constants of '{request.computation.name}' cannot be read: {reason}"
            raise failure(self.module, request.computation.root, "R004", message) from error

    def _is_late(self) -> bool:
        return self.deadline is not None and time.monotonic() > self.deadline

    def _too_late(self) -> str:
        return f"the run took longer than {self.options.timeout_seconds:g} s"

    def _execute(self, program: Program, slots: list[Value], batch: tuple[int, ...] | None = None) -> Run:
        observers, deadline = self.observers, self.deadline
        for step in program.steps:
            operands = [slots[k] for k in step.operands]
            # From here on, only `operands` refers to values that are not read again.
            for k in step.dead:
                slots[k] = None
            try:
                keywords = step.all_keywords(operands, self.device, batch) if step.per_call else step.keywords
                if observers is not None:
                    observers.started(step.instruction)
                value = step.function(*operands, **keywords)
                if step.suspends:
                    if observers is None:
                        operands.clear()
                    value = yield from value
                # Most values have the declared shape, and calling `check` would cost as much as a
                # small operation.
                if step.dtype is not None and (type(value) is not np.ndarray or value.dtype is not step.dtype or value.shape != step.dimensions):
                    value = step.check(value)
                if deadline is not None and self._is_late():
                    raise Violation("R005", "opcode", self._too_late())
                if observers is not None:
                    value = observers.ended(step.instruction, operands, value)
            except EvaluationError:
                raise
            except Exception as error:
                raise step.error(error, self.module, self.device) from error
            if step.is_used:
                slots[step.target] = value
            value = None
            operands.clear()
        return slots[program.result]

    def _initial_slots(self, program: Program, request: Invoke) -> list[Value]:
        """Returns the slots with constants and arguments; takes the arguments from the request."""
        computation, arguments = request.computation, request.take_arguments()
        if len(arguments) != len(program.parameters):
            message = f"wrong number of arguments for '{computation.name}': expected {len(program.parameters)}, got {len(arguments)}"
            raise failure(self.module, computation.root, "R004", message)
        if self.observers is not None:
            self.observers.entered(computation, arguments)
        slots = program.initial.copy()
        for slot, argument in zip(program.parameters, arguments, strict=True):
            slots[slot] = argument
        return slots
