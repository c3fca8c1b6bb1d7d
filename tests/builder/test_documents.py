"""The examples of the documents that describe the operations: each is built, verified, printed and read back, run, and compared.

Where a document contradicts itself, the row follows the definition, and its note says so.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hlotool
from hlotool.builder.builder import Builder
from hlotool.builder.dimension_numbers import DotDimensionNumbers, GatherDimensionNumbers, ScatterDimensionNumbers
from hlotool.builder.op import Op
from hlotool.builder.texts import make_shape
from hlotool.ir.equal import differences
from hlotool.ir.model import Module
from hlotool.shapes.positions import dimension_letters, dimension_number, memory_order
from hlotool.shapes.shape import Shape, array_shape

ROWS = [json.loads(line) for line in (Path(__file__).parent / "documents.jsonl").read_text(encoding="utf-8").splitlines()]
DTYPES = {"f32": np.float32, "s32": np.int32, "s64": np.int64, "pred": np.bool_, "u32": np.uint32}
REDUCERS: dict[str, Callable[[Op, Op], Op]] = {
    "add": lambda x, y: x + y,
    "max": lambda x, y: x.builder.max(x, y),
    "min": lambda x, y: x.builder.min(x, y),
}
Build = Callable[[Builder, list[Op], dict[str, Any]], Any]


def array(value: dict[str, Any]) -> np.ndarray[Any, Any]:
    return np.array(value["data"], dtype=float).astype(DTYPES[value["dtype"]]).reshape(value["shape"])


def shape_of(value: Any) -> Shape | str:
    """The shape of an input: of an array, as text, or as sizes, where letters are sizes that differ."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return make_shape(value["dtype"], value["shape"])
    return make_shape("f32", [size if isinstance(size, int) else SYMBOLS[size] for size in value])


SYMBOLS = {"n": 5, "m": 3, "k": 4, "b0": 2, "b1": 6}


def argmax(value: Op, index: Op, new_value: Op, new_index: Op) -> tuple[Op, Op]:
    b = value.builder
    is_new = new_value >= value
    return b.select(is_new, new_value, value), b.select(is_new, new_index, index)


def batched(b: Builder, x: list[Op], attributes: dict[str, Any]) -> Op:
    batch = list(range(len(attributes["batch"])))
    return b.dot_general(x[0], x[1], DotDimensionNumbers([len(batch) + 1], [len(batch)], batch, batch))


def set_size(b: Builder, x: list[Op], attributes: dict[str, Any]) -> Op:
    sized = b.set_dimension_size(x[0], x[1], attributes["dimension"])
    total = b.reduce(sized, 0.0, lambda a, b: a + b, [0])
    product = b.reduce(sized, 1.0, lambda a, b: a * b, [0])
    return b.tuple([total, product, b.get_dimension_size(sized, 0), b.constant(sized.dimensions[0])])


def ragged_rows(b: Builder, x: list[Op], attributes: dict[str, Any]) -> Op:
    offsets, sizes = x
    return b.concat_in_dim([b.reshape(part, [3, 1]) for part in (offsets, offsets + sizes)], 1)


def pad_of_window(b: Builder, x: list[Op], attributes: dict[str, Any]) -> Any:
    conv = b.conv_with_general_padding(
        b.constant(np.zeros((1, 1, 9, 9), np.float32)),
        b.constant(np.zeros((1, 1, 3, 3), np.float32)),
        [1, 1],
        [(0, 0), attributes["padding[1]"]],
    )
    window = conv.instruction.attributes["window"][1]
    assert conv.dimensions == (1, 1, 7, 9 + 5 - 2)
    return {"low_zeros": window.padding_low, "high_zeros": window.padding_high}


def gather(b: Builder, x: list[Op], attributes: dict[str, Any]) -> Op:
    sizes = attributes.pop("slice_sizes")
    return b.gather(x[0], x[1], GatherDimensionNumbers(**attributes), sizes)


