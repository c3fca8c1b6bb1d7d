"""Modules as builder code: modules in the test folders, random modules, and hostile strings."""

from __future__ import annotations

import builtins
import re
from pathlib import Path

import pytest
from checks.building import check_rebuilt, only_builds, run_code
from hypothesis import given, settings

import hlotool
from hlotool.builder.builder import Builder
from hlotool.errors import BuilderError, HlotoolError, ParseError
from hlotool.testing import modules
from hlotool.text.parse.parser import parse, parse_each

TESTS = Path(__file__).resolve().parents[1]
FOLDERS = sorted({path.parent for path in [*TESTS.glob("**/*.hlo"), *(TESTS.parent / "samples").glob("*.hlo")]})


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_all_modules_of_the_tests(folder):
    for path in sorted(folder.glob("*.hlo")):
        for module in parse_each(path.read_bytes(), str(path)):
            if not isinstance(module, ParseError):
                check_rebuilt(module)


@settings(max_examples=60)
@given(module=modules(size=40, communicates=True))
def test_random_modules(module):
    check_rebuilt(module)
    code = hlotool.to_python(module)
    # The module was built with the builder's methods, so these methods can rebuild it. Only
    # broadcasts whose dimensions are not in order have no method.
    assert set(re.findall(r'\.instruction\("([^"]*)"', code)) <= {"broadcast"}
    assert "check=False" not in code


# ---- the code ---------------------------------------------------------------------------------------------------------

LOOP = """HloModule loop

sum {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT s = f32[] add(x, y)
}

ENTRY main {
  x = f32[2,3] parameter(0)
  zero = f32[] constant(0)
  total = f32[2] reduce(x, zero), dimensions={1}, to_apply=sum, metadata={op_name="total"}
  ROOT less = pred[2] compare(total, total), direction=LT
}
"""
LOOP_CODE = """import hlotool

b = hlotool.Builder("loop", entry="main", source_lines=False, unique_names=False)

with (sum_ := b.computation("sum")) as c:
    x = c.parameter(0, "f32[]", "x")
    y = c.parameter(1, "f32[]", "y")
    c.add(x, y).named("s")

x = b.parameter(0, "f32[2,3]", "x")
zero = b.constant(0.0).named("zero")
total = b.reduce(x, zero, sum_, [1]).named("total").annotated(metadata='{op_name="total"}')
less = b.lt(total, total).named("less")

module = b.build(less)
"""


def test_the_code_looks_handwritten():
    assert hlotool.to_python(parse(LOOP)) == LOOP_CODE
    spelled = LOOP_CODE.replace("constant(0.0)", 'constant("0.0", shape="f32[]")')
    assert hlotool.to_python(parse(LOOP.replace("constant(0)", "constant(0.0)"))) == spelled


def test_built_modules_need_no_names():
    b = Builder("m", source_lines=False)
    x = b.parameter(0, "f32[4]", "x")
    code = hlotool.to_python(b.build(b.add(b.mul(x, x), b.add(x, x))))
    assert ".named(" not in code
    assert "unique_names" not in code


def test_a_reduction_for_chosen_members():
    text = """sum { x = f32[] parameter(0) y = f32[] parameter(1) ROOT s = f32[] add(x, y) }
ENTRY e { a = f32[2] parameter(0) b = f32[3] parameter(1) i = s32[2] parameter(2)
  ROOT r = (f32[2], f32[3]) collective-reduce(a, b, i), replica_groups={{0,1}}, has_dynamic_root=true, to_apply=sum }"""
    assert "r = b.collective_reduce([a, b_], sum_, [[0, 1]], roots=i)" in hlotool.to_python(parse(text))


def test_a_large_module():
    lines = "".join([f"  x{k} = f32[4] negate(x{k - 1})\n" for k in range(1, 20_001)])
    module = parse(f"ENTRY e {{\n  x0 = f32[4] parameter(0)\n{lines}  ROOT r = f32[4] sine(x20000)\n}}")
    assert hlotool.to_text(run_code(hlotool.to_python(module))) == hlotool.to_text(module)


def test_long_calls_have_a_line_for_each_argument():
    names = ", ".join(f"a_rather_long_name.{k}" for k in range(30))
    parameters = "".join([f"  a_rather_long_name.{k} = f32[] parameter({k})\n" for k in range(30)])
    shape = f"({', '.join(['f32[]'] * 30)})"
    metadata = f'metadata={{op_name="{"long/" * 30}"}}'
    code = hlotool.to_python(parse(f"ENTRY e {{\n{parameters}  ROOT t = {shape} tuple({names}), {metadata}\n}}"))
    assert all(len(line) <= 120 for line in code.splitlines() if "long/" not in line)
    assert "\n    metadata=" in code


