"""Broadcasting: all combinations of ranks, sizes and broadcast_dimensions, compared with a model.

The model follows the rules of XLA's documentation.
"""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

import hlotool
from hlotool.builder.broadcasting import expansions
from hlotool.builder.names import method_name
from hlotool.errors import Violation
from hlotool.opdefs.elementwise import BINARY
from hlotool.shapes.shape import Shape, array_shape

SIZES = (1, 2, 3)
RANKS = list(product(range(4), repeat=2))
METHODS = [method_name(row.name) for row in BINARY]
COMPARISONS = [f"{direction}{kind}" for direction in ("eq", "ne", "ge", "gt", "le", "lt") for kind in ("", "_total_order")]


def shapes(rank: int, sizes: tuple[int, ...] = SIZES) -> list[tuple[int, ...]]:
    return list(product(sizes, repeat=rank))


def model(lhs: tuple[int, ...], rhs: tuple[int, ...], dimensions: tuple[int, ...]) -> tuple[int, ...] | None:
    """Returns the dimensions of the result, or None for an illegal combination.

    The rules are those of XLA's documentation.
    """
    if len(lhs) == len(rhs):
        if dimensions not in ((), tuple(range(len(lhs)))):
            return None
        pairs = list(zip(lhs, rhs, strict=True))
    else:
        small, large = sorted((lhs, rhs), key=len)
        # Scalars can be broadcast to any shape. Other operands need the position of each dimension,
        # in strictly increasing order.
        if len(dimensions) != len(small) or any(not 0 <= position < len(large) for position in dimensions):
            return None
        if any(a >= b for a, b in pairwise(dimensions)):
            return None
        middle = list(large)
        for size, position in zip(small, dimensions, strict=True):
            middle[position] = size
        pairs = list(zip(middle, large, strict=True))
    if any(a != b and 1 not in (a, b) for a, b in pairs):
        return None
    return tuple(max(pair) for pair in pairs)


def choices(ranks: tuple[int, int]) -> list[tuple[int, ...]]:
    """Returns all lists of broadcast_dimensions, including invalid ones.

    Invalid lists have the wrong length, or have entries that are out of range, out of order or
    repeated.
    """
    low, high = min(ranks), max(ranks)
    lengths = {0, low, low + 1, high}
    return [positions for length in sorted(lengths) for positions in product(range(high + 1), repeat=length)]


def infer(lhs: tuple[int, ...], rhs: tuple[int, ...], dimensions: tuple[int, ...]) -> tuple[int, ...] | None:
    """Returns the dimensions of the result according to the builder's own rules."""
    x, y = array_shape("f32", lhs), array_shape("f32", rhs)
    try:
        pair = expansions(x, y, dimensions)
    except Violation:
        return None
    ends: list[Shape] = [expansion.result or expansion.mapped or shape for expansion, shape in zip(pair, (x, y), strict=True)]
    assert ends[0].dimensions == ends[1].dimensions
    return ends[0].dimensions


@pytest.mark.parametrize("ranks", RANKS, ids=str)
def test_rules_match_the_documentation(ranks: tuple[int, int]) -> None:
    for lhs, rhs in product(shapes(ranks[0]), shapes(ranks[1])):
        for dimensions in choices(ranks):
            assert infer(lhs, rhs, dimensions) == model(lhs, rhs, dimensions), (lhs, rhs, dimensions)


@pytest.mark.parametrize("method", [*METHODS, *COMPARISONS])
@pytest.mark.parametrize("ranks", RANKS, ids=str)
def test_every_elementwise_operation_follows_the_rules(method: str, ranks: tuple[int, int]) -> None:
    element_type = "f32" if method == "atan2" else "s32"
    b = hlotool.Builder("m", source_lines=False)
    for number, (lhs, rhs) in enumerate(product(shapes(ranks[0], (1, 2)), shapes(ranks[1], (1, 2)))):
        x = b.parameter(2 * number, array_shape(element_type, lhs))
        y = b.parameter(2 * number + 1, array_shape(element_type, rhs))
        for dimensions in choices(ranks):
            expected = model(lhs, rhs, dimensions)
            try:
                found = getattr(b, method)(x, y, list(dimensions)).dimensions
            except hlotool.BuilderError:
                found = None
            assert found == expected, (lhs, rhs, dimensions)
    # The build fails if the verifier rejects an operation.
    b.build()


