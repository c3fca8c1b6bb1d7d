"""Assertions about modules: the modules that they accept, and messages about other modules."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest

import hlotool
from hlotool.testing import assert_runs_equal, assert_same_module

DOUBLE = "ENTRY e { p = f32[2] parameter(0) ROOT r = f32[2] add(p, p) }"
SQUARE = "ENTRY e { p = f32[2] parameter(0) ROOT r = f32[2] multiply(p, p) }"
PAIR = "ENTRY e { p = f32[2] parameter(0) s = f32[2] add(p, p) ROOT t = (f32[2], f32[2]) tuple(s, p) }"


def test_equal_modules_and_runs():
    assert_same_module(hlotool.parse(DOUBLE), DOUBLE)
    assert_same_module(DOUBLE.replace("r =", "sum ="), DOUBLE, ignore=["names"])
    assert_runs_equal(DOUBLE, hlotool.parse(DOUBLE), rtol=0, atol=0)
    assert_runs_equal(SQUARE, DOUBLE, [np.array([0.0, 2.0])])


@pytest.mark.parametrize(
    ("actual", "expected", "message"),
    [
        (SQUARE, DOUBLE, "of 2 elements of output (f32[2]) differ: "),
        (DOUBLE.replace("f32", "f64"), DOUBLE, "output is f64[2], expected f32[2]"),
        (DOUBLE, PAIR, "the result has 1 part, expected 2"),
    ],
)
def test_other_results(actual, expected, message):
    with pytest.raises(AssertionError) as caught:
        assert_runs_equal(actual, expected)
    assert str(caught.value).startswith("for seed 0, ")
    assert message in str(caught.value)


def test_other_modules():
    with pytest.raises(AssertionError, match="the module is not the expected one: 1 instruction changed"):
        assert_same_module(SQUARE, DOUBLE)


def test_a_module_that_cannot_be_run():
    with pytest.raises(hlotool.EvaluationError):
        assert_runs_equal(DOUBLE, DOUBLE, [1.0, 2.0])


FAILURES = {
    "another module": f"assert_same_module({SQUARE!r}, {DOUBLE!r})",
    "other results": f"assert_runs_equal({SQUARE!r}, {DOUBLE!r})",
    "text that does not parse": f"assert_same_module({SQUARE!r}, {DOUBLE.replace('add', 'addd')!r})",
    "wrong arguments": f"assert_runs_equal({SQUARE!r}, {DOUBLE!r}, [1.0, 2.0])",
}


@pytest.mark.parametrize("call", FAILURES.values(), ids=FAILURES)
@pytest.mark.parametrize("runner", ["pytest", "unittest"])
def test_tracebacks_end_in_the_test(tmp_path, runner, call):
    """Checks that the traceback has no frames of hlotool.

    unittest removes frames only from the tracebacks of failed assertions, so the traceback of any
    other error may have one frame of hlotool.
    """
    test = f"import unittest\nfrom hlotool.testing import *\nclass Test(unittest.TestCase):\n    def test(self):\n        {call}\n"
    (tmp_path / "test_module.py").write_text(test)
    options = ["-q", "-p", "no:cacheprovider", "--rootdir", tmp_path, "test_module.py"] if runner == "pytest" else ["test_module"]
    result = subprocess.run([sys.executable, "-m", runner, *options], cwd=tmp_path, capture_output=True, text=True, check=False)
    output = result.stdout + result.stderr
    assert result.returncode == 1, output
    assert call in output
    frames = re.findall(r"hlotool/(\w[\w/]*\.py)(?:\"|:\d)", output)
    fails = "differ" in output or "is not the expected one" in output
    assert frames == ([] if runner == "pytest" or fails else ["testing/assertions.py"]), output
