"""Checks that every operation in XLA's documentation has a method with the same arguments.

The arguments are in the documentation's order. `?` marks an argument that a document calls
optional or omits in an example; `...` marks one that a document describes as a sequence.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import get_overloads

import pytest

import hlotool
from hlotool.builder import aliases
from hlotool.builder.builder import Builder
from hlotool.dev.operations import method_of

# The operations in the newest version of the documentation (2025).
DOCUMENT_2025 = """
Abs(operand)
Add(lhs, rhs, broadcast_dimensions?)
AfterAll(tokens)
AllGather(operand, all_gather_dimension, shard_count, replica_groups, channel_id?, layout?, use_global_device_ids?)
AllReduce(operand, computation, replica_groups, channel_id?, shape_with_layout?, use_global_device_ids?)
CrossReplicaSum(operand, replica_groups)
AllToAll(operand, split_dimension, concat_dimension, split_count, replica_groups?, layout?, channel_id?)
RaggedAllToAll(input, input_offsets, send_sizes, output, output_offsets, recv_sizes, replica_groups, channel_id?)
And(lhs, rhs, broadcast_dimensions?)
Atan2(lhs, rhs, broadcast_dimensions?)
BatchNormGrad(operand, scale, batch_mean, batch_var, grad_output, epsilon, feature_index)
BatchNormInference(operand, scale, offset, mean, variance, epsilon, feature_index)
BatchNormTraining(operand, scale, offset, epsilon, feature_index)
BitcastConvertType(operand, new_element_type)
Broadcast(operand, broadcast_sizes)
BroadcastInDim(operand, out_dim_size, broadcast_dimensions)
Call(computation, operands...?)
CompositeCall(computation, operands..., name, attributes?, version?)
Cbrt(operand, result_accuracy?)
Ceil(operand)
Cholesky(a, lower)
Clamp(min, operand, max)
Collapse(operand, dimensions)
Clz(operand)
CollectiveBroadcast(operand, replica_groups, channel_id?)
CollectivePermute(operand, source_target_pairs, channel_id?, inplace?)
Eq(lhs, rhs, broadcast_dimensions?)
EqTotalOrder(lhs, rhs, broadcast_dimensions)
Ne(lhs, rhs, broadcast_dimensions?)
NeTotalOrder(lhs, rhs, broadcast_dimensions)
Ge(lhs, rhs, broadcast_dimensions?)
GeTotalOrder(lhs, rhs, broadcast_dimensions)
Gt(lhs, rhs, broadcast_dimensions?)
GtTotalOrder(lhs, rhs, broadcast_dimensions)
Le(lhs, rhs, broadcast_dimensions?)
LeTotalOrder(lhs, rhs, broadcast_dimensions)
Lt(lhs, rhs, broadcast_dimensions?)
LtTotalOrder(lhs, rhs, broadcast_dimensions)
Compare(lhs, rhs, broadcast_dimensions, direction, type?)
Complex(lhs, rhs, broadcast_dimensions?)
Concat(operands..., dimension)
ConcatInDim(operands..., dimension)
Concatenate(operands..., dimension)
Conditional(predicate, true_operand, true_computation, false_operand, false_computation)
Conditional(branch_index, branch_computations, branch_operands)
Constant(literal)
ConstantLiteral(literal)
ConvertElementType(operand, new_element_type)
Conv(lhs, rhs, window_strides, padding, feature_group_count, batch_group_count, precision_config?, preferred_element_type?)
ConvWithGeneralPadding(lhs, rhs, window_strides, padding, feature_group_count, batch_group_count, precision_config?, preferred_element_type?)
ConvWithGeneralDimensions(lhs, rhs, window_strides, padding, dimension_numbers, feature_group_count, batch_group_count, precision_config?,
    preferred_element_type?)
ConvGeneral(lhs, rhs, window_strides, padding, dimension_numbers, feature_group_count, batch_group_count, precision_config?, preferred_element_type?)
ConvGeneralDilated(lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation, dimension_numbers, feature_group_count, batch_group_count,
    precision_config?, preferred_element_type?, window_reversal?)
