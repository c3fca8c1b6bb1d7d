"""Plans: the generated functions of a module's computations, compiled when they are first called, and the executor that runs them."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from types import CodeType
from typing import Any

import numpy as np

from hlotool.errors import EvaluationError
from hlotool.interp.binding import Binding
from hlotool.interp.devices import Device, Wait
from hlotool.interp.kernels.base import Invoke
from hlotool.interp.observers import Observer
from hlotool.interp.options import RunOptions
from hlotool.interp.plan.errors import CannotPlan, Mismatch
from hlotool.interp.plan.functions import FunctionWriter
from hlotool.interp.plan.lowering import CallGraph, Lowering
from hlotool.interp.plan.runtime import GLOBALS, PlanRun
from hlotool.interp.reference import ReferenceExecutor
from hlotool.interp.values import Value, leaves, with_leaves
from hlotool.ir.model import Computation, Instruction, Module

__all__ = ["Plan", "PlanExecutor"]


class PlanFunction:
    """The function of one computation, on values as kernels take and return them.

    `source` is its text, `blamed` the instruction to blame for each line. If it `waits`, it is a generator.
    """

    __slots__ = ("_code", "_function", "_options", "blamed", "computation", "source", "waits")

    def __init__(self, computation: Computation, lowering: Lowering, options: RunOptions, *, is_watched: bool) -> None:
        writer = FunctionWriter(lowering, options, is_watched=is_watched)
        self.waits = computation in lowering.graph.waiting
        writer.write(lowering.region(computation), waits=self.waits)
        self.computation = computation
        self.source = writer.writer.text
        self.blamed = writer.writer.blamed
        self._options = options
        namespace: dict[str, Any] = {**GLOBALS, **writer.writer.namespace}
        # The source consists of names and numbers that the writer has made up, see its documentation.
        exec(compile(self.source, f"<plan of {computation.name!a}>", "exec"), namespace)
        self._function = namespace["plan"]
        self._code: CodeType = self._function.__code__

    def __call__(self, run: PlanRun, module: Module, arguments: Sequence[Value]) -> Value:
        """The value for these arguments, of a function that does not wait."""
        try:
            results = self._function(run, *_flat(arguments))
        except (EvaluationError, Mismatch):
            raise
        except Exception as error:
            raise self._located(error, module, run.device) from error
        return self._value(results)

    def waiting(self, run: PlanRun, module: Module, arguments: Sequence[Value]) -> Generator[Wait, None, Value]:
        """Returns the value for these arguments; yields when the device has to wait."""
        try:
            results = yield from self._function(run, *_flat(arguments))
        except (EvaluationError, Mismatch):
            raise
        except Exception as error:
            raise self._located(error, module, run.device) from error
        return self._value(results)

    def _value(self, results: tuple[Any, ...]) -> Value:
        return with_leaves(self.computation.root.shape, [np.asarray(leaf) if isinstance(leaf, np.generic) else leaf for leaf in results])

    def _located(self, error: Exception, module: Module, device: Device) -> EvaluationError:
        return Binding(self._blamed(error), self._options).error(error, module, device)

    def _blamed(self, error: Exception) -> Instruction:
        traceback = error.__traceback__
        while traceback is not None and traceback.tb_frame.f_code is not self._code:
            traceback = traceback.tb_next
        x = None if traceback is None or traceback.tb_lineno is None else self.blamed[traceback.tb_lineno - 1]
        if x is None:
            raise error
        return x


class Plan:
    """The functions of a module's computations for runs with the same options. Raises CannotPlan if the module has to be run in another way.

    If it `is_watched`, the function of the entry computation tells what it has reached.

    >>> import hlotool
    >>> module = hlotool.parse("ENTRY e { x = f32[2] parameter(0) y = add(x, x) ROOT r = f32[2] negate(y) }")
    >>> print(Plan(module, RunOptions()).source)
    def plan(run, v1):
        # y = add
        v2 = add(v1, v1)
        del v1
        # r = negate
        v3 = negative(v2, v2)
        del v2
        return (v3, )
    """

    def __init__(self, module: Module, options: RunOptions, *, is_watched: bool = False) -> None:
        # Not the module itself, which would be kept for as long as its plan.
        self._entry = module.entry
        self._is_watched = is_watched
        self.options = options
        self._lowering = Lowering(options, CallGraph(module.entry))
        self._functions: dict[Computation, PlanFunction] = {}
        self.has_effects = bool(self._lowering.graph.waiting) or not all(x.op.is_pure for c in self._lowering.graph.sizes for x in c.instructions)
        """Whether something would be noticed if a run were begun again."""
        self.function(module.entry)

    @property
    def source(self) -> str:
        """The source of all functions that have been compiled so far."""
        return "\n\n\n".join(function.source for function in self._functions.values())

    def start(self, reference: ReferenceExecutor, request: Invoke, observers: Sequence[Observer] = ()) -> Generator[Wait, None, Value]:
        """Begins a run on the device of a reference executor, which does what the plan does not; returns the value of a computation.

        Yields when the device has to wait. Raises EvaluationError, or Mismatch if the reference executor has to do everything.
        """
        return PlanExecutor(self, reference, observers).run(request)

    def function(self, computation: Computation) -> PlanFunction:
        """The function of a computation."""
        known = self._functions.get(computation)
        if known is None:
            known = self._functions[computation] = PlanFunction(
                computation, self._lowering, self.options, is_watched=self._is_watched and computation is self._entry
            )
        return known


class PlanExecutor:
    """One run of a plan on one device. What a plan does not do, such as batches of scalars, the reference executor does."""

    def __init__(self, plan: Plan, reference: ReferenceExecutor, observers: Sequence[Observer]) -> None:
        self.plan = plan
        self._observers = observers
        self._reference = reference
        self._run = PlanRun(reference.options, reference.device, self._invoke, self.run, self._reached)

    def run(self, request: Invoke) -> Generator[Wait, None, Value]:
        """Computes the value of a computation and returns it; yields when the device has to wait. Raises EvaluationError, or Mismatch."""
        function = self._function(request)
        if function is None:
            return (yield from self._reference.run(request))
        self._run.check_time()
        arguments = request.take_arguments()
        if function.waits:
            return (yield from function.waiting(self._run, self._reference.module, arguments))
        return function(self._run, self._reference.module, arguments)

    def _reached(self, instruction: Instruction) -> None:
        for observer in self._observers:
            observer.reached(instruction)

    def _invoke(self, request: Invoke) -> Value:
        function = self._function(request)
        if function is None:
            return self._run.drive(self._reference.run(request))
        self._run.check_time()
        return function(self._run, self._reference.module, request.take_arguments())

    def _function(self, request: Invoke) -> PlanFunction | None:
        if request.batch is not None or request.root is not request.computation.root:
            return None
        try:
            return self.plan.function(request.computation)
        except CannotPlan:
            return None


def _flat(arguments: Sequence[Value]) -> list[Any]:
    return [leaf for argument in arguments for leaf in leaves(argument)]
