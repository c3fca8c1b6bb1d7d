"""Random instances of operations: valid ones run without a warning, wrong arguments are refused. `fuzz_ops.py` compares results with XLA's."""

from __future__ import annotations

import contextlib
import re
from random import Random

import numpy as np
import pytest
from instances import FAMILIES, module_of
from random_ops import random_instance

import hlotool
from hlotool.errors import EvaluationError, ParseError
from hlotool.interp.dtypes import NUMPY_TYPES
from hlotool.interp.values import leaves

BATCH = 10


@pytest.mark.parametrize("name", FAMILIES)
def test_results_are_what_is_declared(name: str) -> None:
    """Results have the declared types and shapes, and arguments are not modified. Warnings are errors in all tests."""
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


@pytest.mark.parametrize("seed", range(40))
def test_any_sizes_and_attributes_are_computed_or_refused(seed: int) -> None:
    """Runs modules that the verifier would mostly refuse."""
    random = Random(seed)
    for _ in range(8):
        x = random_instance(random)
        text = module_of([x])
        for _ in range(random.randint(1, 3)):
            place = random.choice(list(NUMBER.finditer(text)))
            text = text[: place.start()] + random.choice(ODD_NUMBERS) + text[place.end() :]
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
def test_unfit_arguments_are_refused(what: str) -> None:
    random = Random(what)
    for _ in range(30):
        x = random_instance(random)
        places = [k for k, array in enumerate(x.arrays) if array.size]
        if not places:
            continue
        arrays: list[object] = list(x.arrays)
        place = random.choice(places)
        arrays[place] = UNFIT[what](x.arrays[place])
        with pytest.raises(EvaluationError) as refused:
            hlotool.evaluate(hlotool.parse(module_of([x])), arrays)
        assert [d.code for d in refused.value.diagnostics] == ["R002"]


@pytest.mark.parametrize("number", [1e300, -1e300, np.nan, np.longdouble("1e4000"), 1e-320])
def test_floats_of_any_size_become_floats_of_any_type(number: float) -> None:
    for name, dtype in NUMPY_TYPES.items():
        if name[0] in "bf":
            module = hlotool.parse(f"ENTRY e {{ x = {name}[1] parameter(0) ROOT r = {name}[1] copy(x) }}")
            assert hlotool.evaluate(module, [np.array([number])]).dtype == dtype
