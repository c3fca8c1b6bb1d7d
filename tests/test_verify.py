"""The verifier as a function: selection, modes, places, and modules that are meant to hurt."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from mutation import texts_of_cases

import hlotool
from hlotool.errors import ParseError
from hlotool.ir.model import Module
from hlotool.opdefs.table import OPS
from hlotool.shapes.shape import array_shape, tuple_shape
from hlotool.text.locate import locate
from hlotool.text.parser import parse
from hlotool.text.places import parse_place
from hlotool.verify import verify
from hlotool.verify.selection import SelectionError

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


def test_unknown_codes_are_refused() -> None:
    with pytest.raises(SelectionError, match="no rule is called 'result-shap'; did you mean 'result-shape'"):
        verify(parse(TWO_FAULTS), select=["result-shap"])


def test_findings_say_where() -> None:
    first, second = verify(parse(TWO_FAULTS, "two.hlo"))
    assert (first.filename, first.line, first.column, first.end_column, first.computation, first.instruction) == ("two.hlo", 3, 7, 13, "e", "a")
    assert second.hint == "write s32[4]"


def test_a_shape_that_is_passed_on_is_reported_once() -> None:
    text = "ENTRY e { p = f32[?] parameter(0) a = f32[?] negate(p) ROOT b = f32[?] negate(a) }"
    assert codes(parse(text)) == ["T083"]
    assert verify(parse(text), hlotool.VerifyModes(unbounded_dynamic=True)) == []


@pytest.mark.parametrize(("opcode", "code"), [("send", "A020"), ("recv-done", "A021"), ("send-done", "T003"), ("outfeed", "T003")])
def test_a_shape_that_only_a_program_can_get_wrong(opcode: str, code: str) -> None:
    """The reader puts the true shape in place of a written one; who changes modules may still miss it."""
    module = parse(
        "ENTRY e {\n  p = f32[4] parameter(0)\n  k = token[] after-all()\n  s = (f32[4], u32[], token[]) send(p, k), channel_id=1\n"
        "  d = token[] send-done(s), channel_id=1\n  r = (f32[4], u32[], token[]) recv(d), channel_id=2\n"
        "  v = (f32[4], token[]) recv-done(r), channel_id=2\n  ROOT o = token[] outfeed(p, k)\n}"
    )
    assert codes(module) == []
    x = next(x for x in module.entry.instructions if x.op.name == opcode)
    x.shape = tuple_shape([array_shape("f32", (5,))])
    assert code in codes(module)


def test_a_tolerant_parse_keeps_its_findings() -> None:
    module = parse("ENTRY e {\n  p = f32[4] parameter(0)\n  q = f32[4] negate(x)\n  ROOT r = f32[5] negate(p)\n}", strict=False)
    assert codes(module) == ["S002", "T003"]
    assert codes(module, select=["C"]) == ["S002"]


def test_the_package_can_be_called() -> None:
    # Whoever imports a module of the package first finds the package under the function's name.
    script = "import hlotool.verify.engine, hlotool; print(hlotool.verify(hlotool.parse('ENTRY e { ROOT p = f32[] parameter(0) }')))"
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
def test_places(at: str, found: str) -> None:
    start, end = locate(LINE, 0, len(LINE), parse_place(at))
    assert LINE[start:end] == found


@pytest.mark.parametrize("depth", [20_000])
def test_deep_tuples(depth: int) -> None:
    deep, other = ("(" * depth + leaf + ")" * depth for leaf in ("f32[]", "s32[]"))
    module = parse(f"ENTRY e {{\n  p = {deep} parameter(0)\n  a = {other} copy(p)\n  ROOT b = {deep} opt-barrier(a)\n}}")
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


def edited(text: str, random: Random) -> str:
    """The text with another shape, list, number or opcode somewhere."""
    pattern, replacements = random.choice(EDITS)
    places = list(pattern.finditer(text))
    if not places:
        return text
    place = random.choice(places)
    return text[: place.start()] + random.choice(replacements) + text[place.end() :]


@pytest.mark.parametrize("seed", range(4))
def test_no_module_is_too_wrong(seed: int) -> None:
    random = Random(seed)
    texts = [text for text in texts_of_cases(HERE) if len(text) < 5000]
    texts += [part for path in sorted((HERE / "verify").glob("*.hlo")) for part in path.read_text(encoding="utf-8").split("// -----\n")]
    for _ in range(400):
        text = edited(edited(random.choice(texts), random), random)
        try:
            module = parse(text, strict=random.random() < 0.8)
        except ParseError:
            continue
        module.attributes["is_scheduled"] = random.random() < 0.5
        modes = hlotool.VerifyModes(layout_sensitive=random.random() < 0.5, collective_deadlocks=True, memory_budget=1, in_flight_limit=1)
        for d in verify(module, modes, select=["ALL"]):
            assert d.message, text
            assert (d.end_line, d.end_column) > (d.line, d.column) >= (1, 1), text
