"""Typical edits with the Rewriter.

After each edit, the module is valid, and the printed module parses back to the same module.
"""

from __future__ import annotations

import copy
import struct
from collections.abc import Callable, Iterable

import numpy as np
import pytest

import hlotool
from hlotool import Rewriter
from hlotool.errors import EditError
from hlotool.ir.equal import differences
from hlotool.ir.model import Computation, Instruction, Module
from hlotool.literals.literal import Literal, literal_from_bytes
from hlotool.shapes.shape import array_shape


def read(text: str) -> Module:
    """Returns the module, parsed from canonical text, so that the printer may copy its source."""
    canonical = hlotool.to_text(hlotool.parse(text))
    module = hlotool.parse(canonical)
    assert hlotool.to_text(module) == canonical
    return module


def check(module: Module, *expected: str) -> Module:
    """Checks that a module is valid, and that its printed text has the expected lines.

    Also checks that the text parses back to the same module, and returns the parsed module.
    """
    text = hlotool.to_text(module)
    assert [str(d) for d in hlotool.verify(module, select=["T", "C", "A", "L", "M", "P"]) if d.severity == "error"] == []
    lines = {line.strip().replace("{0}", "").replace("%", "") for line in text.split("\n")}
    assert lines >= set(expected), text
    again = hlotool.parse(text)
    assert list(differences(module, again)) == []
    assert hlotool.to_text(again) == text
    return again


def results(module: Module, *arguments: object) -> list[float]:
    value = hlotool.evaluate(module, arguments)
    return [float(x) for x in value] if isinstance(value, tuple) else value.tolist()


CHAIN = "ENTRY e { p = f32[2] parameter(0) a = f32[2] negate(p) b = f32[2] negate(a) ROOT c = f32[2] add(b, b) }"


def test_a_replaced_operand_is_printed() -> None:
    module = read(CHAIN)
    p, _, b, _ = module.entry.instructions
    with Rewriter(module) as rewriter:
        rewriter.replace_all_uses(b, p)
    check(module, "ROOT c = f32[2] add(p, p)")


def test_an_erased_instruction_is_not_printed() -> None:
    module = read("ENTRY e { p = f32[2] parameter(0) a = f32[2] negate(p) ROOT c = f32[2] add(p, p) }")
    with Rewriter(module) as rewriter:
        rewriter.erase(module.entry["a"])
    assert "negate" not in hlotool.to_text(check(module))


def test_assigned_fields_are_printed() -> None:
    module = read(CHAIN)
    module.entry.root.operands = (module.entry["p"], module.entry["b"])
    assert "add(%p, %b)" in hlotool.to_text(module)
    module = read(CHAIN)
    module.entry.instructions.insert(1, copy.copy(module.entry["a"]))
    module.entry.instructions[1].name = "again"
    assert "%again = f32[2]{0} negate(%p)" in hlotool.to_text(module)
    module = read(CHAIN)
    del module.entry.instructions[3]
    module.entry.root = module.entry["b"]
    assert "add" not in hlotool.to_text(module)
    module = read(CHAIN)
    module.entry.instructions[1:3] = module.entry.instructions[2:0:-1]
    assert hlotool.to_text(module).index("%b =") < hlotool.to_text(module).index("%a =")


# ---- typical edits ----------------------------------------------------------------------------------------------------


def test_replace() -> None:
    module = read(CHAIN)
    with Rewriter(module) as rewriter:
        c = module.entry.root
        two = rewriter.insert("constant", before=c, immediate=scalar(2.0), origin=c)
        spread = rewriter.insert("broadcast", [two], before=c, shape=c.shape, attributes={"dimensions": ()})
        rewriter.replace(c, rewriter.insert("multiply", [c.operands[0], spread], before=c, origin=c))
    check(module, "ROOT multiply = f32[2] multiply(b, broadcast)")
    assert results(module, [1.0, 2.0]) == [2.0, 4.0]


def scalar(value: float) -> Literal:
    return literal_from_bytes(array_shape("f32"), struct.pack("<f", value))


