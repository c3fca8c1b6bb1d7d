"""The verifier as a function: selection, modes, positions, and unusual modules."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mutation import texts_of_cases
from strategies import RANDOM, shortest_first

import hlotool
from hlotool.errors import ParseError, Violation
from hlotool.ir.model import AttributeSet, Instruction, Module
from hlotool.opdefs.base import unknown_op
from hlotool.opdefs.table import OPS
from hlotool.record import replace
from hlotool.shapes.layout import Layout
from hlotool.shapes.shape import array_shape, tuple_shape
from hlotool.shapes.values import PaddingDimension
from hlotool.text.locate.instruction import locate
from hlotool.text.parse.parser import parse
from hlotool.text.source.part_names import parse_part_name
from hlotool.verifier.engine import verify
from hlotool.verifier.selection import SelectionError

HERE = Path(__file__).parent
TWO_FAULTS = "ENTRY e {\n  p = f32[4] parameter(0)\n  a = f32[5] negate(p)\n  ROOT b = s32[3] convert(p)\n}"


def codes(module: Module, **options: list[str]) -> list[str]:
    return [d.code for d in verify(module, **options)]


def test_selection() -> None:
    module = parse(TWO_FAULTS)
    assert codes(module) == ["T003", "T100"]
    assert codes(module, select=["T1"]) == ["T100"]
    assert codes(module, select=["result-shape"]) == ["T003"]
    assert codes(module, ignore=["T"]) == []
    assert codes(module, select=["T100"], ignore=["T"]) == ["T100"]
    assert codes(module, select=["ALL"], ignore=["T100"]) == ["T003"]


def test_unknown_codes_are_rejected() -> None:
    with pytest.raises(SelectionError, match="no rule is called 'result-shap'; did you mean 'result-shape'"):
        verify(parse(TWO_FAULTS), select=["result-shap"])


def test_findings_have_positions() -> None:
    first, second = verify(parse(TWO_FAULTS, "two.hlo"))
    assert (first.filename, first.line, first.column, first.end_column, first.computation, first.instruction) == ("two.hlo", 3, 7, 13, "e", "a")
    assert second.hint == "write s32[4]"


def test_a_propagated_shape_is_reported_once() -> None:
    text = "ENTRY e { p = f32[?] parameter(0) a = f32[?] negate(p) ROOT b = f32[?] negate(a) }"
    assert codes(parse(text)) == ["T083"]
    assert verify(parse(text), hlotool.VerifyModes(unbounded_dynamic=True)) == []


@pytest.mark.parametrize(("opcode", "code"), [("send", "A020"), ("recv-done", "A021"), ("send-done", "T003"), ("outfeed", "T003")])
def test_wrong_shapes_that_only_programs_can_make(opcode: str, code: str) -> None:
    """Sets a wrong shape, which the parser would have replaced with the correct one."""
    module = parse(
        "ENTRY e {\n  p = f32[4] parameter(0)\n  k = token[] after-all()\n  s = (f32[4], u32[], token[]) send(p, k), channel_id=1\n"
        "  d = token[] send-done(s), channel_id=1\n  r = (f32[4], u32[], token[]) recv(d), channel_id=2\n"
        "  v = (f32[4], token[]) recv-done(r), channel_id=2\n  ROOT o = token[] outfeed(p, k)\n}"
    )
    assert codes(module) == []
    x = next(x for x in module.entry.instructions if x.op.name == opcode)
    x.shape = tuple_shape([array_shape("f32", (5,))])
    assert code in codes(module)


def with_attributes(x: Instruction, **changed: object) -> None:
    x.attributes = AttributeSet({**x.attributes, **changed})


def without_branches(x: Instruction) -> None:
    with_attributes(x, branch_computations=())
    x.operands = x.operands[:1]


def with_one_branch(x: Instruction) -> None:
    with_attributes(x, branch_computations=x.attributes["branch_computations"][:1])


def without_kernel_labels(x: Instruction) -> None:
    with_attributes(x, dim_labels=replace(x.attributes["dim_labels"], kernel_spatial=()))


def with_two_operands(x: Instruction) -> None:
    x.operands = x.operands[:2]


def with_three_operands(x: Instruction) -> None:
    x.operands = (*x.operands, x.operands[0])


def with_three_carries(x: Instruction) -> None:
    with_attributes(x, num_carries=3)


def with_half_a_layout(x: Instruction) -> None:
    x.shape = x.shape.with_layout(Layout((0,)))


def with_negative_interior(x: Instruction) -> None:
    with_attributes(x, padding=(PaddingDimension(0, 0, -1),))


SCATTERED = (
    "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b)\n}\n"
    "ENTRY e {\n  p = f32[4] parameter(0)\n  i = s32[] parameter(1)\n  u = f32[] parameter(2)\n  ROOT s = f32[4] scatter(p, i, u), "
    "update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=0, to_apply=add\n}"
)
REDUCED = (
    "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT s = f32[] add(a, b)\n}\n"
    "ENTRY e {\n  p = f32[] parameter(0)\n  ROOT r = f32[] %s(p, p), %sto_apply=add\n}"
)
SCANNED = (
    "step {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  s = f32[] add(a, b)\n  ROOT r = (f32[], f32[]) tuple(s, s)\n}\n"
    "ENTRY e {\n  p = f32[4] parameter(0)\n  z = f32[] parameter(1)\n"
    "  ROOT r = (f32[4], f32[]) scan(p, z), dimensions={0}, num_carries=1, to_apply=step\n}"
)
CHOSEN = (
    "f {\n  ROOT a = f32[4] parameter(0)\n}\nENTRY e {\n  i = s32[] parameter(0)\n  p = f32[4] parameter(1)\n"
    "  ROOT c = f32[4] conditional(i, p, p), branch_computations={f, f}\n}"
)
CONVOLVED = (
    "ENTRY e {\n  p = f32[1,8,3] parameter(0)\n  k = f32[3,3,4] parameter(1)\n"
    "  ROOT c = f32[1,6,4] convolution(p, k), window={size=3}, dim_labels=b0f_0io->b0f\n}"
)
PADDED = "ENTRY e {\n  p = f32[4] parameter(0)\n  z = f32[] constant(0)\n  ROOT q = f32[4] pad(p, z), padding=0_0\n}"
MANY = "".join(f" p{k} = f32[] parameter({k})" for k in range(2001))


@pytest.mark.parametrize(
    ("text", "change", "code", "words"),
    [
        (CHOSEN, without_branches, "C009", "at least 1 branch"),
        (CHOSEN, with_one_branch, "C009", "'conditional' must have 2 operands (the selector and one per branch), got 3"),
        (CONVOLVED, without_kernel_labels, "T050", "different numbers of spatial dimensions"),
        (SCATTERED, with_two_operands, "S013", "got 2"),
        (REDUCED % ("reduce", "dimensions={}, "), with_three_operands, "S013", "must be even, got 3"),
        (REDUCED % ("reduce-window", ""), with_three_operands, "S013", "must be even, got 3"),
        (SCANNED, with_three_carries, "T104", "num_carries must be from 0 to 2, the number of operands, got 3"),
        ("ENTRY e {\n  ROOT p = f32[2,3] parameter(0)\n}", with_half_a_layout, "L003", "the layout lists 1 dimension, but the array has rank 2"),
        (PADDED, with_negative_interior, "T038", "cannot be negative, got -1"),
    ],
)
def test_wrong_attributes_that_only_programs_can_make(text: str, change: Callable[[Instruction], None], code: str, words: str) -> None:
    """Changes attributes after parsing; the verifier must repeat the parser's checks."""
    module = parse(text)
    assert codes(module) == []
    change(module.entry.root)
    first = verify(module)[0]
    assert first.code == code
    assert words in first.message


