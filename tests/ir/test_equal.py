"""`ir.equal` reports each kind of difference between two modules, and nothing for equal modules."""

import pytest

from hlotool.ir.equal import differences, same_computation
from hlotool.ir.model import Module
from hlotool.literals.literal import Literal
from hlotool.text.parse.parser import parse

CALLEES = "f { ROOT x = f32[] parameter(0) } g { ROOT x = f32[] parameter(0) } "
REDUCERS = (
    "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) } "
    "sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) } "
)
FRAMES = """HloModule m

FileNames
1 "{}"

FunctionNames
1 "f"

FileLocations
{} {{file_name_id=1 function_name_id=1 line=1 end_line=1 column=1 end_column=1}}

StackFrames
1 {{file_location_id=1 parent_frame_id=1}}

"""
WRAPPED = "async_wrapped { async_param = f32[2] parameter(0) ROOT negate = f32[2] negate(async_param) } "
ENTRY = " ENTRY e { ROOT p = f32[] parameter(0) }"

DIFFERENT = [
    ("HloModule m" + ENTRY, "HloModule n" + ENTRY, ["module names m and n"]),
    (
        "HloModule m, replica_count=2" + ENTRY,
        "HloModule m, replica_count=3" + ENTRY,
        ["header replica_count: 2 and 3"],
    ),
    ("HloModule m, replica_count=2" + ENTRY, "HloModule m" + ENTRY, ["header: ['replica_count'] and []"]),
    (FRAMES.format("a.py", 1) + ENTRY, FRAMES.format("b.py", 1) + ENTRY, ["stack frames"]),
    (FRAMES.format("a.py", 1) + ENTRY, "HloModule m" + ENTRY, ["stack frames"]),
    (
        "HloModule m ENTRY e { ROOT p = f32[] parameter(0) } f { ROOT x = f32[] parameter(0) }",
        "HloModule m e { ROOT p = f32[] parameter(0) } ENTRY f { ROOT x = f32[] parameter(0) }",
        ["entry computations"],
    ),
    (
        "f { ROOT x = f32[] parameter(0) }" + ENTRY,
        "g { ROOT x = f32[] parameter(0) }" + ENTRY,
        ["f: g, threads main and main"],
    ),
    (
        'f { ROOT x = f32[] parameter(0) }, execution_thread="main"' + ENTRY,
        'f { ROOT x = f32[] parameter(0) }, execution_thread="host"' + ENTRY,
        ["f: f, threads main and host"],
    ),
    (
        "f { ROOT x = f32[] parameter(0) }" + ENTRY,
        ENTRY,
        [
            "entry computations",
            "f: e, threads main and main",
            "f: roots x and p",
            "f: x: <x = f32[] parameter> and <p = f32[] parameter>",
            "computation e is in only one module",
        ],
    ),
    (
        "ENTRY e { p = f32[] parameter(0) ROOT q = f32[] parameter(1) }",
        "ENTRY e { ROOT p = f32[] parameter(0) q = f32[] parameter(1) }",
        ["e: roots q and p"],
    ),
    (
        "ENTRY e { ROOT p = f32[] parameter(0) q = f32[] parameter(1) }",
        "ENTRY e { ROOT p = f32[] parameter(0) }",
        ["e: instruction q is in only one module"],
    ),
    (
        "ENTRY e { p = f32[] parameter(0) ROOT n = f32[] negate(p) }",
        "ENTRY e { p = f32[] parameter(0) ROOT n = f32[] abs(p) }",
        ["e: n: <n = f32[] negate> and <n = f32[] abs>"],
    ),
    (
        "ENTRY e { p = f32[] parameter(0) a = f32[] abs(p) ROOT n = f32[] abs(p) }",
        "ENTRY e { p = f32[] parameter(0) b = f32[] abs(p) ROOT n = f32[] abs(p) }",
        ["e: a: <a = f32[] abs> and <b = f32[] abs>"],
    ),
    (
        "ENTRY e { ROOT p = f32[2]{0} parameter(0) }",
        "ENTRY e { ROOT p = f32[2]{0:S(1)} parameter(0) }",
        ["e: p: shapes f32[2]{0} and f32[2]{0:S(1)}"],
    ),
    (
        "ENTRY e { p = f32[] parameter(0) q = f32[] parameter(1) ROOT n = f32[] negate(p) }",
        "ENTRY e { p = f32[] parameter(0) q = f32[] parameter(1) ROOT n = f32[] negate(q) }",
        ["e: n: operands [<p = f32[] parameter>] and [<q = f32[] parameter>]"],
    ),
    (
        'ENTRY e { ROOT p = f32[] parameter(0), metadata={op_name="a"} }',
        'ENTRY e { ROOT p = f32[] parameter(0), metadata={op_name="b"} }',
        ['e: p: metadata or backend configuration: {op_name="a"} None and {op_name="b"} None'],
    ),
    (
        'ENTRY e { ROOT c = f32[] custom-call(), custom_call_target="t", backend_config="2" }',
        'ENTRY e { ROOT c = f32[] custom-call(), custom_call_target="t", backend_config="3" }',
        ['e: c: metadata or backend configuration: None "2" and None "3"'],
    ),
    (
        "ENTRY e { p = f32[] parameter(0) ROOT c = s32[] constant(1) }",
        "ENTRY e { p = f32[] parameter(0) ROOT c = s32[] constant(2) }",
        ["e: c: immediate: <literal s32[] 1> and <literal s32[] 2>"],
    ),
    (
        "ENTRY e { ROOT x = s32[] parameter(0) }",
        "ENTRY e { ROOT x = s32[] constant(1) }",
        ["e: x: <x = s32[] parameter> and <x = s32[] constant>", "e: x: immediate: 0 and <literal s32[] 1>"],
    ),
    (
        "ENTRY e { ROOT x = s32[] constant(1) }",
        "ENTRY e { ROOT x = s32[] parameter(0) }",
        ["e: x: <x = s32[] constant> and <x = s32[] parameter>", "e: x: immediate: <literal s32[] 1> and 0"],
    ),
    (
        "ENTRY e { p = f32[] parameter(0) ROOT q = f32[] parameter(1) }",
        "ENTRY e { p = f32[] parameter(1) ROOT q = f32[] parameter(0) }",
        ["e: p: immediate: 0 and 1", "e: q: immediate: 1 and 0"],
    ),
    (
        "ENTRY e { p = f32[] parameter(0) a = f32[] abs(p) ROOT n = f32[] negate(p), control-predecessors={a} }",
        "ENTRY e { p = f32[] parameter(0) a = f32[] abs(p) ROOT n = f32[] negate(p), control-predecessors={p} }",
        ["e: n: attribute control-predecessors: <a = f32[] abs> and <p = f32[] parameter>"],
    ),
    (
        "ENTRY e { p = f32[] parameter(0) a = f32[] abs(p) ROOT n = f32[] negate(p), control-predecessors={a} }",
        "ENTRY e { p = f32[] parameter(0) a = f32[] abs(p) ROOT n = f32[] negate(p) }",
        ["e: n: attribute: ['control-predecessors'] and []"],
    ),
    (
        CALLEES + "ENTRY e { p = f32[] parameter(0) ROOT c = f32[] call(p), to_apply=f }",
        CALLEES + "ENTRY e { p = f32[] parameter(0) ROOT c = f32[] call(p), to_apply=g }",
        ["e: c: attribute to_apply: <computation f with 1 instruction> and <computation g with 1 instruction>"],
    ),
    (
        "ENTRY e { p = f32[2,2] parameter(0) ROOT t = f32[2,2] transpose(p), dimensions={0,1} }",
        "ENTRY e { p = f32[2,2] parameter(0) ROOT t = f32[2,2] transpose(p), dimensions={1,0} }",
        ["e: t: attribute dimensions: 1 and 0", "e: t: attribute dimensions: 0 and 1"],
    ),
    (
        REDUCERS + "ENTRY e { p = f32[2,2] parameter(0) z = f32[] constant(0) ROOT r = f32[2] reduce(p, z), dimensions={0}, to_apply=add }",
        REDUCERS + "ENTRY e { p = f32[2,2] parameter(0) z = f32[] constant(0) ROOT r = f32[2] reduce(p, z), dimensions={0,1}, to_apply=add }",
        ["e: r: attribute dimensions: (0,) and (0, 1)"],
    ),
    (
        'ENTRY e { p = f32[] parameter(0) ROOT n = f32[] negate(p), frontend_attributes={a="1",b="2"} }',
        'ENTRY e { p = f32[] parameter(0) ROOT n = f32[] negate(p), frontend_attributes={a="1",b="3"} }',
        ["e: n: attribute frontend_attributes b: '2' and '3'"],
    ),
    (
        'ENTRY e { p = f32[] parameter(0) ROOT n = f32[] negate(p), frontend_attributes={a="1"} }',
        'ENTRY e { p = f32[] parameter(0) ROOT n = f32[] negate(p), frontend_attributes={b="1"} }',
        ["e: n: attribute frontend_attributes: ['a'] and ['b']"],
    ),
    (
        "ENTRY e { p = f32[] parameter(0) ROOT n = f32[] negate(p), sharding={replicated} }",
        "ENTRY e { p = f32[] parameter(0) ROOT n = f32[] negate(p) }",
        ["e: n: attribute: ['sharding'] and []"],
    ),
    (
        "ENTRY e { p = f32[2] parameter(0) ROOT n = ((f32[2]), f32[2]) negate-start(p) }",
        WRAPPED + "ENTRY e { p = f32[2] parameter(0) ROOT n = ((f32[2]), f32[2]) async-start(p), calls=async_wrapped }",
        ["hidden computations"],
    ),
]

