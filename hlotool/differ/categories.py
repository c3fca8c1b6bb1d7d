"""The kinds of differences.

This module must be cheap to import, because shell completion uses it.
"""

from __future__ import annotations

from collections.abc import Iterable

from hlotool.errors import nearest

__all__ = ["CATEGORIES", "MINOR", "PREDICATES", "check_categories"]

CATEGORIES = {
    "attributes": "the value of an attribute of the opcode",
    "backend_config": "the backend configuration, compared as JSON",
    "called": "the called computation",
    "commuted": "exchanged operands of a commutative operation",
    "constants": "the value of a constant, bit for bit",
    "control": "control dependencies",
    "deleted": "instructions that are only in the left module",
    "element_type": "the element type of the result",
    "frontend_attributes": "frontend attributes",
    "header": "an attribute in the header of the module",
    "inserted": "instructions that are only in the right module",
    "layout": "the layout of the result",
    "metadata": "metadata such as op_name and source lines",
    "moved": "instructions moved to another computation",
    "names": "names of instructions, computations and the module",
    "opcode": "the opcode",
    "operands": "the operands",
    "root": "the root of a computation",
    "schedule": "the order of instructions in scheduled modules",
    "shape": "the dimensions of the result",
    "sharding": "the sharding",
}
"""The kinds of differences, with their meanings."""

MINOR = frozenset({"metadata", "names"})
"""Meaningless differences, such as those between modules compiled in different processes.

Hashes do not cover them.
"""

PREDICATES = {
    "opcode": "the number of instructions with this opcode changes",
    "category": "a difference of this category occurs",
    "instruction": "an instruction with this name is changed, inserted or deleted",
    "computation": "an instruction in a computation with this name is changed, inserted or deleted",
}
"""The predicates on differences (`differ.predicates`), with their meanings."""


def check_categories(names: Iterable[str]) -> frozenset[str]:
    """Returns the categories to ignore as a set. Raises ValueError for an unknown one.

    >>> check_categories(["nams"])
    Traceback (most recent call last):
    ValueError: there is no category 'nams'; did you mean 'names'?
    """
    categories = frozenset(names)
    for name in sorted(categories - CATEGORIES.keys(), key=str):
        meant = nearest(str(name), CATEGORIES)
        hint = f"did you mean '{meant}'?" if meant else f"the categories are {', '.join(CATEGORIES)}"
        raise ValueError(f"there is no category '{name}'; {hint}")
    return categories
