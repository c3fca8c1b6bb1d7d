"""Finds everything in a module that prevents a run."""

from __future__ import annotations

from collections.abc import Iterable

from hlotool.errors import Diagnostic, Violation
from hlotool.interp.engine.binding import OPS
from hlotool.interp.engine.order import is_unknown
from hlotool.interp.failures import broken_rule, diagnostic_at
from hlotool.interp.kernels.libraries.handlers import no_handler
from hlotool.interp.run_options import ELIDED_FILLS, RunOptions
from hlotool.ir.model import Instruction, Module
from hlotool.shapes.values import SliceRange

__all__ = ["obstacles"]

_MISSING_HINT = "the opcode is not in hlotool's table"
_ELIDED_HINT = (
    f"dump with XLA_FLAGS=--xla_dump_large_constants, or choose values with --elided {', '.join(ELIDED_FILLS[:-1])} or {ELIDED_FILLS[-1]} "
    "(in Python, RunOptions(elided_fill=...))"
)


def obstacles(module: Module, instructions: Iterable[Instruction], options: RunOptions) -> list[Diagnostic]:
    """Returns a diagnostic for each instruction that cannot be computed, in textual order.

    Examples are elided constants and instructions without a kernel.
    """
    pairs = [(x, obstacle) for x in instructions if (obstacle := _obstacle(x, options)) is not None]
    return sorted([diagnostic_at(module, x, *obstacle) for x, obstacle in pairs], key=lambda d: (d.line, d.column))


def _obstacle(x: Instruction, options: RunOptions) -> tuple[str, str, str | None] | None:
    """Returns the code, message and hint for an instruction that cannot be computed, or None."""
    if x.literal is not None:
        if x.literal.elided and options.elided_fill is None:
            return "R003", f"the values of constant '{x.name}' of shape {x.shape.text_without_layout} are left out of the text", _ELIDED_HINT
        return None
    if x.op.kernel is None:
        message = f"hlotool cannot compute '{x.opcode}' yet"
        return None if x.parameter_number is not None else ("R001", message, None if x.opcode in OPS else _MISSING_HINT)
    if is_unknown(x, options):
        return "R001", *no_handler(x.attributes["custom_call_target"])
    leaf = next((leaf for leaf in x.shape.leaves() if leaf.element_type in ("opaque", "buffer")), None)
    if leaf is not None:
        return "R001", f"'{x.name}' holds a value of type {leaf.text_without_layout}, which hlotool cannot compute with", None
    rule = _doubtful_rule(x)
    return None if rule is None else ("R004", f"'{x.opcode}' cannot be computed: {rule.message} ({rule.code})", None)


def _doubtful_rule(x: Instruction) -> Violation | None:
    """Returns the rule that an instruction breaks, but only if NumPy might accept the instruction.

    Some numbers in attributes are valid in NumPy but not in HLO.
    """
    return broken_rule(x) if any(_is_doubtful(value, x) for value in x.attributes.values()) else None


def _is_doubtful(value: object, x: Instruction) -> bool:
    """Returns whether an attribute contains a negative number, or a slice beyond the array.

    NumPy counts negative numbers from the end of a dimension, and truncates slices beyond the
    array.
    """
    if not isinstance(value, tuple):
        return isinstance(value, int) and value < 0
    if value and isinstance(value[0], SliceRange):
        ends = zip(value, x.operands[0].shape.dimensions, strict=False)
        return any(part.start < 0 or not 0 <= part.limit <= size for part, size in ends)
    return any(isinstance(number, int) and number < 0 for number in value)
