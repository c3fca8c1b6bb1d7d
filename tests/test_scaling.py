"""Time and memory grow linearly with the size of a module.

These tests measure families of modules whose cost once grew faster, and similar families.
`tests/tools/scaling.py` measures all families.
"""

from __future__ import annotations

import sys
import time

import pytest
from families import FAMILIES, FAULTY
from scaling import MAX_EXPONENT, attempt, memory_scaling, time_scaling

import hlotool
from hlotool.shapes.shape import Shape, array_shape, compatible, tuple_shape

pytestmark = pytest.mark.usefixtures("frozen")

ONCE_WORSE = {
    "parse": ("forward references", "operands of other computations", "undefined computations with near names", "undefined operands with near names"),
    "verify": (
        "broadcast of n dimensions", "chain in one line", "codes of one mark", "control predecessors of one instruction",
        "gather of n dimensions", "ignored findings in one line", "ignored in the file", "inline computations", "nested tuple shape", "off", "on",
        "off and on", "reduce of n dimensions", "wrong shapes in one line",
    ),
    "run": ("elements of an inferred tuple", "fusion parameters", "nested tuple shape", "tuple parameter", "tuple parameter of a call"),
    "fmt": ("doubled tuples", "undefined operands"),
    "opt": (
        "calls with an unused argument", "conditionals of their own", "equal branches", "control predecessors of one instruction",
        "elements of a known tuple", "equal arguments", "fusions that become smaller", "loop state of constants", "loops of their own",
        "tokens of one instruction", "unused parameters", "users of one value, and all of them used",
    ),
    "diff": ("file names", "stack frames"),
}  # fmt: skip
CASES = [(operation, name) for operation, names in ONCE_WORSE.items() for name in names]
on_unix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no timers that end a measurement")


@on_unix
@pytest.mark.parametrize(("operation", "name"), CASES)
def test_time_grows_linearly(operation: str, name: str) -> None:
    measured = time_scaling(operation, FAMILIES[name], seconds=20)
    assert measured is None or measured.exponent < MAX_EXPONENT, measured


@pytest.mark.parametrize(
    ("operation", "name"), [case for case in CASES if case[1] in ("doubled tuples", "tuple parameter", "nested tuple shape", "off")]
)
def test_memory_grows_linearly(operation: str, name: str) -> None:
    measured = memory_scaling(operation, FAMILIES[name])
    assert measured is None or measured.exponent < MAX_EXPONENT, measured


@pytest.mark.parametrize("name", FAMILIES)
def test_modules_parse_unless_they_are_meant_to_be_wrong(name: str) -> None:
    """Parses modules of the measured size; in others, names may be types, such as `f16`."""
    text = FAMILIES[name].make(FAMILIES[name].size)
    if name not in FAULTY:
        assert hlotool.parse_all(text)
        return
    with pytest.raises(hlotool.ParseError):
        hlotool.parse_all(text)


@pytest.mark.parametrize("operation", ["parse", "fmt", "verify"])
def test_exponential_tuples_are_rejected_quickly(operation: str) -> None:
    """Checks forty tuples, each of which contains the previous one twice: 2^40 arrays in total."""
    started = time.process_time()
    attempt(operation, FAMILIES["doubled tuples"].make(40))
    assert time.process_time() - started < 5


def test_exponential_tuples_are_errors() -> None:
    with pytest.raises(hlotool.ParseError, match=r"more than 13[0-9],[0-9]+ elements in total") as caught:
        hlotool.parse(FAMILIES["doubled tuples"].make(40))
    assert [d.code for d in caught.value.diagnostics] == ["S037"]


def test_shared_shapes_are_compared_once() -> None:
    """Compares shapes that share their elements, which can also be built without parsing."""

    def doubled(depth: int) -> Shape:
        shape = array_shape("f32", (2,))
        for _ in range(depth):
            shape = tuple_shape([shape, shape])
        return shape

    first, second = doubled(60), doubled(60)
    assert first == second
    assert hash(first) == hash(second)
    assert compatible(first, second)
    assert first.leaf_count == 2**60
    assert first.tree_size == 2**61 - 1
