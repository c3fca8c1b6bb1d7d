"""`hlotool run` on several devices and with functions for custom calls."""

from __future__ import annotations

import json

import numpy as np
import pytest

GATHER = """HloModule m

ENTRY e {
  x = s32[1] parameter(0)
  ROOT r = s32[2] all-gather(x), replica_groups={{0,1}}, dimensions={0}
}
"""
CALL = """HloModule m

ENTRY e {
  x = f32[2] parameter(0)
  ROOT r = f32[2] custom-call(x), custom_call_target="a=b"
}
"""


def test_results_are_listed_by_device(cli, tmp_path):
    stored = tmp_path / "out.npz"
    result = cli("run", "-", "--replicas", "2", "--partitions", "2", "--seed", "5", "--json", "-o", stored, "-q", stdin=GATHER)
    assert (result.exit_code, result.stderr) == (0, "")
    shown = [x["values"] for x in json.loads(result.stdout)]
    drawn = [
        cli("run", "-", "--seed", str(5 + k), "--json", "-q", stdin=GATHER.replace("s32[2] all-gather", "s32[1] all-gather").replace("0,1", "0"))
        for k in range(4)
    ]
    inputs = [json.loads(x.stdout)[0]["values"][0] for x in drawn]
    assert shown == [[inputs[0], inputs[2]], [inputs[1], inputs[3]]] * 2
    assert [np.load(stored)[f"device{k}.output"].tolist() for k in range(4)] == shown


def test_arguments_are_used_on_every_device(cli):
    result = cli("run", "-", "--replicas", "2", "--input", "x={7}", "--json", stdin=GATHER)
    assert [x["values"] for x in json.loads(result.stdout)] == [[7, 7], [7, 7]]


def test_errors_about_too_few_devices_name_the_option(cli):
    result = cli("run", "-", "--input", "x={7}", stdin=GATHER)
    assert result.exit_code == 2
    assert "replica 1 takes part, but the run has 1 replica" in result.stderr
    assert "--replicas" in result.stderr


def test_functions_for_custom_calls(cli):
    result = cli("run", "-", "--input", "x={1,2}", "--custom-call", "a=b=numpy:negative", stdin=CALL)
    assert (result.exit_code, result.stdout) == (0, "output  f32[2]  [-1. -2.]\n")


@pytest.mark.parametrize(
    ("custom_call", "message"),
    [
        ("numpy:sin", "TARGET=MODULE:FUNCTION"),
        ("a=b=numpy:nothing", "'numpy:nothing' cannot be loaded: AttributeError: "),
        ("a=b=quits:f", "'quits:f' cannot be loaded: SystemExit: 0"),
        ("x=numpy:sin", "a=b"),
    ],
)
def test_invalid_functions_for_custom_calls(cli, tmp_path, monkeypatch, custom_call, message):
    (tmp_path / "quits.py").write_text("raise SystemExit(0)\n")
    monkeypatch.syspath_prepend(tmp_path)
    result = cli("run", "-", "--input", "x={1,2}", "--custom-call", custom_call, stdin=CALL)
    assert result.exit_code == 2
    assert message in result.stderr


# ---- the number of devices in the header ------------------------------------------------------------------------------

RING = """HloModule m, num_partitions=2

ENTRY e {
  p = u32[] partition-id()
  f = f32[] convert(p)
  q = f32[] divide(f, f)
  ROOT r = f32[] collective-permute(q), channel_id=1, source_target_pairs={{0,1},{1,0}}
}
"""
WHOLE = """HloModule m, num_partitions=4

ENTRY e {
  x = f32[8] parameter(0), sharding={devices=[4]<=[4]}
  ROOT r = f32[8] negate(x), sharding={replicated}
}
"""


def test_the_header_determines_the_number_of_devices(cli):
    result = cli("run", "-", stdin=RING)
    assert result.stdout.splitlines() == ["device0.output  f32[]  1.0", "device1.output  f32[]  nan"]
    replicated = RING.replace("num_partitions=2", "replica_count=2").replace("partition-id", "replica-id").replace("channel_id=1, ", "")
    assert cli("run", "-", stdin=replicated).stdout == result.stdout
    assert "partition 1 takes part" in cli("run", "-", "--partitions", "1", stdin=RING).stderr
    many = cli("run", "-", stdin=RING.replace("num_partitions=2", "num_partitions=5000"))
    assert (many.exit_code, many.stderr) == (
        2,
        "hlotool: '<stdin>' is for 5000 devices; use --replicas and --partitions to choose how many to run in this process\n",
    )


