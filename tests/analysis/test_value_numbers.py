"""Value numbers: equal only for instructions or computations known to be equivalent."""

import pytest

from hlotool.analysis.simplify import constant_value
from hlotool.analysis.value_numbers import ComputationClasses, value_numbers
from hlotool.ir.edit import Rewriter
from hlotool.text.parse.parser import parse

ONE = "p = f32[2] parameter(0) "
TWO = "p = f32[2] parameter(0) q = f32[2] parameter(1) "
TUPLE = "t = (f32[2], f32[2]) parameter(0) "
LAST = "last { a = f32[] parameter(0) ROOT b = f32[] parameter(1) } "
CALLED = LAST + "f { ROOT x = f32[2] parameter(0) } g { ROOT y = f32[2] parameter(0) } h { z = f32[2] parameter(0) ROOT n = f32[2] negate(z) } "
BOUNDS = "l = f32[] constant(0) h = f32[] constant(1) "
CONFIGURED = 'f32[2] custom-call(p), custom_call_target="t", backend_config="%d"'
SYSTEM, SOLVE = "p = f32[2,2] parameter(0) ", "f32[2,2] triangular-solve(p, p), left_side=true, "
SCATTERED = "p = f32[8] parameter(0) i = s32[1] parameter(1) v = f32[1] parameter(2) "
SCATTER = (
    "f32[8] scatter(p, i, v), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=last, "
)

PAIRS = [
    (ONE, "f32[2] abs(p)", "f32[2] abs(p)", True),
    (ONE, "f32[2] abs(p)", "f32[2] negate(p)", False),
    (ONE, "f32[2] abs(p)", "f32[2]{0:S(1)} abs(p)", False),
    (TWO, "f32[2] abs(p)", "f32[2] abs(q)", False),
    (TWO, "f32[2] add(p, q)", "f32[2] add(q, p)", False),
    # Only the attributes differ.
    (TUPLE, "f32[2] get-tuple-element(t), index=0", "f32[2] get-tuple-element(t), index=1", False),
    (TUPLE, "f32[2] get-tuple-element(t), index=1", "f32[2] get-tuple-element(t), index=1", True),
    (SCATTERED, SCATTER + "indices_are_sorted=true", SCATTER + "unique_indices=true", False),
    (TWO, "pred[2] compare(p, q), direction=LT", "pred[2] compare(p, q), direction=GT", False),
    (SYSTEM, SOLVE + "lower=true", SOLVE + "unit_diagonal=true", False),
    ("s = f32[2,2] parameter(0) ", "f32[2] slice(s), slice={[0:1], [0:2]}", "f32[2] slice(s), slice={[1:2], [0:2]}", False),
    (ONE, "f32[2] abs(p), frontend_attributes={a=\"1\"}", "f32[2] abs(p), frontend_attributes={a=\"2\"}", False),
    (ONE, "f32[2] abs(p), frontend_attributes={a=\"1\"}", "f32[2] abs(p), frontend_attributes={b=\"1\"}", False),
    (ONE, "f32[2] abs(p), frontend_attributes={a=\"1\"}", "f32[2] abs(p), frontend_attributes={a=\"1\"}", True),
    (ONE, 'f32[2] custom-call(p), custom_call_target="t"', 'f32[2] custom-call(p), custom_call_target="u"', False),
    (ONE, CONFIGURED % 2, CONFIGURED % 3, False),
    (ONE, CONFIGURED % 2, CONFIGURED % 2, True),
    (ONE, "f32[2] abs(p), metadata={op_name=\"a\"}", "f32[2] abs(p), metadata={op_name=\"b\"}", True),
    # Control predecessors.
    (ONE + "k = f32[2] negate(p) ", "f32[2] abs(p), control-predecessors={k}", "f32[2] abs(p)", False),
    (ONE + "k = f32[2] negate(p) m = f32[2] negate(p) ", "f32[2] abs(p), control-predecessors={k}", "f32[2] abs(p), control-predecessors={m}", True),
    # Constants are equal if their values are known and equal.
    ("", "s32[2] constant({1, 2})", "s32[2] constant({1, 2})", True),
    ("", "s32[2] constant({1, 2})", "s32[2] constant({1, 3})", False),
    ("", "s32[2] constant({...})", "s32[2] constant({...})", False),
    ("", "s32[2] iota(), iota_dimension=0", "s32[2] iota(), iota_dimension=0", True),
    (BOUNDS, "f32[2] rng(l, h), distribution=rng_uniform", "f32[2] rng(l, h), distribution=rng_uniform", False),
    # Called computations are compared by their content.
    (ONE, "f32[2] call(p), to_apply=f", "f32[2] call(p), to_apply=g", True),
    (ONE, "f32[2] call(p), to_apply=f", "f32[2] call(p), to_apply=h", False),
    (
        ONE + "k = s32[] constant(1) ",
        "f32[2] conditional(k, p, p), branch_computations={f, h}",
        "f32[2] conditional(k, p, p), branch_computations={g, h}",
        True,
    ),
    (
        ONE + "k = s32[] constant(1) ",
        "f32[2] conditional(k, p, p), branch_computations={f, h}",
        "f32[2] conditional(k, p, p), branch_computations={h, f}",
        False,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "first", "second", "same"), PAIRS)
