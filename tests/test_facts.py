"""Facts in the op table, compared with the results of kernels and with lists of opcodes.

Algebraic laws are checked on values that could violate them. Other facts are compared with a list
of opcodes for each trait; a comment names XLA's function for the same decision, if there is one.
Opcodes that are in none of the lists are not checked, so that a new opcode requires no change here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

import hlotool
from hlotool.errors import HlotoolError
from hlotool.interp.arrays.dtypes import NUMPY_TYPES
from hlotool.opdefs import traits
from hlotool.opdefs.table import OPS
from hlotool.opdefs.traits import ASSOCIATIVE, COMMUTATIVE, ELEMENTWISE, IDEMPOTENT, INVOLUTION
from hlotool.shapes.dtype import ELEMENT_TYPES

# ---- algebra ---------------------------------------------------------------------------------------------------------

VALUES: dict[str, list[float]] = {
    "s8": [-128, -127, -7, -2, -1, 0, 1, 2, 3, 7, 8, 126, 127],
    "u8": [0, 1, 2, 3, 7, 8, 127, 128, 254, 255],
    "pred": [0, 1],
    "f32": [-np.inf, -3e38, -2.5, -1.5, -1, -0.5, -1e-30, -0.0, 0.0, 1e-30, 0.5, 1, 1.5, 2.5, 3e38, np.inf, np.nan],
    "f8e4m3fn": [-448, -2.5, -1, -0.5, -0.0, 0.0, 0.5, 1, 2.5, 448, np.nan],
}
EXACT_TYPES = ("s8", "u8", "pred")

# The results of these opcodes differ in type from the operands.
CHANGE_TYPES = {"bitcast-convert", "compare", "complex", "convert", "imag", "is-finite", "real", "stochastic-convert"}
UNARY, BINARY = (
    sorted(name for name, op in OPS.items() if ELEMENTWISE in op.traits and op.arity == arity and name not in CHANGE_TYPES | {"reduce-precision"})
    for arity in (1, 2)
)

# Laws that hold for the values above but are not in the table: the results of division by zero and
# of wide shifts are implementation-defined, and XLA's own simplifier does not use 1 ** x.
UNSTATED = {"power absorbing", "remainder identity", "remainder of_itself", "shift-right-logical of_itself"}


def run_opcode(opcode: str, element_type: str, *arguments: Any) -> Any:
    """Returns the result of an opcode for arrays of one type, or None if it rejects the type."""
    shape = f"{element_type}[{','.join(map(str, arguments[0].shape))}]"
    parameters = " ".join(f"p{k} = {shape} parameter({k})" for k in range(len(arguments)))
    operands = ", ".join(f"p{k}" for k in range(len(arguments)))
    try:
        return hlotool.evaluate(hlotool.parse(f"ENTRY e {{ {parameters} ROOT r = {shape} {opcode}({operands}) }}"), arguments)
    except HlotoolError:
        return None


def values(element_type: str) -> Any:
    return np.array(VALUES[element_type], NUMPY_TYPES[element_type])


def same(first: Any, second: Any) -> bool:
    """Returns whether all values are equal, including the signs of zeros; NaNs count as equal."""
    a, b = np.broadcast_arrays(first.astype(np.float64), second.astype(np.float64))
    return bool(np.all((np.isnan(a) & np.isnan(b)) | ((a == b) & (np.signbit(a) == np.signbit(b)))))


@cache
def table(opcode: str, element_type: str) -> Any:
    """Returns a binary opcode's results by operand values, or None if it rejects the type."""
    x, y = np.meshgrid(values(element_type), values(element_type), indexing="ij")
    return run_opcode(opcode, element_type, x, y)


def is_commutative(opcode: str, element_type: str) -> bool:
    return same(table(opcode, element_type), table(opcode, element_type).T)


def is_idempotent(opcode: str, element_type: str) -> bool:
    x = values(element_type)
    if opcode in BINARY:
        return same(np.diagonal(table(opcode, element_type)), x)
    once = run_opcode(opcode, element_type, x)
    return same(run_opcode(opcode, element_type, once), once)


def is_involution(opcode: str, element_type: str) -> bool:
    x = values(element_type)
    return same(run_opcode(opcode, element_type, run_opcode(opcode, element_type, x)), x)


def is_associative(opcode: str, element_type: str) -> bool:
    x, y, z = np.meshgrid(*[values(element_type)] * 3, indexing="ij")
    left = run_opcode(opcode, element_type, run_opcode(opcode, element_type, x, y), z)
    return same(left, run_opcode(opcode, element_type, x, run_opcode(opcode, element_type, y, z)))


