"""Differences between large modules with many equal parts.

Exactly the changes are reported, regardless of names and order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

import pytest
from edit_modules import renamed, shuffled

import hlotool
from hlotool.differ.rendering.difference_report import report_of
from hlotool.differ.rendering.summary import summary

pytestmark = pytest.mark.parametrize("seed", range(4))


def module(lines: Sequence[str], computations: Sequence[str] = ()) -> hlotool.Module:
    """Returns a module with `computations` and an entry whose root is the last of the lines."""
    return hlotool.parse("\n".join(["HloModule m", *computations, "ENTRY e {", *lines[:-1], f"ROOT {lines[-1]}", "}"]))


def changes_between(left: hlotool.Module, right: hlotool.Module, seed: int) -> tuple[list[list[str]], int, int]:
    """Returns the kinds of changes to each changed instruction, and two counts.

    The counts are the numbers of inserted and deleted instructions. Also checks that the reverse
    difference has the same number of changed instructions.
    """
    random = Random(seed)
    right = renamed(shuffled(right, random), random)
    document = hlotool.diff(left, right).to_dict()
    other = hlotool.diff(right, left).to_dict()
    assert len(other["changed"]) == len(document["changed"])
    changed = [[kind["kind"] for kind in change["changes"]] for change in document["changed"]]
    return changed, len(document["inserted"]), len(document["deleted"])


def sum_of(branches: Sequence[str], *, is_tree: bool, subtracted: int = -1) -> list[str]:
    """Returns instructions that add all values, as a balanced tree or as a chain.

    Instruction number `subtracted` subtracts instead.
    """
    lines: list[str] = []
    row = [*branches]
    while len(row) > 1:
        name = f"sum{len(lines)}"
        opcode = "subtract" if len(lines) == subtracted else "add"
        lines.append(f"{name} = f32[8] {opcode}({row[0]}, {row[1]})")
        row = [*row[2:], name] if is_tree else [name, *row[2:]]
    return lines


def branches(count: int, *, fused: int = -1) -> tuple[list[str], list[str]]:
    """Returns equal branches that start at the same parameter, and the names of their results.

    Branch number `fused` is a fusion.
    """
    lines = ["p = f32[8] parameter(0)"]
    for k in range(count):
        if k == fused:
            lines.append(f"c{k} = f32[8] fusion(p), kind=kLoop, calls=f")
        else:
            lines += [f"a{k} = f32[8] negate(p)", f"b{k} = f32[8] exponential(a{k})", f"c{k} = f32[8] tanh(b{k})"]
    return lines, [f"c{k}" for k in range(count)]


FUSED = "f {\n q = f32[8] parameter(0)\n a = f32[8] negate(q)\n b = f32[8] exponential(a)\n ROOT c = f32[8] tanh(b)\n}"


def test_one_of_many_branches_is_fused(seed: int) -> None:
    lines, results = branches(40)
    fused, _ = branches(40, fused=17)
    for is_tree in (False, True):
        total = sum_of(results, is_tree=is_tree)
        left, right = module([*lines, *total]), module([*fused, *total], [FUSED])
        assert changes_between(left, right, seed) == ([["moved"]] * 3, 2, 0)


def test_the_opcode_of_one_addition_in_a_tree_changes(seed: int) -> None:
    lines, results = branches(19)
    for subtracted in (9, 12, 15, 16):
        left, right = (module([*lines, *sum_of(results, is_tree=True, subtracted=number)]) for number in (-1, subtracted))
        assert changes_between(left, right, seed) == ([["opcode"]], 0, 0)


def computation(name: str, opcode: str) -> str:
    return f"{name} {{\n x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT z = f32[] {opcode}(x, y)\n}}"


def test_two_of_many_reductions_are_exchanged_in_a_tuple(seed: int) -> None:
    """Exchanges two reductions, of which only one shares its computation with other reductions."""
    count = 40
    computations = [computation(f"add{k}", "add") for k in range(15)]
    lines = ["p = f32[6,6] parameter(0)", "z = f32[] constant(0)"]
    lines += [f"r{k} = f32[6] reduce(p, z), dimensions={{0}}, to_apply=add{k if k < 15 else k % 7}" for k in range(count)]
    order = [f"r{k}" for k in range(count)]
    exchanged = [{"r8": "r30", "r30": "r8"}.get(name, name) for name in order]
    shape = ", ".join(["f32[6]"] * count)
    left, right = (module([*lines, f"t = ({shape}) tuple({', '.join(names)})"], computations) for names in (order, exchanged))
    assert changes_between(left, right, seed) == ([["operands"]], 0, 0)


def test_one_of_several_callers_calls_another_computation(seed: int) -> None:
    """Checks that the changed caller is one of the two that share their callee.

    Callers that share no callee are unchanged.
    """
    inner = "%s {\n p = f32[6] parameter(0)\n a = f32[6] %s(p)\n ROOT b = f32[6] multiply(a, p)\n}"
    outer = "%s {\n p = f32[6] parameter(0)\n f = f32[6] fusion(p), kind=kLoop, calls=%s\n ROOT y = f32[6] tanh(f)\n}"
    computations = [inner % (f"inner{k}", "negate") for k in range(4)] + [inner % ("other", "abs")]

    def with_callees(*called: str) -> hlotool.Module:
        return module(
            ["p = f32[] parameter(0)", "n = f32[] negate(p)"], [*computations, *(outer % (f"outer{k}", name) for k, name in enumerate(called))]
        )

    left, right = with_callees("inner0", "other", "inner2", "inner3"), with_callees("inner0", "inner0", "inner2", "inner3")
    assert changes_between(left, right, seed) == ([["called"]], 0, 0)


def test_an_instruction_has_moved_in_a_long_chain(seed: int) -> None:
    """Moves an instruction so far that all instructions in between compute different values."""
    chain = [("abs", "negate", "negate")[k % 3] for k in range(120)]
    moved = [*chain[:20], *chain[21:60], chain[20], *chain[60:]]
    left, right = (module(["p = f32[8] parameter(0)", *build_chain(opcodes)]) for opcodes in (chain, moved))
    assert changes_between(left, right, seed) == ([["operands"]] * 3, 0, 0)


def test_many_instructions_were_inserted_in_a_long_chain_of_layers(seed: int) -> None:
    """Nothing between the first and the last insertion computes an equal value or has equal users."""
    layer = "abs negate sine cosine tan tanh exponential log floor ceil sign sqrt rsqrt cbrt logistic erf round-nearest-even copy".split()
    random = Random(seed)
    chain, longer = layer * 100, []
    before = {*random.sample(range(len(chain)), 30)}
    for position, opcode in enumerate(chain):
        if position in before:
            longer.append(random.choice(layer))
        longer.append(opcode)
    left, right = (module(["p = f32[8] parameter(0)", *build_chain(opcodes)]) for opcodes in (chain, longer))
    assert changes_between(left, right, seed) == ([["operands"]] * 30, 30, 0)


def test_blocks_were_removed_from_a_long_chain_of_operations_with_constants(seed: int) -> None:
    """Each operation has a constant of its own, which only its user identifies."""

    def chain(skipped: Sequence[range]) -> hlotool.Module:
        lines, last = ["p = f32[] parameter(0)"], "p"
        for k in range(1000):
            if not any(k in block for block in skipped):
                lines += [f"k{k} = f32[] constant({2 if k % 7 else 3})", f"a{k} = f32[] {('add', 'multiply')[k % 2]}({last}, k{k})"]
                last = f"a{k}"
        return module(lines)

    starts = [100 * k + 2 * Random(seed * 10 + k).randrange(40) for k in range(10)]
    left, right = chain([]), chain([range(start, start + 10) for start in starts])
    changed, inserted, deleted = changes_between(left, right, seed)
    assert inserted == 0
    assert deleted == 200
    assert len(changed) <= 40


def test_two_constants_with_many_users_change(seed: int) -> None:
    """Changes 1 and 2 to 2 and 3, so that one of the new values equals the other old value."""

    def users_of(first: int, second: int) -> hlotool.Module:
        lines = ["p = f32[40] parameter(0)", f"a = f32[1] constant({{{first}}})", f"b = f32[1] constant({{{second}}})"]
        for k in range(40):
            lines += [f"x{k} = f32[1] slice(p), slice={{[{k}:{k + 1}]}}", f"y{k} = f32[1] add(x{k}, a)", f"z{k} = f32[1] subtract(x{k}, b)"]
        shape = ", ".join(["f32[1]"] * 80)
        return module([*lines, f"t = ({shape}) tuple({', '.join(f'y{k}, z{k}' for k in range(40))})"])

    assert changes_between(users_of(1, 2), users_of(2, 3), seed) == ([["constants"], ["constants"]], 0, 0)


def test_exchanged_calls_of_changed_computations(seed: int) -> None:
    """Exchanges two operands of a tuple, which two fusions compute. Both computations change."""
    computations = [
        "first { p = f32[6] parameter(0) ROOT r = f32[6] multiply(p, p) }",
        "second { p = f32[6] parameter(0) c = f32[] constant(2) b = f32[6] broadcast(c), dimensions={} ROOT r = f32[6] divide(p, b) }",
    ]
    changed = ["first { p = f32[6] parameter(0) n = f32[6] negate(p) ROOT r = f32[6] multiply(n, n) }", computations[1].replace("(2)", "(3)")]
    calls = ["p = f32[6] parameter(0)", *(f"{name} = f32[6] fusion(p), kind=kLoop, calls={name}" for name in ("first", "second"))]
    left = module([*calls, "t = (f32[6], f32[6]) tuple(first, second)"], computations)
    right = module([*calls, "t = (f32[6], f32[6]) tuple(second, first)"], changed)
    assert sorted(changes_between(left, right, seed)[0]) == [["constants"], ["operands"], ["operands"]]


def test_an_instruction_was_deleted_from_a_large_tree(seed: int) -> None:
    """The tree is so large and symmetric that textual order would decide, but the order changed."""
    lines, results = branches(512)
    # Some of the names, such as c64, are element types.
    lines = [re.sub(r"\b([abc]\d+)\b", r"\1_", line) for line in [*lines, *sum_of(results, is_tree=True)]]
    shorter = [line.replace("(b200_)", "(a200_)") for line in lines if not line.startswith("b200_ ")]
    assert changes_between(module(lines), module(shorter), seed) == ([["operands"]], 0, 1)


def build_chain(opcodes: Sequence[str]) -> list[str]:
    names = ["p", *(f"n{k}" for k in range(len(opcodes)))]
    return [f"{name} = f32[8] {opcode}({operand})" for name, opcode, operand in zip(names[1:], opcodes, names, strict=False)]


@pytest.mark.parametrize("length", [4, 5])
def test_a_path_in_a_tree_is_computed_in_another_type(seed: int, length: int) -> None:
    """Checks that the addition that reads the result of the path is paired with the original one.

    The branches of the tree are interchangeable.
    """
    lines, results = branches(20)
    total = sum_of(results, is_tree=True)
    wide, right = {"c10"}, []
    for line in [*lines, *total]:
        name, _, call = line.partition(" = f32[8] ")
        operands = re.findall(r"\b(?:[abc]|sum)\d+\b", call)
        if name == "c10" or (wide & {*operands} and len(wide) < length):
            wide.add(name)
            for operand in operands:
                if operand not in wide:
                    right.append(f"{name}.{operand} = f64[8] convert({operand})")
                    call = call.replace(operand, right[-1].partition(" ")[0])
            right.append(f"{name} = f64[8] {call}")
            continue
        for operand in operands:
            if operand in wide:
                right.append(f"narrow = f32[8] convert({operand})")
                call = call.replace(operand, "narrow")
        right.append(f"{name} = f32[8] {call}")
    changed, inserted, deleted = changes_between(module([*lines, *total]), module(right), seed)
    # The longer path ends at the root.
    assert (sorted(changed), inserted, deleted) == ([["element_type", "operands"]] * length + [["operands"]] * (5 - length), 5, 0)


def test_a_part_of_a_tree_is_repeated(seed: int) -> None:
    """Replaces f(p) with f(f(p)).

    The instruction that reads the result changes; the two that read the argument do not.
    """
    lines, results = branches(13)
    total = sum_of(results, is_tree=True)
    again = [line.replace(" = ", "x = ").replace("(p)", "(sum5)") for line in (*lines[31:37], total[5])]
    again = [re.sub(r"\((a1[01]|b1[01])\)", r"(\1x)", line).replace("(c10, c11)", "(c10x, c11x)") for line in again]
    later = [re.sub(r"\bsum5\b", "sum5x", line) for line in total[6:]]
    assert changes_between(module([*lines, *total]), module([*lines, *total[:6], *again, *later]), seed) == ([["operands"]], 7, 0)


def with_gradients(count: int, activation: Sequence[str]) -> hlotool.Module:
    """Returns a chain of layers, followed by the gradients of their weights from last to first."""
    lines = ["x0 = f32[8,8] parameter(0)", *(f"w{k} = f32[8,8] parameter({k + 1})" for k in range(count))]
    attributes = "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
    for k in range(count):
        lines += [f"d{k} = f32[8,8] dot(x{k}, w{k}), {attributes}", f"e{k} = f32[8,8] abs(d{k})"]
        lines += [line.format(k=k) for line in activation]
        lines += [f"x{k + 1} = f32[8,8] add(a{k}, x{k})"]
    lines += [f"y = f32[8,8] cosine(x{count})", "z = f32[8,8] floor(y)", "u = f32[8,8] ceil(z)", "v = f32[8,8] sign(u)"]
    gradient = "v"
    for k in reversed(range(count)):
        lines += [f"f{k} = f32[8,8] subtract({gradient}, a{k})", f"h{k} = f32[8,8] sine(f{k})", f"i{k} = f32[8,8] multiply(h{k}, e{k})"]
        lines += [f"g{k} = f32[8,8] dot(i{k}, x{k}), {attributes}", f"j{k} = f32[8,8] dot(h{k}, w{k}), {attributes}"]
        lines.append(f"l{k} = f32[8,8] add(j{k}, {gradient})")
        gradient = f"l{k}"
    shape = ", ".join(["f32[8,8]"] * (count + 1))
    return module([*lines, f"t = ({shape}) tuple({', '.join(f'g{k}' for k in range(count))}, {gradient})"])


TANH = ["b{k} = f32[8,8] multiply(d{k}, e{k})", "c{k} = f32[8,8] tanh(b{k})", "a{k} = f32[8,8] multiply(c{k}, d{k})"]
MAXIMUM = ["a{k} = f32[8,8] maximum(e{k}, d{k})"]


def test_a_layer_with_its_gradients_was_added(seed: int) -> None:
    left, right = with_gradients(4, TANH), renamed(with_gradients(5, TANH), Random(seed))
    # The layer has twelve instructions and a weight.
    assert summary(report_of(hlotool.diff(left, right))).startswith("1 layer added (13 instructions) after layer ")


def test_a_sentence_of_many_differences_names_what_was_replaced(seed: int) -> None:
    left, right = with_gradients(9, TANH), with_gradients(9, MAXIMUM)
    sentence = summary(report_of(hlotool.diff(left, renamed(right, Random(seed)))))
    assert "tanh" in sentence
    assert "maximum" in sentence