BUILDS: dict[str, Build] = {
    "Add": lambda b, x, a: b.add(x[0], x[1], a.get("broadcast_dimensions", [])),
    "AllGather": lambda b, x, a: b.all_gather(x[0], a["all_gather_dimension"], a["shard_count"]),
    "AllReduce": lambda b, x, a: b.all_reduce(x[0], REDUCERS[a["computation"]]),
    "AllToAll": lambda b, x, a: b.all_to_all(x[0], a["split_dimension"], a["concat_dimension"], a["split_count"]),
    "BitcastConvertType": lambda b, x, a: b.bitcast_convert_type(x[0], a["new_element_type"]),
    "Broadcast": lambda b, x, a: b.broadcast(x[0], a["broadcast_sizes"]),
    "BroadcastInDim": lambda b, x, a: b.broadcast_in_dim(x[0], a["out_dim_size"], a["broadcast_dimensions"]),
    "Clamp": lambda b, x, a: b.clamp(*x),
    "Collapse": lambda b, x, a: b.collapse(x[0], a["dimensions"]),
    "ConcatInDim": lambda b, x, a: b.concat_in_dim(x, a["dimension"]),
    "ConvertElementType": lambda b, x, a: b.convert_element_type(x[0], a["new_element_type"]),
    "CrossReplicaSum": lambda b, x, a: b.cross_replica_sum(x[0]),
    "CustomCall": lambda b, x, a: b.custom_call(a["target"], x, a["shape"]),
    "Dot": lambda b, x, a: b.dot(*x),
    "DynamicSlice": lambda b, x, a: b.dynamic_slice(x[0], x[1], a["slice_sizes"]),
    "DynamicUpdateSlice": lambda b, x, a: b.dynamic_update_slice(x[0], x[1], x[2]),
    "Gather": gather,
    "GetTupleElement": lambda b, x, a: b.get_tuple_element(b.tuple(x), a["index"]),
    "Iota": lambda b, x, a: b.iota(a["shape"], a["iota_dimension"]),
    "Iota(type,size)": lambda b, x, a: b.iota(a["type"], a["size"]),
    "RaggedAllToAll": lambda b, x, a: b.ragged_all_to_all(x[0], x[2], x[3], x[1], x[4], x[5]),
    "RaggedTensor(index)": ragged_rows,
    "Reduce": lambda b, x, a: b.reduce(x[0], x[1], REDUCERS[a["computation"]], a["dimensions"]),
    "Reduce(variadic)": lambda b, x, a: b.reduce(x[:2], x[2:], argmax, a["dimensions"]),
    "ReduceScatter": lambda b, x, a: b.reduce_scatter(x[0], REDUCERS["add"], a["scatter_dimension"], a["shard_count"]),
    "ReduceWindow": lambda b, x, a: b.reduce_window(
        x[0], x[1], REDUCERS[a["computation"]], a["window_dimensions"], a["window_strides"], a["padding"],
        base_dilations=a.get("base_dilations"), window_dilations=a.get("window_dilations"),
    ),
    "Reshape": lambda b, x, a: b.reshape(x[0], a["dimensions"], a["new_sizes"]),
    "Scan": lambda b, x, a: b.scan(x[0], x[1], lambda x, c: (x + c, x + c), a["scan_dimension"], a["is_reverse"]),
    "Scatter": lambda b, x, a: b.scatter(x[0], x[1], x[2], REDUCERS["add"], ScatterDimensionNumbers(**a)),
    "Select": lambda b, x, a: b.select(*x),
    "SelectAndScatter": lambda b, x, a: b.select_and_scatter(
        x[0], lambda x, y: x >= y, a["window_dimensions"], a["window_strides"], a["padding"], x[1], x[2], REDUCERS["add"]
    ),
    "SetDimensionSize": set_size,
    "Slice": lambda b, x, a: b.slice(x[0], a["start_indices"], a["limit_indices"]),
    "Tuple": lambda b, x, a: b.tuple(x),
    "While": lambda b, x, a: b.while_(lambda i, v, c: i < 1000, lambda i, v, c: (i + 1, v + c, c), x)[:2],
}  # fmt: skip
BUILDS["DotGeneral"] = lambda b, x, a: batched(b, x, a) if "contract" in a else b.dot_general(x[0], x[1], a)
BUILDS["Sort"] = lambda b, x, a: b.sort(x, lambda x, y, *_: x < y, a["dimension"])


