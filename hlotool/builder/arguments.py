"""Conversion of the arguments of builder methods; errors report the line of the caller."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import index
from typing import Any, NoReturn, Protocol, TypeAlias, TypeVar

from hlotool.builder.op import Op
from hlotool.builder.state import ModuleState, caller, error_at
from hlotool.builder.texts import ShapeLike, as_attribute, as_shape
from hlotool.errors import Violation, nearest
from hlotool.ir.model import Computation
from hlotool.literals.literal import Literal
from hlotool.opdefs.base import OpDef
from hlotool.opdefs.codecs.enums import ENUMS, PRECISION
from hlotool.shapes.replica_groups import NO_GROUPS, ReplicaGroups
from hlotool.shapes.shape import Shape
from hlotool.shapes.values import ResultAccuracy
from hlotool.text.source.part_names import parse_part_name

__all__ = ["RAGGED_OPERANDS", "RENAMED", "ArgumentMethods", "ArrayLike", "Called", "Groups", "Operand", "Operands", "Precision"]

Value = TypeVar("Value")

_INT64_MIN, _INT64_MAX = -(1 << 63), (1 << 63) - 1


class ArrayLike(Protocol):
    """A NumPy array, or an array of another library with the same attributes."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> Any: ...
    def tobytes(self) -> bytes: ...


Operand = Op | Literal | complex | Sequence[Any] | memoryview | ArrayLike
"""An operation of the same builder, or a constant: a number, nested list, array or Literal."""
Operands = Op | Literal | complex | Sequence[Any] | memoryview | ArrayLike
"""A list or tuple of operands, or a single operand."""
Called: TypeAlias = "Computation | ArgumentMethods | Callable[..., Any]"
"""A computation of the same module, its finished builder, or a function to be traced."""
Groups = ReplicaGroups | str | Sequence[Sequence[int]] | None
"""Replica groups: lists of ids, or text such as "[2,2]<=[4]".

None or an empty list stands for one group of all devices.
"""
Precision = str | Sequence[str] | None
"""`precision_config`: "default", "high" or "highest", or a list with one of these per operand.

None stands for the default.
"""