LEGAL = [
    ((2, 3), (3,), (1,)),
    ((3, 3), (3,), (0,)),
    ((2, 3, 4), (3, 4), (1, 2)),
    ((2, 3, 4), (2, 4), (0, 2)),
    ((2, 3, 4), (2, 3), (0, 1)),
    ((4,), (1, 2), (0,)),
    ((1, 2), (4, 3, 1), (1, 2)),
    ((2, 1), (1, 3), ()),
    ((), (2, 3), ()),
    ((7, 1, 5), (7, 2, 5), ()),
    ((1, 1), (3, 2, 2), (0, 2)),
    ((0,), (1, 3), (0,)),
]


@pytest.mark.parametrize(("lhs", "rhs", "dimensions"), LEGAL, ids=str)
def test_values_match_numpy(lhs: tuple[int, ...], rhs: tuple[int, ...], dimensions: tuple[int, ...]) -> None:
    b = hlotool.Builder("m")
    x, y = b.parameter(0, array_shape("s32", lhs)), b.parameter(1, array_shape("s32", rhs))
    module = b.build(b.sub(x, y, dimensions))
    values: list[Any] = [np.arange(np.prod(sizes, dtype=int), dtype=np.int32).reshape(sizes) + 10 for sizes in (lhs, rhs)]
    placed = list(values)
    if len(lhs) != len(rhs):
        k = 0 if len(lhs) < len(rhs) else 1
        sizes = [1] * max(len(lhs), len(rhs))
        for size, position in zip((lhs, rhs)[k], dimensions, strict=True):
            sizes[position] = size
        placed[k] = values[k].reshape(sizes)
    assert hlotool.evaluate(module, values).tolist() == (placed[0] - placed[1]).tolist()


MESSAGES = [
    ("f32[2,3]", "f32[3]", (), "f32[3] and f32[2,3] have different ranks: broadcast_dimensions must list"),
    ("f32[2,3]", "f32[3]", (), "did you mean broadcast_dimensions=[1]?"),
    ("f32[2,3]", "f32[3]", (0,), "dimension 0 of f32[3] has size 3, but dimension 0 of f32[2,3] has size 2"),
    ("f32[2,2,2]", "f32[2,2]", (2, 1), "strictly increasing, got [2, 1]"),
    ("f32[2,2,2]", "f32[2,2]", (2, 2), "strictly increasing, got [2, 2]"),
    ("f32[7,2,5]", "f32[7,2,6]", (), "not compatible: the sizes of dimension 2 are 5 and 6"),
    ("f32[2,3]", "f32[2,3]", (1, 0), "broadcast_dimensions of two operands of rank 2 must be empty or [0, 1], got [1, 0]"),
    ("f32[2,3]", "f32[3]", (1, 2), "one entry for each dimension of f32[3], got [1, 2]"),
    ("f32[2,3]", "f32[3]", (2,), "there is no dimension 2 in f32[2,3]"),
    ("f32[2,3]", "f32[]", (1,), "a scalar has no dimensions to map"),
    ("f32[2,3]", "s32[3]", (1,), "different element types: f32[2,3] and s32[2,3]"),
    ("token[]", "f32[3]", (), "must be an array"),
]


@pytest.mark.parametrize(("lhs", "rhs", "dimensions", "part"), MESSAGES)
def test_messages(lhs: str, rhs: str, dimensions: tuple[int, ...], part: str) -> None:
    b = hlotool.Builder("m")
    x, y = b.parameter(0, lhs), b.parameter(1, rhs)
    with pytest.raises(hlotool.BuilderError) as caught:
        b.add(x, y, dimensions)
    assert part in str(caught.value)
    diagnostic = caught.value.diagnostics[0]
    assert diagnostic.filename == __file__
    assert diagnostic.message.startswith("add: ")


def test_negative_dimension_numbers_count_from_the_end() -> None:
    b = hlotool.Builder("m")
    x, y = b.parameter(0, "f32[2,3]"), b.parameter(1, "f32[2]")
    assert b.add(x, y, [-2]).dimensions == (2, 3)


def test_dynamic_dimensions_stay_dynamic() -> None:
    b = hlotool.Builder("m")
    x, y = b.parameter(0, "f32[<=2,3]"), b.parameter(1, "f32[3]")
    assert b.add(x, y, [1]).shape.text_without_layout == "f32[<=2,3]"
    assert b.add(x, 1.0).shape.text_without_layout == "f32[<=2,3]"
    assert b.add(x, b.parameter(2, "f32[1,3]")).shape.text_without_layout == "f32[<=2,3]"
    b.build()
