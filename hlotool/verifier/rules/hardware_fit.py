"""W027 and W040: arrays that do not fill the tiles of the hardware."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.analysis.sizes import bytes_of, padded_bytes_of
from hlotool.ir.model import Instruction
from hlotool.shapes.memory import format_bytes
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []

_WORST_RATIO = 2
_MIN_WASTE = 1 << 16
_TILE = 8
# Dimensions smaller than two tiles cannot avoid padding.
_SMALL = 2 * _TILE


@module_rule("W027", stage="lint")
def padding_waste(facts: Facts) -> Iterator[Finding]:
    """Tiles hold more data than padding.

    Checks: tiles at most double the size of an array or waste less than 64 KiB. Other arrays are
    reported where they first appear, not at instructions that pass them on.
    """
    messages: dict[int, str | None] = {}
    for computation in facts.module.computations:
        for x in computation.instructions:
            # Keys are identities, since the instructions of a module share their shapes.
            if id(x.shape) not in messages:
                messages[id(x.shape)] = _waste(x)
            message = messages[id(x.shape)]
            if message is not None and not any(messages.get(id(y.shape)) for y in x.operands):
                yield Finding("W027", computation, x, "shape", message, "make a larger dimension the most minor one")


def _waste(x: Instruction) -> str | None:
    for leaf in x.shape.leaves():
        if leaf.is_array and leaf.layout is not None and leaf.layout.tiles:
            data, stored = bytes_of(leaf), padded_bytes_of(leaf)
            if stored > _WORST_RATIO * data and stored - data >= _MIN_WASTE:
                return f"tiles pad {format_bytes(data)} of data to {format_bytes(stored)}"
    return None


@module_rule("W040", stage="lint")
def unaligned_dots(facts: Facts) -> Iterator[Finding]:
    """The dimensions of dots are multiples of the size of the matrix units.

    Checks: the size of each contracting or free dimension of a dot is less than 16 or a multiple
    of 8.
    """
    for computation, x in facts.instructions_of("dot"):
        for side, operand in zip(("lhs", "rhs"), x.operands, strict=True):
            message = _unaligned(x, side, operand.shape.dimensions)
            if message is not None:
                yield Finding("W040", computation, x, "opcode", message)
                break


def _unaligned(x: Instruction, side: str, sizes: tuple[int, ...]) -> str | None:
    contracting, batch = (x.attributes.get(f"{side}_{kind}_dims", ()) for kind in ("contracting", "batch"))
    for k, size in enumerate(sizes):
        if size >= _SMALL and size % _TILE and k not in batch:
            return f"{'contracting' if k in contracting else 'free'} dimension of {side} has size {size}, which is not a multiple of {_TILE}"
    return None
