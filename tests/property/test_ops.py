"""Random operations: valid operations run without warnings, and wrong arguments are rejected.

`fuzz_ops.py` compares the results with XLA's.
"""

from __future__ import annotations

import contextlib
import re
from random import Random

import numpy as np
import pytest
from hypothesis import assume, given, note, settings
from hypothesis import strategies as st
from instances import FAMILIES, Instance, module_of, random_instance
from strategies import instances

import hlotool
from hlotool.errors import EvaluationError, ParseError
from hlotool.interp.arrays.dtypes import NUMPY_TYPES
from hlotool.interp.arrays.values import leaves

BATCH = 10


@pytest.mark.parametrize("name", FAMILIES)
def test_results_are_as_declared(name: str) -> None:
    """Checks that results have the declared types and shapes, and that arguments are not modified.

    Warnings are errors in all tests.
    """
    random = Random(name)
    instances = [random_instance(random, [name]) for _ in range(BATCH)]
    module = hlotool.parse(module_of(instances))
    assert not [d for d in hlotool.verify(module) if d.severity == "error"]
    arrays = [array for x in instances for array in x.arrays]
    before = [array.tobytes() for array in arrays]
    results = list(leaves(hlotool.evaluate(module, arrays)))
    declared = list(module.entry.root.shape.leaves())
    assert [(x.dtype, x.shape) for x in results] == [(NUMPY_TYPES[shape.element_type], shape.dimensions) for shape in declared]
    assert [array.tobytes() for array in arrays] == before


NUMBER = re.compile(r"(?<![\w.])-?\d+")
ODD_NUMBERS = "-1 0 1 2 3 7 -2 100 1000000 2147483647 -2147483648 9223372036854775807 -9223372036854775808 9223372036854775808".split()
LIMITS = hlotool.RunOptions(timeout_seconds=2, max_memory=1 << 28, max_iterations=100)


@settings(max_examples=320)
@given(instances(), st.lists(st.tuples(st.integers(0, 30), st.sampled_from(ODD_NUMBERS)), min_size=1, max_size=3))
def test_any_sizes_and_attributes_are_computed_or_rejected(x: Instance, numbers: list[tuple[int, str]]) -> None:
    """Checks that running a module, even one that the verifier rejects, fails only with an error."""
    text = module_of([x])
    for k, number in numbers:
        positions = list(NUMBER.finditer(text))
        position = positions[k % len(positions)]
        text = text[: position.start()] + number + text[position.end() :]
    note(text)
    with contextlib.suppress(ParseError, EvaluationError):
        module = hlotool.parse(text)
        hlotool.verify(module)
        hlotool.evaluate(module, x.arrays, options=LIMITS)


UNFIT = {
    "objects": lambda array: np.full(array.shape, None),
    "texts": lambda array: np.full(array.shape, "x"),
    "dates": lambda array: np.full(array.shape, "2000-01-01", "M8[D]"),
    "records": lambda array: np.zeros(array.shape, [("a", "f4"), ("b", "i4")]),
    "one dimension more": lambda array: array[None],
    "one element more": lambda array: np.zeros([size + 1 for size in array.shape] or [1], array.dtype),
    "ragged lists": lambda array: [[1], [2, 3]],
    "nothing": lambda array: None,
    "a function": lambda array: len,
    "infinite numbers": lambda array: np.full(array.shape, 1e300 if array.dtype.kind in "iub" else 10**400),
}


@pytest.mark.parametrize("what", UNFIT)
@settings(max_examples=30)
@given(x=instances(), number=st.integers(0, 9))
def test_unsuitable_arguments_are_rejected(what: str, x: Instance, number: int) -> None:
    positions = [k for k, array in enumerate(x.arrays) if array.size]
    assume(positions)
    arrays: list[object] = list(x.arrays)
    position = positions[number % len(positions)]
    arrays[position] = UNFIT[what](x.arrays[position])
    with pytest.raises(EvaluationError) as rejected:
        hlotool.evaluate(hlotool.parse(module_of([x])), arrays)
    assert [d.code for d in rejected.value.diagnostics] == ["R002"]


@pytest.mark.parametrize("number", [1e300, -1e300, np.nan, np.longdouble("1e4000"), 1e-320])
def test_floats_of_any_size_become_floats_of_any_type(number: float) -> None:
    for name, dtype in NUMPY_TYPES.items():
        if name[0] in "bf":
            module = hlotool.parse(f"ENTRY e {{ x = {name}[1] parameter(0) ROOT r = {name}[1] copy(x) }}")
            assert hlotool.evaluate(module, [np.array([number])]).dtype == dtype