TWO_SETS = """ENTRY e {{
  p = f32[] parameter(0)
  a = f32[] negate(p), frontend_attributes={{a="{}"}}
  ROOT b = f32[] negate(a), frontend_attributes={{a="{}"}}
}}
"""
BATCH_NORM = """ENTRY e {{
  p = f32[2,2] parameter(0)
  q = f32[2] parameter(1)
  ROOT b = (f32[2,2], f32[2], f32[2]) batch-norm-training(p, q, q), epsilon={}, feature_index=1
}}
"""
DIFFERENT += [
    (
        ENTRY,
        "f { ROOT x = f32[] parameter(0) }" + ENTRY,
        [
            "entry computations",
            "e: f, threads main and main",
            "e: roots p and x",
            "e: p: <p = f32[] parameter> and <x = f32[] parameter>",
            "computation e is in only one module",
        ],
    ),
    (
        "ENTRY e { ROOT p = f32[] parameter(0) }",
        "ENTRY e { ROOT p = f32[] parameter(0) q = f32[] parameter(1) }",
        ["e: instruction q is in only one module"],
    ),
    # A difference in a computation is reported for the computation, not for attributes that refer
    # to it.
    (
        "f { ROOT x = f32[] parameter(0) } ENTRY e { p = f32[] parameter(0) ROOT c = f32[] call(p), to_apply=f }",
        "g { ROOT x = f32[] parameter(0) } ENTRY e { p = f32[] parameter(0) ROOT c = f32[] call(p), to_apply=g }",
        ["f: g, threads main and main"],
    ),
    (
        "ENTRY e { p = f32[] parameter(0) ROOT q = f32[] parameter(1), control-predecessors={p} }",
        "ENTRY e { p = s32[] parameter(0) ROOT q = f32[] parameter(1), control-predecessors={p} }",
        ["e: p: shapes f32[] and s32[]"],
    ),
    # Instructions with the same attribute text share an attribute set, so one set occurs in both
    # pairs of compared instructions.
    (TWO_SETS.format("1", "1"), TWO_SETS.format("1", "2"), ["e: b: attribute frontend_attributes a: '1' and '2'"]),
    (TWO_SETS.format("1", "2"), TWO_SETS.format("1", "1"), ["e: b: attribute frontend_attributes a: '2' and '1'"]),
]