def test_two_instructions(lines, first, second, same):
    shape = first.partition(" ")[0], second.partition(" ")[0]
    module = parse(f"{CALLED}ENTRY e {{ {lines} a = {first} b = {second} ROOT r = ({shape[0]}, {shape[1]}) tuple(a, b) }}")
    numbers = value_numbers(module.entry, ComputationClasses(module).freeze)
    a, b = module.entry.root.operands
    assert (numbers[a] == numbers[b]) is same


def test_parameters_differ_unless_computations_are_compared():
    module = parse(f"ENTRY e {{ {TWO} ROOT r = f32[2] add(p, q) }}")
    frozen = ComputationClasses(module).freeze
    assert list(value_numbers(module.entry, frozen).values()) == [0, 1, 2]
    # The parser rejects two parameters with the same number.
    module.entry.instructions[1].immediate = 0
    assert list(value_numbers(module.entry, frozen).values()) == [0, 1, 2]
    assert list(value_numbers(module.entry, frozen, parameters_by_number=True).values()) == [0, 0, 1]


def test_attributes_are_frozen_once():
    module = parse(f"ENTRY e {{ {TWO} ROOT r = pred[2] compare(p, q), direction=LT }}")
    frozen = ComputationClasses(module).freeze
    assert frozen(module.entry.root.attributes) is frozen(module.entry.root.attributes)


COMPUTATIONS = [
    ("f { ROOT x = f32[2] parameter(0) }", "g { ROOT y = f32[2] parameter(0) }", True),
    ("f { ROOT x = f32[2] parameter(0) }", "g { ROOT y = f32[3] parameter(0) }", False),
    # The same instructions, but a different root.
    ("f { x = f32[2] parameter(0) ROOT n = f32[2] abs(x) }", "g { ROOT x = f32[2] parameter(0) n = f32[2] abs(x) }", False),
    ("f { x = f32[2] parameter(0) y = f32[2] parameter(1) ROOT n = f32[2] abs(x) }", "g { x = f32[2] parameter(0) ROOT n = f32[2] abs(x) }", False),
    (
        "f { x = f32[2] parameter(0) ROOT a = f32[2] abs(x) b = f32[2] abs(a) }",
        "g { x = f32[2] parameter(0) a = f32[2] abs(x) ROOT b = f32[2] abs(a) }",
        False,
    ),
    ("f { ROOT x = f32[2] parameter(0) }", 'g { ROOT x = f32[2] parameter(0) }, execution_thread="t"', False),
    # Control predecessors may have any names.
    (
        "f { x = f32[2] parameter(0) n = f32[2] abs(x) ROOT m = f32[2] negate(x), control-predecessors={n} }",
        "g { y = f32[2] parameter(0) k = f32[2] abs(y) ROOT l = f32[2] negate(y), control-predecessors={k} }",
        True,
    ),
    (
        "f { x = f32[2] parameter(0) n = f32[2] abs(x) ROOT m = f32[2] negate(x), control-predecessors={n} }",
        "g { x = f32[2] parameter(0) n = f32[2] abs(x) ROOT m = f32[2] negate(x) }",
        False,
    ),
    (
        "f { x = f32[2] parameter(0) y = f32[2] parameter(1) ROOT n = f32[2] subtract(x, y) }",
        "g { x = f32[2] parameter(1) y = f32[2] parameter(0) ROOT n = f32[2] subtract(x, y) }",
        False,
    ),
    # Both compute the same values, but the last instruction repeats another one.
    (
        "f { x = f32[2] parameter(0) a = f32[2] abs(x) ROOT b = f32[2] abs(a) c = f32[2] abs(x) }",
        "g { x = f32[2] parameter(0) a = f32[2] abs(x) ROOT b = f32[2] abs(a) c = f32[2] abs(a) }",
        False,
    ),
]


@pytest.mark.parametrize(("first", "second", "same"), COMPUTATIONS)
def test_two_computations(first, second, same):
    module = parse(f"{first} {second} ENTRY e {{ ROOT p = f32[] parameter(0) }}")
    classes = ComputationClasses(module)
    f, g, _ = module.computations
    assert (classes.first[g] is f) is same
    assert classes.first[f] is f


def test_threads_are_compared():
    texts = [f"f{k} {{ ROOT x = f32[2] parameter(0) }}{', execution_thread=' + chr(34) + 't' + chr(34) if k > 1 else ''}" for k in range(4)]
    module = parse(f"{' '.join(texts)} ENTRY e {{ ROOT p = f32[] parameter(0) }}")
    classes = ComputationClasses(module)
    assert [classes.first[f].name for f in module.computations[:4]] == ["f0", "f0", "f2", "f2"]


def test_constants_without_values():
    """A Rewriter can insert a constant whose literal is missing."""
    module = parse("ENTRY e { x = f32[] parameter(0) ROOT r = f32[] add(x, x) }")
    with Rewriter(module) as rewriter:
        empty = rewriter.insert("constant", after=module.entry["x"], shape=module.entry.root.shape)
    assert list(value_numbers(module.entry, ComputationClasses(module).freeze).values()) == [0, 1, 2]
    assert constant_value(empty) is None
