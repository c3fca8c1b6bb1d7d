"""The order in which XLA prints the attributes of an instruction."""

from __future__ import annotations

from functools import cache

from hlotool.opdefs.common import COMMON_ATTRIBUTES
from hlotool.opdefs.module_attributes import MODULE_ATTRIBUTES
from hlotool.opdefs.table import OPS

__all__ = ["HEADER_ORDER", "UNKNOWN", "attribute_order"]

UNKNOWN = "?"
"""The key in the result of `attribute_order` for attributes that the opcode does not have."""

_ASYNC_SUFFIXES = ("-start", "-update", "-done")
# XLA prints this attribute of some opcodes among the attributes common to all instructions.
_LATE = "result_accuracy"


@cache
def attribute_order(opcode: str) -> dict[str, int]:
    """Returns the positions of an opcode's attributes in XLA's output, by attribute name.

    The key UNKNOWN stands for all other attributes.

    >>> order = attribute_order("dot")
    >>> order["lhs_contracting_dims"] < order["sharding"] < order[UNKNOWN] < order["metadata"]
    True
    """
    op = OPS.get(opcode)
    names: list[str] = []
    after: list[str] = []
    if op is None:
        # `X-start` is short for an async-start of X, and XLA prints X's attributes first.
        suffix = next((s for s in _ASYNC_SUFFIXES if opcode.endswith(s)), "")
        op = OPS.get(opcode.removesuffix(suffix))
        names, after = ["async_execution_thread"], ["output_to_operand_aliasing"]
    if op is not None:
        names += [name for name in op.attributes if name != _LATE and name not in COMMON_ATTRIBUTES]
    for name in COMMON_ATTRIBUTES:
        if name == "origin":
            names += [_LATE, *after]
        elif name == "metadata":
            names.append(UNKNOWN)
        names.append(name)
    return {name: position for position, name in enumerate(dict.fromkeys(names))}


HEADER_ORDER: dict[str, int] = {name: position for position, name in enumerate([*MODULE_ATTRIBUTES, UNKNOWN])}
"""The position of each attribute in a module header printed by XLA."""