def read_back(module: Module) -> Module:
    """The module, which is verified and equal to what is read from its text."""
    assert [d for d in hlotool.verify(module) if d.severity == "error"] == []
    again = hlotool.parse(str(module))
    assert list(differences(module, again)) == []
    return again


def built(row: dict[str, Any], inputs: Any, replicas: int = 1) -> Module:
    b = hlotool.Builder("documents", replica_count=replicas)
    values = inputs.values() if isinstance(inputs, dict) else inputs
    parameters = [b.parameter(k, shape_of(value)) for k, value in enumerate(values) if not isinstance(value, int)]
    return read_back(b.build(BUILDS[row["op"]](b, parameters, dict(row["attributes"]))))


def close(found: Any, expected: Any) -> None:
    if isinstance(expected, list):
        assert len(found) == len(expected)
        for pair in zip(found, expected, strict=True):
            close(*pair)
        return
    found = np.asarray(found)
    assert list(found.shape) == expected["shape"]
    assert found.dtype == DTYPES[expected["dtype"]]
    known = [(a, b) for a, b in zip(found.ravel().tolist(), expected["data"], strict=True) if b is not None]
    np.testing.assert_allclose(*np.array(known, dtype=float).reshape(-1, 2).T, rtol=1e-6)


# ---- rows by level ----------------------------------------------------------------------------------------------------


def myfunc(x: Any, y: Any, call: Any) -> Any:
    result = np.zeros((3, 3), np.float32)
    result[0, 0] = x[1] + y[1, 0]
    return result


def check_values(row: dict[str, Any]) -> None:
    inputs = row["inputs"]
    # The ragged tensor itself is not needed to find its rows.
    values = [value for value in (inputs.values() if isinstance(inputs, dict) else inputs) if isinstance(value, dict)]
    if row["op"] == "Iota(type,size)":
        assert "historic" in row["note"]
    module = built(row, values if not isinstance(inputs, dict) or row["op"] != "Clamp" else [inputs[name] for name in ("min", "operand", "max")])
    options = hlotool.RunOptions(custom_calls={"myfunc": myfunc})
    order = [inputs[name] for name in ("min", "operand", "max")] if row["op"] == "Clamp" else values
    found = hlotool.evaluate(module, [array(value) for value in order], options=options)
    if row["op"] == "Tuple":
        assert module.entry.root.shape.text_without_layout == row["expected"]["shape"]
    elif row["op"] == "SetDimensionSize":
        expected = row["expected"]
        assert [found[0], found[2], found[3]] == [expected["reduce_sum"], expected["get_dimension_size"], expected["static_bound"]]
        assert expected["reduce_product"] in (found[1], None)
    else:
        close(found, row["expected"])


def check_replicas(row: dict[str, Any]) -> None:
    per_replica = [list(value.values()) if "dtype" not in value else [value] for value in row["per_replica_inputs"]]
    module = built(row, per_replica[0], len(per_replica))
    arguments = [[array(value) for value in values] for values in per_replica]
    close(hlotool.evaluate_replicas(module, arguments), row["expected_per_replica"])


def check_shape(row: dict[str, Any]) -> None:
    attributes = row["attributes"]
    module = built(row, row["inputs"], attributes.get("replicas", attributes.get("split_count", 1)))
    expected = shape_of(row["expected"])
    text = expected if isinstance(expected, str) else expected.text_without_layout
    assert module.entry.root.shape.text_without_layout == text


def wrong_call(b: Builder, row: dict[str, Any], attributes: dict[str, Any]) -> None:
    if "replica_group_ids" in attributes:
        b.cross_replica_sum(b.parameter(0, "f32[2]"), replica_group_ids=attributes["replica_group_ids"])
    elif isinstance(row["inputs"][0], str) and "x" in row["inputs"][0]:
        b.add(b.parameter(0, "f32[2,2,2,2]"), b.parameter(1, "f32[2,2]"), **attributes)
    else:
        BUILDS[row["op"]](b, [b.parameter(k, shape_of(value)) for k, value in enumerate(row["inputs"])], attributes)