def test_fold_to_a_constant() -> None:
    module = read('ENTRY e { x = f32[2] constant({1, 2}) y = f32[2] constant({3, 4}) ROOT s = f32[2] add(x, y), metadata={op_name="sum"} }')
    expected = results(module)
    root = module.entry.root
    data = hlotool.evaluate(module, []).tobytes()
    with Rewriter(module) as rewriter:
        folded = rewriter.insert("constant", before=root, immediate=literal_from_bytes(root.shape, data), origin=root)
        rewriter.replace(root, folded)
        for name in ("x", "y"):
            rewriter.erase(module.entry[name])
    check(module, 'ROOT constant = f32[2] constant({4, 6}), metadata={op_name="sum"}')
    assert results(module) == expected
    assert module.notes.origin_of[module.entry.root] is root


def test_erase_dead_code() -> None:
    module = read("ENTRY e { p = f32[2] parameter(0) a = f32[2] negate(p) b = f32[2] abs(a) c = f32[2] add(a, b) ROOT r = f32[2] sine(p) }")
    with Rewriter(module) as rewriter:
        for x in reversed(module.entry.instructions):
            if x.opcode != "parameter" and not rewriter.is_used(x):
                rewriter.erase(x)
    assert [x.name for x in check(module).entry] == ["p", "r"]


CALL = """
f { a = f32[2] parameter(0) b = f32[2] parameter(1) d = f32[2] subtract(a, b) ROOT m = f32[2] multiply(d, d) }
ENTRY e { p = f32[2] parameter(0) q = f32[2] parameter(1) c = f32[2] call(p, q), to_apply=f ROOT r = f32[2] negate(c) }
"""


def inline(rewriter: Rewriter, call: Instruction) -> None:
    (body,) = call.called
    values = dict(zip(body.parameters, call.operands, strict=True))
    for x in body:
        if x not in values:
            values[x] = rewriter.insert_copy(x, [values[operand] for operand in x.operands], before=call)
    rewriter.replace(call, values[body.root])
    if not rewriter.callers(body):
        rewriter.erase_computation(body)


def test_inline_a_call() -> None:
    module = read(CALL)
    expected = results(module, [1.0, 5.0], [2.0, 3.0])
    with Rewriter(module) as rewriter:
        inline(rewriter, module.entry["c"])
    assert len(check(module, "ROOT r = f32[2] negate(m.1)").computations) == 1
    assert results(module, [1.0, 5.0], [2.0, 3.0]) == expected


def outline(rewriter: Rewriter, instructions: Iterable[Instruction], name: str) -> Instruction:
    """Replaces instructions with a call to a new computation.

    Only the last instruction may have other users.
    """
    inside = list(instructions)
    last, owner = inside[-1], rewriter.owner(inside[-1])
    body = rewriter.add_computation(name)
    values: dict[Instruction, Instruction] = {}
    arguments = list(dict.fromkeys(y for x in inside for y in x.operands if y not in inside))
    for k, argument in enumerate(arguments):
        values[argument] = rewriter.insert("parameter", into=body, immediate=k, shape=argument.shape, name=f"arg{k}")
    for x in inside:
        values[x] = rewriter.insert_copy(x, [values[y] for y in x.operands], into=body)
    rewriter.flush()
    call = rewriter.insert("call", arguments, after=last, shape=last.shape, attributes={"to_apply": body}, origin=last)
    assert rewriter.owner(call) is owner
    rewriter.replace(last, call)
    for x in reversed(inside[:-1]):
        rewriter.erase(x)
    return call


def test_outline_instructions_into_a_call() -> None:
    module = read(CHAIN)
    expected = results(module, [1.0, 5.0])
    with Rewriter(module) as rewriter:
        outline(rewriter, [module.entry["a"], module.entry["b"]], "twice")
    again = check(module, "ROOT c = f32[2] add(call, call)", "call = f32[2] call(p), to_apply=twice")
    assert [c.name for c in again.computations] == ["twice", "e"]
    assert results(module, [1.0, 5.0]) == expected


def test_split_a_tuple() -> None:
    module = read(
        "ENTRY e { p = f32[2] parameter(0) q = s32[] parameter(1) t = (f32[2], s32[]) tuple(p, q) "
        "x = f32[2] get-tuple-element(t), index=0 y = s32[] get-tuple-element(t), index=1 ROOT r = (s32[], f32[2]) tuple(y, x) }"
    )
    with Rewriter(module) as rewriter:
        t = module.entry["t"]
        for x in rewriter.users(t):
            rewriter.replace(x, t.operands[x.attributes["index"]])
        rewriter.erase(t)
    check(module, "ROOT r = (s32[], f32[2]) tuple(q, p)")


