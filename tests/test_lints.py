"""Tests that lints run only when they should, in linear time, and correctly on unusual input."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from steps import steps

from hlotool.codes import CODE_NAMES, DEFAULT_LINTS, severity_of
from hlotool.shapes.json_text import json_error_offset
from hlotool.text.locate.instruction import locate
from hlotool.text.parse.parser import parse
from hlotool.text.source.part_names import parse_part_name
from hlotool.verifier.engine import verify

DEAD = "HloModule m\nENTRY e {\n  p = f32[4] parameter(0)\n  d = f32[4] abs(p)\n  ROOT n = f32[%s] negate(p)\n}"


def codes(text: str, *selected: str) -> list[str]:
    return [d.code for d in verify(parse(text), select=selected or None)]


def test_lints_run_only_without_errors() -> None:
    assert codes(DEAD % 4) == ["W001"]
    assert codes(DEAD % 5) == ["T003"]
    # This is also true if the errors themselves are not selected.
    assert codes(DEAD % 5, "W") == []


def test_the_default_lints_are_warnings() -> None:
    assert {severity_of(code) for code in DEFAULT_LINTS} == {"warning"}
    assert set(DEFAULT_LINTS) <= set(CODE_NAMES)


def test_a_single_instruction_has_no_findings() -> None:
    assert codes("f32[4] negate(f32[4] p)", "S007", "S009", "S033", "S043") == []


def test_a_constant_can_be_located() -> None:
    text = "c = f32[2]{0} constant( {1, /* two */ 2} )"
    start, end = locate(text, 0, len(text), parse_part_name("literal"))
    assert text[start:end] == "{1, /* two */ 2}"


@pytest.mark.parametrize("text", ["{}", "[]", "0", "-1.5e+3", '"\\u00e9"', ' { "a" : [ 1 , { } , null ] } ', "[" * 100_000 + "]" * 100_000])
def test_json(text: str) -> None:
    assert json_error_offset(text) == -1


@pytest.mark.parametrize(
    ("text", "fault"),
    [("", 0), ("{", 1), ("[1,]", 3), ('{"a" 1}', 5), ("{a:1}", 1), ("01", 1), ("[1 2]", 3), ("{} x", 3), ('"a\nb"', 0), ("nan", 0), ('{"a":1,}', 7)],
)
def test_faults_of_json(text: str, fault: int) -> None:
    assert json_error_offset(text) == fault


def nested_loops(depth: int) -> str:
    text = "HloModule m\nc { x = f32[] parameter(0) ROOT t = pred[] constant(true) }\n"
    text += "b0 { x = f32[] parameter(0) k = token[] after-all() o = token[] outfeed(x, k) ROOT y = f32[] negate(x) }\n"
    for k in range(1, depth):
        text += f"b{k} {{ x = f32[] parameter(0) ROOT w = f32[] while(x), condition=c, body=b{k - 1} }}\n"
    return text + f"ENTRY e {{ x = f32[] parameter(0) ROOT w = f32[] while(x), condition=c, body=b{depth - 1} }}"


def chain(length: int) -> str:
    lines = [f"  a{k} = f32[4] all-reduce(n{k}), replica_groups={{}}, to_apply=f\n  n{k + 1} = f32[4] reshape(a{k})" for k in range(length)]
    reducer = "f { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }"
    return f"HloModule m\n{reducer}\nENTRY e {{\n  n0 = f32[4] parameter(0)\n" + "\n".join(lines) + f"\n  ROOT r = f32[4] abs(n{length})\n}}"


def reshapes(length: int) -> str:
    lines = [f"  n{k + 1} = s32[4] reshape(n{k})\n  d{k} = s32[4] divide(n{k}, n{k})" for k in range(length)]
    return "HloModule m\nENTRY e {\n  n0 = s32[4] constant({1, 2, 3, 4})\n" + "\n".join(lines) + f"\n  ROOT r = s32[4] abs(n{length})\n}}"


def constant_chains(length: int) -> str:
    """Returns a module in which lints look up the constant value of every link of a chain."""
    lines = [f"  n{k + 1} = s32[4] transpose(n{k}), dimensions={{0}}\n  d{k} = s32[4] multiply(n{k + 1}, p)" for k in range(length)]
    return "HloModule m\nENTRY e {\n  p = s32[4] parameter(0)\n  n0 = s32[4] constant({1, 2, 3, 4})\n" + "\n".join(lines) + "\n  ROOT r = abs(p)\n}"


def test_steps_are_counted() -> None:
    def quadratic(size: int) -> None:
        for _ in range(size):
            list(map(abs, range(size)))
            [x for x in range(size)]  # noqa: C416

    few, many = steps(lambda: quadratic(10)), steps(lambda: quadratic(80))
    assert many > 30 * few > 0


@pytest.mark.parametrize(
    ("make", "selected"),
    [
        (nested_loops, ["W015", "W017", "W037"]),
        (chain, ["W024", "W025", "W001"]),
        (chain, ["W004", "W005"]),
        (reshapes, ["W019", "W033", "W046"]),
        (constant_chains, ["W019", "W007"]),
    ],
)
def test_no_lint_takes_quadratic_time(make: Callable[[int], str], selected: list[str]) -> None:
    small, large = (parse(make(size)) for size in (25, 200))
    # The first call computes values that are cached per process, so that this work is not counted.
    verify(small, select=selected)
    few, many = (steps(lambda module=module: verify(module, select=selected)) for module in (small, large))  # type: ignore[misc]
    # At eight times the size, linear work takes at most 8 times as many steps, and quadratic work
    # 64 times as many.
    assert many < 9 * few
