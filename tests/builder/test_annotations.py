"""Annotations that builders add to operations, and the extension of existing modules.

The annotations are source lines, shardings, names, headers and layouts.
"""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import hlotool
from hlotool.builder.texts import make_shape
from hlotool.ir.equal import differences
from hlotool.shapes.layout import Layout
from hlotool.shapes.values import ResultAccuracy


def test_instructions_have_the_line_of_the_caller() -> None:
    b = hlotool.Builder("m")
    frame = inspect.currentframe()
    assert frame is not None
    x = b.parameter(0, "f32[4]")
    sums = [x + 1.0, b.reduce(x, 0.0, lambda a, c: a * c, [0])]
    first = frame.f_lineno - 2
    body = sums[1].instruction.called[0]
    for instruction, line in ((x.instruction, first), (sums[0].instruction, first + 1), (sums[1].instruction, first + 1), (body.root, first + 1)):
        metadata = instruction.metadata
        assert metadata is not None
        assert (metadata.source_file, metadata.source_line) == (__file__, line)


def test_source_lines_can_be_left_out() -> None:
    b = hlotool.Builder("m", source_lines=False)
    x = b.parameter(0, "f32[4]")
    with b.metadata(op_name="layer/one", op_type="add"):
        y = x + x
    b.neg(y)
    assert [x.metadata_text for x in b.build().entry] == [None, '{op_type="add" op_name="layer/one"}', None]


def test_annotations_apply_within_a_block() -> None:
    b = hlotool.Builder("m", num_partitions=2, source_lines=False)
    with b.sharding("{devices=[2]0,1}"), b.frontend_attributes({"a": "1"}), b.frontend_attributes({"b": "2"}):
        x = b.parameter(0, "f32[4]")
    y = b.neg(x)
    assert x.instruction.attributes["frontend_attributes"] == {"a": "1", "b": "2"}
    assert y.instruction.attributes == {}
    assert "sharding={devices=[2]0,1}" in str(b.build())
    with pytest.raises(hlotool.BuilderError, match="sharding"), b.sharding("{wrong}"):
        pass


def test_names_are_unique_in_the_module() -> None:
    b = hlotool.Builder("m")
    x = b.parameter(0, "f32[]", "x")
    y = (x + x).named("total")
    z = b.call(lambda x: x + 1.0, [y]).named("total")
    assert [op.name for op in (x, y, z)] == ["x", "total", "total.1"]
    names = [instruction.name for instruction in b.build().all_instructions()]
    assert len(names) == len(set(names))


def test_headers() -> None:
    b = hlotool.Builder("m", replica_count=2, num_partitions=4)
    x = b.parameter(0, "f32[4]")
    b.set_up_alias([0], 0, kind="must-alias")
    b.set_root([x + x, x])
    text = str(b.build())
    assert "input_output_alias={ {0}: (0, {}, must-alias) }" in text
    assert "replica_count=2, num_partitions=4" in text


def test_invalid_headers_are_errors() -> None:
    b = hlotool.Builder("m")
    b.parameter(0, "f32[4]")
    b.set_up_alias([3], 0)
    with pytest.raises(hlotool.BuilderError, match="M004"):
        b.build()


def test_shapes() -> None:
    assert make_shape("bf16", [2, 3], [0, 1], dynamic=[0]).text == "bf16[<=2,3]{0,1}"
    for wrong in (("f31", [2]), ("token", []), ("f32", [-2]), ("f32", [2, 3], [0, 0]), ("f32", [2, 3], [0])):
        with pytest.raises(hlotool.HlotoolError, match=r"element type|cannot be negative|must be a permutation"):
            make_shape(*wrong)
    with pytest.raises(hlotool.BuilderError, match=r"parameter: shape: 'f32\[2' is not a shape"):
        hlotool.Builder("m").parameter(0, "f32[2")
    b = hlotool.Builder("m", replica_count=2)
    b.parameter(0, "(f32[2], f32[3])", parameter_replication=[True, False])
    assert "parameter_replication={true,false}" in str(b.build())


def test_layouts_and_tiles() -> None:
    b = hlotool.Builder("m")
    x = b.parameter(0, "f32[256,128]{0,1:T(8,128)}", "x")
    y = b.copy(x, make_shape("f32", [256, 128], [1, 0]))
    b.reshape_explicit("f32[128,256]{0,1}", y)
    module = b.build()
    assert module.entry_computation_layout.parameters[0].layout == Layout((0, 1), ((8, 128),))
    assert list(differences(module, hlotool.parse(str(module)))) == []


def test_control_predecessors_and_configurations() -> None:
    b = hlotool.Builder("m")
    x = b.parameter(0, "f32[4]", "x")
    first = b.custom_call("f", [x], "f32[4]", '{"n":1}', has_side_effect=True)
    second = b.after(b.custom_call("g", [x], "f32[4]", "text", attributes={"api_version": "API_VERSION_TYPED_FFI"}), [first])
    module = b.build(second)
    assert (first.instruction.backend_config, second.instruction.backend_config) == ('{"n":1}', '"text"')
    again = hlotool.parse(str(module))
    assert list(differences(module, again)) == []
    assert again.entry.root.control_predecessors[0].name == first.name