# ---- nothing but building ---------------------------------------------------------------------------------------------

HOSTILE = [
    '"""',
    "'''",
    '\\"); exit(1); ("',
    "'); import os; os.abort() #",
    "\n\n__import__('os').abort()\n",
    "\\",
    "\\N{BULLET} \\x41 \\",
    "{exit(1)} %s {0}",
    "\u202e\u2028\u0085é\U0001f600\ufeff",
    "\0\x01\x1b[2J\r",
    b"\xff\xfe not UTF-8".decode("utf-8", "surrogateescape"),
]


def hostile_module(text: str) -> str:
    quoted = hlotool.shapes.strings.quote(text)
    return f"""HloModule m, frontend_attributes={{k={quoted}}}

FileNames
1 {quoted}

FunctionNames
1 {quoted}

FileLocations
1 {{file_name_id=1 function_name_id=1 line=1 end_line=1 column=1 end_column=1}}

StackFrames
1 {{file_location_id=1 parent_frame_id=1}}

ENTRY e {{
  p = f32[4] parameter(0), metadata={{op_type={quoted} op_name={quoted} source_file={quoted} stack_frame_id=1}}
  t = token[] after-all(), frontend_attributes={{x={quoted}}}
  i = (f32[4], token[]) infeed(t), infeed_config={quoted}
  c = f32[4] custom-call(p), custom_call_target={quoted}, backend_config={quoted}
  ROOT d = f32[4] custom-call(c), custom_call_target="f", origin={{{{{quoted}}}}}
}}, execution_thread={quoted}
"""


@pytest.mark.parametrize("text", HOSTILE)
def test_strings_of_the_module_are_only_strings(text, monkeypatch):
    module = parse(hostile_module(text))
    check_rebuilt(module)
    # Characters that cannot be encoded are escaped, so that the code can be written to a file.
    code = hlotool.to_python(module).encode("utf-8")
    monkeypatch.setattr(builtins, "exit", None)
    assert hlotool.to_text(run_code(code.decode("utf-8"))) == hlotool.to_text(module)


def test_the_code_check_finds_other_operations():
    for code in ("import os", "hlotool.__class__", "print(1)", "x = lambda: 1", "from os import abort", "f'{1}'", "x = [y for y in 'a']"):
        assert only_builds(code) is not None


def test_unknown_opcodes_are_rejected():
    module = parse("ENTRY e { p = f32[] parameter(0) ROOT z = f32[] zork(p) }", strict=False)
    with pytest.raises(HlotoolError, match=r"builders do not support the opcode 'zork' of 'z'"):
        hlotool.to_python(module)
    module = parse("HloModule m, zork=1\nENTRY e { ROOT p = f32[] parameter(0) }", strict=False)
    with pytest.raises(HlotoolError, match="builders do not support the attribute 'zork'"):
        hlotool.to_python(module)
    module = parse("ENTRY e { ROOT p = f32[] parameter(0), zork=1 }", strict=False)
    with pytest.raises(HlotoolError, match="builders do not support the attribute 'zork' of 'p'"):
        hlotool.to_python(module)


def test_modules_out_of_order_are_rejected():
    module = parse("f { ROOT x = f32[] parameter(0) } ENTRY e { p = f32[] parameter(0) n = f32[] negate(p) ROOT c = f32[] call(n), to_apply=f }")
    module.computations.reverse()
    with pytest.raises(HlotoolError, match="cannot create 'c' in 'e': 'f' is not defined before it"):
        hlotool.to_python(module)
    module.computations.reverse()
    module.entry.instructions.insert(0, module.entry.instructions.pop(1))
    with pytest.raises(HlotoolError, match="cannot create 'n' in 'e': 'p' is not defined before it"):
        hlotool.to_python(module)


# ---- arguments of builder methods -------------------------------------------------------------------------------------

