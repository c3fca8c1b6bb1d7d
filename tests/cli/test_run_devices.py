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


def test_each_device_is_an_element_of_the_result(cli, tmp_path):
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
    assert [np.load(stored)[f"output.{k}"].tolist() for k in range(4)] == shown


def test_arguments_are_used_on_every_device(cli):
    result = cli("run", "-", "--replicas", "2", "--input", "x={7}", "--json", stdin=GATHER)
    assert [x["values"] for x in json.loads(result.stdout)] == [[7, 7], [7, 7]]


def test_too_few_devices_name_the_option(cli):
    result = cli("run", "-", "--input", "x={7}", stdin=GATHER)
    assert result.exit_code == 2
    assert "replica 1 takes part, but the run has 1 replica" in result.stderr
    assert "--replicas" in result.stderr


def test_functions_for_custom_calls(cli):
    result = cli("run", "-", "--input", "x={1,2}", "--custom-call", "a=b=numpy:negative", stdin=CALL)
    assert (result.exit_code, result.stdout) == (0, "output  f32[2]  [-1. -2.]\n")


@pytest.mark.parametrize(
    ("custom_call", "message"), [("numpy:sin", "TARGET=MODULE:FUNCTION"), ("a=b=numpy:nothing", "cannot be loaded"), ("x=numpy:sin", "a=b")]
)
def test_invalid_functions_for_custom_calls(cli, custom_call, message):
    result = cli("run", "-", "--input", "x={1,2}", "--custom-call", custom_call, stdin=CALL)
    assert result.exit_code == 2
    assert message in result.stderr
