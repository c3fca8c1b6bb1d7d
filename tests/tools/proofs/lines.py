"""Expressions as lists of lines, which can be written as HLO for arrays of any size."""

from __future__ import annotations

from dataclasses import dataclass

from hlotool.opdefs.algebra import Number
from hlotool.shapes.dtype import ELEMENT_TYPES

__all__ = ["Expression", "Line"]


@dataclass(frozen=True)
class Line:
    """An instruction of an expression.

    `operands` contains the indices of earlier lines. Only a constant has a `number`.
    """

    element_type: str
    opcode: str
    operands: tuple[int, ...] = ()
    attributes: str = ""
    number: Number | None = None


@dataclass(frozen=True)
class Expression:
    """A list of instructions, the last of which is the root; parameters are numbered in order."""

    lines: tuple[Line, ...]

    @property
    def parameters(self) -> tuple[str, ...]:
        """The element types of the parameters."""
        return tuple(line.element_type for line in self.lines if line.opcode == "parameter")

    @property
    def types(self) -> tuple[str, ...]:
        """The element types in order of appearance.

        pred is included only if it is the only type, because every comparison has that type.
        """
        names = tuple(dict.fromkeys(line.element_type for line in self.lines))
        return tuple(name for name in names if name != "pred") or names

    @property
    def constants(self) -> tuple[int, ...]:
        """The indices of the constants."""
        return tuple(k for k, line in enumerate(self.lines) if line.opcode == "constant")

    def text(self, prefix: str, size: int) -> list[str]:
        """Returns the instructions on arrays of `size` elements, without the parameters.

        The names of parameters consist of the type and a number, such as f32_p0 and f32_p1.
        """
        names, text = [], []
        seen: dict[str, int] = {}
        for k, line in enumerate(self.lines):
            array = f"{line.element_type}[{size}]"
            if line.opcode == "parameter":
                number = seen[line.element_type] = seen.get(line.element_type, -1) + 1
                names.append(f"{line.element_type}_p{number}")
                continue
            names.append(f"{prefix}x{k}")
            if line.opcode == "constant":
                text.append(f"  {prefix}c{k} = {line.element_type}[] constant({spelled(line.element_type, line.number)})")
                text.append(f"  {names[-1]} = {array} broadcast({prefix}c{k}), dimensions={{}}")
            else:
                text.append(f"  {names[-1]} = {array} {line.opcode}({', '.join(names[j] for j in line.operands)}){line.attributes}")
        return text

    def __str__(self) -> str:
        return "\n".join(self.text("", 4))


def spelled(element_type: str, number: Number | None) -> str:
    """Returns the spelling of a number in a literal."""
    if element_type == "pred":
        return "true" if number else "false"
    return repr(number) if ELEMENT_TYPES[element_type].kind != "complex" else f"({number}, 0)"
