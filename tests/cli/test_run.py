"""`hlotool run`: arguments, results, and errors."""

from __future__ import annotations

import json

import ml_dtypes
import numpy as np
import pytest

SUM = """HloModule m

ENTRY e {
  left = f32[2,2] parameter(0)
  right.1 = f32[2,2] parameter(1)
  ROOT sum = f32[2,2] add(left, right.1)
}
"""
PAIR = """HloModule m

ENTRY e {
  state = (bf16[2], s4[]) parameter(0)
  x = bf16[2] get-tuple-element(state), index=0
  y = bf16[2] add(x, x)
  k = s4[] get-tuple-element(state), index=1
  big = f32[100] iota(), iota_dimension=0
  none = token[] after-all()
  inner = (s4[], token[]) tuple(k, none)
  ROOT r = (bf16[2], (s4[], token[]), f32[100]) tuple(y, inner, big)
}
"""


@pytest.fixture
def sum_file(file_of):
    return file_of("sum.hlo", SUM)


def test_literals_files_and_numbers(cli, sum_file, tmp_path):
    np.save(tmp_path / "r.npy", np.full((2, 2), 0.5))
    result = cli("run", sum_file, "--input", "left={{1,2},{3,4}}", "--input", f"1={tmp_path / 'r.npy'}")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == "output  f32[2,2]\n  [[1.5 2.5]\n   [3.5 4.5]]\n"


def test_random_inputs_are_reported(cli, sum_file):
    result = cli("run", sum_file, "--input", "left=ones")
    assert result.stderr == "hlotool: using random inputs for right.1 (seed 0)\n"
    assert cli("run", sum_file, "--input", "left=ones").stdout == result.stdout
    assert cli("run", sum_file, "--input", "left=ones", "--seed", "1").stdout != result.stdout
    quiet = cli("run", sum_file, "-q")
    assert (quiet.stdout, quiet.stderr, quiet.exit_code) == ("", "", 0)


def test_results_are_written_to_a_file_and_read_again(cli, tmp_path):
    stored, again = tmp_path / "out.npz", tmp_path / "again.npz"
    result = cli("run", "-", "--input", "state.0={1.5,-2}", "--input", "0.1=7", "-o", stored, stdin=PAIR)
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[:4] == [
        "output.0    bf16[2]   [ 3. -4.]",
        "output.1.0  s4[]      7",
        "output.1.1  token[]",
        "output.2    f32[100]  min 0  max 99  mean 49.5",
    ]
    assert lines[4].startswith("  [ 0.  1.  2. ... ")
    with np.load(stored) as archive:
        assert sorted(archive.files) == ["output.0", "output.1.0", "output.2"]
        assert archive["output.0"].view(ml_dtypes.bfloat16).tolist() == [3, -4]
        np.savez(again, **{"state.0": archive["output.0"], "state.1": archive["output.1.0"], "output.7": np.zeros(1)})
    result = cli("run", "-", "--inputs", again, stdin=PAIR)
    assert result.stdout.splitlines()[0].split(maxsplit=2)[2] == "[ 6. -8.]"


