"""Checks that the generated methods match the op table and that every opcode has a method."""

from __future__ import annotations

import inspect

from hlotool.builder.builder import Builder
from hlotool.builder.names import INTERNAL, METHODS, SIGNATURES, method_name
from hlotool.dev import methods, tasks
from hlotool.opdefs.table import OPS


def test_generated_files_are_up_to_date() -> None:
    assert tasks.main(["methods", "--check"]) == 0
    assert methods.stale() == []


def test_every_opcode_has_a_method() -> None:
    assert [opcode for opcode in OPS if not callable(getattr(Builder, method_name(opcode), None))] == []
    assert set(METHODS) | set(SIGNATURES) | set(INTERNAL) <= set(OPS)


def test_methods_are_typed_and_documented() -> None:
    for name, method in inspect.getmembers(Builder, inspect.isfunction):
        if name.startswith("_"):
            continue
        parameters = list(inspect.signature(method).parameters.values())[1:]
        assert all(parameter.annotation is not parameter.empty for parameter in parameters), name
        assert inspect.getdoc(method), name
