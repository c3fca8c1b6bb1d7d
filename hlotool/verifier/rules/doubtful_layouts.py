"""L005, L007, L011, L029 and L030: layouts that are legal but probably not intended."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.opdefs.inference import count
from hlotool.opdefs.layouts import FAST_MEMORY, HOST_MEMORY
from hlotool.shapes.dtype import ELEMENT_TYPES
from hlotool.shapes.layout import Layout, is_implicit_layout
from hlotool.shapes.memory import data_size, is_physical_reshape
from hlotool.shapes.shape import Shape
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []

_SPACES = {"cpu": frozenset({0, HOST_MEMORY}), "generic": frozenset({0, FAST_MEMORY, HOST_MEMORY})}
_BITS_PER_BYTE = 8

Doubt = tuple[str, str, str, str | None]
"""The code, position, message and hint of a finding."""


@module_rule("L005", "L007", "L011", "L029", "L030", stage="lint")
def doubtful_layouts(facts: Facts) -> Iterator[Finding]:
    """Layouts describe memory completely.

    Checks: the first tile has no more dimensions than the array (L005); layouts of types smaller
    than a byte have an `E(n)` (L007); the target has the memory space (L030; not checked for the
    targets "gpu" and "tpu"); a bitcast does not permute elements (L011); either all arrays have a
    layout or none does (L029, reported at the first array without one).
    """
    known: dict[Shape, Doubt | None] = {}
    bare, arrays, first = 0, 0, None
    for computation in facts.module.computations:
        for x in computation.instructions:
            shape = x.shape
            if shape.is_array and shape.rank:
                arrays += 1
                if is_implicit_layout(shape.layout, shape.rank):
                    bare += 1
                    first = first or (computation, x)
            if shape not in known:
                known[shape] = _doubt(shape, facts.modes.target)
            doubt = known[shape]
            if doubt is not None and all(known.get(operand.shape) is not doubt for operand in x.operands):
                yield Finding(doubt[0], computation, x, *doubt[1:])
    yield from _scrambling_bitcasts(facts)
    if first is not None and bare < arrays:
        yield Finding("L029", *first, "name", f"{bare} of {arrays} arrays {'has' if bare == 1 else 'have'} no layout")


def _doubt(shape: Shape, target: str) -> Doubt | None:
    for leaf in shape.leaves():
        layout = leaf.layout
        if layout is not None and not is_implicit_layout(layout, leaf.rank):
            doubt = _doubt_about(leaf, layout, target)
            if doubt is not None:
                return doubt
    return None


def _doubt_about(array: Shape, layout: Layout, target: str) -> Doubt | None:
    at = "shape[layout]"
    if layout.tiles and len(layout.tiles[0]) > array.rank:
        return "L005", f"{at}[T]", f"the tile has {count(len(layout.tiles[0]), 'dimension')}, but the array has {array.rank}", None
    bits = ELEMENT_TYPES[array.element_type].bits
    if bits < _BITS_PER_BYTE and not layout.element_size_in_bits:
        return "L007", "shape", f"{array.element_type} without E({bits}) is stored as one element per byte", f"write E({bits}) if elements are packed"
    spaces = _SPACES.get(target)
    if spaces is not None and layout.memory_space not in spaces:
        return "L030", f"{at}[S]", f"target '{target}' has no memory space S({layout.memory_space})", "choose another target with --target"
    return None


def _scrambling_bitcasts(facts: Facts) -> Iterator[Finding]:
    for computation, x in facts.instructions_of("bitcast"):
        operand, result = x.operands[0].shape, x.shape
        arrays = operand.is_array and result.is_array and operand.element_type == result.element_type
        if arrays and data_size(operand) == data_size(result) and not is_physical_reshape(operand, result):
            message = f"when {operand.text} is read as {result.text}, its elements are in a different order than after a reshape"
            yield Finding("L011", computation, x, "shape[layout]", message, "this is correct only if a transposition is intended")
