"""Methods for computations: parameters, constants, results and called computations.

Called computations are built from Python functions or in `with` blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import CodeType, TracebackType
from typing import Any, Self

from hlotool.builder.arguments import Called, Operand
from hlotool.builder.emitter import Emitter
from hlotool.builder.generic import GenericMethods
from hlotool.builder.literals import as_literal, extreme_literal, shaped_literal
from hlotool.builder.op import Op
from hlotool.builder.texts import ShapeLike
from hlotool.errors import Violation
from hlotool.ir.model import Computation, Instruction
from hlotool.ir.names import GivenNames, is_legal_name
from hlotool.ir.order import sorted_by_dependencies
from hlotool.literals.literal import Literal
from hlotool.opdefs.table import OPS
from hlotool.shapes.shape import Shape

__all__ = ["ComputationMethods"]

_PARAMETER, _TUPLE = OPS["parameter"], OPS["tuple"]


class ComputationMethods(GenericMethods):
    """Methods for the computation itself and for the computations that it calls."""

    @property
    def parameters(self) -> tuple[Op, ...]:
        """The parameters added so far, sorted by number."""
        return tuple([Op(self, x) for x in self._computation.parameters])

    def parameter(
        self, parameter_number: int, shape: ShapeLike, name: str | None = None, *, parameter_replication: Sequence[bool] | None = None
    ) -> Op:
        """Adds a parameter to the computation.

        `parameter_replication` contains a flag for each array in the parameter: True if all
        replicas have the same values. Raises BuilderError for a number that is negative or already
        used.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> module = b.build(b.parameter(0, "f32[2]", "x") + b.parameter(1, "f32[2]", "y"))
        >>> hlotool.evaluate(module, [[1.0, 2.0], [10.0, 20.0]])
        array([11., 22.], dtype=float32)
        """
        number = self._integer(parameter_number, "parameter_number")
        self._require(number >= 0, "S019", "parameter_number", f"a parameter number cannot be negative: {number}")
        first = self._numbers.get(number)
        self._require(first is None, "S020", "parameter_number", f"parameter number {number} is already used by '{first and first.name}'")
        if name is not None:
            self._check_name(name)
        flags = None if parameter_replication is None else tuple(map(bool, self._list(parameter_replication, "parameter_replication")))
        op = self._emit(_PARAMETER, (), {"parameter_replication": flags}, self._shape(shape), number, name)
        self._numbers[number] = op.instruction
        return op

    def constant(self, literal: Operand | str, element_type: str | None = None, *, shape: ShapeLike | None = None) -> Op:
        """Adds a constant: a number, a nested list, a Literal or an array.

        An array is any object that supports the buffer protocol or has the attributes of a NumPy
        array. Numbers become pred, s32, f32 or c64 unless `element_type` is given. With `shape`,
        the literal may also be HLO text or the bytes of all elements: little-endian, in row-major
        order, with a whole byte for each element of fewer than eight bits. Raises BuilderError for
        values that the type cannot hold.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> hlotool.evaluate(b.build(b.constant([[1, 2], [3, 4]], "s8")), [])
        array([[1, 2],
               [3, 4]], dtype=int8)
        >>> hlotool.Builder("demo").constant("{ { 1, nan } }", shape="f32[1,2]{0,1}").instruction.shape.text
        'f32[1,2]{0,1}'
        """
        try:
            value = as_literal(literal, element_type) if shape is None else shaped_literal(literal, self._shape(shape))
            return Op(self._innermost(), self._constant(value))
        except Violation as violation:
            self._reject(violation)

    def min_value(self, element_type: str) -> Op:
        """Adds a constant with the smallest value of a type: -inf if the type has infinities.

        Raises BuilderError for complex types.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> hlotool.evaluate(b.build([b.min_value("s8"), b.min_value("f32")]), [])
        (array(-128, dtype=int8), array(-inf, dtype=float32))
        """
        return self._extreme(element_type, largest=False)

    def max_value(self, element_type: str) -> Op:
        """Adds a constant with the largest value of a type: inf if the type has infinities.

        Raises BuilderError for complex types.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> hlotool.evaluate(b.build([b.max_value("u8"), b.max_value("f32")]), [])
        (array(255, dtype=uint8), array(inf, dtype=float32))
        """
        return self._extreme(element_type, largest=True)

    def _extreme(self, element_type: str, *, largest: bool) -> Op:
        try:
            literal: Literal = extreme_literal(element_type, largest=largest)
        except Violation as violation:
            self._reject(violation, "element_type")
        return Op(self._innermost(), self._constant(literal))

    # ---- the result -----------------------------------------------------------------------------

    def set_root(self, value: Any) -> Op:
        """Sets the result of the computation, which by default is the last operation.

        A Python list or tuple of operands becomes an HLO tuple.

        >>> from hlotool.builder.builder import Builder
        >>> b = Builder("demo")
        >>> x = b.parameter(0, "f32[]", "x")
        >>> b.set_root([x, x + 1.0])
        <op tuple = (f32[], f32[]) tuple>
        """
        self._require(self._is_open, "S011", "", f"computation '{self._computation.name}' is finished, so its result cannot change")
        root = self._result(value)
        if self._position is None:
            self._computation.root = root
        else:
            self._position[0].set_root(root)
        return Op(self._innermost(), root)

    def _result(self, value: Any) -> Instruction:
        if value is None:
            self._fail("S011", "", "the function returns nothing", "return an operation, or a tuple of operations")
        if isinstance(value, (list, tuple)):
            return self._emit(_TUPLE, tuple([self._operand(part, "result") for part in value])).instruction
        return self._operand(value, "result")

    def _finish(self) -> Computation:
        """Finishes the computation, and returns it.

        Raises BuilderError if the computation is empty, or if a parameter number is missing.
        """
        computation = self._computation
        self._require(self._is_open, "S005", "", f"computation '{computation.name}' is already finished")
        self._require(self._instructions, "S011", "", f"computation '{computation.name}' has no instructions")
        missing = next((k for k in range(len(self._numbers)) if k not in self._numbers), None)
        if missing is not None:
            message = f"parameter number {missing} is missing, but there is a parameter number {max(self._numbers)}"
            self._fail("S021", "parameter_number", message)
        if computation.root is None:
            computation.root = self._instructions[-1]
        if not self._is_ordered:
            try:
                computation.instructions = sorted_by_dependencies(self._instructions, lambda x: (*x.operands, *x.control_predecessors))
            except ValueError as error:
                self._fail("S028", "", str(error))
        self._is_open = False
        return computation

    # ---- called computations --------------------------------------------------------------------

    def computation(self, name: str, *parameters: ShapeLike, hidden: bool = False) -> Self:
        """Returns a builder for a new computation that other computations can call.

        The computation has parameters of the given shapes. It is finished at the end of a `with`
        block. A `hidden` computation is printed only as part of the opcode of the `async-start`
        that calls it, as in `slice-start`.

        >>> from hlotool.builder.builder import Builder
        >>> b = Builder("demo")
        >>> with b.computation("add", "f32[]", "f32[]") as c:
        ...     x, y = c.parameters
        ...     c.add(x, y)
        <op add = f32[] add>
        >>> b.reduce(b.parameter(0, "f32[2,3]", "x"), 0.0, c, [1])
        <op reduce = f32[2] reduce>
        """
        self._check_spelling(name)
        if self._state.unique_names:
            self._check_name(name)
        child = self._hidden(name) if hidden else self._child(name)
        for number, shape in enumerate(parameters):
            child.parameter(number, shape)
        return child

    def _child(self, name: str) -> Self:
        child = object.__new__(type(self))
        Emitter.__init__(child, self._state, Computation(self._state.computation_names.take(name)))
        return child

    def _hidden(self, name: str) -> Self:
        """Returns a builder for a hidden computation.

        As in HLO text, the names of the computation and of its instructions may occur elsewhere.
        """
        child = object.__new__(type(self))
        Emitter.__init__(child, self._state, Computation(name))
        child._names = GivenNames()
        self._state.module.hidden.add(child._computation)
        return child

    def set_execution_thread(self, thread: str) -> None:
        """Sets the name of the thread that runs the computation, which is `main` by default.

        >>> from hlotool.builder.builder import Builder
        >>> c = Builder("demo").computation("copy", "f32[]")
        >>> c.set_execution_thread("host")
        >>> c.finish().execution_thread
        'host'
        """
        self._computation.execution_thread = self._instance(thread, str, "thread")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None and self._is_open:
            self.finish()

    def finish(self, root: Any = None) -> Computation:
        """Finishes a called computation and adds it to the module.

        A `with` block calls this method at its end. The result is `root` if given, else the
        operation passed to `set_root`, else the last operation. Raises BuilderError if the
        computation is empty.

        >>> from hlotool.builder.builder import Builder
        >>> c = Builder("demo").computation("negative", "f32[]")
        >>> c.finish(-c.parameters[0])
        <computation negative with 2 instructions>
        """
        self._require(self is not self._state.entry, "S010", "", "the entry computation is finished by build")
        if root is not None:
            self.set_root(root)
        computation = self._finish()
        if self._state.rewriter is None:
            self._state.module.computations.append(computation)
        else:
            self._state.rewriter.add_computation(computation)
        self._state.computations[computation] = None
        return computation

    def trace(self, function: Callable[..., Any], *shapes: ShapeLike, name: str | None = None) -> Computation:
        """Traces a function on operations and returns the resulting computation.

        The function is called with one parameter per shape and returns the result; a Python list or
        tuple of operations becomes an HLO tuple. Raises BuilderError if the function uses
        operations of other computations.

        >>> from hlotool.builder.builder import Builder
        >>> b = Builder("demo")
        >>> b.trace(lambda x, y: x * y, "f32[]", "f32[]", name="product")
        <computation product with 3 instructions>
        """
        self._require(callable(function), "S017", "function", f"expected a function, found {type(function).__name__}")
        if name is not None:
            self._check_name(name)
        return self._trace(function, [self._shape(shape) for shape in shapes], name or _function_name(function))

    def _trace(self, function: Callable[..., Any], shapes: Sequence[Shape], name: str, arrange: Callable[..., Any] | None = None) -> Computation:
        """Traces a function; `arrange`, if given, calls it with arguments built from parameters."""
        child = self._child(name)
        names = _parameter_names(function, len(shapes))
        parameters = [child._emit(_PARAMETER, (), None, shape, k, names[k]) for k, shape in enumerate(shapes)]
        child._numbers.update({k: parameter.instruction for k, parameter in enumerate(parameters)})
        outer = self._innermost()
        outer._inner = child
        try:
            result = function(*parameters) if arrange is None else arrange(function, *parameters)
        finally:
            outer._inner = None
        child.set_root(result)
        return child.finish()

    def _callee(self, value: Called, shapes: Iterable[Shape], argument: str) -> Computation:
        """Returns the given computation, or traces a function with parameters of these shapes."""
        if callable(value):
            return self._trace(value, tuple(shapes), _function_name(value, argument))
        return self._closed(value, argument)


def _function_name(function: Callable[..., Any], default: str = "computation") -> str:
    """Returns the function's name if a computation can have this name, else `default`."""
    name = getattr(function, "__name__", "").strip("_")
    return name if name.isidentifier() and name.isascii() and is_legal_name(name) else default


def _parameter_names(function: Callable[..., Any], count: int) -> list[str]:
    """Returns `count` parameter names: those of the function if they are legal, else p0, p1, ..."""
    code = getattr(function, "__code__", None)
    names = code.co_varnames[: code.co_argcount] if isinstance(code, CodeType) else ()
    fits = len(names) == count and all(name.isascii() and is_legal_name(name) for name in names)
    return list(names) if fits else [f"p{k}" for k in range(count)]