SCHEDULED = "HloModule m, is_scheduled=true\nENTRY e { p = f32[2] parameter(0) a = f32[2] negate(p) b = f32[2] sine(p) ROOT c = f32[2] add(a, b) }"


def test_move_in_a_schedule() -> None:
    module = read(SCHEDULED)
    a, b = module.entry["a"], module.entry["b"]
    with Rewriter(module) as rewriter:
        rewriter.move(a, after=b)
    assert [x.name for x in check(module).entry] == ["p", "b", "a", "c"]
    with Rewriter(module) as rewriter:
        rewriter.move(b, before=module.entry["c"])
    assert [x.name for x in check(module).entry] == ["p", "a", "b", "c"]


def test_a_wrong_schedule_is_an_error() -> None:
    module = read(SCHEDULED)
    rewriter = Rewriter(module)
    rewriter.move(module.entry["a"], after=module.entry["c"])
    with pytest.raises(EditError, match="'c' is scheduled before an instruction that it depends on; move it"):
        rewriter.finish()


def test_change_a_called_computation() -> None:
    module = read(CALL.replace("ENTRY", "g { a = f32[2] parameter(0) b = f32[2] parameter(1) ROOT s = f32[2] add(a, b) } ENTRY"))
    with Rewriter(module) as rewriter:
        rewriter.update(module.entry["c"], attributes={"to_apply": module.computation("g")})
        rewriter.erase_computation(module.computation("f"))
    assert [c.name for c in check(module, "c = f32[2] call(p, q), to_apply=g").computations] == ["g", "e"]
    assert results(module, [1.0, 5.0], [2.0, 3.0]) == [-3.0, -8.0]


def test_rename_everything() -> None:
    module = read(CALL)
    expected = results(module, [1.0, 5.0], [2.0, 3.0])
    with Rewriter(module) as rewriter:
        for k, computation in enumerate(module.computations):
            rewriter.rename(computation, f"computation_{k}")
            for j, x in enumerate(computation):
                rewriter.rename(x, f"value_{k}_{j}")
    check(module, "value_1_2 = f32[2] call(value_1_0, value_1_1), to_apply=computation_0", "ROOT value_1_3 = f32[2] negate(value_1_2)")
    assert results(module, [1.0, 5.0], [2.0, 3.0]) == expected


def test_drop_a_parameter_with_its_callers_operands() -> None:
    text = CALL.replace("subtract(a, b)", "negate(b)")
    module = read(text)
    with Rewriter(module) as rewriter:
        f = module.computation("f")
        rewriter.erase_parameter(f["a"])
    check(module, "b = f32[2] parameter(0)", "c = f32[2] call(q), to_apply=f")
    assert results(module, [1.0, 5.0], [2.0, 3.0]) == [-4.0, -9.0]


def test_drop_a_parameter_of_the_entry() -> None:
    module = read(
        "HloModule m, input_output_alias={ {}: (1, {}, may-alias) }, buffer_donor={ (0, {}) }, "
        "entry_computation_layout={(s32[], f32[2]{0})->f32[2]{0}}, allow_spmd_sharding_propagation_to_parameters={true,false}\n\n"
        "ENTRY e { p = s32[] parameter(0) q = f32[2] parameter(1) ROOT n = f32[2] negate(q) }"
    )
    with Rewriter(module) as rewriter:
        rewriter.erase_parameter(module.entry["p"])
    text = hlotool.to_text(check(module, "q = f32[2] parameter(0)"))
    assert "input_output_alias={ {}: (0, {}, may-alias) }" in text
    assert "buffer_donor" not in text
    assert "entry_computation_layout={(f32[2]{0})->f32[2]{0}}" in text
    assert "allow_spmd_sharding_propagation_to_parameters" not in text.replace("={false}", "")


def test_clone_a_computation_with_a_suffix() -> None:
    module = read(CALL)
    with Rewriter(module) as rewriter:
        clone = rewriter.clone_computation(module.computation("f"), "special")
        rewriter.update(module.entry["c"], attributes={"to_apply": clone})
        rewriter.update(clone["m.special"], op="add")
    check(module, "ROOT m.special = f32[2] add(d.special, d.special)", "ROOT m = f32[2] multiply(d, d)", "c = f32[2] call(p, q), to_apply=f.special")
    assert results(module, [1.0, 5.0], [2.0, 3.0]) == [2.0, -4.0]