EQUAL = [
    FRAMES.format("a.py", 1) + ENTRY,
    TWO_SETS.format("1", "1"),
    CALLEES + "ENTRY e { p = f32[] parameter(0) ROOT c = f32[] conditional(p, p, p), branch_computations={f, g} }".replace("p = f32", "p = s32", 1),
    "ENTRY e { p = f32[2] parameter(0) ROOT n = ((f32[2]), f32[2]) negate-start(p) }",
    "ENTRY e { p = f32[] parameter(0) a = f32[] abs(p) ROOT n = f32[] negate(p), control-predecessors={a} }",
]


@pytest.mark.parametrize("text", EQUAL)
def test_equal_modules_do_not_differ(text):
    assert list(differences(parse(text), parse("// a comment\n" + text))) == []


@pytest.mark.parametrize(
    ("first", "second"),
    [
        # The row numbers in the tables after the header do not matter.
        (FRAMES.format("a.py", 1) + ENTRY.lstrip(), FRAMES.format("a.py", 7) + ENTRY.lstrip()),
        (BATCH_NORM.format("0.5"), BATCH_NORM.format("0.50")),
        # NaN is not equal to itself.
        (BATCH_NORM.format("nan"), BATCH_NORM.format("-nan")),
    ],
)
def test_modules_with_different_spellings_are_equal(first, second):
    assert list(differences(parse(first), parse(second))) == []