LAWS: dict[str, tuple[Callable[[str, str], bool], list[str], tuple[str, ...]]] = {
    COMMUTATIVE: (is_commutative, BINARY, tuple(VALUES)),
    ASSOCIATIVE: (is_associative, BINARY, EXACT_TYPES),
    IDEMPOTENT: (is_idempotent, UNARY + BINARY, tuple(VALUES)),
    INVOLUTION: (is_involution, UNARY, tuple(VALUES)),
}


@pytest.mark.parametrize(("law", "opcode"), [(law, opcode) for law, (_, opcodes, _) in LAWS.items() for opcode in opcodes])
def test_laws_that_hold_are_stated(law: str, opcode: str) -> None:
    holds, _, element_types = LAWS[law]
    types = [t for t in element_types if run_opcode(opcode, t, *[values(t)] * OPS[opcode].arity) is not None]
    assert (law in OPS[opcode].traits) == (bool(types) and all(holds(opcode, t) for t in types))


def special_elements(opcode: str, element_type: str, fact: str) -> list[float]:
    """Returns the elements with a property, or the result if it is the same for all equal operands.

    `fact` is "identity", "absorbing" or "of_itself".
    """
    results, x = table(opcode, element_type), values(element_type)
    if fact == "identity":
        return [element for k, element in enumerate(VALUES[element_type]) if same(results[:, k], x)]
    if fact == "absorbing":
        return [element for k, element in enumerate(VALUES[element_type]) if element == element and same(results[k], x[k : k + 1])]
    diagonal = np.diagonal(results)
    return [float(diagonal[0])] if same(diagonal, diagonal[:1]) else []


@pytest.mark.parametrize("opcode", BINARY)
def test_elements_that_exist_are_stated(opcode: str) -> None:
    for element_type in [t for t in VALUES if table(opcode, t) is not None]:
        on_pred = OPS[opcode].algebra.on_pred if element_type == "pred" else None
        for fact in ("identity", "absorbing", "of_itself"):
            stated = getattr(OPS[on_pred or opcode].algebra, fact)(ELEMENT_TYPES[element_type])
            true = special_elements(opcode, element_type, fact)
            if stated is not None:
                assert str(float(stated)) in [str(float(element)) for element in true], (fact, element_type)
            elif element_type != "f8e4m3fn" and f"{opcode} {fact}" not in UNSTATED:
                assert true == [], (fact, element_type)


@pytest.mark.parametrize("element_type", ["c64", "c128", "token", "opaque"])
def test_only_integers_floats_and_pred_have_elements(element_type: str) -> None:
    facts = [(opcode, fact) for opcode in BINARY for fact in ("identity", "absorbing", "of_itself")]
    assert [fact for fact in facts if getattr(OPS[fact[0]].algebra, fact[1])(ELEMENT_TYPES[element_type]) is not None] == []


def test_arithmetic_on_pred_is_logic() -> None:
    for opcode in BINARY:
        on_pred = OPS[opcode].algebra.on_pred
        if on_pred is not None:
            assert same(table(opcode, "pred"), table(on_pred, "pred"))
    assert {opcode: OPS[opcode].algebra.on_pred for opcode in BINARY if OPS[opcode].algebra.on_pred} == {
        "add": "or", "maximum": "or", "minimum": "and", "multiply": "and",
    }  # fmt: skip


# ---- opcodes by trait ------------------------------------------------------------------------------------------------

# HloInstruction::IsOpElementwise without copy, which may change the layout and is therefore not
# elementwise here.
ELEMENTWISE_OPCODES = set(
    "abs acos acosh add and asin asinh atan2 atanh bitcast-convert cbrt ceil clamp compare complex convert cosh cosine count-leading-zeros divide "
    "erf exponential exponential-minus-one floor imag is-finite log log-plus-one logistic maximum minimum mulhi multiply negate not or popcnt power "
    "real reduce-precision remainder round-nearest-afz round-nearest-even rsqrt select shift-left shift-right-arithmetic shift-right-logical sign "
    "sine sinh sqrt stochastic-convert subtract tan tanh xor".split()
)
# hlo_query::IsCollectiveCommunicationOp.
COLLECTIVE_OPCODES = set(
    "all-gather all-gather-start all-reduce all-reduce-start all-to-all collective-broadcast collective-permute collective-permute-start "
    "collective-reduce ragged-all-to-all reduce-scatter".split()
)
FREE_OPCODES = set("add-dependency after-all bitcast constant domain get-tuple-element opt-barrier parameter partition-id replica-id tuple".split())
TRANSFER_OPCODES = {"recv", "send"}
HOST_QUEUE_OPCODES = {"infeed", "outfeed"}
# GetInstructionCallContext.
CONTROL_FLOW_OPCODES = {"call", "conditional", "while"}
IDENTITY_OPCODES = {"add-dependency", "copy", "domain", "opt-barrier"}
STRIDED_OPCODES = {"broadcast", "dynamic-slice", "slice", "transpose"}
REARRANGING_OPCODES = IDENTITY_OPCODES | STRIDED_OPCODES | {"bitcast", "dynamic-reshape", "gather", "reshape", "reverse"}

