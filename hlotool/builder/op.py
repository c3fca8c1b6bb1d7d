"""The operations that builder methods return; they support Python's operators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hlotool.errors import Violation
from hlotool.ir.model import Instruction
from hlotool.shapes.shape import Shape

__all__ = ["Op"]


class Op:
    """An operation in a computation that is being built.

    Operators and indexing add operations to the same computation. Operators behave as in XLA: `/`
    of integers truncates, `%` has the sign of the dividend, `>>` copies the top bit of signed
    integers, and comparisons, including `==`, compare element by element. Numbers take the type of
    the other operand.

    >>> from hlotool.builder.builder import Builder
    >>> b = Builder("demo")
    >>> x = b.parameter(0, "f32[4,6]", "x")
    >>> (2 * x[1:3, ::2]).shape.text
    'f32[2,3]{1,0}'
    """

    __slots__ = ("builder", "instruction")
    # Makes NumPy arrays defer to the operators of this class.
    __array_ufunc__ = None
    __array_priority__ = 1000

    def __init__(self, builder: Any, instruction: Instruction) -> None:
        self.builder = builder
        self.instruction = instruction

    @property
    def shape(self) -> Shape:
        """The shape of the result."""
        return self.instruction.shape

    @property
    def name(self) -> str:
        """The name of the instruction."""
        return self.instruction.name

    @property
    def element_type(self) -> str:
        """The element type of an array, such as "f32"; "tuple" or "token" for other values."""
        return self.instruction.shape.element_type

    @property
    def dimensions(self) -> tuple[int, ...]:
        """The sizes of an array's dimensions."""
        return self.instruction.shape.dimensions

    @property
    def rank(self) -> int:
        """The number of dimensions of an array."""
        return self.instruction.shape.rank

    def __repr__(self) -> str:
        return f"<op {self.instruction.name} = {self.instruction.shape.text_without_layout} {self.instruction.op.name}>"

    def named(self, name: str) -> Op:
        """Renames the instruction and returns the operation; a name already in use gets a number.

        >>> from hlotool.builder.builder import Builder
        >>> b = Builder("demo")
        >>> b.add(b.constant(1.0), b.constant(2.0)).named("total").name
        'total'
        """
        self.builder.rename(self, name)
        return self

    def annotated(self, **annotations: Any) -> Op:
        """Annotates the instruction as `Builder.annotate` does, and returns the operation.

        >>> from hlotool.builder.builder import Builder
        >>> b = Builder("demo")
        >>> b.constant(1.0).annotated(sharding="{replicated}", metadata='{op_name="one"}').instruction.metadata.op_name
        'one'
        """
        self.builder.annotate(self, **annotations)
        return self

    def with_layout(self, shape: Any) -> Op:
        """Sets the layout of the result to that of `shape`, and returns the operation.

        `shape` is a shape or its text; only its layout may differ from the shape of the result.

        >>> from hlotool.builder.builder import Builder
        >>> x = Builder("demo").parameter(0, "f32[2,3]", "x")
        >>> (-x).with_layout("f32[2,3]{0,1}").shape.text
        'f32[2,3]{0,1}'
        """
        self.builder.set_layout(self, shape)
        return self

    def _apply(self, method: str, *arguments: Any) -> Op:
        result: Op = getattr(self.builder, method)(*arguments)
        return result

    # ---- arithmetic -----------------------------------------------------------------------------

    def __add__(self, other: Any) -> Op:
        return self._apply("add", self, other)

    def __radd__(self, other: Any) -> Op:
        return self._apply("add", other, self)

    def __sub__(self, other: Any) -> Op:
        return self._apply("sub", self, other)

    def __rsub__(self, other: Any) -> Op:
        return self._apply("sub", other, self)

    def __mul__(self, other: Any) -> Op:
        return self._apply("mul", self, other)

    def __rmul__(self, other: Any) -> Op:
        return self._apply("mul", other, self)

    def __truediv__(self, other: Any) -> Op:
        return self._apply("div", self, other)

    def __rtruediv__(self, other: Any) -> Op:
        return self._apply("div", other, self)

    def __mod__(self, other: Any) -> Op:
        return self._apply("rem", self, other)

    def __rmod__(self, other: Any) -> Op:
        return self._apply("rem", other, self)

    def __pow__(self, other: Any) -> Op:
        return self._apply("pow", self, other)

    def __rpow__(self, other: Any) -> Op:
        return self._apply("pow", other, self)

    def __matmul__(self, other: Any) -> Op:
        return self._apply("matmul", self, other)

    def __rmatmul__(self, other: Any) -> Op:
        return self._apply("matmul", other, self)

    def __neg__(self) -> Op:
        return self._apply("neg", self)

    def __pos__(self) -> Op:
        return self

    def __abs__(self) -> Op:
        return self._apply("abs", self)

    # ---- bits and truth values ------------------------------------------------------------------

    def __and__(self, other: Any) -> Op:
        return self._apply("and_", self, other)

    def __rand__(self, other: Any) -> Op:
        return self._apply("and_", other, self)

    def __or__(self, other: Any) -> Op:
        return self._apply("or_", self, other)

    def __ror__(self, other: Any) -> Op:
        return self._apply("or_", other, self)

    def __xor__(self, other: Any) -> Op:
        return self._apply("xor", self, other)

    def __rxor__(self, other: Any) -> Op:
        return self._apply("xor", other, self)

    def __invert__(self) -> Op:
        return self._apply("not_", self)

    def __lshift__(self, other: Any) -> Op:
        return self._apply("shift_left", self, other)

    def __rlshift__(self, other: Any) -> Op:
        return self._apply("shift_left", other, self)

    def __rshift__(self, other: Any) -> Op:
        return self._apply(self._right_shift(), self, other)

    def __rrshift__(self, other: Any) -> Op:
        return self._apply(self._right_shift(), other, self)

    def _right_shift(self) -> str:
        return "shift_right_arithmetic" if self.element_type.startswith("s") else "shift_right_logical"

    def __array__(self, *arguments: Any, **named: Any) -> Any:
        raise TypeError(f"'{self.name}' has no value while it is being built, so it cannot become an array")

    def __bool__(self) -> bool:
        advice = "use select, conditional or while_, and &, |, ~ instead of and, or, not"
        raise TypeError(f"'{self.name}' has no value while it is being built, so Python cannot branch on it; {advice}")

    # ---- comparisons ----------------------------------------------------------------------------

    def __eq__(self, other: object) -> Op:  # type: ignore[override]
        return self._apply("eq", self, other)

    def __ne__(self, other: object) -> Op:  # type: ignore[override]
        return self._apply("ne", self, other)

    def __lt__(self, other: Any) -> Op:
        return self._apply("lt", self, other)

    def __le__(self, other: Any) -> Op:
        return self._apply("le", self, other)

    def __gt__(self, other: Any) -> Op:
        return self._apply("gt", self, other)

    def __ge__(self, other: Any) -> Op:
        return self._apply("ge", self, other)

    __hash__ = object.__hash__

    # ---- elements and parts ---------------------------------------------------------------------

    def __getitem__(self, index: Any) -> Op:
        """Returns an element of a tuple, or a part of an array.

        The index of an array consists of integers, slices, `...` and None.

        >>> from hlotool.builder.builder import Builder
        >>> x = Builder("demo").parameter(0, "f32[4,6,2]", "x")
        >>> x[-1, 2:5].dimensions, x[..., 0].dimensions, x[::2].dimensions
        ((3, 2), (4, 6), (2, 6, 2))
        """
        if not self.shape.is_tuple:
            return self._apply("part", self, index)
        from_end = isinstance(index, int) and -len(self) <= index < 0
        return self._apply("get_tuple_element", self, index + len(self) if from_end else index)

    def __iter__(self) -> Iterator[Op]:
        """Returns an iterator over the elements of a tuple, so that tuples can be unpacked."""
        if not self.shape.is_tuple:
            self.builder._reject(Violation("T069", "operand", f"{self.shape.text_without_layout} is not a tuple, so it cannot be unpacked"))
        return iter([self._apply("get_tuple_element", self, k) for k in range(len(self.shape.elements))])

    def __len__(self) -> int:
        """Returns the number of elements of a tuple, or the size of an array's first dimension."""
        if self.shape.is_tuple:
            return len(self.shape.elements)
        if not self.shape.dimensions:
            scalar = "a scalar " if self.shape.is_array else ""
            raise TypeError(f"'{self.name}' is {scalar}{self.shape.text_without_layout} and has no length")
        return self.shape.dimensions[0]
