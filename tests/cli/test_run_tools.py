"""`hlotool run`: comparing, tracing, profiling, searching for NaN, and limits."""

from __future__ import annotations

import io
import json
import sys

import numpy as np
import pytest

import hlotool
from hlotool.cli.run.run_progress import RunProgress, is_wanted

LOOP = """HloModule loop

below_four {
  s = (s32[], f32[3]) parameter(0)
  k = s32[] get-tuple-element(s), index=0
  four = s32[] constant(4)
  ROOT go_on = pred[] compare(k, four), direction=LT
}

halve {
  t = (s32[], f32[3]) parameter(0)
  i = s32[] get-tuple-element(t), index=0
  x = f32[3] get-tuple-element(t), index=1
  one = s32[] constant(1)
  next = s32[] add(i, one)
  root = f32[3] sqrt(x), metadata={op_name="train/sqrt" source_file="model.py" source_line=12}
  two = f32[] constant(0.5)
  twos = f32[3] broadcast(two), dimensions={}
  less = f32[3] subtract(root, twos)
  ROOT u = (s32[], f32[3]) tuple(next, less)
}

ENTRY e {
  start = f32[3] parameter(0)
  zero = s32[] constant(0)
  init = (s32[], f32[3]) tuple(zero, start)
  w = (s32[], f32[3]) while(init), condition=below_four, body=halve
  ROOT r = f32[3] get-tuple-element(w), index=1
}
"""
TWICE = "HloModule m\n\nENTRY e {\n  x = f32[4] parameter(0)\n  ROOT r = f32[4] {0}(x, x)\n}\n"


@pytest.fixture
def twice(file_of):
    return file_of("twice.hlo", TWICE.replace("{0}", "add"))


# ---- comparing --------------------------------------------------------------------------------------------------------


def test_results_are_compared_with_an_archive(cli, twice, tmp_path):
    reference = tmp_path / "r.npz"
    np.savez(reference, output=np.array([2, 4, 6, 8], np.float32))
    arguments = ("--input", "x={1,2,3,4}", "--compare", reference)
    result = cli("run", twice, *arguments)
    assert (result.exit_code, result.stdout) == (0, f"output  f32[4]  equal\n1 array agrees with {reference}\n")
    np.savez(reference, output=np.array([2, np.nan, 6.01, np.inf], np.float32))
    result = cli("run", twice, *arguments)
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0].startswith("output  f32[4]  differs in 3 of 4 elements (rtol 0.0001, atol 1e-05)  1 NaN on one side  infinities differ: 1")
    assert [line.split()[0] for line in lines[1:5]] == ["index", "[1]", "[3]", "[2]"]
    assert lines[-1] == f"1 array compared with {reference}: 1 differs"
    np.savez(reference, output=np.array([2, 4, 6.01, 8]))
    assert cli("run", twice, *arguments, "--rtol", "0.01").exit_code == 0
    assert cli("run", twice, *arguments, "--atol", "0.001").exit_code == 1
    output = json.loads(cli("run", twice, *arguments, "--json").stdout)
    (array,) = output["comparisons"][0]["arrays"]
    assert (array["agrees"], array["mismatches"], array["worst"][0]["index"]) == (False, 1, [2])
    assert output["outputs"][0]["values"] == [2, 4, 6, 8]


def test_an_archive_that_does_not_fit(cli, twice, tmp_path):
    reference = tmp_path / "r.npz"
    np.savez(reference, output=np.zeros(3))
    result = cli("run", twice, "--compare", reference, "-q")
    assert (result.exit_code, result.stdout) == (1, "output  f32[4]  differs: the other array has dimensions [3]\n")
    np.savez(reference, something=np.zeros(4))
    result = cli("run", twice, "--compare", reference, "-q")
    assert (result.exit_code, result.stderr) == (2, f"hlotool: '{reference}' has no entry 'output'; expected entries: output\n")
    np.savez(reference, np.zeros(4))
    assert "--rtol" in cli("run", twice, "--compare", reference, "--rtol", "nan").stderr
    assert "differs in" in cli("run", twice, "--compare", reference).stdout


