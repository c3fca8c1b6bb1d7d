"""Broadcasts of instructions that rearrange elements."""

from __future__ import annotations

from hlotool.ir.model import Instruction
from hlotool.optimizer.dimensions import (
    broadcast_dimensions,
    dimensions_of,
    element_count,
    increases,
    inverse,
    is_empty,
    is_plain,
    matched_dimensions,
)
from hlotool.optimizer.registry import rule
from hlotool.optimizer.site import Site

__all__: list[str] = []


@rule("broadcast", of=("broadcast",))
def broadcast_of_broadcast(x: Instruction, site: Site) -> Instruction | None:
    """broadcast(broadcast(a)) -> broadcast(a)"""
    y = x.operands[0]
    if not is_plain(y.shape) or not is_plain(x.shape):
        return None
    dimensions = dimensions_of(x)
    return site.add("broadcast", y.operands, x.shape, dimensions=tuple(dimensions[k] for k in dimensions_of(y)))


@rule("broadcast", of=("reshape",))
def broadcast_of_reshape(x: Instruction, site: Site) -> Instruction | None:
    """broadcast(reshape(a)) -> broadcast(a), if the reshape only adds or drops dimensions of size 1

    The result must also have the dimensions of size 1 of `a`.
    """
    y = x.operands[0]
    if not is_plain(y.shape) or not is_plain(x.shape) or is_empty(x.shape):
        return None
    source = y.operands[0]
    places = matched_dimensions(source.shape.dimensions, y.shape.dimensions)
    if places is None or not is_plain(source.shape):
        return None
    known = {k: dimensions_of(x)[place] for k, place in places.items()}
    dimensions = broadcast_dimensions(source.shape.dimensions, known, x.shape.dimensions)
    return None if dimensions is None else site.add("broadcast", [source], x.shape, dimensions=dimensions)


@rule("broadcast", of=("transpose",))
def broadcast_of_transpose(x: Instruction, site: Site) -> Instruction | None:
    """broadcast(transpose(a)) -> broadcast(a)"""
    y = x.operands[0]
    if not is_plain(y.shape) or not is_plain(x.shape):
        return None
    places = inverse(dimensions_of(y))
    return site.add("broadcast", y.operands, x.shape, dimensions=tuple(dimensions_of(x)[k] for k in places))


@rule("broadcast")
def broadcast_without_repetition(x: Instruction, site: Site) -> Instruction | None:
    """broadcast(a) -> reshape(a), if all new dimensions have size 1"""
    source = x.operands[0]
    if not is_plain(x.shape) or not is_plain(source.shape) or element_count(x.shape) != element_count(source.shape) or is_empty(x.shape):
        return None
    if not increases([place for place in dimensions_of(x) if x.shape.dimensions[place] != 1]):
        return None
    return source if source.shape == x.shape else site.add("reshape", [source], x.shape)


@rule("broadcast", of=("iota",))
def broadcast_of_iota(x: Instruction, site: Site) -> Instruction | None:
    """broadcast(iota) -> iota"""
    y = x.operands[0]
    if not is_plain(x.shape):
        return None
    return site.add("iota", (), x.shape, iota_dimension=dimensions_of(x)[y.attributes["iota_dimension"]])