COLUMNS: dict[str, set[str]] = {
    traits.ELEMENTWISE: ELEMENTWISE_OPCODES,
    # HloCostAnalysis::HandleElementwiseOp.
    traits.TRANSCENDENTAL: set(
        "acos acosh asin asinh atan2 atanh cbrt cosh cosine erf exponential exponential-minus-one log log-plus-one logistic power rsqrt sine "
        "sinh sqrt tan tanh".split()
    ),
    traits.COLLECTIVE: COLLECTIVE_OPCODES,
    traits.FREE: FREE_OPCODES,
    traits.CHEAP: FREE_OPCODES | {"iota"},
    traits.TRANSFER: TRANSFER_OPCODES,
    traits.HOST_QUEUE: HOST_QUEUE_OPCODES,
    traits.COMMUNICATES: COLLECTIVE_OPCODES | TRANSFER_OPCODES | HOST_QUEUE_OPCODES | {"recv-done", "send-done"},
    traits.CONTROL_FLOW: CONTROL_FLOW_OPCODES,
    traits.RUNS_COMPUTATIONS: CONTROL_FLOW_OPCODES | {"async-start"},
    traits.RETURNS: CONTROL_FLOW_OPCODES | {"fusion"},
    traits.FORWARDS: CONTROL_FLOW_OPCODES | set("async-done async-start async-update fusion get-tuple-element opt-barrier tuple".split()),
    traits.IDENTITY: IDENTITY_OPCODES,
    traits.STRIDED: STRIDED_OPCODES,
    traits.REARRANGES: REARRANGING_OPCODES,
    traits.MOVES: REARRANGING_OPCODES | set("all-gather all-to-all clamp concatenate maximum minimum pad select sort".split()),
    traits.CONVERTS: {"convert", "reduce-precision"},
    traits.VIEW: set("add-dependency all-reduce-done async-update bitcast domain opt-barrier".split()),
    # HloDataflowAnalysis::GetInPlaceInputOutputPairs.
    traits.OVERWRITES: {"dynamic-update-slice", "scatter"},
    traits.STRUCTURAL: set("after-all constant get-tuple-element parameter tuple".split()),
    # HloInstruction::HasSideEffectNoRecurse, without effects that depend on an attribute.
    traits.EFFECT: set(
        "all-gather-done all-gather-start all-reduce-done all-reduce-start collective-broadcast collective-permute-done collective-permute-start "
        "infeed outfeed recv recv-done rng rng-get-and-update-state send send-done".split()
    ),
    traits.NONDETERMINISTIC: set("infeed recv recv-done rng rng-get-and-update-state".split()),
    traits.RANDOM_STATE: {"rng-bit-generator", "rng-get-and-update-state"},
    traits.DEVICE_ID: {"partition-id", "replica-id"},
    traits.EXPENSIVE: COLLECTIVE_OPCODES
    | set("cholesky convolution custom-call dot fft fusion gather ragged-dot reduce reduce-window scaled-dot scatter select-and-scatter sort".split())
    | {"triangular-solve"},
    traits.FOLDABLE: ELEMENTWISE_OPCODES | set("concatenate dot pad reduce reverse slice transpose".split()),
    # ShapeVerifier::CheckMixedPrecisionOperands.
    traits.MIXED_PRECISION: (COLLECTIVE_OPCODES - {"ragged-all-to-all"})
    | set(
        "add-dependency all-gather-done all-reduce-done async-done async-start async-update call collective-permute-done conditional "
        "convolution copy-done copy-start custom-call domain dot fusion get-tuple-element opt-barrier outfeed ragged-dot "
        "reduce-precision reduce-window scaled-dot scan scatter send sort topk tuple while".split()
    ),
    # ShapeVerifier::CheckShape.
    traits.ACCUMULATED: {"convolution", "dot", "ragged-dot", "scaled-dot"},
    traits.PRECISION_KEPT: {"copy-start", "dynamic-update-slice"},
    traits.LAYOUT_KEPT: set("async-done bitcast call conditional custom-call fusion get-tuple-element opt-barrier tuple while".split()),
    # LayoutAssignment::InstructionCanChangeLayout.
    traits.ORDER_KEPT: ELEMENTWISE_OPCODES
    | set(
        "add-dependency all-gather all-gather-done all-reduce all-reduce-done all-reduce-start all-to-all cholesky collective-broadcast "
        "collective-permute collective-permute-done collective-reduce concatenate dynamic-slice dynamic-update-slice fft map pad "
        "ragged-all-to-all reduce-scatter reduce-window reverse scatter select-and-scatter set-dimension-size slice sort topk "
        "triangular-solve".split()
    ),
    traits.SHAPE_GUESSED: set("broadcast map reduce-window scaled-dot scan while".split()),
    traits.HOLDS_BUFFERS: set(
        "async-done async-start async-update call custom-call dynamic-update-slice get-tuple-element parameter tuple while".split()
    ),
    traits.ANY_SIGNATURE: {"call", "fusion"},
    # CheckCallableInstructionThreadName in hlo_verifier.cc.
    traits.SAME_THREAD: {"conditional", "fusion", "while"},
    traits.SAME_THREAD_ON_REQUEST: {"call", "custom-call"},
    traits.REDUCTION: {"reduce", "reduce-window"},
    # CheckReplicaGroups in hlo_verifier.cc, with uniform_replica_group_size.
    traits.UNIFORM_GROUPS: {"all-gather", "all-gather-start", "all-to-all", "reduce-scatter"},
    # AllGatherCombiner, AllReduceCombiner, ReduceScatterCombiner.
    traits.COMBINABLE: {"all-gather", "all-reduce", "reduce-scatter"},
}

