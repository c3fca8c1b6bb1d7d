"""Details of edits: positions, names, control predecessors, and notes about the source."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import pytest

import hlotool
from hlotool import Rewriter
from hlotool.errors import EditError, InternalError
from hlotool.ir.equal import differences
from hlotool.ir.make import make_instruction
from hlotool.ir.model import Computation, Module
from hlotool.ir.order import LinkedOrder
from hlotool.shapes.shape import array_shape

CHAIN = "ENTRY e { p = f32[2] parameter(0) a = f32[2] negate(p) b = f32[2] negate(a) ROOT c = f32[2] add(b, b) }"
CONTROL_EDGES = (
    "ENTRY e { p = f32[2] parameter(0) u = f32[2] sine(p) v = f32[2] abs(p) "
    "a = f32[2] negate(p), control-predecessors={u} b = f32[2] cosine(p), control-predecessors={v, a} ROOT c = f32[2] add(b, b) }"
)
CALL = (
    "f { x = f32[2] parameter(0) ROOT n = f32[2] negate(x) } "
    "ENTRY e { p = f32[2] parameter(0) c = f32[2] call(p), to_apply=f ROOT r = f32[2] negate(c) }"
)
SUGAR = "ENTRY e { p = f32[4] parameter(0) s = ((f32[4]), f32[4]) abs-start(p) d = f32[4] abs-done(s) ROOT n = f32[4] negate(d) }"
Edit = Callable[[Rewriter, Computation], object]
SCALAR = hlotool.parse("ENTRY e { ROOT c = f32[] constant(1) }").entry.root.literal


def names(computation: Computation) -> list[str]:
    return [x.name for x in computation]


def all_control_predecessors(module: Module) -> dict[str, list[str]]:
    return {x.name: [y.name for y in x.control_predecessors] for x in module.entry if x.control_predecessors}


def apply_edit(text: str, edit: Edit) -> Module:
    """Returns the module in `text` after an edit of its entry computation.

    Checks that the printed module parses back to the same module.
    """
    module = hlotool.parse(hlotool.to_text(hlotool.parse(text)))
    with Rewriter(module) as rewriter:
        edit(rewriter, module.entry)
        rewriter.check()
    assert list(differences(module, hlotool.parse(hlotool.to_text(module)))) == []
    return module


def combine(*edits: Edit) -> Edit:
    def apply_all(rewriter: Rewriter, entry: Computation) -> None:
        for edit in edits:
            edit(rewriter, entry)

    return apply_all


# ---- order and names ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (lambda r, e: r.insert("sine", [e["p"]], before=e["b"]), "p a sine b c"),
        (lambda r, e: r.insert("sine", [e["p"]], after=e["a"]), "p a sine b c"),
        (lambda r, e: r.insert("sine", [e["p"]], into=e), "p a b c sine"),
        (lambda r, e: r.insert("sine", [e["p"]], before=e["p"]), "p sine a b c"),
        (lambda r, e: [r.insert("sine", [e["p"]], after=e["p"]) for _ in "12"], "p sine.1 sine a b c"),
        (lambda r, e: r.insert("sine", [e["p"]], into=e, name="b"), "p a b c b.1"),
        (lambda r, e: r.insert_copy(e["a"], before=e["c"]), "p a b a.1 c"),
        (lambda r, e: r.insert_copy(e["a"], [e["b"]], into=e, name="z"), "p a b c z"),
        (lambda r, e: r.move(r.insert("sine", [e["p"]], into=e), before=e["b"]), "p a sine b c"),
        (lambda r, e: r.move(r.insert("sine", [e["p"]], into=e), after=e["a"]), "p a sine b c"),
        (lambda r, e: r.move(e["b"], before=e["b"]), "p a b c"),
        (lambda r, e: r.move(e["b"], after=e["b"]), "p a b c"),
        (lambda r, e: r.rename(e["a"], "z"), "p z b c"),
        (lambda r, e: r.rename(e["a"], "a"), "p a b c"),
        (combine(lambda r, e: r.rename(e["a"], "z"), lambda r, e: r.rename(e["b"], "a")), "p z a c"),
        (combine(lambda r, e: r.rename(e["a"], "z"), lambda r, e: r.insert("sine", [e["p"]], into=e, name="z")), "p z b c z.1"),
        (combine(lambda r, e: r.rename(e["a"], "z"), lambda r, e: r.insert("sine", [e["p"]], into=e, name="a")), "p z b c a"),
        (combine(lambda r, e: r.erase(r.insert("sine", [e["p"]], into=e)), lambda r, e: r.insert("sine", [e["p"]], into=e)), "p a b c sine"),
        (lambda r, e: r.set_operand(e["c"], 0, e["a"]), "p a b c"),
        # An operand or control predecessor inserted at the end is moved in front of its user.
        (lambda r, e: r.set_operand(e["a"], 0, r.insert("sine", [e["p"]], into=e)), "p sine a b c"),
        (
            lambda r, e: r.update(e["a"], attributes={"control-predecessors": (r.insert("sine", [e["p"]], into=e),)}),
            "p sine a b c",
        ),
    ],
)
def test_instructions_are_inserted_at_the_given_position(edit: Edit, expected: str) -> None:
    assert names(apply_edit(CHAIN, edit).entry) == expected.split()


def test_one_operand_is_replaced() -> None:
    root = apply_edit(CHAIN, lambda r, e: r.set_operand(e["c"], 0, e["a"])).entry.root
    assert [x.name for x in root.operands] == ["a", "b"]


def test_a_corrected_order_is_kept() -> None:
    module = hlotool.parse(CHAIN)
    rewriter = Rewriter(module)
    rewriter.set_operand(module.entry["a"], 0, rewriter.insert("sine", [module.entry["p"]], into=module.entry))
    for _ in range(2):
        rewriter.finish()
        assert names(module.entry) == ["p", "sine", "a", "b", "c"]


def test_queries_include_changes_before_a_flush() -> None:
    module = hlotool.parse(CONTROL_EDGES)
    rewriter, entry = Rewriter(module), module.entry
    sine = rewriter.insert("sine", [entry["p"]], after=entry["p"])
    assert [x.name for x in rewriter.instructions(entry)][:2] == ["p", "sine"]
    assert [rewriter.use_count(entry[name]) for name in ("p", "b", "c")] == [5, 2, 0]
    # An operand, a control predecessor, the root, and an unused instruction.
    assert [rewriter.is_used(x) for x in (entry["b"], entry["u"], entry["c"], sine)] == [True, True, True, False]
    rewriter.erase(sine)
    with pytest.raises(EditError, match="'sine' is not in the module"):
        rewriter.owner(sine)


def test_an_empty_order_has_no_items() -> None:
    order: LinkedOrder[str] = LinkedOrder()
    assert order.items() == []
    order.append("a")
    assert order.items() == ["a"]


# ---- control predecessors ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (lambda r, e: r.erase(e["a"]), {"b": ["v", "u"]}),
        (lambda r, e: r.erase(e["u"]), {"b": ["v", "a"]}),
        (combine(lambda r, e: r.erase(e["u"]), lambda r, e: r.erase(e["v"]), lambda r, e: r.erase(e["a"])), {}),
        (lambda r, e: r.replace(e["a"], r.insert("tan", [e["p"]], before=e["a"])), {"tan": ["u"], "b": ["v", "tan"]}),
        (lambda r, e: r.replace(e["b"], e["v"]), {"a": ["u"], "v": ["a"]}),
        (
            lambda r, e: r.replace(e["a"], r.insert("tan", [e["p"]], before=e["a"], attributes={"control-predecessors": (e["v"],)})),
            {"tan": ["v", "u"], "b": ["v", "tan"]},
        ),
        # The new value may have the replaced instruction as its control predecessor.
        (lambda r, e: r.replace_all_uses(e["a"], e["b"]), {"a": ["u"], "b": ["v", "a"]}),
        (lambda r, e: r.replace_all_uses(e["v"], e["u"]), {"a": ["u"], "b": ["u", "a"]}),
    ],
)
def test_control_predecessors_are_updated(edit: Edit, expected: dict[str, list[str]]) -> None:
    module = apply_edit(CONTROL_EDGES, edit)
    assert all_control_predecessors(module) == expected
    assert "={}" not in hlotool.to_text(module)


def test_uses_in_the_new_value_are_kept() -> None:
    def wrap(rewriter: Rewriter, entry: Computation) -> None:
        rewriter.replace_all_uses(entry["a"], rewriter.insert("sine", [entry["a"]], after=entry["a"]))

    entry = apply_edit(CHAIN, wrap).entry
    assert [x.name for x in (*entry["sine"].operands, *entry["b"].operands)] == ["a", "sine"]


def test_a_value_may_be_replaced_by_itself() -> None:
    assert names(apply_edit(CHAIN, lambda r, e: r.replace_all_uses(e["c"], e["c"])).entry) == ["p", "a", "b", "c"]


# ---- fields ------------------------------------------------------------------------------------------------------------


def test_metadata_is_given_or_copied_from_the_origin() -> None:
    module = hlotool.parse('ENTRY e { p = f32[2] parameter(0) ROOT a = f32[2] negate(p), metadata={op_name="old"} }')
    with Rewriter(module) as rewriter:
        a = module.entry["a"]
        kept = rewriter.insert("sine", [a], into=module.entry, origin=a, metadata_text='{op_name="new"}')
        same = rewriter.insert("sine", [a], into=module.entry, origin=a)
        rewriter.update(same, backend_config="{}")
    assert [x.metadata.op_name for x in (kept, same) if x.metadata] == ["new", "old"]
    with Rewriter(module) as rewriter:
        rewriter.update(same, metadata_text=None, backend_config=None)
    assert (same.metadata, same.backend_config) == (None, None)


def test_updated_annotations_are_printed() -> None:
    module = apply_edit(CHAIN, lambda r, e: r.update(e["a"], metadata_text='{op_name="x"}', backend_config='"abc"'))
    assert 'metadata={op_name="x"}, backend_config="abc"' in hlotool.to_text(module)


def test_unknown_attributes_survive_edits() -> None:
    module = hlotool.parse(
        "HloModule m, foo=1\nENTRY e { p = f32[] parameter(0) q = f32[] parameter(1) ROOT z = f32[] negate(p), color=blue }", strict=False
    )
    with Rewriter(module) as rewriter:
        rewriter.set_operand(module.entry["z"], 0, module.entry["q"])
        rewriter.erase_parameter(module.entry["p"])
    text = hlotool.to_text(module)
    assert "negate(q), color=blue" in text.replace("%", "")
    assert "foo=1" in text


def test_attributes_stay_shared_and_immutable() -> None:
    module = hlotool.parse("ENTRY e { p = f32[2,3] parameter(0) ROOT t = f32[3,2] transpose(p), dimensions={1,0} }")
    with Rewriter(module) as rewriter:
        other = rewriter.insert_copy(module.entry["t"], into=module.entry)
        assert other.attributes is module.entry["t"].attributes
        rewriter.update(other, attributes={"dimensions": (0, 1)}, shape=array_shape("f32", (2, 3)))
    with pytest.raises(TypeError, match="attributes are immutable"):
        other.attributes["dimensions"] = (1, 0)
    attributes = other.attributes
    assert copy.copy(attributes) is attributes
    assert pickle.loads(pickle.dumps(attributes)) == attributes
    assert type(pickle.loads(pickle.dumps(attributes))) is type(attributes)


@pytest.mark.parametrize(
    ("instruction", "change", "code"),
    [
        ("r", {"shape": array_shape("f32", (3,))}, "T021"),
        ("b", {"attributes": {"dimensions": None}}, "S014"),
    ],
)
def test_values_that_the_parser_would_reject_are_found_after_an_edit(instruction: str, change: dict[str, object], code: str) -> None:
    module = hlotool.parse(
        "ENTRY e { p = f32[4] parameter(0) r = f32[2,2] reshape(p) b = f32[4,2] broadcast(p), dimensions={0} "
        "ROOT t = (f32[2,2], f32[4,2]) tuple(r, b) }"
    )
    with Rewriter(module) as rewriter:
        rewriter.update(module.entry[instruction], **change)
    assert code in {d.code for d in hlotool.verify(module)}


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda r, e: r.update(e["t"], op="negate"), "'negate' has no attribute 'dimensions'"),
        (lambda r, e: r.update(e["n"], op="transpose"), "'transpose' needs the attribute 'dimensions'"),
        (lambda r, e: r.update(e["t"], attributes={"dimension": ()}), "'transpose' has no attribute 'dimension'; did you mean 'dimensions'?"),
        (lambda r, e: r.update(e["t"], attributes={"shardin": ()}), "'transpose' has no attribute 'shardin'; did you mean 'sharding'?"),
        (lambda r, e: r.update(e["t"], attributes={"qqqq": ()}), "'transpose' has no attribute 'qqqq'"),
        (lambda r, e: r.insert("qqqq", into=e), "unknown opcode 'qqqq'"),
        (lambda r, e: r.insert("negate", [e["p"], e["p"]], into=e), "'negate' takes 1 operand, found 2"),
        (lambda r, e: r.update(e["n"], operands=[e["p"], e["p"]]), "'negate' takes 1 operand, found 2"),
        (lambda r, e: r.update(e["n"], op="add"), "'add' takes 2 operands, found 1"),
        (lambda r, e: r.update(e["n"], op="iota", attributes={"iota_dimension": 0}), "'iota' takes no operands, found 1"),
        (lambda r, e: r.insert("convolution", [e["p"]], into=e, attributes={"dim_labels": None}), "'convolution' takes at least 2 operands, found 1"),
        (lambda r, e: r.update(e["k"], shape=array_shape("f32", (3,))), "the literal has shape f32[2], not f32[3]"),
        (lambda r, e: r.update(e["k"], immediate=SCALAR), "the literal has shape f32[], not f32[2]"),
        (lambda r, e: r.insert("constant", into=e, shape=array_shape("f32"), immediate=e["k"].literal), "the literal has shape f32[2], not"),
        (lambda r, e: r.insert("rng", [e["p"], e["p"]], into=e, attributes={"distribution": "rng_uniform"}), "'rng': the result shape of"),
        (lambda r, e: r.insert("dot", [e["p"], e["p"]], into=e, attributes={"lhs_contracting_dims": (5,)}), "'dot': "),
        (lambda r, e: r.erase(e["unused"]), "'unused' is a parameter; use erase_parameter"),
        (lambda r, e: r.move(e["n"], before=r.module.computation("f")["n2"]), "'n' is in computation 'e', not in 'f'"),
        (lambda r, e: r.erase_parameter(r.module.computation("g")["y"]), "parameter 'y' cannot be erased: it is used"),
        (lambda r, e: r.rename(r.module.computation("f"), "g"), "the name 'g' is already in use"),
    ],
)  # fmt: skip
def test_wrong_edits_are_rejected(edit: Edit, message: str) -> None:
    module = hlotool.parse(
        "f { x = f32[2] parameter(0) ROOT n2 = f32[2] negate(x) } g { ROOT y = f32[2] parameter(0) } "
        "ENTRY e { p = f32[2,2] parameter(0) unused = f32[] parameter(1) t = f32[2,2] transpose(p), dimensions={1,0} "
        "k = f32[2] constant({1,2}) ROOT n = f32[2,2] negate(t) }"
    )
    rewriter = Rewriter(module)
    with pytest.raises(EditError) as error:
        edit(rewriter, module.entry)
    assert str(error.value).startswith(message)
    if "qqqq" in message:
        assert "did you mean" not in str(error.value)
    rewriter.check()


def test_a_constant_keeps_its_given_layout() -> None:
    constant = hlotool.parse("ENTRY e { ROOT c = f32[2,2]{1,0} constant({{1,2},{3,4}}) }").entry.root
    shape = hlotool.parse("ENTRY e { ROOT p = f32[2,2]{0,1} parameter(0) }").entry.root.shape
    assert make_instruction("d", "constant", immediate=constant.immediate, shape=shape).shape == shape
    assert make_instruction("d", "constant", immediate=constant.immediate).shape == constant.shape


def test_shapes_are_inferred() -> None:
    module = hlotool.parse("ENTRY e { p = f32[] parameter(0) k = token[] after-all() ROOT n = f32[] negate(p) }")
    with Rewriter(module) as rewriter:
        turned = rewriter.insert("transpose", [module.entry["p"]], into=module.entry, attributes={"dimensions": ()})
        waiting = rewriter.insert("after-all", [module.entry["k"]], into=module.entry)
        sent = rewriter.insert("outfeed", [module.entry["p"], waiting], into=module.entry, attributes={"outfeed_shape": array_shape("f32")})
    assert [x.shape.text for x in (turned, waiting, sent)] == ["f32[]", "token[]", "token[]"]


def test_an_instruction_with_an_assigned_field_is_not_copied_from_the_source() -> None:
    x = hlotool.parse(CHAIN).entry["a"]
    assert 0 <= x.start < x.end
    x.name = "z"
    assert (x.start, x.end) == (-1, -1)


def test_a_renamed_instruction_keeps_its_location_in_messages() -> None:
    module = hlotool.parse("ENTRY e {\n  p = f32[2] parameter(0)\n  ROOT n = f32[3] negate(p)\n}", strict=False)
    before = [(d.code, d.line) for d in hlotool.verify(module)]
    with Rewriter(module) as rewriter:
        rewriter.rename(module.entry["n"], "z")
    assert [(d.code, d.line) for d in hlotool.verify(module)] == before == [("T003", 3)]


def test_findings_about_new_instructions_without_an_origin() -> None:
    module = hlotool.parse(CHAIN)
    with Rewriter(module) as rewriter:
        rewriter.update(rewriter.insert("sine", [module.entry["p"]], into=module.entry), shape=array_shape("f32", (3,)))
    assert [(d.code, d.instruction) for d in hlotool.verify(module)] == [("T003", "sine")]


# ---- computations ------------------------------------------------------------------------------------------------------


def parse_callee(text: str) -> Computation:
    return copy.deepcopy(hlotool.parse(text).computations[0])


def test_an_added_computation_is_adapted_to_the_module() -> None:
    module = hlotool.parse(CALL)
    # Its instructions are out of order, and its names are already in use.
    added = parse_callee("f { b = f32[2] parameter(0) a = f32[2] negate(b) ROOT n = f32[2] sine(a) } ENTRY e { ROOT p = f32[] parameter(0) }")
    added.instructions[:2] = added.instructions[1::-1]
    with Rewriter(module) as rewriter:
        rewriter.add_computation(added)
        rewriter.update(module.entry["c"], attributes={"to_apply": added})
    assert [c.name for c in module.computations] == ["f", "f.1", "e"]
    assert names(added) == ["b", "a", "n.1"]
    assert [(part.start, part.end) for part in (added, *added)] == [(-1, -1)] * 4
    assert [d.code for d in hlotool.verify(module) if d.severity == "error"] == []


def test_callees_come_before_a_new_call() -> None:
    module = hlotool.parse(CALL)
    with Rewriter(module) as rewriter:
        added = rewriter.add_computation(parse_callee("g { ROOT b = f32[2] parameter(0) } ENTRY e { ROOT p = f32[] parameter(0) }"))
        rewriter.insert("call", [module.entry["p"]], into=module.entry, attributes={"to_apply": added})
    assert [c.name for c in module.computations] == ["f", "g", "e"]


def test_a_clone_has_unflushed_changes_and_a_known_origin() -> None:
    module = hlotool.parse(CALL)
    f = module.computation("f")
    with Rewriter(module) as rewriter:
        rewriter.insert("sine", [f["x"]], into=f)
        clone = rewriter.clone_computation(f, "again")
    assert names(clone) == ["x.again", "n.again", "sine.again"]
    assert module.notes.origin_of[clone["n.again"]] is f["n"]
    with Rewriter(module) as rewriter:
        rewriter.erase(clone["sine.again"])
        second = rewriter.clone_computation(clone, "more")
    assert module.notes.origin_of[second["n.again.more"]] is f["n"]
    assert all(x in set(module.all_instructions()) for x in module.notes.origin_of)


def test_erased_computations_leave_nothing() -> None:
    text = (
        "g { ROOT y = f32[2] parameter(0) } f { x = f32[2] parameter(0) ROOT n = f32[2] call(x), to_apply=g } "
        "ENTRY e { ROOT p = f32[2] parameter(0) }"
    )
    module = hlotool.parse(hlotool.to_text(hlotool.parse(text)))
    g, f, entry = module.computations
    assert list(module.notes.spans) == [g, f, entry]
    with Rewriter(module) as rewriter:
        rewriter.rename(entry, "main")
        rewriter.insert("sine", [f["x"]], into=f)
        rewriter.erase_computation(f)
        rewriter.check()
        assert rewriter.callers(g) == ()
        rewriter.erase_computation(g)
        assert list(module.notes.spans) == [entry]
        assert rewriter.insert("sine", [entry["p"]], into=entry, name="n").name == "n"
        empty = rewriter.add_computation("f")
        assert empty.name == "f"
        rewriter.erase_computation(empty)
    assert module.computations == [entry]


def test_an_erased_computation_can_be_added_again() -> None:
    module = hlotool.parse(CALL.replace("call(p), to_apply=f", "sine(p)"))
    f = module.computation("f")
    with Rewriter(module) as rewriter:
        rewriter.insert("sine", [f["x"]], into=f)
        rewriter.erase_computation(f)
        rewriter.add_computation(f)
        rewriter.check()
    assert names(f) == ["x", "n"]


@pytest.mark.parametrize(
    "edit",
    [
        lambda r, e: r.add_computation("g"),
        lambda r, e: r.erase(r.insert("iota", into=r.add_computation("g"), shape=array_shape("s32", (2,)), attributes={"iota_dimension": 0})),
    ],
)
def test_an_empty_computation_is_rejected(edit: Edit) -> None:
    module = hlotool.parse(CALL)
    rewriter = Rewriter(module)
    edit(rewriter, module.entry)
    with pytest.raises(EditError, match="computation 'g' has no instructions"):
        rewriter.finish()


def test_cyclic_calls_are_rejected() -> None:
    module = hlotool.parse(CALL)
    f = module.computation("f")
    rewriter = Rewriter(module)
    rewriter.replace(f["n"], rewriter.insert("call", [f["x"]], into=f, shape=f["x"].shape, attributes={"to_apply": f}))
    with pytest.raises(EditError, match="depends on itself"):
        rewriter.finish()


def test_names_of_computations_are_separate_from_names_of_instructions() -> None:
    module = hlotool.parse(CALL)
    f = module.computation("f")
    with Rewriter(module) as rewriter:
        # An instruction may have the name of a computation.
        rewriter.rename(f, "r")
        assert rewriter.add_computation(parse_callee("r { ROOT b = f32[2] parameter(0) } ENTRY e { ROOT p = f32[] parameter(0) }")).name == "r.1"
        rewriter.rename(module.entry["c"], "e")
    assert "call(p), to_apply=r" in hlotool.to_text(module).replace("%", "").replace("{0}", "")


def test_a_hidden_computation_stays_while_it_is_called() -> None:
    module = apply_edit(SUGAR, lambda r, e: r.erase_computation(r.clone_computation(add_caller(r), "x")))
    assert (len(module.hidden), "abs-start(" in hlotool.to_text(module)) == (1, True)


def add_caller(rewriter: Rewriter) -> Computation:
    f = rewriter.add_computation("f")
    p = rewriter.insert("parameter", into=f, immediate=0, shape=array_shape("f32", (4,)))
    g = rewriter.add_computation("g")
    q = rewriter.insert("parameter", into=g, immediate=0, shape=p.shape)
    rewriter.insert("call", [q], into=g, attributes={"to_apply": f}, shape=p.shape)
    return g


def test_a_hidden_computation_is_erased_with_its_caller() -> None:
    module = hlotool.parse(SUGAR.replace("ENTRY e", "f") + " ENTRY e { ROOT q = f32[] parameter(0) }")
    with Rewriter(module) as rewriter:
        rewriter.erase_computation(module.computation("f"))
    assert (module.hidden, [c.name for c in module.computations]) == (set(), ["e"])


def test_the_body_of_a_fusion_has_no_schedule() -> None:
    text = "HloModule m, is_scheduled=true\n" + CALL
    for call, is_fusion in (("call(p), to_apply=f", False), ("fusion(p), kind=kLoop, calls=f", True)):
        module = hlotool.parse(text.replace("call(p), to_apply=f", call))
        f = module.computation("f")
        rewriter = Rewriter(module)
        rewriter.set_operand(f["n"], 0, rewriter.insert("sine", [f["x"]], into=f))
        if is_fusion:
            rewriter.finish()
            assert names(f) == ["x", "sine", "n"]
        else:
            with pytest.raises(EditError, match="'n' is scheduled before"):
                rewriter.finish()


# ---- parameters --------------------------------------------------------------------------------------------------------

THREE = "x = f32[] parameter(0) y = f32[1] parameter(1) z = f32[2] parameter(2)"


@pytest.mark.parametrize(
    ("name", "operands", "aliases"), [("x", "pq", "{0}: (0, {}), {1}: (1, {})"), ("y", "oq", "{1}: (1, {})"), ("z", "op", "{0}: (1, {})")]
)
def test_callers_lose_the_operand_of_an_erased_parameter(name: str, operands: str, aliases: str) -> None:
    text = (
        f"HloModule m, entry_computation_layout={{(f32[], f32[1]{{0}}, f32[2]{{0}})->(f32[1]{{0}}, f32[2]{{0}})}}\nf {{ {THREE} "
        "c = f32[1] constant({1}) d = f32[2] constant({1, 2}) ROOT t = (f32[1], f32[2]) tuple(c, d) } "
        "ENTRY e { o = f32[] parameter(0) p = f32[1] parameter(1) q = f32[2] parameter(2) "
        "ROOT r = (f32[1], f32[2]) fusion(o, p, q), kind=kLoop, calls=f, output_to_operand_aliasing={{0}: (1, {}), {1}: (2, {})} }"
    )
    module = hlotool.parse(text)
    layout = module.attributes["entry_computation_layout"]
    with Rewriter(module) as rewriter:
        rewriter.erase_parameter(module.computation("f")[name])
    root = module.entry.root
    assert [x.name for x in root.operands] == list(operands)
    assert [x.immediate for x in module.computation("f").parameters] == [0, 1]
    assert f"output_to_operand_aliasing={{{aliases}}}" in hlotool.to_text(module)
    assert module.attributes["entry_computation_layout"] == layout
    assert rewriter.remarks == []
    # The last alias is removed with its operand.
    with Rewriter(module) as rewriter:
        for x in module.computation("f").parameters:
            rewriter.erase_parameter(x)
    assert (root.operands, "output_to_operand_aliasing" in root.attributes) == ((), False)


def test_several_parameters_are_erased_at_once() -> None:
    module = hlotool.parse(
        "HloModule m, buffer_donor={ (1, {}), (3, {}) }\nf { a = f32[1] parameter(0) b = f32[2] parameter(1) c = f32[3] parameter(2) "
        "d = f32[4] parameter(3) ROOT t = (f32[2], f32[4]) tuple(b, d) } "
        "ENTRY e { d = f32[4] parameter(3) a = f32[1] parameter(0) c = f32[3] parameter(2) b = f32[2] parameter(1) "
        "ROOT r = (f32[2], f32[4]) fusion(a, b, c, d), kind=kLoop, calls=f, output_to_operand_aliasing={{0}: (1, {}), {1}: (3, {})} }"
    )
    f, e = module.computation("f"), module.entry
    with Rewriter(module) as rewriter:
        rewriter.erase_parameters([])
        rewriter.erase_parameters([f["c"], f["a"]])
        rewriter.erase_parameters([e["a"], e["c"]])
    assert [[x.name for x in computation.parameters] for computation in (f, e)] == [["b", "d"], ["b", "d"]]
    assert [x.name for x in e.root.operands] == ["b", "d"]
    assert "output_to_operand_aliasing={{0}: (0, {}), {1}: (1, {})}" in hlotool.to_text(module)
    assert "buffer_donor={ (0, {}), (1, {}) }" in hlotool.to_text(module)


def test_parameters_erased_together_must_be_in_one_computation() -> None:
    module = hlotool.parse(
        "f { p = f32[] parameter(0) ROOT c = f32[] constant(1) } ENTRY e { q = f32[] parameter(0) ROOT r = f32[] call(q), to_apply=f }"
    )
    f, e = module.computation("f"), module.entry
    with pytest.raises(EditError, match="'q' is not a parameter of 'f'"):
        Rewriter(module).erase_parameters([f["p"], e["q"]])
    # Nothing has been erased.
    assert len(f.parameters) == 1


def test_an_instruction_takes_the_name_of_an_erased_one() -> None:
    module = hlotool.parse(
        "f { a = f32[] parameter(0) ROOT b = f32[] negate(a) } ENTRY e { a = f32[] parameter(0) b = f32[] abs(a) ROOT c = f32[] call(b), to_apply=f }"
    )
    rewriter = Rewriter(module)
    entry = module.entry
    old = entry["b"]
    new = rewriter.insert("cosine", [entry["a"]], before=old)
    rewriter.replace_all_uses(old, new)
    rewriter.erase(old)
    # Another computation still has an instruction with this name.
    assert rewriter.is_name_used("b")
    rewriter.take_name(new, old)
    assert (new.name, rewriter.is_name_used("cosine")) == ("b", False)
    rewriter.finish()
    assert "ROOT %c = f32[] call(%b), to_apply=%f" in hlotool.to_text(module)
    assert "%b = f32[] cosine(%a)" in hlotool.to_text(module)


def test_parameters_are_sorted_by_number() -> None:
    module = hlotool.parse("ENTRY e { q = s32[] parameter(1) p = f32[] parameter(0) c = s32[] constant(7) ROOT t = (s32[], s32[]) tuple(q, c) }")
    assert [x.name for x in module.entry.parameters] == ["p", "q"]
    assert [x.parameter_number for x in module.entry] == [1, 0, None, None]


# ---- errors and bookkeeping --------------------------------------------------------------------------------------------


def test_an_error_in_the_block_is_not_hidden_by_another() -> None:
    module = hlotool.parse(CHAIN)

    def fail_halfway() -> None:
        with Rewriter(module) as rewriter:
            rewriter.set_operand(module.entry["a"], 0, module.entry["b"])
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        fail_halfway()


def tamper_with_operand(module: Module) -> None:
    module.entry["c"].operands = (module.entry["a"], module.entry["v"])


def tamper_with_control_edge(module: Module) -> None:
    module.entry["b"].attributes = module.entry["b"].attributes.changed({"control-predecessors": None})


def tamper_with_call(module: Module) -> None:
    module.entry["k"].attributes = module.entry["k"].attributes.changed({"to_apply": module.computation("g")})


def tamper_with_list(module: Module) -> None:
    module.computation("g").instructions.append(make_instruction("new", "iota", shape=array_shape("s32", (2,)), attributes={"iota_dimension": 0}))


@pytest.mark.parametrize(
    ("tamper", "table"),
    [(tamper_with_operand, "users"), (tamper_with_control_edge, "successors"), (tamper_with_call, "callers"), (tamper_with_list, "owners")],
)
def test_changes_made_without_the_rewriter_are_found(tamper: Callable[[Module], None], table: str) -> None:
    text = "f { x = f32[2] parameter(0) ROOT n = f32[2] negate(x) } g { y = f32[2] parameter(0) ROOT m = f32[2] sine(y) } " + CONTROL_EDGES
    module = hlotool.parse(text.replace("ROOT", "k = f32[2] call(p), to_apply=f ROOT", 3).replace("k = f32[2] call(p), to_apply=f ROOT", "ROOT", 2))
    rewriter = Rewriter(module)
    tamper(module)
    with pytest.raises(InternalError, match=rf"the use tables of the Rewriter are wrong: {table} of "):
        rewriter.check()
