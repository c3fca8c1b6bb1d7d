"""The kinds of differences. This module is cheap to import, since shells complete their names."""

from __future__ import annotations

from collections.abc import Iterable

from hlotool.errors import nearest

__all__ = ["CATEGORIES", "MINOR", "PREDICATES", "check_categories"]

CATEGORIES = {
    "attributes": "an attribute of the opcode has another value",
    "backend_config": "the configuration of a backend, compared as JSON",
    "called": "another computation is called",
    "commuted": "the operands of a commutative operation are exchanged",
    "constants": "the value of a constant, bit for bit",
    "control": "control dependencies",
    "deleted": "instructions that only the left module has",
    "element_type": "the element type of the result",
    "frontend_attributes": "attributes of the frontend",
    "header": "an attribute in the header of the module",
    "inserted": "instructions that only the right module has",
    "layout": "the layout of the result",
    "metadata": "metadata such as op_name and source lines",
    "moved": "instructions that are in another computation",
    "names": "names of instructions, computations and the module",
    "opcode": "another opcode",
    "operands": "other operands",
    "root": "another root of a computation",
    "schedule": "the order of instructions in scheduled modules",
    "shape": "the dimensions of the result",
    "sharding": "the sharding",
}
"""Kinds of differences, and what each means."""

MINOR = frozenset({"metadata", "names"})
"""Differences that modules have which were not compiled in the same process, and on which nothing depends; hashes do not cover them."""

PREDICATES = {
    "opcode": "the number of instructions with this opcode changes",
    "category": "there is a difference of this category",
    "instruction": "an instruction of this name is changed, inserted or deleted",
    "computation": "something in a computation of this name is changed, inserted or deleted",
}
"""What can be asked of a difference (`differ.predicates`)."""


def check_categories(names: Iterable[str]) -> frozenset[str]:
    """The categories to ignore. Raises ValueError for an unknown one.

    >>> check_categories(["nams"])
    Traceback (most recent call last):
    ValueError: there is no category 'nams' to ignore; did you mean 'names'?
    """
    categories = frozenset(names)
    for name in sorted(categories - CATEGORIES.keys(), key=str):
        meant = nearest(str(name), CATEGORIES)
        hint = f"did you mean '{meant}'?" if meant else f"there are {', '.join(CATEGORIES)}"
        raise ValueError(f"there is no category '{name}' to ignore; {hint}")
    return categories