def test_merge_two_modules() -> None:
    module, other = read(CALL), copy.deepcopy(read(CALL.replace("multiply", "divide")))
    with Rewriter(module) as rewriter:
        for computation in other.computations:
            rewriter.add_computation(computation)
        entry = module.entry
        call = rewriter.insert("call", entry.parameters, into=entry, shape=entry.root.shape, attributes={"to_apply": other.entry})
        rewriter.set_root(rewriter.insert("tuple", [entry.root, call], into=entry))
    again = check(module, "ROOT tuple = (f32[2], f32[2]) tuple(r, call)")
    assert [c.name for c in again.computations] == ["f", "f.1", "e.1", "e"]
    first, second = hlotool.evaluate(module, [[1.0, 5.0], [2.0, 3.0]])
    assert (first.tolist(), second.tolist()) == ([-1.0, -4.0], [-1.0, -1.0])


# ---- consistency that the Rewriter maintains -------------------------------------------------------------------------


def test_control_dependencies_are_inherited() -> None:
    module = read(
        "ENTRY e { p = f32[2] parameter(0) a = f32[2] negate(p) b = f32[2] abs(p), control-predecessors={a} "
        "c = f32[2] sine(p), control-predecessors={b} ROOT t = (f32[2], f32[2]) tuple(a, c) }"
    )
    with Rewriter(module) as rewriter:
        assert rewriter.control_successors(module.entry["b"]) == (module.entry["c"],)
        rewriter.erase(module.entry["b"])
    check(module, "c = f32[2] sine(p), control-predecessors={a}")
    with Rewriter(module) as rewriter:
        a = module.entry["a"]
        rewriter.replace(a, rewriter.insert("cosine", a.operands, before=a))
    check(module, "c = f32[2] sine(p), control-predecessors={cosine}")
    with Rewriter(module) as rewriter:
        rewriter.replace(module.entry["c"], rewriter.insert("tan", [module.entry["p"]], before=module.entry["c"]))
    check(module, "tan = f32[2] tan(p), control-predecessors={cosine}")


def test_a_new_operand_may_be_defined_later() -> None:
    module = read(CHAIN)
    with Rewriter(module) as rewriter:
        late = rewriter.insert("cosine", [module.entry["p"]], into=module.entry)
        rewriter.replace_all_uses(module.entry["a"], late)
        rewriter.set_operand(module.entry.root, 1, late)
    check(module, "b = f32[2] negate(cosine)", "ROOT c = f32[2] add(b, cosine)")


def test_a_cycle_is_rejected() -> None:
    module = read(CHAIN)
    rewriter = Rewriter(module)
    rewriter.set_operand(module.entry["a"], 0, module.entry["b"])
    with pytest.raises(EditError, match="depends on itself"):
        rewriter.finish()


def test_a_new_result_updates_the_header() -> None:
    module = read(
        "HloModule m, input_output_alias={ {}: (0, {}, may-alias) }, entry_computation_layout={(f32[2]{0})->f32[2]{0}}\n\n"
        "ENTRY e { p = f32[2] parameter(0) ROOT n = f32[2] negate(p) }"
    )
    with Rewriter(module) as rewriter:
        rewriter.set_root(rewriter.insert("tuple", [module.entry.root], into=module.entry))
    assert "entry_computation_layout={(f32[2]{0})->(f32[2]{0})}" in hlotool.to_text(check(module))
    assert rewriter.remarks == [
        "updated the entry computation layout: the result is now (f32[2])",
        "dropped 1 alias that no longer matches the entry",
    ]


def test_a_hidden_computation_is_erased_with_its_start() -> None:
    module = read("ENTRY e { p = f32[4] parameter(0) s = ((f32[4]), f32[4]) abs-start(p) d = f32[4] abs-done(s) ROOT n = f32[4] negate(p) }")
    with Rewriter(module) as rewriter:
        rewriter.erase(module.entry["d"])
        rewriter.erase(module.entry["s"])
    assert (len(module.computations), module.hidden) == (1, set())
    check(module)