def test_asynchronous_calls() -> None:
    b = hlotool.Builder("m")
    x = b.parameter(0, "f32[4]")
    start = b.async_start([x], lambda x: -x, async_execution_thread="other")
    b.async_done(b.async_update(start))
    module = b.build()
    again = hlotool.parse(str(module))
    assert list(differences(module, again)) == []
    assert again.computations[0].execution_thread == "other"
    assert hlotool.evaluate(again, [[1.0, 2.0, 3.0, 4.0]]).tolist() == [-1.0, -2.0, -3.0, -4.0]
    with pytest.raises(hlotool.BuilderError, match="async_done: previous: expected the result of an asynchronous start"):
        hlotool.Builder("m").async_done(1.0)


def test_operands_of_asynchronous_calls_that_are_passed_late() -> None:
    b = hlotool.Builder("m")
    with b.computation("difference") as f:
        f.parameter(0, "s32[2]") - f.parameter(1, "s32[2]")
    x, y = b.parameter(0, "s32[2]"), b.parameter(1, "s32[2]")
    start = b.async_start([], f, "((), (), u32[])")
    first = b.async_update(start, [x])
    second = b.async_update(first, [y], "((s32[2], s32[2]), s32[2])")
    assert first.shape.text_without_layout == "((s32[2]), (), u32[])"
    module = b.build(b.async_done(second))
    again = hlotool.parse(str(module))
    assert list(differences(module, again)) == []
    assert hlotool.evaluate(again, [[1, 2], [10, 20]]).tolist() == [-9, -18]
    with pytest.raises(hlotool.BuilderError, match="operand 1 is s32"):
        b.async_update(first, [y], "((s32[2], f32[2]), s32[2])")


def test_accuracies() -> None:
    b = hlotool.Builder("m")
    x = b.parameter(0, "f32[4]")
    values = [b.exp(x), b.exp(x, "default"), b.exp(x, "highest"), b.exp(x, ResultAccuracy(tolerance=(0.0, 0.0, 2)))]
    found = [value.instruction.attributes.get("result_accuracy") for value in values]
    assert found == [None, None, ResultAccuracy("highest"), ResultAccuracy(tolerance=(0.0, 0.0, 2))]
    b.build()


# ---- existing modules -------------------------------------------------------------------------------------------------

TEXT = """HloModule m, entry_computation_layout={(f32[4]{0})->f32[4]{0}}

double { a = f32[4] parameter(0) ROOT s = f32[4] add(a, a) }

ENTRY main {
  x = f32[4] parameter(0)
  y = f32[4] call(x), to_apply=double
  ROOT r = f32[4] negate(y)
}
"""


def test_a_module_is_extended() -> None:
    module = hlotool.parse(TEXT)
    with hlotool.Builder.extend(module, before="r") as b:
        y = b.op("y")
        total = b.reduce(y, 0.0, lambda x, y: x + y, [0]).named("total")
        b.replace(b.op("r"), y - total)
        b.op("y").named("doubled")
    assert hlotool.evaluate(module, [[1.0, 2.0, 3.0, 4.0]]).tolist() == [-18.0, -16.0, -14.0, -12.0]
    assert list(differences(module, hlotool.parse(str(module)))) == []
    assert [x.name for x in module.entry][:2] == ["x", "doubled"]


def test_a_called_computation_is_extended() -> None:
    module = hlotool.parse(TEXT)
    with hlotool.Builder.extend(module, "double") as b:
        b.set_root(b.op("s") * 3.0)
    assert hlotool.evaluate(module, [[1.0, 2.0, 3.0, 4.0]]).tolist() == [-6.0, -12.0, -18.0, -24.0]


def test_parameters_are_added_to_the_entry() -> None:
    module = hlotool.parse(TEXT)
    with hlotool.Builder.extend(module) as b:
        b.set_root(b.op("r") + b.parameter(1, "f32[4]", "z"))
    assert len(module.entry_computation_layout.parameters) == 2
    assert hlotool.evaluate(module, [[1.0] * 4, [5.0] * 4]).tolist() == [3.0] * 4


def test_invalid_extensions() -> None:
    with pytest.raises(hlotool.BuilderError, match="there is no computation 'doubel'"):
        hlotool.Builder.extend(hlotool.parse(TEXT), "doubel")
    with pytest.raises(hlotool.BuilderError, match="no instruction 'rr'"), hlotool.Builder.extend(hlotool.parse(TEXT)) as b:
        b.op("rr")
    with pytest.raises(hlotool.BuilderError, match=r"its shape is f32\[\], not f32\[4\]"), hlotool.Builder.extend(hlotool.parse(TEXT)) as b:
        b.replace(b.op("r"), b.constant(1.0))
    with pytest.raises(hlotool.BuilderError, match="only the builder of a new module"), hlotool.Builder.extend(hlotool.parse(TEXT)) as b:
        b.build()


def test_builders_do_not_import_numpy() -> None:
    script = "import sys, hlotool; b = hlotool.Builder('m'); b.build(b.constant([1, 2]) * 2); print(*{'numpy', 'click'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
