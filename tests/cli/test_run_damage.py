"""`hlotool run` with damaged files, impossible sizes, and instructions that take days.

The command ends with a message and exit code 2.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from case_files import Case, expected_errors, read_cases
from hypothesis import given, settings
from hypothesis import strategies as st

from hlotool.interp.arrays.dtypes import NUMPY_TYPES

OUT_OF_RANGE = [case for case in read_cases(Path(__file__).parents[1] / "ops" / "out-of-range.hlo") if expected_errors(case.text)]
NEGATE = "ENTRY e { x = f32[2,3] parameter(0) ROOT y = f32[2,3] negate(x) }"


@pytest.fixture
def error_of_run(cli) -> Callable[..., str]:
    """Returns a function that runs a module with wrong arguments and returns the message."""

    def run(text: str, *arguments: str) -> str:
        result = cli("run", "-", *arguments, stdin=text)
        assert result.exit_code == 2, result.stderr
        assert "Traceback" not in result.stderr
        return result.stderr

    return run


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "x.npz"
    np.savez(path, x=np.zeros((2, 3), np.float32))
    return path


@pytest.fixture
def array(tmp_path: Path) -> Path:
    path = tmp_path / "x.npy"
    np.save(path, np.zeros((2, 3), np.float32))
    return path


def test_truncated_archives(error_of_run, archive):
    data = archive.read_bytes()
    for length in range(0, len(data), 9):
        archive.write_bytes(data[:length])
        assert error_of_run(NEGATE, "--inputs", str(archive)).startswith(f"hlotool: cannot read '{archive}': ")


def test_truncated_arrays(error_of_run, array):
    data = array.read_bytes()
    for length in range(0, len(data), 5):
        array.write_bytes(data[:length])
        assert error_of_run(NEGATE, "--input", f"x={array}").startswith(f"hlotool: cannot read '{array}': ")


@settings(max_examples=60)
@given(changes=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=4))
def test_changed_bytes(cli, archive, array, changes):
    for path, arguments in ((archive, ["--inputs", str(archive)]), (array, ["--input", f"x={array}"])):
        original = path.read_bytes()
        data = bytearray(original)
        for position, byte in changes:
            data[int(position * len(data))] = byte
        path.write_bytes(data)
        result = cli("run", "-", *arguments, stdin=NEGATE)
        path.write_bytes(original)
        assert result.exit_code in (0, 2)
        assert result.exit_code == 0 or result.stderr.startswith("hlotool: ")


def test_headers_of_arrays_larger_than_memory(error_of_run, array):
    for sizes in ("(1000000000000, 3)", "(-1, 3)", "(2, 3", "(2, 3.)", "'abc'", "((((2,),),),)", "(2**62,)"):
        header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {sizes}, }}".encode().ljust(117) + b"\n"
        array.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(60))
        assert error_of_run(NEGATE, "--input", f"x={array}").startswith(f"hlotool: cannot read '{array}': ")


def test_arrays_of_raw_bytes_use_only_the_bits_of_the_type(cli, array):
    np.save(array, np.frombuffer(b"\x07\xff\x00", "V1"))
    text = "ENTRY e {{ x = {0}[3] parameter(0) ROOT y = {0}[3] copy(x) }}"
    for element_type, shown in (("s4", "[ 7 -1  0]"), ("u2", "[3 3 0]"), ("pred", "[ True  True False]")):
        assert cli("run", "-", "--input", f"x={array}", stdin=text.format(element_type)).stdout == f"output  {element_type}[3]  {shown}\n"


@pytest.mark.parametrize("element_type", NUMPY_TYPES)
def test_results_of_any_type_can_be_read_again(cli, archive, element_type):
    text = f"ENTRY e {{ x = {element_type}[5] parameter(0) ROOT y = {element_type}[5] copy(x) }}"
    assert cli("run", "-", "-o", str(archive), stdin=text).exit_code == 0
    result = cli("run", "-", "--compare", str(archive), "--rtol", "inf", stdin=text)
    assert result.stdout.endswith(f"1 array agrees with {archive}\n")


def test_records_are_not_raw_bytes(error_of_run, array):
    np.save(array, np.zeros((2, 3), [("a", "f4")]))
    assert "takes f32[2,3], got an array of [('a', '<f4')]" in error_of_run(NEGATE, "--input", f"x={array}")


def test_doubles_that_overflow(cli, array):
    np.save(array, np.full((2, 3), 1e300))
    assert "inf" in cli("run", "-", "--input", f"x={array}", stdin=NEGATE).stdout


def test_shapes_larger_than_memory(error_of_run):
    giant = "f32[1000000,1000000]"
    text = f"ENTRY e {{ x = {giant} parameter(0) ROOT y = {giant} negate(x) }}"
    assert "7.3 TiB of memory, but only 1 GiB is allowed" in error_of_run(text, "--max-memory", "1G")
    assert "cannot create random values for 'x', f32[1000000,1000000]" in error_of_run(text, "--max-memory", "none")
    empty = "f32[9223372036854775807,9223372036854775807,0]"
    assert "cannot create random values for 'x'" in error_of_run(f"ENTRY e {{ ROOT x = {empty} parameter(0) }}")
    assert "error[R004]" in error_of_run(f"ENTRY e {{ c = f32[] constant(1) ROOT x = {empty} broadcast(c), dimensions={{}} }}")


def test_timeouts_that_are_not_numbers(error_of_run):
    assert "NaN is not allowed" in error_of_run(NEGATE, "--timeout", "nan")
    assert "is not in the range" in error_of_run(NEGATE, "--timeout", "-1")


def test_one_instruction_that_takes_days(process, tmp_path):
    # A maximum reads the broadcast number repeatedly; a sum would copy the array first.
    larger = "larger { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] maximum(a, b) }"
    broadcast = "x = f32[1000000,1000000] broadcast(c), dimensions={}"
    path = tmp_path / "days.hlo"
    path.write_text(
        f"{larger}\nENTRY e {{\n c = f32[] constant(1)\n {broadcast}\n ROOT y = f32[] reduce(x, c), dimensions={{0,1}}, to_apply=larger\n}}\n"
    )
    result = process("run", path, "--timeout", "0.5", "--max-memory", "none")
    assert result.returncode == 2
    assert result.stderr == "hlotool: the run took longer than 0.5 s; it was stopped in an operation that cannot be interrupted\n"


@pytest.mark.parametrize("case", OUT_OF_RANGE, ids=lambda case: re.search(r"HloModule (\S+)", case.text)[1])
def test_random_arguments_without_verification(error_of_run: Callable[..., str], case: Case, tmp_path: Path) -> None:
    """Runs the case with parameters instead of constants.

    Before the run reports the error, it draws random values and estimates the memory.
    """
    entry = case.text.index("ENTRY")
    numbers = iter(range(10))
    text = case.text[:entry] + re.sub(r"constant\(.*\)", lambda match: f"parameter({next(numbers)})", case.text[entry:])
    message = error_of_run(text, "--no-verify", "--profile", "--check-nans", "--trace", str(tmp_path / "trace.json"))
    assert "error[R004]" in message
    assert expected_errors(case.text)[0].words in message
