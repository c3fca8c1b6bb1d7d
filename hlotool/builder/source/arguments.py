"""Candidates for the builder method call that rebuilds an instruction.

The arguments are taken from the instruction's operands, attributes and shape; the parameters are
taken from the signature of the method. Most parameters have the same name as an operand or
attribute of the opcode; the tables in this file list the others. The calls need not be correct,
because each call is tried before it is written.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from hlotool.builder.arguments import RAGGED_OPERANDS, RENAMED
from hlotool.builder.builder import Builder
from hlotool.builder.composites.control_flow import BY_INDEX, BY_PREDICATE
from hlotool.builder.dimension_numbers import DotDimensionNumbers, GatherDimensionNumbers, RaggedDotDimensionNumbers, ScatterDimensionNumbers
from hlotool.builder.names import method_name
from hlotool.builder.source.calls import Argument, Call
from hlotool.builder.source.values import Slot, attribute_value, shape_text
from hlotool.ir.async_chain import continues, producer
from hlotool.ir.model import Instruction
from hlotool.memo import Memo
from hlotool.record import Record
from hlotool.shapes.replica_groups import ReplicaGroups
from hlotool.shapes.strings import unquote
from hlotool.shapes.values import ResultAccuracy

__all__ = ["generic_calls", "natural_calls"]

Source = Callable[[Instruction], Any]
_ABSENT: Any = object()


class _Parameter(Record):
    """A parameter of a builder method."""

    name: str
    default: Any
    by_name: bool
    is_integer: bool


def _signature(method: str) -> tuple[_Parameter, ...]:
    parameters = [*inspect.signature(getattr(Builder, method)).parameters.values()][1:]
    return tuple([_Parameter(p.name, p.default, p.kind is p.KEYWORD_ONLY, p.annotation == "int") for p in parameters])


def _make_parameters(names: Sequence[str]) -> tuple[_Parameter, ...]:
    return tuple([_Parameter(name, inspect.Parameter.empty, False, False) for name in names])


_SIGNATURES: Memo[str, tuple[_Parameter, ...]] = Memo(_signature)
_CONDITIONAL_FORMS = {False: _make_parameters(BY_INDEX), True: _make_parameters(BY_PREDICATE)}


# ---- values that several methods take ----------------------------------------------------------


def _slots(numbers: Sequence[int]) -> Any:
    """Returns slots for operands: a list, or a single slot if there is one operand."""
    return Slot(numbers[0]) if len(numbers) == 1 else [Slot(k) for k in numbers]


def _all_operands(x: Instruction) -> list[Slot]:
    return [Slot(k) for k in range(len(x.operands))]


def _operands_from(first: int) -> Source:
    return lambda x: [Slot(k) for k in range(first, len(x.operands))]


def _slot(number: int) -> Source:
    return lambda x: Slot(number)


def _operand_half(second: int) -> Source:
    """Returns a source for the first half (0) or the second half (1) of the operands.

    The halves of a reduction's operands are its inputs and its initial values.
    """

    def half(x: Instruction) -> Any:
        count = len(x.operands) // 2
        return _slots(range(count * second, count * (second + 1)))

    return half


def _array_count(x: Instruction) -> int:
    return (len(x.operands) - 1) // 2


def _input_count(x: Instruction) -> int:
    return len(x.operands) - int(x.attributes["num_carries"])


def _window(field: str) -> Source:
    """Returns a source for one field of all window dimensions.

    The source returns `_ABSENT` if all values are the default.
    """
    return lambda x: _unless_default([getattr(row, field) for row in x.attributes.get("window", ())], 1 if field != "window_reversal" else False)


def _unless_default(values: list[Any], default: Any) -> Any:
    return _ABSENT if all(value == default for value in values) else values


def _numbers(kind: type[Record], x: Instruction) -> Record:
    """Returns dimension numbers whose fields have the names of attributes."""
    return kind(**{name: x.attributes[name] for name in kind._fields if name in x.attributes})


def _dot_numbers(x: Instruction) -> DotDimensionNumbers:
    roles = [(role, side) for role in ("contracting", "batch") for side in ("lhs", "rhs")]
    return DotDimensionNumbers(*[x.attributes.get(f"{side}_{role}_dims", ()) for role, side in roles])


def _ragged_numbers(x: Instruction) -> RaggedDotDimensionNumbers:
    return RaggedDotDimensionNumbers(_dot_numbers(x), x.attributes.get("lhs_ragged_dims", ()), x.attributes.get("rhs_group_dims", ()))


def _precision(x: Instruction) -> Any:
    words = x.attributes.get("operand_precision", ())
    if not words:
        return _ABSENT
    return words[0] if len(words) == 2 and words[0] == words[1] else list(words)


def _groups(x: Instruction) -> Any:
    groups: ReplicaGroups = x.attributes.get("replica_groups", _ABSENT)
    if groups is _ABSENT:
        return _ABSENT
    return [list(group) for group in groups.lists] if groups.tile is None and groups.mesh is None else groups.text


def _accuracy(x: Instruction) -> Any:
    value: ResultAccuracy = x.attributes.get("result_accuracy", _ABSENT)
    return _ABSENT if value is _ABSENT else value.mode


def _shards(x: Instruction) -> int:
    """Returns the number of shards that a collective gathers or scatters."""
    dimension: int = x.attributes["dimensions"][0]
    result, operand = x.shape, x.operands[0].shape
    sizes = [(result.elements[0] if result.is_tuple else result).dimensions[dimension], operand.dimensions[dimension]]
    return int(max(sizes) // max(min(sizes), 1))


def _group_size(x: Instruction) -> int:
    groups: ReplicaGroups = x.attributes["replica_groups"]
    return groups.device_count // max(groups.group_count, 1)


def _reduced_count(x: Instruction) -> int:
    """Returns the number of operands that a collective-reduce combines, which excludes `roots`."""
    return len(x.operands) - bool(x.attributes.get("has_dynamic_root"))


def _roots(x: Instruction) -> Any:
    return Slot(len(x.operands) - 1) if x.attributes.get("has_dynamic_root") else _ABSENT


def _opaque(x: Instruction) -> Any:
    if x.backend_config is None:
        return _ABSENT
    return unquote(x.backend_config) if x.backend_config.startswith('"') else x.backend_config


def _other_custom_call_attributes(x: Instruction) -> Any:
    values = generic_attributes(x)
    own = {name: value for name, value in values.items() if name not in ("custom_call_target", "custom_call_has_side_effect")}
    return own or _ABSENT


def _composite(key: str) -> Source:
    return lambda x: x.attributes.get("frontend_attributes", {}).get(f"composite.{key}", _ABSENT)


def _composite_version(x: Instruction) -> Any:
    text = _composite("version")(x)
    return int(text) if isinstance(text, str) and text.isdecimal() and len(text) < 19 else _ABSENT


# ---- tables ------------------------------------------------------------------------------------

_WINDOW: dict[str, Source] = {
    "window_dimensions": lambda x: [row.size for row in x.attributes.get("window", ())],
    "window_strides": lambda x: [row.stride for row in x.attributes.get("window", ())],
    "padding": lambda x: [(row.padding_low, row.padding_high) for row in x.attributes.get("window", ())],
    "base_dilations": _window("base_dilation"),
    "window_dilations": _window("window_dilation"),
    "lhs_dilation": lambda x: _or_none(_window("base_dilation")(x)),
    "rhs_dilation": lambda x: _or_none(_window("window_dilation")(x)),
    "window_reversal": _window("window_reversal"),
}


def _or_none(value: Any) -> Any:
    return None if value is _ABSENT else value


_ALL_METHODS: dict[str, Source] = {
    "operands": _all_operands,
    "operand": lambda x: _slots(range(len(x.operands))),
    "shape": lambda x: shape_text(x.shape),
    "new_element_type": lambda x: x.shape.element_type,
    "precision_config": _precision,
    "replica_groups": _groups,
    "result_accuracy": _accuracy,
    "handle": lambda x: x.attributes.get("channel_id", _ABSENT),
    "shard_count": _shards,
    "context": _slot(0),
    # The operands of an existing instruction already have the same shape.
    "broadcast_dimensions": lambda x: _ABSENT,
}
"""Arguments by name, for all methods."""

_BY_OPCODE: dict[str, dict[str, Source]] = {
    "after-all": {"tokens": _all_operands},
    "async-update": {"operands": lambda x: _slots(range(1, len(x.operands)))},
    "all-reduce": {"shape_with_layout": lambda x: shape_text(x.shape) if x.attributes.get("constrain_layout") else _ABSENT},
    "all-to-all": {"concat_dimension": lambda x: x.attributes["dimensions"][0], "split_count": _group_size},
    "broadcast": {
        "out_dim_size": lambda x: list(x.shape.dimensions),
        "broadcast_sizes": lambda x: list(x.shape.dimensions[: x.shape.rank - x.operands[0].shape.rank]),
        "broadcast_dimensions": lambda x: list(x.attributes["dimensions"]),
    },
    "call": {"name": _composite("name"), "attributes": _composite("attributes"), "version": _composite_version},
    "collective-permute": {"inplace": lambda x: len(x.operands) > 1},
    "collective-reduce": {"operand": lambda x: _slots(range(_reduced_count(x))), "roots": _roots},
    "compare": {"broadcast_dimensions": lambda x: []},
    "conditional": {
        **dict.fromkeys(("predicate", "branch_index"), _slot(0)),
        "true_operand": _slot(1),
        "false_operand": _slot(2),
        "branch_operands": _operands_from(1),
    },
    "convolution": {**_WINDOW, "dimension_numbers": lambda x: attribute_value("DimLabels", x.attributes["dim_labels"])},
    "custom-call": {
        "target_name": lambda x: x.attributes["custom_call_target"],
        "has_side_effect": lambda x: x.attributes.get("custom_call_has_side_effect", _ABSENT),
        "opaque": _opaque,
        "attributes": _other_custom_call_attributes,
        # The layout is always written, because a missing layout would mean that none is required.
        "shape": lambda x: x.shape.text,
    },
    "dot": {"dimension_numbers": _dot_numbers},
    "dynamic-reshape": {
        "operand": _slot(0),
        "dim_sizes": _operands_from(1),
        "new_size_bounds": lambda x: list(x.shape.dimensions),
        "dims_are_dynamic": lambda x: list(x.shape.dynamic) or [False] * x.shape.rank,
    },
    "dynamic-slice": {"operand": _slot(0), "start_indices": _operands_from(1)},
    "dynamic-update-slice": {"operand": _slot(0), "update": _slot(1), "start_indices": _operands_from(2)},
    "gather": {"dimension_numbers": lambda x: _numbers(GatherDimensionNumbers, x)},
    "infeed": {"shape": lambda x: shape_text(x.shape.elements[0]), "config": lambda x: x.attributes.get("infeed_config", _ABSENT)},
    "outfeed": {"shape_with_layout": lambda x: shape_text(x.attributes["outfeed_shape"])},
    "pad": {"padding_config": lambda x: [(p.low, p.high, p.interior)[: 3 if p.interior else 2] for p in x.attributes["padding"]]},
    "ragged-all-to-all": {name: _slot(k) for k, name in enumerate(RAGGED_OPERANDS)},
    "ragged-dot": {"dimension_numbers": _ragged_numbers},
    "recv": {"shape": lambda x: shape_text(x.shape.elements[0])},
    "reduce": {"operands": _operand_half(0), "init_values": _operand_half(1)},
    "reduce-window": {**_WINDOW, "operands": _operand_half(0), "init_values": _operand_half(1)},
    # Only the older form has both arguments. Without `new_sizes`, `dimensions` lists the new sizes.
    "reshape": {"dimensions": lambda x: list(x.shape.dimensions), "new_sizes": lambda x: _ABSENT},
    "rng": {name: _slot(k) for names in (("a", "b"), ("mu", "sigma")) for k, name in enumerate(names)},
    "rng-bit-generator": {"initial_state": _slot(0), "shape": lambda x: shape_text(x.shape.elements[1])},
    "scaled-dot": {"dimension_number": _dot_numbers},
    "scan": {
        "inputs": lambda x: _slots(range(_input_count(x))),
        "inits": lambda x: _slots(range(_input_count(x), len(x.operands))),
    },
    "scatter": {
        "operands": lambda x: _slots(range(_array_count(x))),
        "scatter_indices": lambda x: Slot(_array_count(x)),
        "updates": lambda x: _slots(range(_array_count(x) + 1, len(x.operands))),
        "dimension_numbers": lambda x: _numbers(ScatterDimensionNumbers, x),
    },
    "select-and-scatter": _WINDOW,
    "slice": {
        "start_indices": lambda x: [row.start for row in x.attributes["slice"]],
        "limit_indices": lambda x: [row.limit for row in x.attributes["slice"]],
        "strides": lambda x: _unless_default([row.stride for row in x.attributes["slice"]], 1),
    },
    "sort": {"operands": lambda x: _slots(range(len(x.operands)))},
    "tuple": {"elements": _all_operands},
}
"""Arguments by opcode and name; they take precedence over operands and attributes of this name."""

_METHODS: dict[str, Callable[[Instruction], tuple[str, ...]]] = {
    "broadcast": lambda x: ("broadcast",) * (x.operands[0].shape.rank == 0) + ("broadcast_in_dim",),
    "call": lambda x: ("composite_call" if x.attributes.get("is_composite") else "call",),
    "compare": lambda x: ("compare",) if "type" in x.attributes else (x.attributes["direction"].lower(),),
    "infeed": lambda x: ("infeed_with_token",),
    "outfeed": lambda x: ("outfeed_with_token",),
    "recv": lambda x: ("recv_start",),
    "reshape": lambda x: ("reshape", "reshape_explicit"),
    "rng": lambda x: (x.attributes["distribution"],),
    "send": lambda x: ("send_start",),
}
"""Candidate methods by opcode, for opcodes whose default method may not fit."""

_OPTIONAL: dict[str, Source] = {"preferred_element_type": lambda x: x.shape.element_type}
"""Optional arguments: each call is first tried without them."""


# ---- calls -------------------------------------------------------------------------------------


def natural_calls(x: Instruction) -> Iterator[Call]:
    """Yields the method calls that may rebuild the instruction, simplest first."""
    choose = _METHODS.get(x.op.name)
    for method in choose(x) if choose is not None else (method_name(x.op.name),):
        if not hasattr(Builder, method):
            continue
        parameters = _CONDITIONAL_FORMS["true_computation" in x.attributes] if x.op.name == "conditional" else _SIGNATURES[method]
        for more in ((), *[(name,) for name in _OPTIONAL if any(p.name == name for p in parameters)]):
            try:
                arguments = _arguments(x, method, parameters, more)
            except (KeyError, IndexError, AttributeError):
                # The instruction lacks a part that this method needs.
                continue
            if arguments is not None:
                yield Call(method, arguments)


def _arguments(x: Instruction, method: str, parameters: Sequence[_Parameter], more: Sequence[str]) -> tuple[Argument, ...] | None:
    """Returns the arguments of a call, or None if the value of a required argument is unknown."""
    arguments: list[Argument] = []
    by_name = False
    for parameter in parameters:
        name = parameter.name
        value = _OPTIONAL[name](x) if name in more else _value(x, method, parameter)
        if value is _ABSENT or value == parameter.default or (isinstance(value, list) and tuple(value) == parameter.default):
            if parameter.default is inspect.Parameter.empty:
                return None
            by_name = True
            continue
        arguments.append((name if by_name or parameter.by_name else "", value))
    return tuple(arguments)


def _value(x: Instruction, method: str, parameter: _Parameter) -> Any:
    """Returns the value of an argument, or `_ABSENT` if it is unknown or the default."""
    op, name = x.op, parameter.name
    source = _BY_OPCODE.get(op.name, {}).get(name)
    if source is not None:
        return source(x)
    known = [name, *(old for old, new in RENAMED.get(method, {}).items() if new == name)]
    for word in known:
        if word in op.operands:
            return Slot(op.operands.index(word))
    if name in _ALL_METHODS:
        return _ALL_METHODS[name](x)
    for word in known:
        spec = op.attributes.get(word)
        if spec is not None:
            value = x.attributes.get(word, spec.default)
            if value is None or (word not in x.attributes and spec.default == parameter.default):
                return _ABSENT
            return value[0] if parameter.is_integer and isinstance(value, tuple) else attribute_value(spec.kind, value)
    return _ABSENT


def generic_attributes(x: Instruction, *, as_stored: bool = False) -> dict[str, Any]:
    """Returns the opcode-specific attributes of `x` in a form that `Builder.instruction` takes."""
    own = {name: value for name, value in x.attributes.items() if name in x.op.attributes and value is not None}
    return own if as_stored else {name: attribute_value(x.op.attributes[name].kind, value) for name, value in own.items()}


def generic_calls(x: Instruction) -> Iterator[Call]:
    """Yields the calls to `Builder.instruction` that may rebuild the instruction.

    The first call is checked; the second is not. The third is not checked either, and takes the
    attributes as stored, because the text of some attributes cannot be read back.
    """
    # For update and done instructions, the builder finds the attribute `calls` by itself, unless the
    # start is in another computation.
    continued = continues(x) and producer(x.operands[0], {}) is not None
    for check, as_stored in ((True, False), (False, False), (False, True)):
        attributes = {name: value for name, value in generic_attributes(x, as_stored=as_stored).items() if not (continued and name == "calls")}
        arguments: list[Argument] = [("", x.op.name), ("", _all_operands(x)), ("", x.shape.text)]
        if attributes:
            arguments.append(("", attributes))
        if not check:
            arguments.append(("check", False))
        yield Call("instruction", tuple(arguments))