@pytest.mark.parametrize(("first", "second", "expected"), DIFFERENT)
def test_a_difference_is_reported(first, second, expected):
    assert list(differences(parse(first), parse(second))) == expected


def test_equal_constants_are_equal_as_text_and_as_bytes():
    first, second = parse("ENTRY e { ROOT c = s16[] constant(2) }"), parse("ENTRY e { ROOT c = s16[] constant(2) }")
    second.entry.root.immediate = Literal(second.entry.root.shape, packed=bytes([2, 0]))
    assert list(differences(first, second)) == []
    second.entry.root.immediate = Literal(second.entry.root.shape, packed=bytes([3, 0]))
    assert len(list(differences(first, second))) == 1
    # The constants are also equal if something else differs.
    second = parse("ENTRY e { ROOT d = s16[] constant(2) }")
    second.entry.root.immediate = Literal(second.entry.root.shape, packed=bytes([2, 0]))
    assert list(differences(first, second)) == ["e: roots c and d", "e: c: <c = s16[] constant> and <d = s16[] constant>"]


def test_long_constants_differ_in_one_element():
    first, second = parse("ENTRY e { ROOT c = s16[99] parameter(0) }"), parse("ENTRY e { ROOT c = s16[99] parameter(0) }")
    for module, last in ((first, 1), (second, 2)):
        module.entry.root.immediate = Literal(module.entry.root.shape, packed=bytes(197) + bytes([last]))
    assert len(list(differences(first, second))) == 1


def test_true_is_not_one():
    first, second = Module("m"), Module("m")
    first.attributes["x"], second.attributes["x"] = True, 1
    assert list(differences(first, second)) == ["header x: True and 1"]


# ---- computations ------------------------------------------------------------------------------------------------------

