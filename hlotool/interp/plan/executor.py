"""Plans: generated functions for a module's computations, and the executor that runs them.

A function is compiled when it is first called.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from types import CodeType, TracebackType
from typing import Any

import numpy as np

from hlotool.errors import EvaluationError
from hlotool.interp.arrays.dtypes import NUMPY_TYPES
from hlotool.interp.arrays.values import Value, leaves, with_leaves
from hlotool.interp.devices import Wait
from hlotool.interp.engine.allocation import reuse_large_blocks
from hlotool.interp.engine.binding import Binding
from hlotool.interp.engine.observers import Observer
from hlotool.interp.engine.program import Programs
from hlotool.interp.engine.reference import ReferenceExecutor
from hlotool.interp.kernels.base import Invoke
from hlotool.interp.plan.errors import CannotPlan, Mismatch
from hlotool.interp.plan.function_writer import FunctionWriter
from hlotool.interp.plan.lowering import CallGraph, Lowering
from hlotool.interp.plan.runtime import GLOBALS, PlanRun
from hlotool.interp.run_options import RunOptions
from hlotool.ir.model import Computation, Instruction, Module
from hlotool.shapes.shape import Shape

__all__ = ["Plan", "PlanExecutor"]


class PlanFunction:
    """The generated function of one computation.

    The function takes the leaves of arguments, and returns a value in the kernels' form. `source`
    is the source code, and `blamed` contains the instruction to blame for each line. If `waits` is
    true, the function is a generator.
    """

    __slots__ = ("_code", "_function", "_options", "_parameters", "blamed", "computation", "source", "waits")

    def __init__(self, computation: Computation, lowering: Lowering, options: RunOptions, *, is_watched: bool) -> None:
        writer = FunctionWriter(lowering, options, is_watched=is_watched)
        self.waits = computation in lowering.graph.waiting
        writer.write(lowering.region(computation), waits=self.waits)
        self.computation = computation
        text = writer.writer.text
        self.source = "\n\n\n".join([text, *(loop.source for loop in writer.number_loops)])
        self.blamed = writer.writer.blamed
        self._options = options
        namespace: dict[str, Any] = {**GLOBALS, **writer.writer.namespace}
        # Safe to execute: the source consists of names and numbers that the writer generates (see
        # the docstring of its module).
        exec(compile(text, f"<plan of {computation.name!a}>", "exec"), namespace)
        self._function = namespace["plan"]
        self._parameters = [leaf for parameter in computation.parameters for leaf in parameter.shape.leaves()]
        self._code: CodeType = self._function.__code__

    def run(self, run: PlanRun, module: Module, argument_leaves: Sequence[Any]) -> Generator[Wait, None, Value]:
        """Returns the value for these argument leaves. Yields when the device has to wait."""
        try:
            results = self._function(run, *argument_leaves)
            if self.waits:
                results = yield from results
        except (EvaluationError, Mismatch):
            raise
        except Exception as error:
            x = self._blamed(error)
            if isinstance(error, NameError) and error.__traceback__ is not None and _last_code(error.__traceback__) is self._code:
                # Kernels and NumPy's functions do not look up names in generated code.
                raise Mismatch(f"the code for '{x.name}' is wrong: {error}") from error
            raise Binding(x, self._options).error(error, module, run.device) from error
        return with_leaves(self.computation.root.shape, [np.asarray(leaf) if isinstance(leaf, np.generic) else leaf for leaf in results])

    def accepts(self, argument_leaves: Sequence[Any]) -> bool:
        """Returns whether the arguments match the declared parameters.

        Nothing else checks the arguments when a kernel calls a computation.
        """
        return len(argument_leaves) == len(self._parameters) and all(map(_matches, argument_leaves, self._parameters))

    def _blamed(self, error: Exception) -> Instruction:
        """Returns the instruction whose line of generated code raised an error."""
        traceback = error.__traceback__
        while traceback is not None and traceback.tb_frame.f_code is not self._code:
            traceback = traceback.tb_next
        assert traceback is not None
        return self.blamed[traceback.tb_lineno - 1] or self.computation.root


def _matches(leaf: Any, shape: Shape) -> bool:
    if not shape.is_array or any(shape.dynamic):
        return True
    return bool(leaf.dtype == NUMPY_TYPES.get(shape.element_type) and leaf.shape == shape.dimensions)


def _last_code(traceback: TracebackType) -> CodeType:
    """Returns the code in which an error was raised."""
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback.tb_frame.f_code


class Plan:
    """The functions of a module's computations, for runs with the same options.

    If `is_watched` is true, the function of the entry computation reports the instructions that it
    reaches. Raises CannotPlan if the module cannot run as a plan.

    >>> import hlotool
    >>> module = hlotool.parse("ENTRY e { x = f32[2] parameter(0) y = add(x, x) ROOT r = f32[2] negate(y) }")
    >>> print(Plan(module.entry, Programs(RunOptions())).source)
    def plan(run, v1):
        # y = add
        v2 = add(v1, v1)
        del v1
        # r = negate
        v3 = negative(v2, v2)
        del v2
        return (v3, )
    """

    def __init__(self, entry: Computation, programs: Programs, *, is_watched: bool = False) -> None:
        self._entry = entry
        self._is_watched = is_watched
        self.options = programs.options
        self._lowering = Lowering(programs, CallGraph(entry))
        self._functions: dict[Computation, PlanFunction] = {}
        self.has_effects = bool(self._lowering.graph.waiting) or not all(x.op.is_pure for c in self._lowering.graph.sizes for x in c.instructions)
        """True if restarting a run would be noticeable."""
        self.function(entry)
        reuse_large_blocks()

    @property
    def source(self) -> str:
        """The source of all functions that have been compiled so far."""
        return "\n\n\n".join(function.source for function in self._functions.values())

    def start(self, reference: ReferenceExecutor, request: Invoke, observers: Sequence[Observer] = ()) -> Generator[Wait, None, Value]:
        """Runs a computation on the device of a reference executor and returns its value.

        The reference executor computes what the plan cannot compute. Yields when the device has to
        wait. Raises EvaluationError, or Mismatch if the reference executor has to run everything.
        """
        return PlanExecutor(self, reference, observers).run(request)

    def function(self, computation: Computation) -> PlanFunction:
        """Returns the function of a computation, compiling it if necessary."""
        known = self._functions.get(computation)
        if known is None:
            known = self._functions[computation] = PlanFunction(
                computation, self._lowering, self.options, is_watched=self._is_watched and computation is self._entry
            )
        return known


class PlanExecutor:
    """One run of a plan on one device.

    The reference executor computes what the plan cannot compute, such as batches of scalars.
    """

    def __init__(self, plan: Plan, reference: ReferenceExecutor, observers: Sequence[Observer]) -> None:
        self.plan = plan
        self._observers = observers
        self._reference = reference
        self._run = PlanRun(reference.options, reference.device, self.run, self._reached)

    def run(self, request: Invoke) -> Generator[Wait, None, Value]:
        """Computes and returns the value of a computation.

        Yields when the device has to wait. Raises EvaluationError or Mismatch.
        """
        function = self._function(request)
        if function is None:
            return (yield from self._reference.run(request))
        self._run.check_time()
        arguments = request.take_arguments()
        flat = [leaf for argument in arguments for leaf in leaves(argument)]
        if not function.accepts(flat):
            return (yield from self._reference.run(Invoke(request.computation, arguments)))
        return (yield from function.run(self._run, self._reference.module, flat))

    def _reached(self, instruction: Instruction) -> None:
        for observer in self._observers:
            observer.reached(instruction)

    def _function(self, request: Invoke) -> PlanFunction | None:
        if request.batch is not None or request.root is not request.computation.root:
            return None
        try:
            return self.plan.function(request.computation)
        except CannotPlan:
            return None