class ArgumentMethods:
    """A base class of builders, with the methods that convert arguments."""

    def __init__(self, state: ModuleState, computation: Computation) -> None:
        self._state = state
        self._computation = computation
        self._instructions = computation.instructions
        self._is_open = True

    # ---- errors ---------------------------------------------------------------------------------

    def _reject(self, violation: Violation, argument: str | None = None, op: OpDef | None = None) -> NoReturn:
        """Raises BuilderError for the method that the user called.

        If `argument` is None, the argument is derived from the violation.
        """
        frame = caller(2)
        if argument is None:
            argument = _argument(violation, frame.method, op)
        else:
            argument = RENAMED.get(frame.method, {}).get(argument, argument)
        raise error_at(frame, violation, argument, self._computation.name) from None

    def _fail(self, code: str, argument: str, message: str, hint: str | None = None) -> NoReturn:
        self._reject(Violation(code, argument, message, hint), argument)

    def _require(self, holds: object, code: str, argument: str, message: str, hint: str | None = None) -> None:
        if not holds:
            self._reject(Violation(code, argument, message, hint), argument)

    # ---- attributes -----------------------------------------------------------------------------

    def _integer(self, value: Any, argument: str) -> int:
        try:
            # In Python, bools are integers; without `int`, they would be printed as True and False.
            number = int(index(value))
        except TypeError:
            self._fail("S017", argument, f"expected an integer, found {type(value).__name__}")
        self._require(_INT64_MIN <= number <= _INT64_MAX, "S017", argument, f"{number} does not fit in 64 bits")
        return number

    def _number(self, value: Any, argument: str) -> float:
        try:
            return float(value)
        except (TypeError, ValueError):
            self._fail("S017", argument, f"expected a number, found {type(value).__name__}")

    def _integers(self, values: Any, argument: str) -> tuple[int, ...]:
        """Returns a sequence of integers as a tuple."""
        try:
            numbers = tuple([int(index(value)) for value in values])
        except TypeError:
            self._fail("S017", argument, f"expected a list of integers, found {values!r:.60}")
        if numbers and not (min(numbers) >= _INT64_MIN and max(numbers) <= _INT64_MAX):
            self._fail("S017", argument, f"{list(numbers)} contains a number that does not fit in 64 bits")
        return numbers

    def _sizes(self, values: Any, argument: str, code: str) -> tuple[int, ...]:
        """Returns the sizes of dimensions, which cannot be negative."""
        sizes = self._integers(values, argument)
        self._require(min(sizes, default=0) >= 0, code, argument, f"sizes cannot be negative, got {list(sizes)}")
        return sizes

    def _list(self, values: Any, argument: str) -> list[Any]:
        try:
            return list(values)
        except TypeError:
            self._fail("S017", argument, f"expected a list, found {type(values).__name__}")

    def _optional_integer(self, value: Any, argument: str) -> int | None:
        return None if value is None else self._integer(value, argument)

    def _instance(self, value: Any, kind: type[Value], argument: str) -> Value:
        """Returns the value unchanged. Raises BuilderError unless it is an instance of `kind`."""
        if not isinstance(value, kind):
            self._fail("S017", argument, f"expected {kind.__name__}, found {type(value).__name__}")
        return value

    def _attributes(self, value: Any) -> dict[str, Any]:
        """Returns attributes by HLO name; the dictionary is empty if `value` is None."""
        if value is not None and not isinstance(value, Mapping):
            self._fail("S017", "attributes", f"expected a dictionary, found {type(value).__name__}")
        return dict(value or {})

    def _instances(self, values: Any, kind: type[Value], argument: str) -> tuple[Value, ...]:
        return tuple([self._instance(value, kind, argument) for value in self._list(values, argument)])

    def _dimension(self, value: Any, rank: int, argument: str) -> int:
        """Returns a dimension number; negative ones count from the last dimension."""
        number = self._integer(value, argument)
        return number + rank if -rank <= number < 0 else number

    def _dimensions(self, values: Any, rank: int, argument: str) -> tuple[int, ...]:
        return tuple([number + rank if -rank <= number < 0 else number for number in self._integers(values, argument)])

    def _word(self, kind: str, value: Any, argument: str) -> str:
        """Returns a word of an enum, in lowercase if XLA ignores its case."""
        known = PRECISION if kind == "OperandPrecision" else ENUMS[kind]
        text: str = self._instance(value, str, argument)
        word = text.lower() if known.folds_case else text
        if word not in known.words:
            meant = nearest(value, known.words)
            self._fail("S018", argument, f"'{value}' is not one of {', '.join(known.words)}", f"did you mean '{meant}'?" if meant else None)
        return word

    def _accuracy(self, value: ResultAccuracy | str | None) -> dict[str, Any] | None:
        """Returns the `result_accuracy` attribute for a mode or a record; None for the default."""
        if value is None:
            return None
        if isinstance(value, str):
            modes, hint = ("default", "highest"), "use one of these words or a ResultAccuracy"
            self._require(value in modes, "S018", "result_accuracy", f"'{value}' is not one of {', '.join(modes)}", hint)
            value = ResultAccuracy(value)
        value = self._instance(value, ResultAccuracy, "result_accuracy")
        return {"result_accuracy": value} if value != ResultAccuracy() else None

    def _precision(self, value: Any, *, any_length: bool = False) -> tuple[str, ...]:
        if value is None:
            return ()
        words = [value] * 2 if isinstance(value, str) else self._list(value, "precision_config")
        self._require(any_length or len(words) == 2, "S017", "precision_config", f"expected one word per operand (2), got {len(words)}")
        config = tuple([self._word("OperandPrecision", word, "precision_config") for word in words])
        return config if any(word != "default" for word in config) else ()

    def _groups(self, value: Any) -> ReplicaGroups:
        """Returns replica groups given as lists, as text or as ReplicaGroups."""
        if isinstance(value, ReplicaGroups):
            return value
        if isinstance(value, str):
            parsed: ReplicaGroups = self._text("replica_groups", value)
            return parsed
        groups = [] if value is None else self._list(value, "replica_groups")
        return ReplicaGroups(tuple([self._integers(group, "replica_groups") for group in groups])) if groups else NO_GROUPS

    def _group_sizes(self, value: Any) -> set[int]:
        """Returns the distinct sizes of the groups."""
        try:
            return {len(group) for group in self._groups(value).groups()}
        except Violation as violation:
            self._reject(violation, "replica_groups")

    def _text(self, name: str, value: Any, kind: str | None = None, shape: str = "f32[2,2]") -> Any:
        """Returns the value of an attribute that may be given as text."""
        if not isinstance(value, str):
            return value
        try:
            return as_attribute(name, value, kind, shape)
        except Violation as violation:
            self._reject(violation, name)

    def _shape(self, shape: ShapeLike, argument: str = "shape") -> Shape:
        try:
            return as_shape(shape)
        except Violation as violation:
            self._reject(violation, argument)

    def _closed(self, value: Called, argument: str) -> Computation:
        """Returns a computation of this module; `value` may also be its finished builder."""
        if isinstance(value, ArgumentMethods):
            name = value._computation.name
            self._require(not value._is_open, "S006", argument, f"computation '{name}' is not finished", "leave its `with` block first")
            self._require(value._state is self._state, "S006", argument, f"computation '{name}' belongs to another module")
            return value._computation
        if not isinstance(value, Computation):
            hint = "create one in a `with` block: with b.computation(...) as c"
            self._fail("S017", argument, f"expected a computation, found {type(value).__name__}", hint)
        self._require(value in self._state.computations, "S006", argument, f"computation '{value.name}' belongs to another module")
        return value