def test_two_modules_get_the_same_arguments(cli, twice, file_of):
    other = file_of("other.hlo", TWICE.replace("{0}", "multiply"))
    result = cli("run", twice, "--against", other, "--seed", "3")
    assert result.exit_code == 1
    assert cli("run", twice, "--against", twice, "--seed", "3").exit_code == 0
    assert cli("run", twice, "--against", other, "--input", "x={2,0,2,0}").exit_code == 0
    broken = file_of("broken.hlo", TWICE.replace("{0}", "ad"))
    result = cli("run", twice, "--against", broken)
    assert result.exit_code == 2
    assert f"{broken}:5:" in result.stderr
    assert "ROOT r = f32[4] ad(x, x)" in result.stderr


# ---- watching ---------------------------------------------------------------------------------------------------------


def test_traces_number_the_iterations(cli, file_of, tmp_path):
    path, kept = file_of("loop.hlo", LOOP), tmp_path / "t.npz"
    result = cli("run", path, "--input", "start={256,1,0.5}", "--trace", "^(root|start|next)$", "--trace-out", kept, "--max-iterations", "2")
    assert result.exit_code == 2
    assert result.stdout.splitlines() == [
        "e/start  f32[3]  min 0.5  max 256  mean 85.8333",
        "halve/next[0]  s32[]  1",
        "halve/root[0]  f32[3]  min 0.707107  max 16  mean 5.90237",
        "halve/next[1]  s32[]  2",
        "halve/root[1]  f32[3]  min 0.45509  max 3.937  mean 1.69973",
    ]
    with np.load(kept) as archive:
        assert sorted(archive.files) == ["next[0]", "next[1]", "root[0]", "root[1]", "start"]
        assert archive["root[0]"][0] == 16
    found = json.loads(cli("run", path, "--trace", "below_four", "--json").stdout)
    assert [row["iterations"] for row in found["trace"] if row["name"] == "go_on"] == [[k] for k in range(5)]
    assert cli("run", path, "--trace", "(").stderr.startswith("Usage:")
    assert "no computed array has a name that matches --trace 'sqrtt'\n" in cli("run", path, "--trace", "sqrtt").stderr
    assert "--trace" not in cli("run", path, "--trace", "next").stderr
    assert "--trace-out requires --trace" in cli("run", path, "--trace-out", kept).stderr


def test_the_first_nan_is_found(cli, file_of):
    result = cli("run", file_of("loop.hlo", LOOP), "--input", "start={1,0.09,0.01}", "--check-nans")
    assert result.exit_code == 1
    assert "error[R006] nonfinite-result: 'sqrt' computes NaN from finite operands at [1]; 2 of 3 elements are NaN" in result.stderr
    assert ":16:3" in result.stderr
    notes = [line.strip().removeprefix("= ") for line in result.stderr.splitlines() if "= note" in line]
    assert notes == [
        "note: 'x' f32[3] is -0.19999999 at this index",
        "note: in iteration 1 (0-based) of the enclosing loop",
        "note: in 'halve', called by 'w', iteration 1",
        "note: the instruction comes from 'train/sqrt' at model.py:12",
    ]


def test_infinities_count_unless_an_operand_has_one(cli):
    text = "ENTRY e {{ x = f32[] parameter(0) low = f32[] constant(-inf) m = f32[] maximum(x, low) ROOT r = f32[] {}(m) }}"
    assert cli("run", "-", "--check-infs", "--input", "x=2", stdin=text.format("negate")).exit_code == 0
    assert cli("run", "-", "--check-nans", "--input", "x=200", stdin=text.format("exponential")).exit_code == 0
    result = cli("run", "-", "--check-infs", "--input", "x=200", stdin=text.format("exponential"))
    assert result.exit_code == 1
    assert "computes inf from finite operands" in result.stderr
    assert "'m' f32[] is 200.0" in result.stderr


def test_profiles(cli, file_of):
    path = file_of("loop.hlo", LOOP)
    result = cli("run", path, "--profile", "--input", "start={256,256,256}")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[1].split() == ["ms", "%", "calls", "read+written", "GB/s", "opcode"]
    assert "s in instructions" in result.stdout.splitlines()[-1]
    profile = json.loads(cli("run", path, "--profile", "--json").stdout)["profile"]
    calls = {row["name"]: row["calls"] for row in profile["instructions"]}
    assert (calls["root"], calls["go_on"], calls["w"]) == (4, 5, 1)
    assert profile["estimated_memory"] > 0


NANS = """ENTRY e {
  x = f32[3] parameter(0)
  y = f32[3] sqrt(x)
  ROOT t = (f32[3], f32[3]) tuple(y, x)
}"""