def check_error(row: dict[str, Any]) -> None:
    attributes = row["attributes"]
    b = hlotool.Builder("documents", replica_count=attributes.get("replicas", 1))
    with pytest.raises(hlotool.BuilderError) as caught:
        wrong_call(b, row, attributes)
    words = {"dimension mismatch": "dimension 0 of s32[3] has size 3", "equal rank required": "equal rank", "incompatible shapes": "not compatible"}
    expected = row["expected"]["error"]
    assert words.get(expected, expected) in str(caught.value)


def check_legal(row: dict[str, Any]) -> None:
    places = row["attributes"]["broadcast_dimensions"]
    larger = (2, 3, 4, 5)
    b = hlotool.Builder("documents")
    x, y = b.parameter(0, array_shape("f32", larger)), b.parameter(1, array_shape("f32", tuple(larger[k] for k in places)))
    assert b.add(x, y, places).dimensions == larger
    wrong = b.parameter(2, array_shape("f32", (7, 7)))
    with pytest.raises(hlotool.BuilderError, match="has size 7"):
        b.add(x, wrong, places)


def gathered_ids(build: Callable[[Builder, Op], Op], replicas: int, partitions: int = 1) -> list[list[int]]:
    """The ids of the devices whose values each device receives."""
    b = hlotool.Builder("documents", replica_count=replicas, num_partitions=partitions)
    own = b.replica_id() * b.constant(partitions, "u32") + b.partition_id() if partitions > 1 else b.replica_id()
    module = read_back(b.build(build(b, own)))
    results = hlotool.evaluate_replicas(module, [[] for _ in range(replicas * partitions)], num_partitions=partitions)
    return [np.asarray(result).tolist() for result in results]


def check_groups(row: dict[str, Any]) -> None:
    attributes, expected = row["attributes"], row["expected"]
    if "concat_order" in expected:
        groups = attributes["replica_groups"]
        found = gathered_ids(lambda b, own: b.all_to_all(b.broadcast(own, [3]), 0, 0, 3, groups), 6)
        assert {str(k): ids for k, ids in enumerate(found)} == expected["concat_order"]
    elif "replica_group_ids" in attributes:
        b = hlotool.Builder("documents", replica_count=8)
        total = b.cross_replica_sum(b.parameter(0, "f32[2]"), replica_group_ids=attributes["replica_group_ids"])
        assert [list(group) for group in total.instruction.attributes["replica_groups"].groups()] == expected["groups"]
    elif "groups" in expected:
        groups = attributes["replica_groups"]
        found = gathered_ids(lambda b, own: b.all_gather(b.broadcast(own, [1]), 0, 2, groups), 4)
        assert sorted({tuple(ids) for ids in found}) == [tuple(group) for group in expected["groups"]]
    else:
        groups, partitions = attributes["replica_groups"], attributes["partitions"]
        found = gathered_ids(
            lambda b, own: b.all_gather(b.broadcast(own, [1]), 0, 4, groups, 1, None, attributes["use_global_device_ids"]),
            attributes["replicas"], partitions,
        )  # fmt: skip
        pairs = sorted({tuple(divmod(k, partitions) for k in ids) for ids in found})
        assert [[list(pair) for pair in group] for group in pairs] == expected["groups_replica_partition"]


def check_conditional(row: dict[str, Any]) -> None:
    b = hlotool.Builder("documents")
    branches = [lambda x, k=k: x.builder.constant(k) for k in range(row["attributes"]["branches"])]
    b.conditional(b.parameter(0, "s32[]"), branches, [0] * len(branches))
    module = read_back(b.build())
    found = [int(hlotool.evaluate(module, [np.int32(k)])) for k in row["attributes"]["branch_index"]]
    assert found == row["expected"]["selected"]