def test_an_entry_may_have_too_many_parameters() -> None:
    assert codes(parse(f"ENTRY e {{{MANY} ROOT n = f32[] negate(p0) }}"), select=["W055"]) == ["W055"]


def test_opcodes_without_inference_are_rejected() -> None:
    """Calls the shape inference of opcodes for which the parser never calls it."""
    blind = [op for op in (*OPS.values(), unknown_op("frobnicate")) if not (op.infers or op.shape_ignored)]
    assert len(blind) > 20
    for op in blind:
        with pytest.raises(Violation, match=op.name) as raised:
            op.infer(*[array_shape("f32")] * max(op.arity, len(op.operands)), **dict.fromkeys(op.required))
        assert raised.value.code == "S037"


def test_a_tolerant_parse_keeps_its_findings() -> None:
    module = parse("ENTRY e {\n  p = f32[4] parameter(0)\n  q = f32[4] negate(x)\n  ROOT r = f32[5] negate(p)\n}", strict=False)
    assert codes(module) == ["S002", "T003"]
    assert codes(module, select=["C"]) == ["S002"]


def test_verify_can_be_called_after_importing_the_verifier() -> None:
    # Importing a module of the verifier first must not hide the function.
    script = "import hlotool.verifier.engine, hlotool; print(hlotool.verify(hlotool.parse('ENTRY e { ROOT p = f32[] parameter(0) }')))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=HERE.parent)
    assert done.stdout == "[]\n"


def test_verifying_loads_no_numpy() -> None:
    script = "import sys, hlotool; hlotool.verify(hlotool.parse('ENTRY e { ROOT p = f32[] parameter(0) }')); print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=HERE.parent)
    assert done.stdout == "False\n"