def test_a_nan_in_a_result_is_mentioned(cli, tmp_path):
    result = cli("run", "-", "--input", "x={-1,-4,1}", stdin=NANS)
    assert (result.exit_code, result.stderr) == (
        0,
        "hlotool: 'output.0' is NaN in 2 of 3 elements; --check-nans shows the instruction that computes the first one\n",
    )
    result = cli("run", "-", "--input", "x={nan,4,1}", "--check-nans", stdin=NANS)
    assert (result.exit_code, result.stderr) == (
        0,
        "hlotool: 'output.0' is NaN in 1 of 3 elements; 1 more result contains NaNs; argument that contains NaNs: x\n",
    )
    constant = NANS.replace("parameter(0)", "constant({nan, 1, 1})")
    result = cli("run", "-", "--check-nans", stdin=constant)
    assert result.stderr.endswith("the NaNs come from constants: no instruction computes one from operands without NaNs\n")
    assert cli("run", "-", "--input", "x={nan,4,1}", "-q", stdin=NANS).stderr == ""


def test_nan_on_both_sides_is_reported(cli, file_of):
    path = file_of("nans.hlo", NANS)
    result = cli("run", path, "--against", path, "--input", "x={-1,-4,1}")
    assert (result.exit_code, result.stdout.splitlines()[0]) == (0, "output.0  f32[3]  equal  2 NaN on both sides")
    shown = json.loads(cli("run", path, "--against", path, "--input", "x={-1,-4,1}", "--json").stdout)
    assert [array["common_nans"] for array in shown["comparisons"][0]["arrays"]] == [2, 0]


# ---- limits -----------------------------------------------------------------------------------------------------------


def test_memory_is_estimated_before_anything_is_allocated(cli):
    text = "ENTRY e { x = f32[1000000000000] parameter(0) ROOT r = f32[1000000000000] negate(x) }"
    result = cli("run", "-", stdin=text)
    assert result.exit_code == 2
    assert "takes about 7.3 TiB of memory" in result.stderr
    small = text.replace("1000000000000", "1000")
    assert cli("run", "-", "-q", "--max-memory", "8000b", stdin=small).exit_code == 0
    assert "takes about 7.8 KiB of memory, but only 7.8 KiB is allowed" in cli("run", "-", "--max-memory", "7999", stdin=small).stderr
    assert cli("run", "-", "-q", "--max-memory", "none", stdin=small).exit_code == 0
    assert (
        "about 15.6 KiB of memory (7.8 KiB for each of 2 devices)" in cli("run", "-", "--max-memory", "8000b", "--replicas", "2", stdin=small).stderr
    )
    assert "takes a size such as" in cli("run", "-", "--max-memory", "much", stdin=small).stderr


def test_the_largest_values_are_listed_with_their_users(cli):
    text = """HloModule m
inner {
  p = f32[100] parameter(0)
  a = f32[400] concatenate(p, p, p, p), dimensions={0}
  b = f32[400] exponential(a)
  ROOT s = f32[100] slice(b), slice={[0:100]}
}
ENTRY e {
  x = f32[300] parameter(0)
  y = f32[300] negate(x)
  z = f32[100] slice(y), slice={[0:100]}
  c = f32[100] call(z), to_apply=inner
  w = f32[300] add(x, y)
  ROOT t = (f32[100], f32[300]) tuple(c, w)
}"""
    result = cli("run", "-", "--max-memory", "100b", stdin=text)
    assert [line.split("note: ")[1] for line in result.stderr.splitlines() if "note: " in line] == [
        "'a' f32[400], the result of 'concatenate', takes 1.6 KiB, needed until 'b'",
        "'b' f32[400], the result of 'exponential', takes 1.6 KiB",
        "'y' f32[300], the result of 'negate', takes 1.2 KiB, needed until 'w'",
        "'x' f32[300], an argument, takes 1.2 KiB",
    ]


def test_loops_with_an_alternating_state_time_out(cli):
    """Runs a loop with a state that changes in every iteration.

    If an iteration did not change the state, the run would leave the loop.
    """
    text = """HloModule m
yes { s = (f32[], f32[]) parameter(0) ROOT t = pred[] constant(true) }
swap { s = (f32[], f32[]) parameter(0) a = f32[] get-tuple-element(s), index=0 b = f32[] get-tuple-element(s), index=1
  ROOT t = (f32[], f32[]) tuple(b, a) }
ENTRY e { x = f32[] constant(0) y = f32[] constant(1) i = (f32[], f32[]) tuple(x, y) ROOT r = (f32[], f32[]) while(i), condition=yes, body=swap }"""
    assert "took longer than 0.1 s" in cli("run", "-", "--timeout", "0.1", stdin=text).stderr


