"""Operations on numbers and small arrays as statements for machine code.

Arrays are flat and row-major; each has its own memory, which is allocated before the loop begins.
Elementwise operations are loops over elements, with the same expressions as for numbers. If the
results would differ from NumPy's, the C loops of NumPy's functions are called instead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import prod

import numpy as np

from hlotool.interp.arrays.dtypes import NUMBERS, NUMPY_TYPES, Array
from hlotool.interp.engine.binding import Binding
from hlotool.interp.plan.native.ufunc_loops import ufunc_loop
from hlotool.interp.plan.numbers import NumberTemplate, NumberTemplates, native_wrap_statement
from hlotool.interp.plan.operations import Variable
from hlotool.interp.plan.writer import Writer
from hlotool.ir.model import Instruction

__all__ = ["CannotCompile", "NativeStatements", "dtype_of", "read", "size_of"]


class CannotCompile(Exception):
    """Raised if there are no statements for an operation."""


def size_of(variable: Variable) -> int:
    """Returns the number of elements of a variable."""
    return prod(variable.shape.dimensions)


def dtype_of(variable: Variable) -> str:
    """Returns the name of the NumPy type of a variable's elements."""
    return NUMPY_TYPES[variable.shape.element_type].name


def read(variable: Variable, text: str) -> str:
    """Returns the expression for an element in memory; integers are widened to 64 bits."""
    return f"int64({text})" if NUMBERS[variable.shape.element_type].kind in ("signed", "unsigned") else text


def _enclose(text: str) -> str:
    return text if text.isidentifier() else f"({text})"


