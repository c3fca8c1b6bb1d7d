"""Operations on operands without elements."""

from __future__ import annotations

from hlotool.ir.model import Instruction
from hlotool.optimizer.dimensions import is_empty, is_plain
from hlotool.optimizer.registry import rule
from hlotool.optimizer.site import Site

__all__: list[str] = []


@rule("convolution")
def convolution_of_nothing(x: Instruction, site: Site) -> Instruction | None:
    """convolution(a, b) -> broadcast(0), if `a` or `b` has no elements"""
    return site.number(x.shape, 0) if is_plain(x.shape) and any(is_empty(y.shape) for y in x.operands) else None