def test_messages_about_new_instructions_point_to_their_origin() -> None:
    module = hlotool.parse("ENTRY e {\n  p = f32[2] parameter(0)\n  ROOT n = f32[2] negate(p)\n}", "m.hlo")
    with Rewriter(module) as rewriter:
        n = module.entry["n"]
        wrong = rewriter.insert("abs", n.operands, before=n, origin=n, name="wrong")
        rewriter.replace(n, wrong)
        rewriter.update(wrong, shape=array_shape("f32", (3,)))
    (finding,) = hlotool.verify(module)
    assert (finding.code, finding.line, finding.instruction) == ("T003", 3, "wrong")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r, e: r.erase(e["b"]), "'b' cannot be erased: 'c' uses it"),
        (lambda r, e: r.erase(e["c"]), "'c' cannot be erased: it is the root of 'e'"),
        (lambda r, e: r.erase(e["p"]), "'p' cannot be erased: 'a' uses it"),
        (lambda r, e: r.erase_parameter(e["p"]), "parameter 'p' cannot be erased: it is used"),
        (lambda r, e: r.erase_parameter(e["a"]), "'a' is not a parameter"),
        (lambda r, e: r.erase_computation(e), "computation 'e' cannot be erased: it is the entry"),
        (lambda r, e: r.insert("negat", [e["p"]], before=e["c"]), "unknown opcode 'negat'; did you mean 'negate'?"),
        (lambda r, e: r.insert("add", [e["p"]], before=e["c"]), "'add' takes 2 operands, found 1"),
        (lambda r, e: r.insert("negate", [e["p"]]), "give exactly one of before=, after= and into="),
        (lambda r, e: r.insert("transpose", [e["p"]], into=e), "'transpose' needs the attribute 'dimensions'"),
        (lambda r, e: r.insert("copy", [e["p"]], into=e, attributes={"dimension": 1}), "'copy' has no attribute 'dimension'"),
        (lambda r, e: r.rename(e["a"], "b"), "the name 'b' is already in use"),
        (lambda r, e: r.rename(e["a"], "f32"), "'f32' is not a valid name"),
        (lambda r, e: r.update(e["a"], attributes={"index": 1}), "'negate' has no attribute 'index'"),
        (lambda r, e: r.owner(copy.copy(e["a"])), "'a' is not in the module"),
        (
            lambda r, e: r.replace_all_uses(e["a"], r.insert("convert", [e["p"]], into=e, shape=array_shape("s32", (2,)))),
            "'convert' cannot replace 'a': its shape is s32[2], not f32[2]",
        ),
    ],
)
def test_impossible_edits_are_rejected(change: Callable[[Rewriter, Computation], object], message: str) -> None:
    module = read(CHAIN)
    rewriter = Rewriter(module)
    with pytest.raises(EditError) as error:
        change(rewriter, module.entry)
    assert str(error.value).startswith(message)
    rewriter.check()


def test_operands_must_be_in_the_same_computation() -> None:
    module = read(CALL)
    f, e = module.computations
    rewriter = Rewriter(module)
    with pytest.raises(EditError, match="operand 'd' is in computation 'f', not in 'e'"):
        rewriter.insert("negate", [f["d"]], into=e)
    with pytest.raises(EditError, match="operand 'd' is in computation 'f', not in 'e'"):
        rewriter.set_operand(e["r"], 0, f["d"])
    with pytest.raises(EditError, match="'d' is in computation 'f', not in 'e'"):
        rewriter.replace_all_uses(e["r"], f["d"])
    with pytest.raises(EditError, match="computation 'f' cannot be erased: 'c' calls it"):
        rewriter.erase_computation(f)


def test_a_parameter_of_a_loop_is_not_erased() -> None:
    module = read(
        "c { x = f32[] parameter(0) ROOT t = pred[] constant(false) } b { y = f32[] parameter(0) ROOT k = f32[] constant(1) } "
        "ENTRY e { p = f32[] parameter(0) ROOT w = f32[] while(p), condition=c, body=b }"
    )
    with pytest.raises(EditError, match=r"parameter 'x' cannot be erased: 'w' \(while\) calls 'c' and needs the parameter"):
        Rewriter(module).erase_parameter(module.computation("c")["x"])


def test_after_an_error_the_module_can_be_printed() -> None:
    module = read(CHAIN)

    def fail_halfway() -> None:
        with Rewriter(module) as rewriter:
            rewriter.insert("cosine", [module.entry["p"]], after=module.entry["p"])
            rewriter.insert("no-such-opcode", into=module.entry)

    with pytest.raises(EditError, match="unknown opcode 'no-such-opcode'"):
        fail_halfway()
    check(module, "cosine = f32[2] cosine(p)")