def test_json(cli):
    text = "ENTRY e { c = f32[3] constant({1, nan, -inf}) z = c64[] constant((1, 2)) p = pred[] constant(true) ROOT t = tuple(c, z, p) }"
    result = cli("run", "-", "--json", stdin=text)
    assert json.loads(result.stdout) == [
        {"name": "output.0", "type": "f32", "dimensions": [3], "values": [1.0, "nan", "-inf"]},
        {"name": "output.1", "type": "c64", "dimensions": [], "values": [1.0, 2.0]},
        {"name": "output.2", "type": "pred", "dimensions": [], "values": True},
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--input", "lefd=ones"], "there is no parameter 'lefd'; did you mean 'left'?"),
        (["--input", "q=ones"], "there is no parameter 'q'; the parameters are left, right.1"),
        (["--input", "left={1,2}"], "'left' takes f32[2,2], but '{1,2}' is not a literal of that shape: "),
        (["--input", "left=in.npz"], "'left' takes one array, but 'in.npz' may contain several; pass it with --inputs in.npz"),
        (["--input", "left=1", "--input", "left=2"], "'left' is set twice"),
        (["--input", "left=1", "--input", "0=2"], "'0' is set twice"),
        (["--input", "left=no.npy"], "cannot read 'no.npy': No such file or directory"),
        (["--inputs", "no.npz"], "cannot read 'no.npz': No such file or directory"),
    ],
)
def test_mistakes_are_one_line(cli, sum_file, arguments, message):
    result = cli("run", sum_file, *arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(f"hlotool: {message}")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((2, 3), np.float32), "parameter 0 'left' takes f32[2,2], got an array with the dimensions [2, 3]"),
        (np.zeros(4, np.float32), "got an array with the dimensions [4]; reshape the array; the number of elements is the same"),
        (np.zeros((2, 2), bool), "got an array of bool; convert the array with .astype('float32')"),
        (np.array([["a", "b"], ["c", "d"]]), "got an array of <U1"),
    ],
)
def test_arrays_that_do_not_fit(cli, sum_file, tmp_path, array, message):
    np.savez(tmp_path / "in.npz", left=array, right=array)
    result = cli("run", sum_file, "--inputs", tmp_path / "in.npz")
    assert result.exit_code == 2
    assert message in result.stderr


def test_an_incomplete_archive_needs_a_seed(cli, sum_file, tmp_path):
    path = tmp_path / "in.npz"
    np.savez(path, left=np.zeros((2, 2)))
    result = cli("run", sum_file, "--inputs", path)
    assert result.exit_code == 2
    assert result.stderr == f"hlotool: '{path}' has no value for parameter 'right.1'; add it with --input, or use --seed N for random values\n"
    assert cli("run", sum_file, "--inputs", path, "--seed", "3").exit_code == 0


def test_pickles_are_not_loaded(cli, sum_file, tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.array([{}], object), allow_pickle=True)
    result = cli("run", sum_file, "--input", f"left={path}")
    assert result.exit_code == 2
    assert result.stderr == f"hlotool: cannot read '{path}': it is not an .npy or .npz file, or it contains Python objects, which are not loaded\n"


def test_the_source_of_an_error_is_shown(cli):
    result = cli("run", "-", stdin='ENTRY e { x = f32[] parameter(0) ROOT r = f32[] custom-call(x), custom_call_target="f" }')
    assert result.exit_code == 2
    assert result.stderr.startswith("hlotool: random") or "error[R001] not-runnable" in result.stderr
    assert "<stdin>:1:39" in result.stderr


def test_limits(cli):
    loop = "yes { s = s32[] parameter(0) ROOT t = pred[] constant(true) } f { s = s32[] parameter(0) ROOT t = s32[] not(s) }"
    text = f"HloModule m {loop} ENTRY e {{ x = s32[] parameter(0) ROOT r = s32[] while(x), condition=yes, body=f }}"
    assert "did not end after 3 iterations" in cli("run", "-", "--max-iterations", "3", stdin=text).stderr
    assert "took longer than 0.1 s" in cli("run", "-", "--timeout", "0.1", stdin=text).stderr


def test_elided_constants(cli):
    text = "ENTRY e { ROOT c = s32[3] constant({...}) }"
    refused = cli("run", "-", stdin=text)
    assert refused.exit_code == 2
    assert "or choose values with --elided zeros, ones, iota or random" in refused.stderr
    assert cli("run", "-", "--elided", "iota", stdin=text).stdout == "output  s32[3]  [0 1 2]\n"


def test_no_other_command_imports_numpy(process, sum_file):
    for arguments in (["--help"], ["run", "--help"], ["print", sum_file], ["verify", sum_file]):
        result = process(*arguments, env={"PYTHONPROFILEIMPORTTIME": "1"})
        assert result.returncode == 0
        assert "numpy" not in result.stderr


def test_mixed_precision_of_optimized_modules_runs(cli, tmp_path):
    """Runs an operation on mixed float types, which is an error only before optimization."""
    path = tmp_path / "mixed.hlo"
    text = "HloModule m{}\n\nENTRY e {{\n  a = f32[] constant(1)\n  b = bf16[] constant(0.00390625)\n  ROOT c = bf16[] add(a, b)\n}}\n"
    path.write_text(text.format(", is_scheduled=true"))
    result = cli("run", path)
    assert (result.exit_code, result.stdout.split()[-1]) == (0, "1")
    path.write_text(text.format(""))
    result = cli("run", path)
    assert result.exit_code == 2
    assert "error[T085]" in result.stderr
    assert cli("verify", "-q", path).exit_code == 1
    assert cli("verify", "-q", "--allow-mixed-precision", "true", "--select", "T", path).exit_code == 0


