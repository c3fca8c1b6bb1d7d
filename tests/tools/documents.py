"""Modules for the examples in XLA's documentation of operations.

`tests/builder/documents.jsonl` has one row per example.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import hlotool
from hlotool.builder.builder import Builder
from hlotool.builder.dimension_numbers import DotDimensionNumbers, GatherDimensionNumbers, ScatterDimensionNumbers
from hlotool.builder.op import Op
from hlotool.builder.texts import make_shape
from hlotool.ir.equal import differences
from hlotool.ir.model import Module
from hlotool.shapes.shape import Shape

ROWS = [json.loads(line) for line in (Path(__file__).parents[1] / "builder" / "documents.jsonl").read_text(encoding="utf-8").splitlines()]
DTYPES = {"f32": np.float32, "s32": np.int32, "s64": np.int64, "pred": np.bool_, "u32": np.uint32}
Build = Callable[[Builder, list[Op], dict[str, Any]], Any]


def array(value: dict[str, Any]) -> np.ndarray[Any, Any]:
    return np.array(value["data"], dtype=float).astype(DTYPES[value["dtype"]]).reshape(value["shape"])


def shape_of(value: Any) -> Shape | str:
    """Returns the shape of an input, which is an array, a shape as a string, or a list of sizes.

    Names in the list stand for sizes that differ from each other.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return make_shape(value["dtype"], value["shape"])
    return make_shape("f32", [size if isinstance(size, int) else SYMBOLS[size] for size in value])


SYMBOLS = {"n": 5, "m": 3, "k": 4, "b0": 2, "b1": 6}


def add(x: Op, y: Op) -> Op:
    return x + y


def multiply(x: Op, y: Op) -> Op:
    return x * y


def maximum(x: Op, y: Op) -> Op:
    return x.builder.max(x, y)


def minimum(x: Op, y: Op) -> Op:
    return x.builder.min(x, y)


def not_smaller(x: Op, y: Op) -> Op:
    return x >= y


def ascending(x: Op, y: Op, *others: Op) -> Op:
    return x < y


def running_sum(x: Op, carry: Op) -> tuple[Op, Op]:
    total = x + carry
    return total, total


def fewer_than_thousand(iteration: Op, total: Op, vector: Op) -> Op:
    return iteration < 1000


def add_vector(iteration: Op, total: Op, vector: Op) -> tuple[Op, Op, Op]:
    return iteration + 1, total + vector, vector


REDUCERS = {"add": add, "max": maximum, "min": minimum}


def argmax(value: Op, index: Op, new_value: Op, new_index: Op) -> tuple[Op, Op]:
    b = value.builder
    is_new = new_value >= value
    return b.select(is_new, new_value, value), b.select(is_new, new_index, index)


def batched(b: Builder, x: list[Op], attributes: dict[str, Any]) -> Op:
    batch = list(range(len(attributes["batch"])))
    return b.dot_general(x[0], x[1], DotDimensionNumbers([len(batch) + 1], [len(batch)], batch, batch))


def set_size(b: Builder, x: list[Op], attributes: dict[str, Any]) -> Op:
    sized = b.set_dimension_size(x[0], x[1], attributes["dimension"])
    total = b.reduce(sized, 0.0, add, [0])
    product = b.reduce(sized, 1.0, multiply, [0])
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
    "ReduceScatter": lambda b, x, a: b.reduce_scatter(x[0], add, a["scatter_dimension"], a["shard_count"]),
    "ReduceWindow": lambda b, x, a: b.reduce_window(
        x[0], x[1], REDUCERS[a["computation"]], a["window_dimensions"], a["window_strides"], a["padding"],
        base_dilations=a.get("base_dilations"), window_dilations=a.get("window_dilations"),
    ),
    "Reshape": lambda b, x, a: b.reshape(x[0], a["dimensions"], a["new_sizes"]),
    "Scan": lambda b, x, a: b.scan(x[0], x[1], running_sum, a["scan_dimension"], a["is_reverse"]),
    "Scatter": lambda b, x, a: b.scatter(x[0], x[1], x[2], add, ScatterDimensionNumbers(**a)),
    "Select": lambda b, x, a: b.select(*x),
    "SelectAndScatter": lambda b, x, a: b.select_and_scatter(
        x[0], not_smaller, a["window_dimensions"], a["window_strides"], a["padding"], x[1], x[2], add
    ),
    "SetDimensionSize": set_size,
    "Slice": lambda b, x, a: b.slice(x[0], a["start_indices"], a["limit_indices"]),
    "Tuple": lambda b, x, a: b.tuple(x),
    "While": lambda b, x, a: b.while_(fewer_than_thousand, add_vector, x)[:2],
}  # fmt: skip
BUILDS["DotGeneral"] = lambda b, x, a: batched(b, x, a) if "contract" in a else b.dot_general(x[0], x[1], a)
BUILDS["Sort"] = lambda b, x, a: b.sort(x, ascending, a["dimension"])


def read_back(module: Module) -> Module:
    """Verifies, prints and parses a module. Returns the parsed module, which must be the same."""
    assert [d for d in hlotool.verify(module) if d.severity == "error"] == []
    again = hlotool.parse(str(module))
    assert list(differences(module, again)) == []
    return again


def devices(row: dict[str, Any]) -> list[list[Any]]:
    """Returns the inputs of each device, in the order of the parameters."""
    if "per_replica_inputs" in row:
        return [[value] if "dtype" in value else list(value.values()) for value in row["per_replica_inputs"]]
    inputs = row["inputs"]
    if row["op"] == "Clamp":
        return [[inputs[name] for name in ("min", "operand", "max")]]
    # An integer stands for a ragged tensor, which is not needed to find its rows.
    return [[value for value in (inputs.values() if isinstance(inputs, dict) else inputs) if not isinstance(value, int)]]


def module_of(row: dict[str, Any]) -> Module:
    """Returns the module that a row describes, with readable names if it is a sample."""
    attributes, inputs = row["attributes"], devices(row)
    sample = row.get("sample", {"name": "documents", "parameters": [None] * len(inputs[0])})
    replicas = max(len(inputs), attributes.get("replicas", attributes.get("split_count", 1)))
    b = hlotool.Builder(sample["name"], replica_count=replicas, source_lines=False)
    parameters = [b.parameter(k, shape_of(value), name) for k, (value, name) in enumerate(zip(inputs[0], sample["parameters"], strict=True))]
    return read_back(b.build(BUILDS[row["op"]](b, parameters, dict(attributes))))