LINE = (
    "  // a comment: dimensions={7}\n  ROOT c.1 = (f32[4]{0}, s32[]) fusion(f32[4] %a, add(b, c), /*index=2*/x#1), kind=kLoop, "
    'metadata={op_name="dimensions={9}"}, calls=f, dimensions={1,2}, window={size=2 stride=3}'
)


@pytest.mark.parametrize(
    ("at", "found"),
    [
        ("name", "c.1"),
        ("shape", "(f32[4]{0}, s32[])"),
        ("shape[1]", "s32[]"),
        ("opcode", "fusion"),
        ("operands", "fusion(f32[4] %a, add(b, c), /*index=2*/x#1)"),
        ("operand 0", "f32[4] %a"),
        ("operand 1", "add(b, c)"),
        ("operand 2", "x#1"),
        ("operand 3", "fusion"),
        ("kind", "kind=kLoop"),
        ("calls value", "f"),
        ("dimensions", "dimensions={1,2}"),
        ("dimensions value", "{1,2}"),
        ("dimensions[1]", "2"),
        ("window[stride]", "stride=3"),
        ("no_such_attribute", "fusion"),
    ],
)
def test_locations(at: str, found: str) -> None:
    start, end = locate(LINE, 0, len(LINE), parse_part_name(at))
    assert LINE[start:end] == found


@pytest.mark.parametrize("depth", [20_000])
def test_deep_tuples(depth: int) -> None:
    deep, other, third = ("(" * depth + leaf + ")" * depth for leaf in ("f32[]", "s32[]", "u8[]"))
    module = parse(f"ENTRY e {{\n  p = {deep} parameter(0)\n  a = {other} copy(p)\n  ROOT b = {third} opt-barrier(a)\n}}")
    found = verify(module)
    assert [d.code for d in found] == ["T081", "T081"]
    assert all(len(d.message) < 2000 for d in found)


def test_wide_tuples() -> None:
    width = 20_000
    shapes = ", ".join(f"f32[{k}]" for k in range(width))
    elements = "".join(f"  g{k} = f32[{k + 1}] get-tuple-element(p), index={k}\n" for k in range(100))
    found = verify(parse(f"ENTRY e {{\n  p = ({shapes}) parameter(0)\n{elements}  ROOT r = f32[] constant(0)\n}}"))
    assert len(found) == 100
    assert all(len(note) < 500 for d in found for note in d.notes)


SHAPES = (
    "f32[]", "f32[4]", "s32[]", "pred[4]", "f32[4,5]", "(f32[4], s32[])", "()", "token[]", "b(f32[4])", "f32[?]", "f32[<=4]", "c64[4]",
    "f32[0]", "u8[4]", "f32[1,8,3]", "((f32[4]), f32[4], u32[])", "opaque[]", "f32[4,4]{0,1}", "f32[4]{0:S(1)}",
)  # fmt: skip
LISTS = ("{}", "{0}", "{1}", "{0,1}", "{1,0}", "{2}", "{-1}", "{0,0}", "{1,2,3}")
EDITS = (
    (re.compile(r"\b(?:pred|[sufc][0-9]+|bf16|token)\[[^\]]*\](?:\{[^}]*\})?"), SHAPES),
    (re.compile(r"(?<==)\{[-0-9,]*\}"), LISTS),
    (re.compile(r"(?<==)-?[0-9]+\b"), ("-1", "0", "1", "3", "100", "9223372036854775807")),
    (re.compile(r"(?<= )[a-z][a-z0-9-]*(?=\()"), tuple(sorted(OPS))),
)


def edit_text(text: str, random: Random) -> str:
    """Returns the text with one shape, list, number or opcode replaced at random."""
    pattern, replacements = random.choice(EDITS)
    positions = list(pattern.finditer(text))
    if not positions:
        return text
    position = random.choice(positions)
    return text[: position.start()] + random.choice(replacements) + text[position.end() :]


def edit_twice(text: str, random: Random) -> str:
    return edit_text(edit_text(text, random), random)


TEXTS = [text for text in texts_of_cases(HERE) if len(text) < 5000]
TEXTS += [part for path in sorted((HERE / "verify").glob("*.hlo")) for part in path.read_text(encoding="utf-8").split("// -----\n")]


@settings(max_examples=1_000)
@given(st.builds(edit_twice, shortest_first(TEXTS), RANDOM), st.booleans(), st.booleans(), st.booleans())
def test_the_verifier_handles_any_module(text: str, is_strict: bool, is_scheduled: bool, layout_sensitive: bool) -> None:
    try:
        module = parse(text, strict=is_strict)
    except ParseError:
        return
    module.attributes["is_scheduled"] = is_scheduled
    modes = hlotool.VerifyModes(layout_sensitive=layout_sensitive, collective_deadlocks=True, memory_budget=1, in_flight_limit=1)
    for d in verify(module, modes, select=["ALL"]):
        assert d.message, text
        assert (d.end_line, d.end_column) > (d.line, d.column) >= (1, 1), text