NAMED = """HloModule jit_f

ENTRY main.5 {
  x.1 = f32[3] parameter(0)
  Arg_1.2 = f32[2] parameter(1), metadata={op_name="params['w']"}
  w.3 = f32[] parameter(2)
  w.4 = (f32[], f32[2]) parameter(3)
  ROOT t = tuple(x.1, Arg_1.2, w.3, w.4)
}
"""


def _values(result):
    assert result.exit_code == 0, result.stderr
    return [x["values"] for x in json.loads(result.stdout)]


def test_names_from_jax_are_recognized(cli):
    rest = ("--input", "w.3=1", "--input", "w.4.0=2", "--input", "w.4.1={3,4}")
    wanted = [[1, 2, 3], [5, 6], 1, 2, [3, 4]]
    assert _values(cli("run", "-", "--json", "--input", "x={1,2,3}", "--input", "params['w']={5,6}", *rest, stdin=NAMED)) == wanted
    assert _values(cli("run", "-", "--json", "--input", "0={1,2,3}", "--input", "Arg_1={5,6}", *rest, stdin=NAMED)) == wanted
    result = cli("run", "-", "--input", "y=1", stdin="ENTRY e { ROOT size = f32[] parameter(0) }")
    assert result.stderr == "hlotool: there is no parameter 'y'; the only parameter is size\n"
    # The name matches two parameters.
    result = cli("run", "-", "--input", "w=1", stdin=NAMED)
    assert (result.exit_code, "there is no parameter 'w'" in result.stderr) == (2, True)


def test_arrays_for_tuples(cli, tmp_path):
    path = tmp_path / "in.npz"
    np.savez(path, pair=np.zeros(2, np.float32))
    result = cli("run", "-", "--inputs", path, stdin="ENTRY e { ROOT pair = (f32[2], f32[2]) parameter(0) }")
    assert result.stderr == f"hlotool: '{path}' has one array for 'pair', which is a tuple; store its elements as pair.0, pair.1, ...\n"
    result = cli("run", "-", "--inputs", path, stdin="ENTRY e { ROOT pair = () parameter(0) }")
    assert result.stderr == f"hlotool: '{path}' has an array for 'pair', which is an empty tuple\n"


def test_unnamed_arrays_are_in_order(cli, tmp_path):
    path, arrays = tmp_path / "in.npz", [np.arange(3.0), np.ones(2), np.array(7.0), np.array(8.0), np.zeros(2)]
    np.savez(path, *arrays)
    assert _values(cli("run", "-", "--json", "--inputs", path, stdin=NAMED)) == [x.tolist() for x in arrays]
    np.savez(path, *arrays[:3])
    shown = _values(cli("run", "-", "--json", "--inputs", path, "--seed", "1", stdin=NAMED))
    assert shown[:3] == [x.tolist() for x in arrays[:3]]
    np.savez(path, *arrays, np.zeros(1))
    result = cli("run", "-", "--inputs", path, stdin=NAMED)
    assert (result.exit_code, result.stderr) == (2, f"hlotool: '{path}' has 6 unnamed arrays, but the entry computation takes 5\n")


def test_one_number_fills_the_array(cli):
    text = "ENTRY e { x = f32[2,2] parameter(0) p = pred[2] parameter(1) z = c64[2] parameter(2) ROOT t = tuple(x, p, z) }"
    shown = _values(cli("run", "-", "--json", "--input", "x=2.5", "--input", "p=true", "--input", "z=(1,2)", stdin=text))
    assert shown == [[[2.5, 2.5], [2.5, 2.5]], [True, True], [[1, 2], [1, 2]]]
    assert "expected 2 elements in dimension 0, found 1" in cli("run", "-", "--input", "x={{1,2}}", stdin=text).stderr