INNER = "g { ROOT z = f32[2] parameter(0) } h { y = f32[2] parameter(0) ROOT n = f32[2] negate(y) } "
SAME_BODIES = [
    ("p = f32[2] parameter(0) ROOT n = f32[2] negate(p)", 'x = f32[2] parameter(0) ROOT y = f32[2] negate(x), metadata={op_name="n"}'),
    ("p = f32[2] parameter(0) ROOT c = f32[2] call(p), to_apply=g", "x = f32[2] parameter(0) ROOT d = f32[2] call(x), to_apply=g"),
    (
        "p = f32[] parameter(0) a = f32[] abs(p) ROOT n = f32[] negate(p), control-predecessors={a}",
        "x = f32[] parameter(0) y = f32[] abs(x) ROOT z = f32[] negate(x), control-predecessors={y}",
    ),
    # NaN is not equal to itself.
    tuple(
        f"{x} = f32[2,2] parameter(0) s = f32[2] parameter(1) ROOT b = f32[2,2] batch-norm-inference({x}, s, s, s, s), epsilon=nan, feature_index=0"
        for x in "pq"
    ),
]
OTHER_BODIES = [
    tuple(
        f'p = f32[2] parameter(0) ROOT c = f32[2] custom-call(p), custom_call_target="t", called_computations={called}'
        for called in ("{g}", "{g, h}")
    ),
    ("ROOT p = f32[2] parameter(0)", "ROOT p = f32[3] parameter(0)"),
    ("ROOT c = f32[] constant(1)", "ROOT c = f32[] constant(2)"),
    ("ROOT p = f32[2] parameter(0)", "ROOT p = f32[2] parameter(0) q = f32[2] negate(p)"),
    ("p = f32[2] parameter(0) ROOT n = f32[2] negate(p)", "p = f32[2] parameter(0) ROOT n = f32[2] abs(p)"),
    (
        "p = f32[] parameter(0) q = f32[] parameter(1) ROOT s = f32[] subtract(p, q)",
        "p = f32[] parameter(0) q = f32[] parameter(1) ROOT s = f32[] subtract(q, p)",
    ),
    ("p = f32[] parameter(0) ROOT n = f32[] negate(p)", "ROOT p = f32[] parameter(0) n = f32[] negate(p)"),
    ("p = f32[] parameter(0) ROOT n = f32[] exponential(p)", "p = f32[] parameter(0) ROOT n = f32[] exponential(p), result_accuracy={mode=highest}"),
    (
        "p = f32[2] parameter(0) s = f32[] parameter(1) ROOT c = f32[2] broadcast(s), dimensions={}, backend_config={}",
        'p = f32[2] parameter(0) s = f32[] parameter(1) ROOT c = f32[2] broadcast(s), dimensions={}, backend_config={"a":"b"}',
    ),
    (
        "p = f32[2,2] parameter(0) ROOT t = f32[2,2] transpose(p), dimensions={0,1}",
        "p = f32[2,2] parameter(0) ROOT t = f32[2,2] transpose(p), dimensions={1,0}",
    ),
    (
        "p = f32[] parameter(0) a = f32[] abs(p) ROOT n = f32[] negate(p), control-predecessors={a}",
        "p = f32[] parameter(0) a = f32[] abs(p) ROOT n = f32[] negate(p), control-predecessors={p}",
    ),
    ("p = f32[2] parameter(0) ROOT c = f32[2] call(p), to_apply=g", "p = f32[2] parameter(0) ROOT c = f32[2] call(p), to_apply=h"),
    (
        'p = f32[2] parameter(0) ROOT c = f32[2] custom-call(p), custom_call_target="t"',
        'p = f32[2] parameter(0) ROOT c = f32[2] custom-call(p), custom_call_target="t", called_computations={g}',
    ),
]


def parse_both(first, second):
    module = parse(f"{INNER} a {{ {first} }} b {{ {second} }} ENTRY e {{ ROOT r = () tuple() }}")
    return module.computation("a"), module.computation("b")


@pytest.mark.parametrize(("first", "second"), SAME_BODIES)
def test_computations_that_differ_in_names_only(first, second):
    assert same_computation(*parse_both(first, second))


@pytest.mark.parametrize(("first", "second"), OTHER_BODIES)
def test_computations_that_differ(first, second):
    assert not same_computation(*parse_both(first, second))
    assert not same_computation(*parse_both(second, first))


def test_nested_calls_are_compared_once():
    """Compares computations that each call the previous one twice."""
    levels = []
    for side in "ab":
        levels.append(f"{side}0 {{ ROOT p = f32[] parameter(0) }}")
        for k in range(1, 40):
            levels.append(
                f"{side}{k} {{ p = f32[] parameter(0) c = f32[] call(p), to_apply={side}{k - 1} ROOT d = f32[] call(c), to_apply={side}{k - 1} }}"
            )
    module = parse("\n".join(levels) + " ENTRY e { ROOT r = () tuple() }")
    assert same_computation(module.computation("a39"), module.computation("b39"))
