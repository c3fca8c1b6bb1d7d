"""Calls, conditionals and loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

from hlotool.builder.arguments import Called, Operand, Operands
from hlotool.builder.composites.communication import CommunicationMethods
from hlotool.builder.op import Op
from hlotool.ir.model import Computation, Instruction
from hlotool.opdefs.inference import count as counted
from hlotool.opdefs.table import OPS

__all__ = ["BY_INDEX", "BY_PREDICATE", "ControlFlowMethods"]

_CALL, _CONDITIONAL, _TUPLE, _WHILE = OPS["call"], OPS["conditional"], OPS["tuple"], OPS["while"]


class ControlFlowMethods(CommunicationMethods):
    """Calls, conditionals and loops.

    The computations to run may also be given as functions on operations, which are traced.
    """

    def call(self, computation: Called, operands: Operands = ()) -> Op:
        """Calls a computation with the operands.

        Raises BuilderError unless the operands have the shapes of the computation's parameters.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> hlotool.evaluate(b.build(b.call(lambda x, y: x + y, [b.constant(1.0), b.constant(2.0)])), [])
        array(3., dtype=float32)
        """
        parts = self._operands(operands, "operands")
        return self._emit(_CALL, parts, {"to_apply": self._callee(computation, [x.shape for x in parts], "computation")})

    def composite_call(self, computation: Called, operands: Operands, name: str, attributes: str | None = None, version: int | None = None) -> Op:
        """Calls a computation that implements a named operation.

        `attributes` is a dictionary in text form, and `version` is 0 by default. Raises
        BuilderError for an empty name and for a negative version.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> square = b.composite_call(lambda x: x * x, [b.constant(3.0)], "my.square", "{n = 1 : i32}", 1)
        >>> square.instruction.attributes["frontend_attributes"]
        {'composite.name': 'my.square', 'composite.attributes': '{n = 1 : i32}', 'composite.version': '1'}
        >>> hlotool.evaluate(b.build(square), [])
        array(9., dtype=float32)
        """
        parts = self._operands(operands, "operands")
        values = {"composite.name": self._instance(name, str, "name")}
        if attributes is not None:
            values["composite.attributes"] = self._instance(attributes, str, "attributes")
        number = self._integer(0 if version is None else version, "version")
        self._require(number >= 0, "C034", "version", f"a version cannot be negative: {number}")
        values["composite.version"] = str(number)
        called = self._callee(computation, [x.shape for x in parts], "computation")
        return self._emit(_CALL, parts, {"to_apply": called, "is_composite": True, "frontend_attributes": values})

    # ---- conditionals ---------------------------------------------------------------------------

    @overload
    def conditional(
        self, predicate: Operand, true_operand: Operand, true_computation: Called, false_operand: Operand, false_computation: Called
    ) -> Op: ...
    @overload
    def conditional(self, branch_index: Operand, branch_computations: Sequence[Called], branch_operands: Operands) -> Op: ...
    def conditional(self, *arguments: Any, **named: Any) -> Op:
        """Runs one of several computations with its operand.

        A truth value chooses between two computations. An s32 index chooses from a list; an index
        out of range chooses the last computation. Raises BuilderError if a computation does not
        take its operand, or if the results have different shapes.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> p, x = b.parameter(0, "pred[]"), b.parameter(1, "f32[2]")
        >>> hlotool.evaluate(b.build(b.conditional(p, x, lambda x: x + 1.0, x, lambda x: -x)), [False, [1.0, 2.0]])
        array([-1., -2.], dtype=float32)
        >>> b = hlotool.Builder("demo")
        >>> k, x = b.parameter(0, "s32[]"), b.constant([-1.0, 2.0])
        >>> module = b.build(b.conditional(branch_index=k, branch_computations=[abs, lambda x: -x], branch_operands=[x, x]))
        >>> hlotool.evaluate(module, [0]), hlotool.evaluate(module, [7])
        (array([1., 2.], dtype=float32), array([ 1., -2.], dtype=float32))
        """
        by_index = len(arguments) + len(named) == len(BY_INDEX) or "branch_index" in named
        names = BY_INDEX if by_index else BY_PREDICATE
        wrong = [name for name in named if name not in names[len(arguments) :]]
        if wrong or len(arguments) + len(named) != len(names):
            raise TypeError(f"conditional() takes ({', '.join(BY_PREDICATE)}) or ({', '.join(BY_INDEX)})")
        values = [*arguments, *(named[name] for name in names[len(arguments) :])]
        if by_index:
            selector, computations, operands = values
            return self._branches(
                selector, self._list(computations, "branch_computations"), self._operands(operands, "branch_operands"), by_index=True
            )
        selector, on_true, true_computation, on_false, false_computation = values
        operands = (self._operand(on_true, "true_operand"), self._operand(on_false, "false_operand"))
        return self._branches(selector, [true_computation, false_computation], operands, by_index=False)

    def _branches(self, selector: Any, computations: list[Called], operands: tuple[Instruction, ...], *, by_index: bool) -> Op:
        argument, kind = ("branch_index", "s32[]") if by_index else ("predicate", "pred[]")
        chosen = self._operand(selector, argument)
        found = chosen.shape.text_without_layout
        self._require(found == kind, "C008", argument, f"expected {kind}, got {found}")
        same = len(computations) == len(operands)
        expected = f"expected {counted(len(computations), 'operand')} (one per branch), got {len(operands)}"
        self._require(same, "C009", "branch_operands", expected)
        names = [f"branch_{k}" for k in range(len(operands))] if by_index else ["true_computation", "false_computation"]
        pairs = zip(computations, operands, names, strict=True)
        called = [self._callee(computation, [x.shape], name) for computation, x, name in pairs]
        attributes = {"branch_computations": tuple(called)} if by_index else dict(zip(names, called, strict=True))
        return self._emit(_CONDITIONAL, (chosen, *operands), attributes)

    # ---- loops ----------------------------------------------------------------------------------

    def while_(self, condition: Called, body: Called, init: Any) -> Any:
        """Runs the body on the state while the condition holds, and returns the final state.

        If `init` is a list or tuple of operands, the functions take one argument per operand, and
        the body and this method return as many values. If `init` is a dictionary, the functions
        take arguments by name, and the body and this method return dictionaries. Raises
        BuilderError if the body changes the shapes of the state.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> count, last = b.while_(lambda i, x: i < 10, lambda i, x: (i + 1, x * 2.0), (0, b.parameter(0, "f32[]")))
        >>> hlotool.evaluate(b.build([count, last]), [1.0])
        (array(10, dtype=int32), array(1024., dtype=float32))
        """
        names = list(init) if isinstance(init, dict) else None
        values = list(init.values()) if isinstance(init, dict) else list(init) if isinstance(init, (list, tuple)) else None
        if values is None:
            state = self._operand(init, "init")
        else:
            state = self._emit(_TUPLE, tuple([self._operand(value, "init") for value in values])).instruction
        count = None if values is None else len(values)
        attributes = {
            "condition": self._loop_part(condition, state, "condition", names, count),
            "body": self._loop_part(body, state, "body", names, count),
        }
        result = self._emit(_WHILE, (state,), attributes)
        if count is None:
            return result
        elements = tuple(result)
        return elements if names is None else dict(zip(names, elements, strict=True))

    def _loop_part(self, value: Called, state: Instruction, name: str, names: list[str] | None, count: int | None) -> Computation:
        """Returns the condition or the body; functions receive the state in the form of `init`."""
        if not callable(value):
            return self._closed(value, name)

        def arrange(function: Callable[..., Any], parameter: Op) -> Any:
            if count is None:
                return function(parameter)
            if names is None:
                return function(*parameter)
            result = function(**dict(zip(names, parameter, strict=True)))
            if not isinstance(result, dict):
                return result
            parameter.builder._require(result.keys() == set(names), "C006", name, f"expected the names {names}, got {list(result)}")
            return [result[key] for key in names]

        return self._trace(value, (state.shape,), name, arrange)


BY_PREDICATE = ("predicate", "true_operand", "true_computation", "false_operand", "false_computation")
BY_INDEX = ("branch_index", "branch_computations", "branch_operands")
"""The arguments of the two forms of `conditional`."""
