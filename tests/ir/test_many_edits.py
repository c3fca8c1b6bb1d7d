"""Edits that occur in large numbers: of computations, of operands and of control edges."""

from __future__ import annotations

import pytest

import hlotool
from hlotool import Rewriter
from hlotool.errors import EditError
from hlotool.ir.tuple_editor import TupleEditor

CALLS = (
    "f { x = f32[] parameter(0) ROOT n = f32[] negate(x) } g { y = f32[] parameter(0) ROOT s = f32[] sine(y) } "
    "ENTRY e { p = f32[] parameter(0) a = f32[] call(p), to_apply=g ROOT b = f32[] call(a), to_apply=g }"
)


def test_callers_are_counted() -> None:
    module = hlotool.parse(CALLS)
    f, g, entry = module.computations
    rewriter = Rewriter(module)
    assert [rewriter.caller_count(computation) for computation in (f, g, entry)] == [0, 2, 0]
    assert not rewriter.is_only_caller(entry["a"], g)
    assert not rewriter.is_only_caller(entry["a"], f)
    rewriter.update(entry["b"], attributes={"to_apply": f})
    assert rewriter.is_only_caller(entry["a"], g)
    assert not rewriter.is_only_caller(entry["b"], g)


def test_erased_computations_are_no_longer_listed() -> None:
    module = hlotool.parse(CALLS)
    f, g, entry = module.computations
    rewriter = Rewriter(module)
    rewriter.erase_computation(f)
    assert rewriter.computations() == [g, entry]
    with pytest.raises(EditError, match="computation 'f' is not in the module"):
        rewriter.insert("constant", into=f)
    rewriter.flush()
    assert module.computations == rewriter.computations() == [g, entry]
    with pytest.raises(EditError, match="computation 'f' is not in the module"):
        rewriter.insert("constant", into=f)
    # A second flush has nothing to remove.
    rewriter.add_computation(f)
    rewriter.flush()
    assert module.computations == [g, entry, f]


def test_a_computation_that_was_erased_and_added_occurs_once() -> None:
    module = hlotool.parse(CALLS)
    f, g, entry = module.computations
    with Rewriter(module) as rewriter:
        rewriter.erase_computation(f)
        rewriter.add_computation(f)
        rewriter.check()
        assert rewriter.computations() == [g, entry, f]
    assert module.computations == [g, entry, f]


@pytest.mark.parametrize("width", [99, 100, 150])
def test_operands_of_wide_tuples_are_replaced_one_by_one(width: int) -> None:
    chain = " ".join(f"n{k} = f32[] negate(p)" for k in range(width // 2))
    operands = [f"n{k % (width // 2)}" for k in range(width)]
    module = hlotool.parse(f"ENTRY e {{ p = f32[] parameter(0) q = f32[] abs(p) {chain} ROOT t = tuple({', '.join(operands)}) }}")
    entry = module.entry
    with Rewriter(module) as rewriter:
        for k in range(width // 2 - 1):
            rewriter.replace_all_uses(entry[f"n{k}"], entry["q"] if k % 2 else entry["p"])
            rewriter.check()
    expected = [name if name == f"n{width // 2 - 1}" else "q" if int(name[1:]) % 2 else "p" for name in operands]
    assert [x.name for x in entry.root.operands] == expected


def test_positions_in_the_given_tuple_are_used() -> None:
    positions: TupleEditor[str] = TupleEditor()
    first = positions.replaced(("a", "b", "a"), "a", "b")
    assert first == ("b", "b", "b")
    assert positions.replaced(("a", "b", "b"), "a", "c") == ("c", "b", "b")
    assert positions.replaced(first, "b", "d") == ("d", "d", "d")
    assert positions.replaced(first, "x", "y") == first
    assert positions.replaced(("x", "a"), "a", "c") == ("x", "c")
    assert positions.replaced(("a", "y"), "x", "z") == ("a", "y")
    assert TupleEditor[str]().replaced((), "a", "b") == ()


def replaced_predecessors(text: str) -> list[str]:
    """Returns the root's control predecessors after replacing `a` with `c`; checks the uses."""
    module = hlotool.parse(text)
    with Rewriter(module) as rewriter:
        count = rewriter.change_count
        rewriter.replace_all_uses(module.entry["a"], module.entry["c"])
        rewriter.check()
        assert {module.entry.root, module.entry["a"]}.issubset(rewriter.changed_since(count))
        assert not rewriter.control_successors(module.entry["a"])
        assert rewriter.control_successors(module.entry["c"]) == (module.entry.root,)
    return [x.name for x in module.entry.root.control_predecessors]


@pytest.mark.parametrize(("before", "after"), [("a", "c"), ("b, a, d", "b c d"), ("a, b, a", "c b"), ("c, a, b", "c b"), ("b, a, c", "b c")])
def test_control_predecessors_are_replaced_in_place(before: str, after: str) -> None:
    values = " ".join(f"{name} = f32[] negate(p)" for name in "abcd")
    assert (
        replaced_predecessors(f"ENTRY e {{ p = f32[] parameter(0) {values} ROOT r = f32[] abs(p), control-predecessors={{{before}}} }}")
        == after.split()
    )


def test_control_predecessors_of_an_erased_instruction_are_inherited_once() -> None:
    values = "a = f32[] negate(p) b = f32[] abs(p), control-predecessors={a} c = f32[] sine(p), control-predecessors={a, b}"
    module = hlotool.parse(f"ENTRY e {{ p = f32[] parameter(0) {values} ROOT r = f32[] cosine(p), control-predecessors={{b}} }}")
    entry = module.entry
    with Rewriter(module) as rewriter:
        rewriter.erase(entry["b"])
        rewriter.check()
        assert [x.name for x in entry["c"].control_predecessors] == ["a"]
        assert [x.name for x in entry["r"].control_predecessors] == ["a"]
        rewriter.erase(entry["a"])
        rewriter.check()
    assert "control-predecessors" not in entry["c"].attributes