class NativeStatements:
    """A writer for operations. `bindings` maps instructions to their kernels."""

    def __init__(self, writer: Writer, bindings: Mapping[Instruction, Binding]) -> None:
        self.constants: dict[str, Array] = {}
        """The constant arrays that the statements read, by name."""
        self.memory: Counter[str] = Counter()
        """The number of elements of memory for each NumPy type, excluding the loop's state."""
        self.prologue: list[str] = []
        """The lines that name parts of the memory."""
        self.writer = writer
        self.bindings = bindings
        self.templates = NumberTemplates(writer, is_native=True)
        self.updated: dict[Variable, Variable] = {}
        """The arrays that are updated in place: for each result, the operand that it overwrites."""
        self._has_calls = False
        # `_uniform` maps arrays to the number that all their elements equal. `_shared` maps arrays
        # to other arrays whose memory they use.
        self._uniform: dict[Variable, Variable] = {}
        self._shared: dict[Variable, Variable] = {}

    # ---- variables ------------------------------------------------------------------------------

    def name(self, variable: Variable) -> str:
        """Returns the name of a number, or of an array's memory."""
        if variable.is_scalar:
            return self.templates.name(variable)
        variable = self._shared.get(variable, variable)
        name = self.writer.name(variable)
        if variable.constant is not None:
            self.constants[name] = variable.constant
        return name

    def element(self, variable: Variable, index: str) -> str:
        """Returns the expression for a number or an array element; integers have 64 bits."""
        number = self.uniform_number(variable)
        if number is not None:
            return self.name(number)
        return read(variable, f"{self.name(variable)}[{index}]")

    def repeat(self, number: Variable, array: Variable) -> None:
        """Records that all elements of an array equal a number."""
        self._uniform[array] = number

    def share(self, operand: Variable, result: Variable) -> None:
        """Makes an array share the memory of another array with the same flat elements."""
        self._shared[result] = self._shared.get(operand, operand)

    def uniform_number(self, variable: Variable) -> Variable | None:
        """Returns a variable that is a number, or the number that all elements of an array equal.

        Returns None if the elements of the array differ, or if they are not known to be equal.
        """
        if variable.is_scalar:
            return variable
        if variable not in self._uniform and (number := variable.uniform_constant) is not None:
            self._uniform[variable] = number
        return self._uniform.get(variable)

    def allocate(self, dtype: str, count: int, name: str | None = None) -> str:
        """Allocates memory and returns its name, which is new unless it is given."""
        start, name = self.memory[dtype], name or self.writer.local("m")
        self.memory[dtype] += count
        self.prologue.append(f"{name} = memory_{dtype}[{start}:{start + count}]")
        return name

    def array(self, variable: Variable) -> str:
        """Allocates memory for an array and returns its name."""
        return self.allocate(dtype_of(variable), size_of(variable), self.writer.name(variable))

    def copy_or_update(self, operand: Variable, result: Variable) -> str:
        """Returns the name of a result that begins as a copy of an operand, or that updates it."""
        if self.updated.get(result) is operand:
            self.share(operand, result)
            return self.name(operand)
        target = self.array(result)
        self.writer.line(f"for i in range({size_of(result)}): {target}[i] = {self.element(operand, 'i')}")
        return target

    # ---- statements -----------------------------------------------------------------------------

    def assign(self, targets: Iterable[Variable], values: Iterable[Variable]) -> None:
        """Assigns values to variables, all at the same time."""
        pairs = [pair for pair in zip(targets, values, strict=True) if self.updated.get(pair[1], pair[1]) is not pair[0]]
        numbers = [(self.name(target), self.name(value)) for target, value in pairs if target.is_scalar]
        arrays = [(target, value) for target, value in pairs if not target.is_scalar]
        overwritten = {self.name(target) for target, _ in arrays}
        sources = {}
        for _, value in arrays:
            if self.uniform_number(value) is None and self.name(value) in overwritten:
                sources[value] = copy = self.allocate(dtype_of(value), size_of(value))
                self.writer.line(f"for i in range({size_of(value)}): {copy}[i] = {self.name(value)}[i]")
        for target, value in arrays:
            text = f"{sources[value]}[i]" if value in sources else self.element(value, "i")
            self.writer.line(f"for i in range({size_of(target)}): {self.name(target)}[i] = {text}")
        if numbers:
            self.writer.line(f"{', '.join(target for target, _ in numbers)} = {', '.join(value for _, value in numbers)}")

    def write_value(self, target: str, template: NumberTemplate, operands: Sequence[str]) -> None:
        """Writes statements that assign a template's value for these operands to `target`."""
        value = target if target.isidentifier() else self.writer.local("t")
        self.writer.line(f"{value} = {template.text.format(*map(_enclose, operands))}")
        if template.wraps is not None:
            self.writer.line(native_wrap_statement(value, template.wraps))
        if value != target:
            self.writer.line(f"{target} = {value}")

    def store(self, variable: Variable, count: int) -> str:
        """Returns the name of memory that contains an array's elements, or `count` equal numbers."""
        if self.uniform_number(variable) is None:
            return self.name(variable)
        name = self.allocate(dtype_of(variable), count)
        self.writer.line(f"for i in range({count}): {name}[i] = {self.element(variable, 'i')}")
        return name

    def call_loop(self, ufunc: np.ufunc, arrays: Sequence[tuple[str, str]], counts: Sequence[int | str], steps: Sequence[int]) -> None:
        """Writes a call to a NumPy loop for arrays that are given by their addresses and types.

        The last array is the result. `counts` contains the sizes that the loop takes, and `steps`
        its strides in bytes. Raises CannotCompile if there is no such loop.
        """
        letters = [np.dtype(dtype).char for _, dtype in arrays]
        loop = ufunc_loop(ufunc, f"{''.join(letters[:-1])}->{letters[-1]}")
        if loop is None:
            raise CannotCompile
        if not self._has_calls:
            self._has_calls = True
            for name, length in (("addresses", 3), ("counts", 4), ("steps", 9)):
                self.allocate("int64", length, name)
        values = [("addresses", [address for address, _ in arrays]), ("counts", counts), ("steps", steps)]
        self.writer.line("; ".join(f"{name}[{k}] = {number}" for name, numbers in values for k, number in enumerate(numbers)))
        self.writer.line(f"{self.writer.bind(loop.function)}(addresses.ctypes.data, counts.ctypes.data, steps.ctypes.data, {loop.data})")