def test_invalid_modules_are_not_run(cli):
    text = "ENTRY e { x = f32[2] parameter(0) y = f32[3] parameter(1) ROOT r = f32[2] copy(x), sharding={replicated} z = f32[4] copy(y) }"
    result = cli("run", "-", stdin=text)
    assert result.exit_code == 2
    assert "error[T081] passthrough-shape" in result.stderr
    assert "--no-verify" in result.stderr
    assert "is float32[3], not f32[4] as written" in cli("run", "-", "--no-verify", stdin=text).stderr


def test_assumptions_are_reported(cli):
    text = """ENTRY e { ids = s32[5] parameter(0) table = f32[9,2] parameter(1) var = f32[] parameter(2)
  g = f32[5,2] gather(table, ids), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,2}
  q = f32[] rsqrt(var) ROOT t = tuple(g, q) }"""
    said = "hlotool: using random inputs for ids, table and var (seed 0); with assumptions about 2 arrays"
    assert cli("run", "-", stdin=text).stderr == f"{said} (-v for details)\n"
    assert cli("run", "-", "-v", stdin=text).stderr.splitlines() == [
        said,
        "hlotool:   ids: 0 to 8: index of 'gather' g",
        "hlotool:   var: positive: operand of 'rsqrt' q",
    ]
    assert cli("run", "-", "-q", stdin=text).stderr == ""


def test_contradictory_assumptions(cli):
    """Checks that the first use of a value decides if no number suits both uses."""
    text = "ENTRY e { p = f32[3] parameter(0) log = f32[3] log(p) n = f32[3] negate(p) s = f32[3] sqrt(n) ROOT t = tuple(log, s) }"
    result = cli("run", "-", "-v", "--json", stdin=text)
    assert (result.exit_code, result.stderr.splitlines()[1]) == (0, "hlotool:   p: positive: operand of 'log' log")


@pytest.mark.parametrize(("executor", "ending"), [("reference", " instructions  w iteration 2  root"), ("plan", " s  w iteration 2")])
def test_a_terminal_shows_the_progress_of_a_long_run(file_of, monkeypatch, executor, ending):
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr("hlotool.cli.run.run_progress._PATIENCE", 0.0)
    monkeypatch.setattr("hlotool.cli.run.run_progress._INTERVAL", 0.0)
    assert is_wanted(quiet=False)
    assert not is_wanted(quiet=True)
    progress = RunProgress()
    hlotool.evaluate(hlotool.parse(LOOP), [[1.0, 2.0, 3.0]], executor=executor, observers=[progress])
    progress.clear()
    shown = terminal.getvalue().split("\r\x1b[K")
    assert any(line.endswith(ending) for line in shown)
    assert shown[-1] == ""


def test_a_fallback_to_the_reference_executor_is_mentioned(cli):
    text = "ENTRY e { x = f32[2] parameter(0) ROOT y = f32[2] negate(x) }"
    assert "ignoring --executor plan" in cli("run", "-", "--executor", "plan", "--profile", stdin=text).stderr
    assert "the reference executor" not in cli("run", "-", "--executor", "plan", stdin=text).stderr


def test_code_is_shown_or_the_reason_why_there_is_none(cli):
    shown = cli("run", "-", "--show-plan", stdin="ENTRY e { x = f32[2] parameter(0) ROOT y = f32[2] negate(x) }")
    assert "v2 = negative(v1)" in shown.stdout
    elided = cli("run", "-", "--show-plan", stdin="ENTRY e { ROOT c = f32[9] constant({...}) }")
    assert (elided.exit_code, elided.stdout) == (2, "")
    assert "R003" in elided.stderr
    text = "level0 { ROOT x = f32[] parameter(0) }\n"
    for k in range(1, 70):
        text += f"level{k} {{ a = f32[] parameter(0) ROOT b = f32[] call(a), to_apply=level{k - 1} }}\n"
    deep = cli("run", "-", "--show-plan", stdin=text + "ENTRY e { a = f32[] parameter(0) ROOT b = f32[] call(a), to_apply=level69 }")
    assert (deep.exit_code, deep.stdout) == (2, "")
    assert "cannot be compiled: calls are nested 71 deep" in deep.stderr