_SIDES = {f"{side}_{role}_dims": side for side in ("lhs", "rhs") for role in ("batch", "contracting")}
_DOT = dict.fromkeys(_SIDES, "dimension_numbers")
_CONVOLUTION = {
    "window": "window_strides",
    "dim_labels": "dimension_numbers",
    "base_dilations": "lhs_dilation",
    "window_dilations": "rhs_dilation",
}
_COMPUTATION = {"to_apply": "computation"}
_DIMENSION = {"dimensions": "dimension"}
# Stands for operands that do not have a name of their own.
_OTHERS = "operand k"
_CALL = {**_COMPUTATION, _OTHERS: "operands"}

RAGGED_OPERANDS = ("input", "output", "input_offsets", "send_sizes", "output_offsets", "recv_sizes")
"""The arguments of `ragged_all_to_all`, in the order of the operands in HLO text."""

RENAMED: dict[str, dict[str, str]] = {
    "all_gather": {"dimensions": "all_gather_dimension"},
    "all_reduce": _COMPUTATION,
    "all_to_all": {"dimensions": "split_dimension"},
    "batch_norm_grad": {"mean": "batch_mean", "variance": "batch_var"},
    "call": _CALL,
    "clamp": {"minimum": "min", "maximum": "max"},
    "collective_reduce": _COMPUTATION,
    "composite_call": {**_CALL, "is_composite": "name"},
    "concat_in_dim": {**_DIMENSION, _OTHERS: "operands"},
    "conv": _CONVOLUTION,
    "conv_general": _CONVOLUTION,
    "conv_general_dilated": _CONVOLUTION,
    "conv_with_general_dimensions": _CONVOLUTION,
    "conv_with_general_padding": _CONVOLUTION,
    "custom_call": {"custom_call_target": "target_name", _OTHERS: "operands"},
    "dot": _SIDES,
    "dot_general": _DOT,
    "dynamic_reshape": {"operand 0": "operand", _OTHERS: "dim_sizes"},
    "dynamic_slice": {"operand 0": "operand", _OTHERS: "start_indices", "dynamic_slice_sizes": "slice_sizes"},
    "dynamic_update_slice": {"operand 0": "operand", "operand 1": "update", _OTHERS: "start_indices"},
    "get_dimension_size": _DIMENSION,
    "get_tuple_element": {"operand": "tuple_data"},
    "map": {**_COMPUTATION, _OTHERS: "operands"},
    "matmul": _SIDES,
    "outfeed": {"outfeed_shape": "shape_with_layout"},
    "outfeed_with_token": {"outfeed_shape": "shape_with_layout"},
    "pad": {"padding": "padding_config"},
    "ragged_all_to_all": {f"operand {k}": name for k, name in enumerate(RAGGED_OPERANDS)},
    "ragged_dot": {**_DOT, "lhs_ragged_dims": "dimension_numbers", "rhs_group_dims": "dimension_numbers"},
    "reduce": {"dimensions": "dimensions_to_reduce", **_COMPUTATION},
    "reduce_all": _COMPUTATION,
    "reduce_scatter": {"dimensions": "scatter_dimension", **_COMPUTATION},
    "reduce_window": {"window": "window_dimensions", **_COMPUTATION},
    "scaled_dot": dict.fromkeys(_SIDES, "dimension_number"),
    "scan": {"dimensions": "scan_dimension"},
    "scatter": {"to_apply": "update_computation"},
    "select_and_scatter": {"window": "window_dimensions"},
    "set_dimension_size": {**_DIMENSION, "size": "val"},
    "slice": {"slice": "limit_indices"},
    "sort": {**_DIMENSION, "to_apply": "comparator", _OTHERS: "operands"},
    "transpose": {"dimensions": "permutation"},
}
"""Argument names of methods, by method and by the name of the operand or attribute in the op table.

Only names that differ from the op table are listed.
"""


def _argument(violation: Violation, method: str, op: OpDef | None) -> str:
    """Returns the argument that caused a violation, by its name in XLA's documentation."""
    if not isinstance(violation.at, str) or not violation.at:
        return ""
    part_name = parse_part_name(violation.at)
    names = RENAMED.get(method, {})
    word = part_name.word
    if part_name.number is not None:
        if op is None or part_name.number >= len(op.operands):
            word = f"operand {part_name.number}"
            return names.get(word, names.get(_OTHERS, word))
        word = op.operands[part_name.number]
    elif word == "operands" and op is not None:
        return ", ".join(names.get(operand, operand) for operand in op.operands)
    elif word not in names and op is not None and word not in op.attributes:
        return ""
    return names.get(word, word)
