"""Operations that combine no elements at all."""

from __future__ import annotations

from hlotool.ir.model import Instruction
from hlotool.optimizer.dimensions import is_empty, is_plain
from hlotool.optimizer.registry import rule
from hlotool.optimizer.site import Site
from hlotool.shapes.dtype import ELEMENT_TYPES

__all__: list[str] = []


@rule("reduce")
def reduce_of_nothing(x: Instruction, site: Site) -> Instruction | None:
    """reduce(a, v) -> broadcast(v), if `a` has no elements"""
    if not x.shape.is_array or not is_plain(x.shape) or is_empty(x.shape):
        return None
    source, init = x.operands
    if not is_plain(source.shape) or not is_empty(source.shape) or init.shape.element_type != x.shape.element_type:
        return None
    return site.add("broadcast", [init], x.shape, dimensions=()) if x.shape.dimensions else init


@rule("dot", "convolution")
def sum_of_nothing(x: Instruction, site: Site) -> Instruction | None:
    """dot(a, b) -> broadcast(0), if `a` or `b` has no elements; for convolutions, too"""
    if not is_plain(x.shape) or is_empty(x.shape) or not any(is_empty(y.shape) and is_plain(y.shape) for y in x.operands):
        return None
    return site.number(x.shape, 0) if ELEMENT_TYPES[x.shape.element_type].kind != "complex" else None