def check_gather_helper(row: dict[str, Any]) -> None:
    attributes = row["attributes"]
    b = hlotool.Builder("documents")
    if "operand.rank" in attributes:
        # The offset dimensions of the result are, in order, those of the operand that are not collapsed.
        collapsed, rank = attributes["collapsed_slice_dims"], attributes["operand.rank"]
        sizes = [1 if k in collapsed else 10 + k for k in range(rank)]
        numbers = GatherDimensionNumbers(list(range(1, 1 + attributes["offset_dims.size"])), collapsed, [0], 1)
        result = b.gather(b.parameter(0, make_shape("f32", [20] * rank)), b.parameter(1, "s32[3,1]"), numbers, sizes)
        assert result.dimensions == (3, *(10 + k for k in row["expected"]["remapped_offset_dims"]))
    else:
        numbers = GatherDimensionNumbers([2], [], [0], attributes["index_vector_dim"])
        shapes = [b.gather(b.parameter(2 * k, "f32[9]"), b.parameter(2 * k + 1, f"s32{text}"), numbers, [4]).shape
                  for k, text in enumerate(("[6,7]", row["expected"]))]  # fmt: skip
        assert shapes[0] == shapes[1]
        assert shapes[0].dimensions == (6, 7, 4)


def check_remainder(row: dict[str, Any]) -> None:
    b = hlotool.Builder("documents")
    x, y = np.meshgrid(np.arange(-7, 8, dtype=np.int32), np.array([-3, -2, 2, 5], np.int32))
    found = np.asarray(hlotool.evaluate(read_back(b.build(b.rem(x, y))), []))
    assert np.all((found == 0) | (np.sign(found) == np.sign(x)))
    assert np.all(np.abs(found) < np.abs(y))


def check_window_padding(row: dict[str, Any]) -> None:
    assert pad_of_window(hlotool.Builder("documents"), [], row["attributes"]) == row["expected"]


def check_layout(row: dict[str, Any]) -> None:
    attributes = row["attributes"]
    if "rank" in attributes:
        layout = make_shape("f32", [2] * attributes["rank"]).layout
        assert layout is not None
        assert list(layout.minor_to_major) == row["expected"]["default_minor_to_major"]
        return
    rows = row["inputs"]
    shape = make_shape("u8", [len(rows), len(rows[0])], attributes["minor_to_major"])
    padding = attributes.get("padded_dimensions", ()), attributes.get("padding_value")
    assert "".join(memory_order(shape, [value for part in rows for value in part], *padding)) == row["expected"]


def check_dimension_numbers(row: dict[str, Any]) -> None:
    names = row["inputs"][0].strip("[]").split(",")
    assert [names[dimension_number(k, len(names))] for k in row["attributes"]["index"]] == row["expected"]


def check_letters(row: dict[str, Any]) -> None:
    assert {rank: list(dimension_letters(int(rank))) for rank in row["expected"]} == row["expected"]


CHECKS: dict[str, Callable[[dict[str, Any]], None]] = {
    "builder": check_values,
    "both": check_values,
    "shape": check_shape,
    "error": check_error,
    "legal-broadcast": check_legal,
    "groups": check_groups,
    "layout": check_layout,
    "property": check_remainder,
}
HELPERS = {
    "Gather": check_gather_helper,
    "Conv(pad)": check_window_padding,
    "dimension-index": check_dimension_numbers,
    "dimension-letters": check_letters,
}


@pytest.mark.parametrize("row", ROWS, ids=[f"{k}-{row['op']}-{row['level']}" for k, row in enumerate(ROWS)])
def test_documents(row: dict[str, Any]) -> None:
    if "per_replica_inputs" in row:
        check_replicas(row)
    elif row["op"] == "Conditional":
        check_conditional(row)
    else:
        (HELPERS[row["op"]] if row["level"] == "helper" else CHECKS[row["level"]])(row)


def test_there_are_all_rows() -> None:
    assert len(ROWS) == 108
    assert sum("per_replica_inputs" in row for row in ROWS) == 6