def test_a_start_that_becomes_synchronous_leaves_no_computation() -> None:
    module = read("ENTRY e { p = f32[4] parameter(0) s = ((f32[4]), f32[4]) abs-start(p) d = f32[4] abs-done(s) ROOT n = f32[4] negate(p) }")
    with Rewriter(module) as rewriter:
        rewriter.erase(module.entry["d"])
    with Rewriter(module) as rewriter:
        shape = module.entry["n"].shape
        rewriter.update(module.entry["s"], op="abs", shape=shape, attributes={"calls": None, "async_execution_thread": None})
    assert (len(module.computations), module.hidden) == (1, set())
    check(module, "s = f32[4] abs(p)")


def test_an_instruction_that_becomes_a_call_comes_after_its_callee() -> None:
    module, other = read(CHAIN), read("double { a = f32[2] parameter(0) ROOT s = f32[2] add(a, a) } ENTRY m { ROOT p = f32[] parameter(0) }")
    with Rewriter(module) as rewriter:
        double = rewriter.add_computation(copy.copy(other.computations[0]))
        rewriter.update(module.entry["b"], op="call", attributes={"to_apply": double})
    assert [c.name for c in check(module, "b = f32[2] call(a), to_apply=double").computations] == ["double", "e"]


def test_objects_outside_of_the_module_are_not_edited() -> None:
    module = read(CHAIN)
    rewriter = Rewriter(module)
    stranger = copy.copy(module.entry)
    with pytest.raises(EditError, match="computation 'e' is not in the module; use add_computation"):
        rewriter.insert("constant", into=stranger, immediate=scalar(1.0))
    with pytest.raises(EditError, match="'a' is not in the module"):
        rewriter.rename(stranger["a"], "other")
    # The rejected name is still available.
    rewriter.rename(module.entry["a"], "other")
    rewriter.finish()
    check(module, "other = f32[2] negate(p)")


def test_changes_are_listed() -> None:
    module = hlotool.parse(
        "ENTRY e { p = f32[2] parameter(0) q = f32[2] parameter(1) a = f32[2] negate(p) b = f32[2] abs(a) c = f32[2] cosine(q) ROOT t = tuple(b, c) }"
    )
    p, q, a, b, c, t = module.entry.instructions
    rewriter = Rewriter(module)
    assert rewriter.changed_since(0) == {}
    assert [rewriter.user_count(x) for x in (p, a, t)] == [1, 1, 0]
    assert [rewriter.is_root(x) for x in (p, c, t)] == [False, False, True]
    rewriter.replace_all_uses(a, q)
    assert [rewriter.user_count(x) for x in (a, q)] == [0, 2]
    # The user has changed, and so have the numbers of users of two operands.
    assert set(rewriter.changed_since(0)) == {b, a, q}
    count = rewriter.change_count
    assert a in rewriter
    rewriter.erase(a)
    assert a not in rewriter
    assert [*rewriter.changed_since(count)] == [p]
    # Erased instructions are not listed.
    assert set(rewriter.changed_since(0)) == {b, q, p}
    count = rewriter.change_count
    new = rewriter.insert("sine", [p], before=t)
    assert [*rewriter.changed_since(count)] == [new]
    rewriter.update(t, operands=[b, new])
    assert set(rewriter.changed_since(count)) == {new, t, b, c}
    assert rewriter.changed_since(rewriter.change_count) == {}


def test_several_parameters_are_erased() -> None:
    module = hlotool.parse(
        "f { a = f32[] parameter(0) b = s32[] parameter(1) c = pred[] parameter(2) d = f64[] parameter(3) ROOT n = pred[] not(c) }\n"
        "ENTRY e { p = f32[] parameter(0) q = s32[] parameter(1) r = pred[] parameter(2) s = f64[] parameter(3) "
        "ROOT x = pred[] call(p, q, r, s), to_apply=f }"
    )
    f, entry = module.computations
    a, b, c, d, _ = f.instructions
    with Rewriter(module) as rewriter:
        rewriter.erase_parameters([])
        rewriter.erase_parameters([d, a, b])
    assert (f.parameters, c.parameter_number) == ([c], 0)
    assert entry.root.operands == (entry["r"],)
    with Rewriter(module) as rewriter:
        rewriter.erase_parameters([entry["p"], entry["s"]])
    assert [x.name for x in entry.parameters] == ["q", "r"]
    assert hlotool.verify(module) == []
    with Rewriter(module) as rewriter, pytest.raises(EditError, match="'c' is not a parameter of 'e'"):
        rewriter.erase_parameters([entry["q"], c])


