"""Python code for arguments: numbers, strings, lists, records, operands and computations."""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

from hlotool.builder import dimension_numbers
from hlotool.builder.op import Op
from hlotool.builder.texts import as_shape
from hlotool.errors import Violation
from hlotool.ir.model import Computation, Instruction
from hlotool.literals.literal import Literal
from hlotool.opdefs.codecs.base import WriteStyle
from hlotool.opdefs.table import CODECS
from hlotool.record import Record
from hlotool.shapes import layout as shapes_layout
from hlotool.shapes import replica_groups, sharding, tiles
from hlotool.shapes import shape as shapes_shape
from hlotool.shapes import values as shapes_values
from hlotool.shapes.shape import Shape
from hlotool.text.print.instruction import typed_literal_text

__all__ = ["RECORD_NAMES", "CodeWriter", "Slot", "attribute_value", "fill_marks", "fill_slots", "quote", "shape_text"]

_EXACT = WriteStyle()
_RECORD_MODULES = (dimension_numbers, shapes_layout, replica_groups, shapes_shape, sharding, tiles, shapes_values)

RECORD_NAMES = frozenset(name for home in _RECORD_MODULES for name, kind in vars(home).items() if isinstance(kind, type) and issubclass(kind, Record))
"""The names of classes that generated code may call; they are not used as variable names."""

# A mark is the number of an operand between two of these characters. The code of a value never
# contains this character, because strings are escaped.
_MARK = "\0"


class Slot(Record):
    """A placeholder for an operand: an operation in a trial call, and a variable in code."""

    number: int


@lru_cache(maxsize=4096)
def shape_text(shape: Shape) -> str:
    """Returns the text of a shape, without layouts if all of them are the default.

    >>> from hlotool.builder.texts import as_shape
    >>> shape_text(as_shape("f32[2,3]{1,0}")), shape_text(as_shape("f32[2,3]{0,1}"))
    ('f32[2,3]', 'f32[2,3]{0,1}')
    """
    plain = shape.text_without_layout
    with suppress(Violation):
        if as_shape(plain) == shape:
            return plain
    return shape.text


def attribute_value(kind: str, value: Any) -> Any:
    """Returns an attribute value in a form that users pass to builders.

    This is a number, a word, a list, a computation or HLO text.

    >>> attribute_value("Dims", (0, 1)), attribute_value("Bool", True)
    ([0, 1], True)
    """
    if isinstance(value, (bool, int, float, str, Computation)):
        return value
    if isinstance(value, Shape):
        return shape_text(value)
    if isinstance(value, Literal):
        return typed_literal_text(value)
    if kind == "Shapes":
        # Each shape must have a layout.
        return [shape.text for shape in value]
    if isinstance(value, tuple) and all(isinstance(part, (int, str, Shape, Computation, tuple)) for part in value):
        return [attribute_value(kind, part) for part in value]
    return CODECS[kind].write(value, _EXACT)


def fill_slots(value: Any, operand: Callable[[int], Op]) -> Any:
    """Returns an argument for a builder method: `value`, with its slots replaced by operations."""
    if isinstance(value, Slot):
        return operand(value.number)
    if isinstance(value, (list, tuple)):
        return [fill_slots(part, operand) for part in value]
    if isinstance(value, dict):
        return {name: fill_slots(part, operand) for name, part in value.items()}
    return value


def quote(text: str) -> str:
    r"""Returns a Python string literal, in double quotes unless the text contains a double quote.

    >>> print(quote("add.1"), quote('a"b'), quote("it's"), quote("\u202e\n"))
    "add.1" 'a"b' "it's" "\u202e\n"
    """
    code = repr(text)
    return f'"{code[1:-1]}"' if code[0] == "'" and '"' not in code else code


class CodeWriter:
    """A writer of values as Python code.

    `computations` maps computations to their variables; `imports` maps the names that the code
    imports to their modules.
    """

    def __init__(self) -> None:
        self.computations: dict[Computation, str] = {}
        self.imports: dict[str, str] = {}

    def code(self, value: Any) -> str:
        """Returns the code for a value; slots become marks, which `fill_marks` replaces.

        >>> CodeWriter().code([True, 2, "a", float("-inf")])
        '[True, 2, "a", float("-inf")]'
        """
        if isinstance(value, str):
            return quote(value)
        if isinstance(value, float):
            return repr(value) if math.isfinite(value) else f'float("{"-" * (math.copysign(1, value) < 0)}{abs(value)}")'
        if isinstance(value, complex):
            return f"complex({self.code(value.real)}, {self.code(value.imag)})"
        if isinstance(value, Slot):
            return f"{_MARK}{value.number}{_MARK}"
        if isinstance(value, Computation):
            return self.computations[value]
        if isinstance(value, list):
            return f"[{', '.join(map(self.code, value))}]"
        if isinstance(value, tuple):
            return f"({', '.join(map(self.code, value))}{',' if len(value) == 1 else ''})"
        if isinstance(value, dict):
            return f"{{{', '.join([f'{quote(name)}: {self.code(part)}' for name, part in value.items()])}}}"
        if isinstance(value, bytes):
            self.imports["b64decode"] = "base64"
            return f'b64decode("{b64encode(value).decode()}")'
        if isinstance(value, Record):
            return self._record(value)
        return repr(value)

    def _record(self, record: Record) -> str:
        """Returns the call that creates a record, without trailing default values."""
        kind = type(record)
        is_argument = kind.__module__ == dimension_numbers.__name__
        self.imports[kind.__name__] = "hlotool.builder" if is_argument else kind.__module__
        values = [getattr(record, name) for name in kind._fields]
        while values and kind._fields[len(values) - 1] in kind._defaults and values[-1] == kind._defaults[kind._fields[len(values) - 1]]:
            values.pop()
        return f"{kind.__name__}({', '.join([self.code(list(value) if is_argument and isinstance(value, tuple) else value) for value in values])})"


def fill_marks(code: str, operands: Sequence[Instruction], variables: Mapping[Instruction, str]) -> str:
    """Returns the code with the marks of operands replaced with their variables."""
    if _MARK not in code:
        return code
    parts = code.split(_MARK)
    parts[1::2] = [variables[operands[int(number)]] for number in parts[1::2]]
    return "".join(parts)
