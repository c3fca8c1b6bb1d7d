"""The examples in XLA's documentation, which are built, verified, printed, parsed back and run.

The results are compared with the documented ones. Each row of `documents.ROWS` is one example. If a
document contradicts itself, the row follows the definition and has a note that explains the
contradiction. A row with a `sample` also has a file in `samples/documents`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from document_samples import FOLDER, sample_text, written
from documents import BUILDS, DTYPES, ROWS, array, devices, module_of, pad_of_window, read_back, shape_of

import hlotool
from hlotool.builder.builder import Builder
from hlotool.builder.dimension_numbers import GatherDimensionNumbers
from hlotool.builder.op import Op
from hlotool.builder.texts import make_shape
from hlotool.interp.arguments.argument_files import Arguments
from hlotool.interp.arguments.inputs import random_arguments
from hlotool.ir.model import Module
from hlotool.shapes.positions import dimension_letters, dimension_number, memory_order
from hlotool.shapes.shape import array_shape


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


def check_values(row: dict[str, Any], module: Module) -> None:
    (inputs,) = devices(row)
    if row["op"] == "Iota(type,size)":
        assert "older" in row["note"]
    options = hlotool.RunOptions(custom_calls={"myfunc": myfunc})
    found = hlotool.evaluate(module, [array(value) for value in inputs], options=options)
    if row["op"] == "Tuple":
        assert module.entry.root.shape.text_without_layout == row["expected"]["shape"]
    elif row["op"] == "SetDimensionSize":
        expected = row["expected"]
        assert [found[0], found[2], found[3]] == [expected["reduce_sum"], expected["get_dimension_size"], expected["static_bound"]]
        assert expected["reduce_product"] in (found[1], None)
    else:
        close(found, row["expected"])


def check_replicas(row: dict[str, Any], module: Module) -> None:
    arguments = [[array(value) for value in values] for values in devices(row)]
    close(hlotool.evaluate_replicas(module, arguments), row["expected_per_replica"])


def check_shape(row: dict[str, Any], module: Module) -> None:
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
    words = {
        "dimension mismatch": "dimension 0 of s32[3] has size 3",
        "equal rank required": "different ranks",
        "incompatible shapes": "not compatible",
    }
    expected = row["expected"]["error"]
    assert words.get(expected, expected) in str(caught.value)


def check_legal(row: dict[str, Any]) -> None:
    positions = row["attributes"]["broadcast_dimensions"]
    larger = (2, 3, 4, 5)
    b = hlotool.Builder("documents")
    x, y = b.parameter(0, array_shape("f32", larger)), b.parameter(1, array_shape("f32", tuple(larger[k] for k in positions)))
    assert b.add(x, y, positions).dimensions == larger
    wrong = b.parameter(2, array_shape("f32", (7, 7)))
    with pytest.raises(hlotool.BuilderError, match="has size 7"):
        b.add(x, wrong, positions)


def gather_ids(build: Callable[[Builder, Op], Op], replicas: int, partitions: int = 1) -> list[list[int]]:
    """Returns, for each device, the ids of the devices whose values it receives."""
    b = hlotool.Builder("documents", replica_count=replicas, num_partitions=partitions)
    own = b.replica_id() * b.constant(partitions, "u32") + b.partition_id() if partitions > 1 else b.replica_id()
    module = read_back(b.build(build(b, own)))
    results = hlotool.evaluate_replicas(module, [[] for _ in range(replicas * partitions)], num_partitions=partitions)
    return [np.asarray(result).tolist() for result in results]


def check_groups(row: dict[str, Any]) -> None:
    attributes, expected = row["attributes"], row["expected"]
    if "concat_order" in expected:
        groups = attributes["replica_groups"]
        found = gather_ids(lambda b, own: b.all_to_all(b.broadcast(own, [3]), 0, 0, 3, groups), 6)
        assert {str(k): ids for k, ids in enumerate(found)} == expected["concat_order"]
    elif "replica_group_ids" in attributes:
        b = hlotool.Builder("documents", replica_count=8)
        total = b.cross_replica_sum(b.parameter(0, "f32[2]"), replica_group_ids=attributes["replica_group_ids"])
        assert [list(group) for group in total.instruction.attributes["replica_groups"].groups()] == expected["groups"]
    elif "groups" in expected:
        groups = attributes["replica_groups"]
        found = gather_ids(lambda b, own: b.all_gather(b.broadcast(own, [1]), 0, 2, groups), 4)
        assert sorted({tuple(ids) for ids in found}) == [tuple(group) for group in expected["groups"]]
    else:
        groups, partitions = attributes["replica_groups"], attributes["partitions"]
        found = gather_ids(
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
        # The offset dimensions of the result are, in order, the dimensions of the operand that are
        # not collapsed.
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


MODULE_CHECKS = {"builder": check_values, "both": check_values, "shape": check_shape}
CHECKS: dict[str, Callable[[dict[str, Any]], None]] = {
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
    if row["op"] == "Conditional":
        check_conditional(row)
    elif row["level"] in MODULE_CHECKS:
        check_module(row, module_of(row))
    else:
        (HELPERS[row["op"]] if row["level"] == "helper" else CHECKS[row["level"]])(row)


def check_module(row: dict[str, Any], module: Module) -> None:
    (check_replicas if "per_replica_inputs" in row else MODULE_CHECKS[row["level"]])(row, module)


# ---- samples ----------------------------------------------------------------------------------------------------------

SAMPLES = {row["sample"]["name"]: row for row in ROWS if "sample" in row}


def test_samples_are_up_to_date() -> None:
    expected = {row["sample"]["name"]: sample_text(row) for row in SAMPLES.values()}
    found = {path.stem: path.read_text(encoding="utf-8") for path in FOLDER.glob("*")}
    assert found == expected, "run python tests/tools/document_samples.py"


@pytest.mark.parametrize("name", SAMPLES)
def test_sample_matches_the_documentation(name: str) -> None:
    """Checks that a sample file is valid, formatted, and has the documented result.

    Inputs that the documentation does not specify are random.
    """
    row, text = SAMPLES[name], (FOLDER / f"{name}.hlo").read_text(encoding="utf-8")
    module = hlotool.parse(text)
    assert [d.code for d in hlotool.verify(module) if d.severity == "error"] == []
    assert hlotool.format_text(text) == text
    check_module(row, module)
    if row["level"] == "shape":
        count = module.replica_count
        values = hlotool.evaluate_replicas(module, [random_arguments(module, k) for k in range(count)])
        assert [value.shape for value in values] == [module.entry.root.shape.dimensions] * count


@pytest.mark.parametrize("name", [name for name, row in SAMPLES.items() if row["level"] != "shape" and "per_replica_inputs" not in row])
def test_inputs_of_samples_are_arguments_of_run(name: str) -> None:
    """Checks that `hlotool run` accepts the inputs in the comments and prints their result."""
    path = FOLDER / f"{name}.hlo"
    lines = re.findall(r"^//   (\w+) = (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    *inputs, (last, result) = lines
    assert last == "result"
    module = hlotool.parse_file(path)
    arguments = Arguments(module)
    for parameter, value in inputs:
        arguments.give(parameter, value)
    assert arguments.missing() == []
    assert written(hlotool.evaluate(module, arguments.values_or_random(0))) == result


def test_all_rows_are_present() -> None:
    assert len(ROWS) == 108
    assert sum("per_replica_inputs" in row for row in ROWS) == 6
