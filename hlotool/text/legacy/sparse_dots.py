"""Rewrites dots with structured sparsity, which XLA had from 2024 to 2025, as plain instructions.

`sparsity=L.1@2:4` means that only 2 of every 4 elements along dimension 1 of the left operand are
stored, and that the others are zero. An additional operand holds the positions of the stored
elements within their groups of four: two bits per element, beginning with the least significant
bits of each number.
"""

from __future__ import annotations

import re
from math import prod
from typing import NamedTuple

from hlotool.errors import Edit
from hlotool.text.legacy.instructions import Instructions, drop_attributes, scalar_add
from hlotool.text.legacy.old_statements import Array, Statement, Text, operands_of

__all__ = ["sparse_dot"]

_DESCRIPTOR = re.compile(r"([LR])\.([0-9]{1,9})@([0-9]{1,9}):([0-9]{1,9})")
_WIDTHS = {"u8": 8, "u16": 16, "u32": 32, "u64": 64}
# The limit for the number of stored elements times the size of a group.
_MAX_ELEMENTS = 1 << 40


def sparse_dot(text: Text, statement: Statement) -> list[Edit] | None:
    if "sparsity" not in statement.attributes:
        return None
    low, high = statement.attributes["sparsity"]
    value = text.masked[low:high].partition("=")[2].strip()
    descriptors = [_DESCRIPTOR.fullmatch(part) for part in value.split("_")]
    operands = operands_of(text.masked, statement)
    if len(operands) != 2 + len(descriptors):
        return []
    before, edits = Instructions(text, statement), []
    for descriptor, positions in zip(descriptors, operands[2:], strict=True):
        operand = operands["LR".index(descriptor[1])] if descriptor else None
        packing = _packing(text, descriptor, operand, positions) if descriptor and operand else None
        if operand is None or packing is None:
            return []
        name = _dense(before, packing, text.name_of(operand), text.name_of(positions))
        edits.append(Edit(*operand, name))
    return [before.edit, *edits, Edit(operands[1][1], operands[-1][1], ""), *drop_attributes(statement, ["sparsity"])]


class _Packing(NamedTuple):
    """The packed form of an array: the stored elements, and their positions along a dimension.

    Of every `group` elements, `kept` are stored.
    """

    values: Array
    positions: Array
    dimension: int
    kept: int
    group: int

    @property
    def bits(self) -> int:
        """The number of bits per position."""
        return (self.group - 1).bit_length()

    @property
    def per_number(self) -> int:
        """The number of positions that are packed into one number."""
        return _WIDTHS[self.positions.dtype] // self.bits

    def shape(self, dtype: str, *sizes: int) -> str:
        """Returns the stored elements' shape, with `sizes` in place of the packed dimension."""
        dimensions = self.values.dimensions
        return Array(dtype, (*dimensions[: self.dimension], *sizes, *dimensions[self.dimension + 1 :])).text


def _packing(text: Text, descriptor: re.Match[str], operand: tuple[int, int], positions: tuple[int, int]) -> _Packing | None:
    """Returns the packing of an operand, or None if it is unknown or the sizes do not fit."""
    values, numbers = text.operand_array(operand), text.operand_array(positions)
    dimension, count, group = (int(number) for number in descriptor.groups()[1:])
    if values is None or numbers is None or numbers.dtype not in _WIDTHS or not 1 <= count < group or dimension >= len(values.dimensions):
        return None
    packing = _Packing(values, numbers, dimension, count, group)
    # The positions of a group must all be in the same number.
    if packing.bits > _WIDTHS[numbers.dtype] or _WIDTHS[numbers.dtype] % (packing.bits * count) or values.dimensions[dimension] % count:
        return None
    expected = list(values.dimensions)
    expected[dimension] = -(-values.dimensions[dimension] // packing.per_number)
    return packing if list(numbers.dimensions) == expected and prod(values.dimensions) * group <= _MAX_ELEMENTS else None


def _dense(before: Instructions, packing: _Packing, values: str, positions: str) -> str:
    """Adds the instructions that make an operand dense; returns the name of the dense array."""
    at, word, dtype = packing.dimension, packing.positions.dtype, packing.values.dtype
    size = packing.values.dimensions[at]
    numbers = packing.positions.dimensions[at]
    groups, padded = size // packing.kept, numbers * packing.per_number

    split = packing.shape(word, numbers, packing.per_number)
    rank = len(packing.values.dimensions)
    all_but = {k: ",".join(str(d) for d in range(rank + extra) if d != k) for extra, k in ((1, at + 1), (2, at + 2))}
    add = before.add
    repeated = add("numbers", f"{split} broadcast({positions}), dimensions={{{all_but[at + 1]}}}")
    amounts = ", ".join(str(k * packing.bits) for k in range(packing.per_number))
    amount = add("amounts", f"{word}[{packing.per_number}] constant({{{amounts}}})")
    amount = add("shifts", f"{split} broadcast({amount}), dimensions={{{at + 1}}}")
    shifted = add("shifted", f"{split} shift-right-logical({repeated}, {amount})")
    mask = add("mask", f"{word}[] constant({(1 << packing.bits) - 1})")
    mask = add("masks", f"{split} broadcast({mask}), dimensions={{}}")
    unpacked = add("unpacked", f"{split} and({shifted}, {mask})")
    places = add("places", f"{packing.shape(word, padded)} reshape({unpacked})")
    if padded > size:
        ranges = ", ".join(f"[0:{size if k == at else n}]" for k, n in enumerate(packing.values.dimensions))
        places = add("used", f"{packing.shape(word, size)} slice({places}), slice={{{ranges}}}")

    by_group = (groups, packing.kept)
    copies = (*by_group, packing.group)
    places = add("grouped", f"{packing.shape(word, *by_group)} reshape({places})")
    places = add("spread", f"{packing.shape(word, *copies)} broadcast({places}), dimensions={{{all_but[at + 2]}}}")
    indices = add("indices", f"{packing.shape(word, *copies)} iota(), iota_dimension={at + 2}")
    chosen = add("chosen", f"{packing.shape('pred', *copies)} compare({places}, {indices}), direction=EQ")
    parts = add("parts", f"{packing.shape(dtype, *by_group)} reshape({values})")
    parts = add("copies", f"{packing.shape(dtype, *copies)} broadcast({parts}), dimensions={{{all_but[at + 2]}}}")
    zero = add("zero", f"{dtype}[] constant({'(0, 0)' if dtype.startswith('c') else '0'})")
    zeros = add("zeros", f"{packing.shape(dtype, *copies)} broadcast({zero}), dimensions={{}}")
    placed = add("placed", f"{packing.shape(dtype, *copies)} select({chosen}, {parts}, {zeros})")
    merged = packing.shape(dtype, groups, packing.group)
    whole = add("groups", f"{merged} reduce({placed}, {zero}), dimensions={{{at + 1}}}, to_apply={scalar_add(dtype)}")
    return add("dense", f"{packing.shape(dtype, groups * packing.group)} reshape({whole})")