Cos(operand, result_accuracy?)
Cosh(operand, result_accuracy?)
Div(lhs, rhs, broadcast_dimensions?)
Dot(lhs, rhs, precision_config?, preferred_element_type?)
DotGeneral(lhs, rhs, dimension_numbers, precision_config?, preferred_element_type?)
ScaledDot(lhs, lhs_scale, rhs, rhs_scale, dimension_number, precision_config, preferred_element_type?)
RaggedDot(lhs, rhs, group_sizes, dimension_numbers, precision_config?, preferred_element_type?)
DynamicReshape(operand, dim_sizes, new_size_bounds, dims_are_dynamic)
DynamicSlice(operand, start_indices, slice_sizes)
DynamicUpdateSlice(operand, update, start_indices)
Erf(operand, result_accuracy?)
Exp(operand, result_accuracy?)
Expm1(operand, result_accuracy?)
Fft(operand, fft_type, fft_length)
Floor(operand)
Gather(operand, start_indices, dimension_numbers, slice_sizes, indices_are_sorted?)
GetDimensionSize(operand, dimension)
GetTupleElement(tuple_data, index)
Imag(operand)
Infeed(shape, config?)
Iota(shape, iota_dimension)
IsFinite(operand)
Log(operand, result_accuracy?)
Log1p(operand, result_accuracy?)
Logistic(operand, result_accuracy?)
Map(operands..., computation, dimensions, static_operands?)
Max(lhs, rhs, broadcast_dimensions?)
Min(lhs, rhs, broadcast_dimensions?)
Mul(lhs, rhs, broadcast_dimensions?)
Neg(operand)
Not(operand)
OptimizationBarrier(operand)
Or(lhs, rhs, broadcast_dimensions?)
Outfeed(operand, shape_with_layout, outfeed_config)
Pad(operand, padding_value, padding_config)
Parameter(parameter_number, shape, name)
PartitionID(shape)
PopulationCount(operand)
Pow(lhs, rhs, broadcast_dimensions?)
Real(operand)
Recv(shape, handle)
RecvWithToken(token, shape, handle)
RecvWithTokens(token, shape, handle)
RecvFromHost(token, shape, handle)
RecvToHost(token, shape, handle)
RecvDone(context)
Reduce(operands..., init_values..., computation, dimensions_to_reduce)
ReduceAll(operand, init_value, computation)
ReducePrecision(operand, exponent_bits, mantissa_bits)
ReduceScatter(operand, computation, scatter_dimension, shard_count, replica_groups, channel_id?, layout?, use_global_device_ids?)
ReduceWindow(operands..., init_values..., computation, window_dimensions, window_strides, padding)
Rem(lhs, rhs, broadcast_dimensions?)
ReplicaId()
Reshape(operand, dimensions)
ReshapeExplicit(shape, operand)
Rev(operand, dimensions)
RngNormal(mu, sigma, shape)
RngUniform(a, b, shape)
RngBitGenerator(algorithm, initial_state, shape)
Round(operand)
RoundNearestAfz(operand)
RoundNearestEven(operand)
Rsqrt(operand, result_accuracy?)
Scan(inputs..., inits..., to_apply, scan_dimension, is_reverse, is_associative)
Scatter(operands..., scatter_indices, updates..., update_computation, dimension_numbers, indices_are_sorted?, unique_indices?)
Select(pred, on_true, on_false)
SelectAndScatter(operand, select, window_dimensions, window_strides, padding, source, init_value, scatter)
Send(operand, handle)
SendWithToken(operand, token, handle)
SendWithTokens(operand, token, handle)
SendToHost(operand, token, shape_with_layout, handle)
SendDone(context)
SetDimensionSize(operand, val, dimension)
ShiftLeft(lhs, rhs, broadcast_dimensions?)
ShiftRightArithmetic(lhs, rhs, broadcast_dimensions?)
ShiftRightLogical(lhs, rhs, broadcast_dimensions?)
Sign(operand)
Sin(operand, result_accuracy?)
Slice(operand, start_indices, limit_indices, strides?)
Sort(operands, comparator, dimension, is_stable)
Sqrt(operand, result_accuracy?)
Sub(lhs, rhs, broadcast_dimensions?)
Tan(operand, result_accuracy?)
Tanh(operand, result_accuracy?)
TopK(operand, k, largest)
Transpose(operand, permutation)
TriangularSolve(a, b, left_side, lower, unit_diagonal, transpose_a)
Tuple(elements)
While(condition, body, init)
Xor(lhs, rhs, broadcast_dimensions?)
CustomCall(target_name, operands..., shape)
"""

# Forms in the documentation of 2017 and 2019 that differ from those above. If only the name of an
# argument differs (`size_indices`, `channel_handle`, `pred`), the newer name applies.
# ReducePrecision takes its two integers in the order of 2025.
OLDER_FORMS = """
LogicalAnd(lhs, rhs, broadcast_dimensions?)
LogicalOr(lhs, rhs, broadcast_dimensions?)
LogicalNot(operand)
CrossReplicaSum(operand)
Infeed(shape)
Map(operands..., computation)
Reshape(operand, dimensions, new_sizes)
RngBernoulli(mean, shape)
Slice(operand, start_indices, limit_indices)
Sort(operands)
DotGeneral(lhs, rhs, dimension_numbers)
Conv(lhs, rhs, window_strides, padding)
"""

INTERNAL = """
AddDependency AllGatherStart AllGatherDone AllReduceStart AllReduceDone AsyncStart AsyncUpdate AsyncDone Bitcast CollectivePermuteStart
CollectivePermuteDone Copy CopyStart CopyDone Domain Fusion RngGetAndUpdateState
"""

# Sections with examples that show only shapes, because the preceding sections show the values.
ONLY_SHAPES = {"AllGatherDone", "AllReduceDone", "CollectivePermuteDone", "CopyDone"}

_FORM = re.compile(r"(\w+)\(([^)]*)\)")


def forms(text: str) -> list[tuple[str, str]]:
    return [(name, " ".join(arguments.split())) for name, arguments in _FORM.findall(text)]


def signatures(method: str) -> list[inspect.Signature]:
    function = getattr(Builder, method)
    return [inspect.signature(form) for form in get_overloads(function) or [function]]


def fits(signature: inspect.Signature, arguments: str) -> bool:
    """Returns whether a method takes these arguments first, in order, and requires no others."""
    parameters = list(signature.parameters.values())[1:]
    wanted = [word.strip() for word in arguments.split(",") if word.strip()]
    for word, parameter in zip(wanted, parameters, strict=False):
        is_optional = word.endswith("?")
        if word.rstrip("?").removesuffix("...") != parameter.name or parameter.kind is not parameter.POSITIONAL_OR_KEYWORD:
            return False
        if is_optional and parameter.default is parameter.empty:
            return False
    return len(parameters) >= len(wanted) and all(parameter.default is not parameter.empty for parameter in parameters[len(wanted) :])


@pytest.mark.parametrize(("name", "arguments"), forms(DOCUMENT_2025) + forms(OLDER_FORMS), ids=lambda value: str(value)[:40])
def test_documented_operations_are_methods(name: str, arguments: str) -> None:
    method = method_of(name)
    assert hasattr(Builder, method), f"the method {method} is missing"
    assert any(fits(signature, arguments) for signature in signatures(method)), f"{method}{signatures(method)[0]} does not match {name}({arguments})"


@pytest.mark.parametrize("name", INTERNAL.split())
def test_internal_instructions_have_methods(name: str) -> None:
    assert callable(getattr(Builder, method_of(name)))


def test_page_shows_all_operations() -> None:
    """Checks that each operation has a row in the table and a section with an example.

    The example prints the operation's value, except in the sections in `ONLY_SHAPES`.
    """
    text = (Path(hlotool.__file__).parents[1] / "docs" / "operations.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^### (\w+)\n((?s:.*?))(?=^##)", text, re.MULTILINE))
    names = {name for name, _ in forms(DOCUMENT_2025) + forms(OLDER_FORMS)} | set(INTERNAL.split())
    assert sections.keys() == names
    assert set(re.findall(r"^\| \[(\w+)\]", text, re.MULTILINE)) == names
    for name, section in sections.items():
        assert re.search(rf"^>>> .*\bb\.{method_of(name)}\(", section, re.MULTILINE), name
    assert {name for name, section in sections.items() if "evaluate" not in section} == ONLY_SHAPES


def test_older_forms() -> None:
    b = hlotool.Builder("m")
    keys, values = b.parameter(0, "s32[4]"), b.parameter(1, "f32[4]")
    assert b.sort(keys, values).shape.text_without_layout == "(s32[4], f32[4])"
    assert b.iota("s32", 5).shape.text_without_layout == "s32[5]"
    assert b.reshape(b.parameter(2, "f32[4,2,3]"), [1, 2, 0], [2, 12]).instruction.operands[0].opcode == "transpose"
    assert b.reshape(keys, new_sizes=[2, 2]).dimensions == (2, 2)
    assert b.dynamic_slice(keys, b.parameter(3, "s32[1]"), [2]).dimensions == (2,)
    assert b.rng_bernoulli(0.5, "u32[3]").shape.text_without_layout == "u32[3]"
    assert b.conv(b.parameter(4, "f32[1,1,8]"), b.parameter(5, "f32[1,1,3]"), [1], "VALID", rhs_dilation=[2]).dimensions == (1, 1, 4)
    b.build()


def test_older_classes_have_names() -> None:
    assert aliases.ComputationBuilder is aliases.XlaBuilder is Builder
    assert aliases.XlaOp is aliases.ComputationDataHandle