RELATIONS: dict[str, dict[str, str | int]] = {
    "all-gather": {"effect_if": "constrain_layout"},
    "all-gather-done": {"done_of": "all-gather-start", "returned_index": 1},
    "all-gather-start": {"start_of": "all-gather", "operands_index": 0},
    "all-reduce": {"effect_if": "constrain_layout"},
    "all-reduce-done": {"done_of": "all-reduce-start"},
    "all-reduce-start": {"start_of": "all-reduce"},
    "all-to-all": {"effect_if": "constrain_layout"},
    "async-done": {"done_of": "async-start", "returned_index": 1},
    "async-start": {"operands_index": 0},
    "async-update": {"update_of": "async-start"},
    "collective-permute-done": {"done_of": "collective-permute-start", "returned_index": 1},
    "collective-permute-start": {"start_of": "collective-permute", "operands_index": 0},
    "copy-done": {"done_of": "copy-start", "returned_index": 0},
    "copy-start": {"start_of": "copy", "operands_index": 1},
    "collective-reduce": {"effect_if": "constrain_layout"},
    "custom-call": {"effect_if": "custom_call_has_side_effect"},
    "recv-done": {"done_of": "recv", "returned_index": 0},
    "reduce-scatter": {"effect_if": "constrain_layout"},
    "send": {"operands_index": 0},
    "send-done": {"done_of": "send"},
}
"""The relations between opcodes that start, update or finish the same operation.

Also lists the attributes that decide whether there is a side effect, and the elements of the tuple
in flight that contain the operands and the result.
"""

SLOTS = ("effect_if", "start_of", "done_of", "update_of", "returned_index", "operands_index")
LISTED_OPCODES = set(RELATIONS).union(*COLUMNS.values())


@pytest.mark.parametrize("trait", COLUMNS)
def test_traits_are_those_listed(trait: str) -> None:
    assert {name for name in LISTED_OPCODES if trait in OPS[name].traits} == COLUMNS[trait]


def test_every_trait_is_checked() -> None:
    assert {getattr(traits, name) for name in traits.__all__ if name.isupper()} == COLUMNS.keys() | LAWS.keys()


@pytest.mark.parametrize("opcode", sorted(LISTED_OPCODES))
def test_relations_are_those_listed(opcode: str) -> None:
    relations = {slot: getattr(OPS[opcode], slot) for slot in SLOTS}
    assert {slot: value for slot, value in relations.items() if value is not None} == RELATIONS.get(opcode, {})