WRONG = [
    (lambda b, x: b.set_header({"is_schedule": True}), "did you mean 'is_scheduled'?"),
    (lambda b, x: b.set_header({"input_output_alias": "{"}), "cannot be read"),
    (lambda b, x: b.set_header({"replica_count": [2]}), "expected str, found list"),
    (lambda b, x: b.set_header({"is_scheduled": "true, replica_count=2"}), "cannot be read"),
    (lambda b, x: b.set_stack_frames("FileNames\n1 a"), "the tables cannot be read"),
    (lambda b, x: b.set_stack_frames(""), "begin with FileNames"),
    (lambda b, x: x.annotated(sharding="{replicate}"), "cannot be read"),
    (lambda b, x: x.annotated(sharding="{replicated}, index=1"), "cannot be read"),
    (lambda b, x: x.annotated(metadata="op_name"), "cannot be read"),
    (lambda b, x: x.annotated(metadata='{op_name="a" op_name="b"}'), "occurs twice in the metadata"),
    (lambda b, x: x.annotated(frontend_attributes={"a": 1}), "expected str, found int"),
    (lambda b, x: x.with_layout("f32[4,1]{0,1}"), "the result is f32[2,3], not f32[4,1]"),
    (lambda b, x: b.instruction("negate", x, check=False), "a shape must be given if check is False"),
    (lambda b, x: b.instruction("negate", x, "f32[5]"), "returns f32[2,3], but f32[5] is written"),
    (lambda b, x: b.constant("{1, 2}", shape="f32[3]"), "literal"),
    (lambda b, x: b.constant(b"12", shape="f32[1]"), "expected data of length 4 for f32[1], got 2"),
    (lambda b, x: b.constant(b"", shape="()"), "bytes can only be the elements of an array"),
    (lambda b, x: b.constant([1.0], shape="f32[2]"), "the values are f32[1], not f32[2]"),
    (lambda b, x: b.computation("f").finish_entry(), "not the builder of the entry"),
]


@pytest.mark.parametrize(("call", "message"), WRONG)
def test_wrong_arguments(call, message):
    b = Builder("m")
    with pytest.raises(BuilderError) as caught:
        call(b, b.parameter(0, "f32[2,3]", "x"))
    assert message in str(caught.value)


def test_the_entry_may_come_first():
    b = Builder("m", source_lines=False)
    b.finish_entry(-b.parameter(0, "f32[]", "x"))
    with pytest.raises(BuilderError, match="finished"):
        b.constant(1.0)
    with b.computation("later", "f32[]") as c:
        c.sin(c.parameters[0])
    assert [computation.name for computation in b.build().computations] == ["m", "later"]


def test_names_may_repeat_in_other_computations():
    b = Builder("m", entry="main", unique_names=False)
    x = b.parameter(0, "f32[]", "x")
    with b.computation("f32") as c:
        assert c.parameter(0, "f32[]", "x").name == "x"
        assert c.neg(c.parameters[0]).named("x").name == "x.1"
    module = b.build(b.call(c, [x]))
    assert (module.name, module.entry.name, [f.name for f in module.computations]) == ("m", "main", ["f32", "main"])
    with pytest.raises(BuilderError, match="is reserved"):
        Builder("m").computation("f32")


def test_metadata_becomes_canonical():
    x = Builder("m").constant(1.0)
    assert x.annotated(metadata='{ source_line=3 op_name="\\x41"}').instruction.metadata_text == '{op_name="A" source_line=3}'
    assert x.annotated(metadata="{}").instruction.metadata_text is None


def test_an_extended_module_is_annotated():
    module = parse("ENTRY e { p = f32[2,3] parameter(0) ROOT r = f32[2,3] negate(p) }")
    with Builder.extend(module) as b:
        r = b.op("r").annotated(sharding="{replicated}", metadata='{op_name="r"}', backend_config="x").with_layout("f32[2,3]{0,1}")
        assert r.instruction is module.entry.root
    assert 'f32[2,3]{0,1} negate(%p), sharding={replicated}, metadata={op_name="r"}, backend_config="x"' in hlotool.to_text(module)


def test_a_permute_may_start_without_slices():
    b = Builder("m", replica_count=2)
    x = b.parameter(0, "f32[2]", "x")
    start = b.collective_permute_start([x], [(0, 1)], "(f32[2], f32[2], u32[], u32[])")
    assert b.build(b.collective_permute_done(start)).entry.root.shape.text == "f32[2]{0}"


def test_wrong_groups_are_an_error_at_the_call():
    b = Builder("m")
    with pytest.raises(BuilderError, match="not a valid iota"):
        b.all_to_all(b.parameter(0, "f32[8]", "x"), 0, 0, 4, "[4,2]<=[2,4]T(1,1)")
