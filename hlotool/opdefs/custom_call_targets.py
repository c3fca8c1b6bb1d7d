"""Constraints on operands, results and aliases of the custom-call targets that XLA itself defines.

The opcode custom-call is defined in `opdefs.control_flow`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from hlotool.opdefs.base import require
from hlotool.opdefs.inference import count, is_scalar
from hlotool.shapes.shape import Shape, indexed_leaves
from hlotool.shapes.values import AliasPair

__all__ = ["BUFFER_CONVERTERS", "LAYOUT_KEEPERS", "Path", "buffer_paths", "check_buffers", "check_target", "holds_buffers"]

Path = tuple[int, ...]
TargetCheck = Callable[[Shape, tuple[Shape, ...], Sequence[AliasPair]], None]

_ALIASES = "output_to_operand_aliasing={{}: (0, {})}"


def holds_buffers(shape: Shape) -> bool:
    """Returns whether the shape contains a buffer; faster than finding the path of the buffer."""
    return any(leaf.element_type == "buffer" for leaf in shape.leaves())


def buffer_paths(shape: Shape) -> Iterator[Path]:
    """Yields the paths of the buffers in a shape.

    >>> from hlotool.shapes.shape import array_shape, buffer_shape, tuple_shape
    >>> list(buffer_paths(tuple_shape([array_shape("f32"), buffer_shape(array_shape("f32"))])))
    [(1,)]
    """
    return (path for path, leaf in indexed_leaves(shape) if leaf.element_type == "buffer")


def check_buffers(target: str, result: Shape, operands: tuple[Shape, ...], pairs: Sequence[AliasPair]) -> None:
    """Checks that each buffer operand, to which the call writes, is aliased by one output.

    Each buffer in the result must alias an operand, unless the target creates it.
    """
    for k, operand in enumerate(operands):
        if not holds_buffers(operand):
            continue
        for path in buffer_paths(operand):
            outputs = sum(pair.number == k and pair.index == path for pair in pairs)
            message = f"the buffer in operand {k}, {operand.text_without_layout}, must be aliased by exactly one output, got {outputs}"
            require(outputs == 1, "T102" if outputs else "T101", f"operand {k}", message, "list the buffer once in output_to_operand_aliasing")
    if target in _BUFFER_CREATORS or not holds_buffers(result):
        return
    aliased = {pair.output_index for pair in pairs}
    for path in buffer_paths(result):
        where = f"element {{{','.join(map(str, path))}}} of the result" if path else "the result"
        require(path in aliased, "T101", "shape", f"{where} is a buffer, but does not alias an operand", "add an alias to output_to_operand_aliasing")


def _check_seed(result: Shape, operands: tuple[Shape, ...], pairs: Sequence[AliasPair]) -> None:
    require(not operands, "C041", "operands", f"GetRngSeed takes no operands, got {len(operands)}")
    fits = is_scalar(result) and result.element_type == "u64"
    require(fits, "C041", "shape", f"GetRngSeed returns u64[], but {result.text_without_layout} is written")


def _conversion_check(target: str, source: str, product: str) -> TargetCheck:
    """Returns the check for calls that convert between an array and a buffer in the same memory.

    If `source` is empty, the calls have no operand.
    """

    def check(result: Shape, operands: tuple[Shape, ...], pairs: Sequence[AliasPair]) -> None:
        arity = 1 if source else 0
        require(len(operands) == arity, "T103", "operands", f"{target} takes {count(arity, 'operand')}, got {len(operands)}")
        for operand in operands:
            require(_form(operand) == source, "T103", "operand 0", f"{target} takes {source}, got {operand.text_without_layout}")
        require(_form(result) == product, "T103", "shape", f"{target} returns {product}, but {result.text_without_layout} is written")
        aliased = len(pairs) == arity and all(not pair.output_index and not pair.index for pair in pairs)
        require(aliased, "T103", "custom_call_target", f"{target} {f'requires {_ALIASES}' if arity else 'must not have output_to_operand_aliasing'}")

    return check


def _form(shape: Shape) -> str:
    return "an array" if shape.is_array else "a buffer" if shape.element_type == "buffer" else "neither"


_TARGETS: dict[str, TargetCheck] = {
    "GetRngSeed": _check_seed,
    "Pin": _conversion_check("Pin", "an array", "a buffer"),
    "Unpin": _conversion_check("Unpin", "a buffer", "an array"),
    "CreateBuffer": _conversion_check("CreateBuffer", "", "a buffer"),
}


_BUFFER_CREATORS = frozenset({"Pin", "CreateBuffer"})

BUFFER_CONVERTERS = frozenset({"Pin", "Unpin"})
"""The targets that return the operand's memory as an array instead of a buffer, or vice versa."""
LAYOUT_KEEPERS = frozenset({"LayoutConstraint"})
"""The targets whose result must have the layout of the operand."""


def check_target(target: str, result: Shape, operands: tuple[Shape, ...], pairs: Sequence[AliasPair]) -> None:
    """Checks the operands, result and aliases of a call whose target is known."""
    check = _TARGETS.get(target)
    if check is not None:
        check(result, operands, pairs)