BODY = """f {
  a = f32[2] parameter(0)
  b = f32[2] parameter(1)
  x = f32[2] subtract(b, a)
  first = f32[2] negate(x)
  ROOT y = f32[2] abs(x), control-predecessors={first}
}
ENTRY e {
  p = f32[2] parameter(0)
  x = f32[2] negate(p)
  c = f32[2] call(p, x), to_apply=f
  ROOT r = f32[2] cosine(c)
}"""


def test_a_body_is_moved_into_its_caller() -> None:
    module = hlotool.parse(BODY)
    f, entry = module.computations
    y, call = f.root, entry["c"]
    arguments = [np.float32([3, 5])]
    expected = hlotool.evaluate(module, arguments)
    with Rewriter(module) as rewriter:
        # The name of an erased instruction becomes available again.
        rewriter.erase(rewriter.insert("negate", [entry["p"]], after=entry["p"], name="first"))
        rewriter.move_body(f, call.operands, call)
        assert rewriter.is_name_used("first")
        assert [x.name for x in rewriter.instructions(f)] == ["a", "b"]
        rewriter.replace_all_uses(call, y)
        rewriter.erase(call)
        rewriter.erase_computation(f)
        assert rewriter.owner(y) is entry
        # The name `x` is already in use in this computation.
        assert rewriter.insert("sine", [y], before=entry.root, name="x").name == "x.2"
        rewriter.check()
    assert [(x.name, [z.name for z in x.operands]) for x in entry.instructions] == [
        ("p", []), ("x", ["p"]), ("x.1", ["x", "p"]), ("first", ["x.1"]), ("y", ["x.1"]), ("x.2", ["y"]), ("r", ["y"]),
    ]  # fmt: skip
    assert y.control_predecessors == (entry["first"],)
    assert np.array_equal(hlotool.evaluate(module, arguments), expected)
    assert not [d for d in hlotool.verify(hlotool.parse(str(module))) if d.severity == "error"]


def test_a_body_is_moved_neither_into_itself_nor_away_from_its_operands() -> None:
    module = hlotool.parse(BODY)
    f, entry = module.computations
    rewriter = Rewriter(module)
    with pytest.raises(EditError, match="computation 'f' cannot be moved into itself"):
        rewriter.move_body(f, f.parameters, f.root)
    with pytest.raises(EditError, match="operand 'a' is in computation 'f', not in 'e'"):
        rewriter.move_body(f, f.parameters, entry["c"])


def test_names_of_erased_instructions_are_reused() -> None:
    module = hlotool.parse("ENTRY e { p = f32[2] parameter(0) a = f32[2] negate(p) b = f32[2] abs(p) ROOT t = tuple(b, b) }")
    a, b = module.entry["a"], module.entry["b"]
    printed = str(module)
    with Rewriter(module) as rewriter:
        rewriter.erase(a)
        rewriter.take_name(b, a)
        assert b.name == "a"
        assert rewriter.is_name_used("a")
        assert rewriter.insert("sine", [b], after=b, name="a").name == "a.1"
    assert str(module) != printed
    assert "%a = f32[2]{0} abs(%p)" in str(module)


def test_an_instruction_that_calls_a_computation_twice_can_be_erased():
    module = hlotool.parse(
        """f { a = f32[] parameter(0) ROOT b = f32[] negate(a) }
        ENTRY e { p = pred[] parameter(0) x = f32[] parameter(1)
          c = f32[] conditional(p, x, x), true_computation=f, false_computation=f ROOT r = f32[] abs(x) }"""
    )
    with Rewriter(module) as rewriter:
        assert rewriter.is_only_caller(module.entry["c"], module.computation("f"))
        rewriter.erase(module.entry["c"])
        assert not rewriter.callers(module.computation("f"))
        rewriter.erase_computation(module.computation("f"))
    assert [computation.name for computation in module.computations] == ["e"]
