"""Edits of the entry's parameters and result update the header of the module."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import hlotool
from hlotool import Rewriter
from hlotool.ir.model import Computation
from hlotool.shapes.shape import array_shape

Edit = Callable[[Rewriter, Computation], object]

FULL = (
    "HloModule m, buffer_donor={ (0, {}), (1, {}), (2, {}) }, "
    "input_output_alias={ {0}: (0, {}, may-alias), {1}: (1, {}, may-alias), {2}: (2, {}, may-alias) }, "
    "entry_computation_layout={(s8[],s16[],s32[])->(s8[],s16[],s32[])}, allow_spmd_sharding_propagation_to_parameters={true,false,true}\n"
    "ENTRY e { p = s8[] parameter(0) q = s16[] parameter(1) r = s32[] parameter(2) "
    "a = s8[] constant(1) b = s16[] constant(2) c = s32[] constant(3) ROOT t = (s8[], s16[], s32[]) tuple(a, b, c) }"
)  # fmt: skip


@pytest.mark.parametrize(
    ("number", "donors", "aliases", "layout", "flags"),
    [
        (0, "(0, {}), (1, {})", "{1}: (0, {}, may-alias), {2}: (1, {}, may-alias)", "s16[], s32[]", "false,true"),
        (1, "(0, {}), (1, {})", "{0}: (0, {}, may-alias), {2}: (1, {}, may-alias)", "s8[], s32[]", "true,true"),
        (2, "(0, {}), (1, {})", "{0}: (0, {}, may-alias), {1}: (1, {}, may-alias)", "s8[], s16[]", "true,false"),
    ],
)
def test_an_erased_parameter_is_removed_from_the_header(number: int, donors: str, aliases: str, layout: str, flags: str) -> None:
    module = hlotool.parse(FULL)
    with Rewriter(module) as rewriter:
        rewriter.erase_parameter(module.entry.parameters[number])
    header = hlotool.to_text(module).partition("\n")[0]
    assert f"buffer_donor={{ {donors} }}" in header
    assert f"input_output_alias={{ {aliases} }}" in header
    assert f"entry_computation_layout={{({layout})->(s8[], s16[], s32[])}}" in header
    assert f"allow_spmd_sharding_propagation_to_parameters={{{flags}}}" in header
    assert rewriter.remarks == []


def test_a_single_flag_for_all_parameters_is_kept() -> None:
    module = hlotool.parse(FULL.replace("{true,false,true}", "{true}"))
    with Rewriter(module) as rewriter:
        rewriter.erase_parameter(module.entry.parameters[0])
    assert "allow_spmd_sharding_propagation_to_parameters={true}" in hlotool.to_text(module)


def retype(number: int, element_type: str, dimensions: tuple[int, ...] = ()) -> Edit:
    return lambda r, e: r.update(e.parameters[number], shape=array_shape(element_type, dimensions))


LAYOUT = "updated the entry computation layout: "


@pytest.mark.parametrize(
    ("edit", "expected", "remarks"),
    [
        (lambda r, e: r.insert("negate", [e["a"]], into=e), "(s8[], s16[], s32[])->(s8[], s16[], s32[])", []),
        (
            retype(1, "f32"),
            "(s8[], f32[], s32[])->(s8[], s16[], s32[])",
            [f"{LAYOUT}parameter 1 is now f32[]", "dropped 1 alias that no longer matches the entry"],
        ),
        (
            lambda r, e: (retype(1, "f32")(r, e), retype(2, "f32", (2,))(r, e)),
            "(s8[], f32[], f32[2]{0})->(s8[], s16[], s32[])",
            [f"{LAYOUT}parameter 1 is now f32[]", f"{LAYOUT}parameter 2 is now f32[2]", "dropped 2 aliases that no longer match the entry"],
        ),
        (
            lambda r, e: r.insert("parameter", after=e["r"], immediate=3, shape=array_shape("u8")),
            "(s8[], s16[], s32[], u8[])->(s8[], s16[], s32[])",
            [f"{LAYOUT}the number of parameters is now 4, not 3"],
        ),
        # The new root existed before the edit.
        (
            lambda r, e: r.set_root(e["a"]),
            "(s8[], s16[], s32[])->s8[]",
            [f"{LAYOUT}the result is now s8[]", "dropped 3 aliases that no longer match the entry"],
        ),
        (
            lambda r, e: r.set_root(r.insert("tuple", [e["a"], e["c"], e["b"]], into=e)),
            "(s8[], s16[], s32[])->(s8[], s32[], s16[])",
            [f"{LAYOUT}the result is now (s8[], s32[], s16[])", "dropped 2 aliases that no longer match the entry"],
        ),
        (
            lambda r, e: r.set_entry(r.module.computation("f")),
            "(s8[])->s8[]",
            [
                f"{LAYOUT}the number of parameters is now 1, not 3",
                f"{LAYOUT}the result is now s8[]",
                "dropped 3 aliases that no longer match the entry",
                "dropped 2 buffer donors that no longer match the entry",
            ],
        ),
    ],
)
def test_the_header_is_updated_with_the_entry(edit: Edit, expected: str, remarks: list[str]) -> None:
    text = FULL.replace("ENTRY", "f { x = s8[] parameter(0) ROOT y = s8[] negate(x) } ENTRY").replace("{true,false,true}", "{true}")
    module = hlotool.parse(text)
    with Rewriter(module) as rewriter:
        edit(rewriter, module.entry)
    assert f"entry_computation_layout={{{expected}}}" in hlotool.to_text(module)
    assert rewriter.remarks == remarks
    assert hlotool.parse(hlotool.to_text(module)).attributes.keys() == module.attributes.keys()


def test_donors_and_aliases_of_tuple_elements_are_dropped() -> None:
    module = hlotool.parse(
        "HloModule m, buffer_donor={ (0, {0}), (0, {1}) }, input_output_alias={ {}: (0, {1}, may-alias) }\n"
        "ENTRY e { p = (s8[], s16[]) parameter(0) ROOT g = s16[] get-tuple-element(p), index=1 }"
    )
    with Rewriter(module) as rewriter:
        p = module.entry["p"]
        rewriter.update(p, shape=hlotool.parse("ENTRY e { ROOT p = (s8[]) parameter(0) }").entry.root.shape)
    assert rewriter.remarks == [
        "dropped 1 alias that no longer matches the entry",
        "dropped 1 buffer donor that no longer matches the entry",
    ]
    assert "buffer_donor={ (0, {0}) }" in hlotool.to_text(module)
    assert "input_output_alias" not in module.attributes


def test_other_computations_do_not_change_the_header() -> None:
    # The layout in the header does not match the entry.
    text = FULL.replace("ENTRY", "f { x = s8[] parameter(0) ROOT y = s8[] negate(x) } ENTRY").replace("={(s8[]", "={(s8[7]{0}")
    module = hlotool.parse(text)
    header = hlotool.to_text(module).partition("\n")[0]
    with Rewriter(module) as rewriter:
        f = module.computation("f")
        rewriter.insert("sine", [f["x"]], into=f, shape=f["x"].shape)
    assert (hlotool.to_text(module).partition("\n")[0], rewriter.remarks) == (header, [])