def test_arguments_of_partitioned_modules_are_parts(cli, file_of, tmp_path):
    """Checks that a module takes whole arrays before partitioning, and parts of them afterward."""
    part = WHOLE.replace("partitions=4", "partitions=4, is_scheduled=true").replace("f32[8]", "f32[2]")
    np.savez(tmp_path / "in.npz", x=np.zeros(8, np.float32))
    for result in (
        cli("run", file_of("part.hlo", part), "--inputs", tmp_path / "in.npz"),
        cli("run", file_of("whole.hlo", WHOLE), "--inputs", tmp_path / "in.npz", "--against", tmp_path / "part.hlo"),
    ):
        assert result.exit_code == 2
        assert "the module is partitioned, so each device takes its part of the array" in result.stderr
    unequal = cli("run", tmp_path / "whole.hlo", "--input", "x={1,2}")
    assert unequal.exit_code == 2
    assert "each device takes its part" not in unequal.stderr


def test_observers_name_the_device(cli, tmp_path):
    kept = tmp_path / "trace.npz"
    result = cli("run", "-", "-q", "--trace", "^[fr]$", "--trace-out", kept, stdin=RING)
    assert sorted(result.stdout.splitlines()) == [
        "device0.e/f  f32[]  0",
        "device0.e/r  f32[]  1",
        "device1.e/f  f32[]  1",
        "device1.e/r  f32[]  nan 1",
    ]
    assert sorted(np.load(kept).files) == ["device0.f", "device0.r", "device1.f", "device1.r"]
    rows = json.loads(cli("run", "-", "--trace", "^f$", "--json", stdin=RING).stdout)["trace"]
    assert [(row["device"], row["max"]) for row in rows] == [(0, 0), (1, 1)]
    found = cli("run", "-", "--check-nans", stdin=RING)
    assert found.exit_code == 1
    assert "from finite operands (on device 0)" in found.stderr
    profile = json.loads(cli("run", "-", "--profile", "--json", stdin=RING).stdout)["profile"]
    assert {row["name"]: row["calls"] for row in profile["opcodes"]} == {"partition-id": 2, "convert": 2, "divide": 2, "collective-permute": 2}


def test_waiting_for_others_is_not_the_time_of_an_instruction(cli):
    slow = """HloModule m, num_partitions=2
ENTRY e {
  p = u32[] partition-id()
  c = f32[] constant(1)
  x = f32[300,300,300] broadcast(c), dimensions={}
  y = f32[300,300,300] sine(x)
  s = f32[1,1,1] slice(y), slice={[0:1], [0:1], [0:1]}
  ROOT r = f32[1,1,1] collective-permute(s), channel_id=1, source_target_pairs={{0,1},{1,0}}
}"""
    rows = json.loads(cli("run", "-", "--profile", "--json", stdin=slow).stdout)["profile"]["opcodes"]
    seconds = {row["name"]: row["seconds"] for row in rows}
    assert seconds["collective-permute"] < seconds["sine"] / 4


def test_a_module_that_is_not_partitioned_runs_once(cli):
    result = cli("run", "-", "--input", "x=iota", stdin=WHOLE)
    assert result.stdout == "output  f32[8]  [-0. -1. -2. -3. -4. -5. -6. -7.]\n"
    assert "'<stdin>' is not partitioned yet: its 4 partitions would compute the same values, which are computed once" in result.stderr
    assert cli("run", "-", "--partitions", "4", stdin=WHOLE).stdout.count("device") == 4


def test_devices_with_the_same_part_draw_the_same_numbers(cli):
    text = """HloModule m, num_partitions=4, is_scheduled=true
ENTRY e {
  a = f32[2] parameter(0), sharding={devices=[2,2]<=[4] last_tile_dim_replicate}
  b = f32[] parameter(1), sharding={replicated}
  c = f32[] parameter(2)
  ROOT t = (f32[2], f32[], f32[]) tuple(a, b, c)
}"""
    shown = [x["values"] for x in json.loads(cli("run", "-", "--json", "-q", stdin=text).stdout)]
    first, second, third = (shown[k::3] for k in range(3))
    assert first[0] == first[1] != first[2] == first[3]
    assert len(set(second)) == 1
    assert len(set(third)) == 4


def test_results_of_devices_are_not_arguments(cli, tmp_path):
    stored = tmp_path / "out.npz"
    text = RING.replace("p = u32[] partition-id()", "p = u32[] parameter(0)")
    assert cli("run", "-", "--input", "p=3", "-q", "-o", stored, stdin=text).exit_code == 0
    with np.load(stored) as archive:
        np.savez(stored, p=np.uint32(5), **archive)
    assert cli("run", "-", "--inputs", stored, "--compare", stored, "-q", stdin=text).exit_code == 0
