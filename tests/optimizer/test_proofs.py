"""Exact rules on all numbers of small types: the cases of elementwise rules, with the types replaced, on every combination of operands."""

from __future__ import annotations

import re
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from case_files import read_cases

import hlotool
from hlotool.errors import HlotoolError
from hlotool.interp.dtypes import NUMPY_TYPES
from hlotool.optimizer.checking import same_bits
from hlotool.optimizer.registry import all_rules
from hlotool.shapes.dtype import ELEMENT_TYPES

HERE = Path(__file__).parent
TOPICS = ("logic", "arithmetic")
SMALL = ("pred", "s1", "s4", "u4", "s8", "u8", "f4e2m1fn", "f8e5m2", "f8e4m3fn", "f8e4m3", "f8e3m4", "f8e4m3fnuz", "f8e8m0fnu")
# Of three operands of eight bits, these numbers of each: there are 16 million combinations.
FEW = (0, 1, 2, 3, 0x3C, 0x40, 0x7A, 0x7B, 0x7C, 0x7D, 0x7E, 0x7F, 0x80, 0x81, 0x82, 0xBC, 0xC0, 0xFA, 0xFB, 0xFC, 0xFD, 0xFF)
_FLAGS = re.compile(r"^// fast-math:", re.MULTILINE)
_ARRAY = re.compile(r"\b([a-z][a-z0-9]*)\[4\]")
CASES = [(topic, k, case) for topic in TOPICS for k, case in enumerate(read_cases(HERE / f"{topic}.hlo"), 1) if not _FLAGS.search(case.text)]


def numbers(element_type: str) -> np.ndarray[Any, Any]:
    """All numbers of a type of at most eight bits."""
    row = ELEMENT_TYPES[element_type]
    if row.kind == "pred":
        return np.array([False, True])
    if row.is_integral:
        return np.arange(row.minimum, row.maximum + 1).astype(NUMPY_TYPES[element_type])
    return np.arange(1 << row.bits, dtype=np.uint8).view(NUMPY_TYPES[element_type])


def arguments(module: Any, element_type: str) -> list[np.ndarray[Any, Any]] | None:
    """Arrays that contain each combination of numbers once; None if a parameter has another shape than they need."""
    choices = []
    for parameter in module.entry.parameters:
        if parameter.shape.element_type not in SMALL:
            return None
        values = numbers(parameter.shape.element_type)
        choices.append(values[[k for k in FEW if k < len(values)]] if len(module.entry.parameters) > 2 and len(values) > 16 else values)
    if not choices or not all(parameter.shape.dimensions for parameter in module.entry.parameters):
        return None
    combinations = list(product(*[range(len(values)) for values in choices]))
    return [values[[combination[k] for combination in combinations]] for k, values in enumerate(choices)]


def replaced(text: str, old: str, new: str, size: int) -> str:
    """The program for arrays of `size` elements, with another element type instead of `old`."""
    text = re.sub(rf"\b{old}\[\]", f"{new}[]", text)
    return _ARRAY.sub(lambda match: f"{new if match[1] == old else match[1]}[{size}]", text)


def proven_rules(text: str, element_type: str) -> set[str]:
    """The names of the rules that apply to a case with this element type, after comparing all results."""
    first = next((match[1] for match in _ARRAY.finditer(text) if match[1] != "pred"), "pred")
    try:
        module = hlotool.parse(replaced(text, first, element_type, 4))
        values = arguments(module, element_type)
        if values is None or any(d.severity == "error" for d in hlotool.verify(module)):
            return set()
        module = hlotool.parse(replaced(text, first, element_type, len(values[0])))
        result = hlotool.optimize(module, TOPICS)
        before, after = hlotool.evaluate(module, values), hlotool.evaluate(result, values)
    except HlotoolError:
        # The opcode or the constant does not exist for this type.
        return set()
    for a, b in zip(*(list(x) if isinstance(x, tuple) else [x] for x in (before, after)), strict=True):
        assert same_bits(np.asarray(a), np.asarray(b)), f"{element_type}: {result}"
    return {name for name, statistics in result.report.statistics.items() if statistics.hits}


@cache
def proven_by_case(text: str) -> frozenset[str]:
    """The rules that apply to a case with one of the small types, after comparing all results."""
    return frozenset(name for element_type in SMALL for name in proven_rules(text, element_type))


@pytest.mark.parametrize(("topic", "number", "case"), CASES, ids=lambda value: str(value) if isinstance(value, str | int) else "")
def test_all_small_numbers(topic: str, number: int, case: Any) -> None:
    proven_by_case(case.text)


# Rules about indices, other types, or limits that small types do not have.
NOT_SMALL = {
    "clamp-twice": "its limits are scalars",
    "compare-of-iota": "about indices, not about operands",
    "compare-of-converted": "about two types",
    "convert-of-convert": "about two types",
    "part-of-complex": "of complex numbers",
    "complex-of-its-parts": "of complex numbers",
}


def test_each_exact_rule_is_proven() -> None:
    exact = {name for name, entry in all_rules().items() if entry.topic in TOPICS and not entry.flags}
    proven = frozenset[str]().union(*(proven_by_case(case.text) for _, _, case in CASES))
    assert exact - proven - NOT_SMALL.keys() == set()
