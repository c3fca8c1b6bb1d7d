"""The generator of `docs/operations.md`, which uses the docstrings of builder methods.

The page shows the operations of XLA's documentation, with examples. Run `python -m hlotool.dev
docs` to generate it.
"""

from __future__ import annotations

import inspect
import keyword
import re
from collections.abc import Iterator
from typing import get_overloads

from hlotool.builder import aliases
from hlotool.builder.builder import Builder
from hlotool.builder.names import METHODS
from hlotool.opdefs.base import OpDef
from hlotool.opdefs.table import OPS
from hlotool.record import Record

__all__ = ["family", "method_of", "operations_page"]


class Family(Record):
    """Operations that are shown in one section of the page.

    `names` contains the names of operations in XLA's documentation, by the years of the versions
    that describe them.
    """

    title: str
    about: str
    names: dict[str, str]


_ALL, _LATER, _EARLIER, _NEWEST, _FIRST = "2017, 2019, 2025", "2019, 2025", "2017, 2019", "2025", "2017"

_FAMILIES = (
    Family(
        "Arithmetic and logic",
        "The operands are broadcast, as [building.md](building.md#broadcasting) shows. Integers wrap around.",
        {
            _ALL: "Add Div Max Min Mul Rem Sub",
            _NEWEST: "And Atan2 Complex Not Or Pow ShiftLeft ShiftRightArithmetic ShiftRightLogical Xor",
            _EARLIER: "LogicalAnd LogicalNot LogicalOr",
        },
    ),
    Family(
        "Functions of each element",
        "`result_accuracy` is written to the text, but does not affect results.",
        {
            _ALL: "Abs Ceil Cos Exp Floor IsFinite Log Neg Sign Tanh",
            _NEWEST: "Cbrt Clz Cosh Erf Expm1 Imag Log1p Logistic PopulationCount Real Round RoundNearestAfz RoundNearestEven Rsqrt Sin Sqrt Tan",
        },
    ),
    Family(
        "Comparisons and choices",
        "Comparisons with NaN are false, except `Ne`; the total orders also order NaNs and signed zeros: -NaN < -inf < -0 < +0 < inf < NaN.",
        {
            _ALL: "Clamp Eq Ge Gt Le Lt Ne Select",
            _NEWEST: "Compare EqTotalOrder GeTotalOrder GtTotalOrder LeTotalOrder LtTotalOrder NeTotalOrder",
        },
    ),
    Family("Element types", "", {_ALL: "ConvertElementType ReducePrecision", _LATER: "BitcastConvertType"}),
    Family("Inputs", "", {_ALL: "ConstantLiteral", _LATER: "Iota", _NEWEST: "Constant Parameter"}),
    Family(
        "Shapes and slices",
        "",
        {
            _ALL: "Broadcast Collapse Concat Concatenate ConcatInDim DynamicSlice DynamicUpdateSlice Pad Reshape Rev Slice Transpose",
            _NEWEST: "BroadcastInDim DynamicReshape GetDimensionSize ReshapeExplicit SetDimensionSize",
        },
    ),
    Family("Tuples and order", "", {_ALL: "GetTupleElement Tuple", _NEWEST: "AfterAll OptimizationBarrier"}),
    Family(
        "Dots and convolutions",
        "With `lhs_dilation`, a convolution is transposed; with `rhs_dilation`, it is atrous. With `feature_group_count`, it is a "
        "grouped convolution, or a depthwise one if each group has one feature.",
        {
            _ALL: "Conv ConvWithGeneralPadding Dot",
            _LATER: "DotGeneral",
            _NEWEST: "ConvGeneral ConvGeneralDilated ConvWithGeneralDimensions RaggedDot ScaledDot",
        },
    ),
    Family("Linear algebra", "", {_NEWEST: "Cholesky Fft TriangularSolve"}),
    Family("Normalization", "", {_ALL: "BatchNormGrad BatchNormInference BatchNormTraining"}),
    Family(
        "Computations applied to arrays",
        "Initial values should be identities of the computation: other compilers may use them more than once. hlotool's interpreter uses them once.",
        {_ALL: "Map Reduce ReduceWindow SelectAndScatter", _NEWEST: "ReduceAll Scan"},
    ),
    Family("Gather, scatter and sort", "", {_ALL: "Sort", _LATER: "Gather Scatter", _NEWEST: "TopK"}),
    Family("Random numbers", "", {_ALL: "RngNormal RngUniform", _NEWEST: "RngBitGenerator", _FIRST: "RngBernoulli"}),
    Family("Control flow", "", {_ALL: "Call CustomCall While", _LATER: "Conditional", _NEWEST: "CompositeCall"}),
    Family(
        "Collectives",
        "`evaluate_replicas` runs all devices, and returns the result of each.",
        {
            _ALL: "CrossReplicaSum",
            _LATER: "AllToAll",
            _NEWEST: "AllGather AllReduce CollectiveBroadcast CollectivePermute RaggedAllToAll ReduceScatter ReplicaId",
        },
    ),
    Family(
        "Hosts and channels",
        "Data from the host is taken from the `HostQueues` of the run, and data for the host is added to them.",
        {
            _ALL: "Infeed",
            _LATER: "Recv RecvDone Send SendDone",
            _NEWEST: "Outfeed RecvFromHost RecvToHost RecvWithToken RecvWithTokens SendToHost SendWithToken SendWithTokens",
        },
    ),
)

_INTERNAL = Family(
    "Instructions of compilers",
    "The documentation of 2025 mentions these instructions, but says that compilers write them, not users. hlotool reads, verifies and runs them.",
    {
        "2025, not for users": "AddDependency AllGatherDone AllGatherStart AllReduceDone AllReduceStart AsyncDone AsyncStart AsyncUpdate Bitcast "
        "CollectivePermuteDone CollectivePermuteStart Copy CopyDone CopyStart Domain Fusion PartitionID RngGetAndUpdateState",
    },
)

_OTHERS = (
    "acos acosh asin asinh atanh sinh mulhi stochastic_convert min_value max_value matmul part infeed_with_token outfeed_with_token send_start "
    "recv_start instruction"
)

# The opcodes that methods create, if they differ from the names of the methods.
_OPCODES = {
    **dict.fromkeys(("conv", "conv_general", "conv_with_general_dimensions", "conv_with_general_padding"), "convolution"),
    **{f"{name}{order}": "compare" for name in ("eq", "ge", "gt", "le", "lt", "ne") for order in ("", "_total_order")},
    **dict.fromkeys(("constant_literal", "min_value", "max_value"), "constant"),
    **dict.fromkeys(("recv", "recv_with_token", "recv_with_tokens", "recv_from_host", "recv_to_host"), "recv recv-done"),
    **dict.fromkeys(("send", "send_with_token", "send_with_tokens", "send_to_host"), "send send-done"),
    "concat": "concatenate",
    "collapse": "reshape",
    "composite_call": "call",
    "cross_replica_sum": "all-reduce",
    "infeed_with_token": "infeed",
    "instruction": "",
    "logical_and": "and",
    "logical_not": "not",
    "logical_or": "or",
    "matmul": "dot",
    "outfeed_with_token": "outfeed",
    "part": "slice reshape",
    "recv_start": "recv",
    "reduce_all": "reduce",
    "reshape_explicit": "reshape",
    "rng_bernoulli": "rng compare",
    "rng_normal": "rng",
    "round": "round-nearest-afz",
    "send_start": "send",
}

_HEAD = """# Operations

This page lists the operations of XLA's [operation
semantics](https://openxla.org/xla/operation_semantics) under the same names. For each operation, it
shows the method of `hlotool.Builder` that creates it, the opcodes in the text, and an example with
its result. [building.md](building.md) explains builders, and
[samples/documents](../samples/documents) contains the examples of XLA's documentation as text. The
descriptions are the docstrings of the methods, which `help(hlotool.Builder.dot_general)` also
shows. The examples run as tests, and all of them require these imports:
"""
_NOTES = """Operands are operations of the builder, or numbers and nested lists, which become
constants. If an operation takes several operands, each element of a list is one operand, so a
single array must be written as `b.constant([1.0, 2.0])`. In the calls of `hlotool.evaluate` below,
`[]` is the list of arguments, which is empty if the module has no parameters.
"""
_TABLE = """## From XLA's documentation to hlotool

The versions are those of 2017 (`ComputationBuilder`), 2019 and 2025 (`XlaBuilder`). `and_`, `not_`, `or_` and `while_`
end with an underscore, since their names are Python keywords.

| operation | versions | method | opcodes |
|---|---|---|---|"""
_OLDER = """
## Older forms

These operations have the same name as today, but had a different form in the documentation of 2017 or 2019:

| form | version | today |
|---|---|---|
| `BatchNormGrad`: results operand, offset, scale | 2017 | operand, scale, offset |
| `Clamp(operand, min, max)` | 2017 | `Clamp(min, operand, max)`; the method accepts only this order |
| `Conv(..., lhs_dilation, rhs_dilation)` | 2017, 2019 | `conv_general_dilated`; `conv` takes the dilations by name |
| `CrossReplicaSum(operand, replica_group_ids)`: a group for each replica | 2019 | `replica_groups`; the method accepts both |
| `DynamicSlice`, `DynamicUpdateSlice`: `start_indices` is one vector | 2017, 2019 | a scalar for each dimension; the methods accept both |
| `DynamicUpdateSlice`: indices wrap around | 2017 | they are clamped |
| `Iota(type, size)` | 2019 | `Iota(shape, iota_dimension)`; the method accepts both |
| `Map(operands..., computation)` | 2017 | `dimensions` is last; the method accepts both |
| `Recv`, `Send`: the context is (buffer, u32) | 2019 | (buffer, u32, token) |
| `ReducePrecision(operand, mantissa_bits, exponent_bits)` | 2017, 2019 | `exponent_bits` comes first; the method accepts only this order |
| `Reshape(operand, dimensions, new_sizes)` | 2017, 2019 | a transpose and a reshape, which the method creates |
| `Slice(operand, start_indices, limit_indices)` | 2017, 2019 | `strides` is last, 1 by default |
| `Sort(operand)`, `Sort(keys, values)` | 2017, 2019 | a comparator and a dimension; the method accepts both |
| `While` cannot be nested | 2017 | it can be nested |

`hlotool.builder.aliases` provides the classes under their older names:

| in XLA's documentation | hlotool |
|---|---|"""
_ERRORS = """
## Errors in XLA's documentation

If versions of the documentation are wrong or contradict each other, hlotool does what XLA does:

1. `Collapse`: the result shapes of two examples are swapped; collapsing `[0, 1]` of f32[4,2,3] produces f32[8,3], and `[1, 2]` produces f32[4,6].
2. `Rev` (2019): element i comes from `N - 1 - i`, not from `N - i - i`.
3. `DynamicSlice`: the start indices of all dimensions are clamped, from dimension 0 on, not from 1 on.
4. `AllToAll` (2019): the text swaps the split dimension and the concat dimension.
5. `Reduce` (2019): the example with several operands compares a value with an index; the values must be compared.
6. `Clamp` (2017): the heading is that of `Call`, and the limits in `max(min(x, a), b)` are swapped.
7. `CrossReplicaSum` (2017): f32 cannot represent 5.1, so `2.5 + 5.1 = 7.6` is only approximate; the example of 2019 has 5.25.
8. `CollectiveBroadcast`, `CollectivePermute`: devices that receive nothing get zeros of the operand's shape.
9. `BatchNormGrad` (2017): the formulas multiply by a square root instead of dividing by it; those of 2019 and 2025 are right.
10. `Dot` (2017, 2019): arrays of more than two dimensions are contracted as in 2025: over the second dimension of lhs and the first of rhs.
11. `ScaledDot`: `dimension_number` is a `DotDimensionNumbers`, not a `ScatterDimensionNumbers`.
12. `Scatter` (2025): the argument list has both single attributes and `dimension_numbers`, and the text omits the batching dimensions.
13. `Reshape` (2025): the vector of dimension indices that the text mentions is no longer an argument.
14. Translations get left and right operands, comparators and int64 wrong; the signatures are right."""


def family(op: OpDef) -> str:
    """Returns the page in `docs/ops` for an opcode, named after the module that defines the opcode.

    >>> family(OPS["dot"])
    'contraction'
    """
    return op.infer.__module__.rpartition(".")[2]


def method_of(name: str) -> str:
    """Returns the name of the method for a name in XLA's documentation.

    The method's name consists of the words in lowercase, followed by `_` if it is a Python keyword.

    >>> method_of("DotGeneral"), method_of("While")
    ('dot_general', 'while_')
    """
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.replace("ID", "Id")).lower()
    return words + "_" * keyword.iskeyword(words)


def operations_page() -> str:
    """Returns the text of `docs/operations.md` after its first line."""
    imports: dict[str, set[str]] = {}
    sections: list[str] = []
    for part in (*_FAMILIES, _INTERNAL):
        sections.append(f"## {part.title}\n" + (f"\n{part.about}\n" if part.about else ""))
        sections += [_section(name, method_of(name), imports) for name in _sorted_names(part)]
    sections.append("## Methods that are not in XLA's documentation\n")
    sections += [_section(f"`{method}`", method, imports) for method in _OTHERS.split()]
    index = "\n".join(f"* [{part.title}](#{_anchor(part.title)}): {', '.join(map(_link, _sorted_names(part)))}" for part in (*_FAMILIES, _INTERNAL))
    lines = [">>> import hlotool", *(f">>> from {module} import {', '.join(sorted(names))}" for module, names in sorted(imports.items()))]
    return "\n".join([_HEAD, *_block(lines), _NOTES, index + "\n", *sections, _table(), _OLDER, *_classes(), _ERRORS, ""])


def _sorted_names(part: Family) -> list[str]:
    return sorted(name for names in part.names.values() for name in names.split())


def _anchor(title: str) -> str:
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _link(name: str) -> str:
    return f"[{name}](#{_anchor(name)})"


# ---- operations --------------------------------------------------------------------------------


def _section(title: str, method: str, imports: dict[str, set[str]]) -> str:
    """Returns the section for an operation, with signatures, documentation and an example.

    Adds the names that the example imports to `imports`, by module.
    """
    text, _, example = (inspect.getdoc(getattr(Builder, method)) or "").partition(">>> ")
    code = []
    for line in f">>> {example}".splitlines():
        imported = re.fullmatch(r">>> from (\S+) import (.*)", line)
        if imported:
            imports.setdefault(imported[1], set()).update(imported[2].split(", "))
        elif line != ">>> import hlotool":
            code.append(line)
    signatures = "\\\n".join(f"`{signature}`" for signature in _signatures(method))
    opcodes = f": {_opcode_links(method)}" if _opcodes(method) else ""
    return "\n".join([f"### {title}\n", f"{signatures}{opcodes}\n", f"{text.strip()}\n", *_block(code)])


def _block(code: list[str]) -> list[str]:
    return ["```python", *code, "```", ""]


def _signatures(method: str) -> Iterator[str]:
    """Yields the signatures of a method, without types."""
    function = getattr(Builder, method)
    for form in get_overloads(function) or [function]:
        _, *parameters = inspect.signature(form).parameters.values()
        bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in parameters]
        yield f"{method}{inspect.Signature(bare)}"


_BY_METHOD = {method: opcode for opcode, method in METHODS.items()}


def _opcodes(method: str) -> list[str]:
    return _OPCODES.get(method, _BY_METHOD.get(method, method.replace("_", "-"))).split()


def _opcode_links(method: str) -> str:
    return ", ".join(f"[`{opcode}`](ops/{family(OPS[opcode])}.md#{opcode})" for opcode in _opcodes(method))


# ---- tables ------------------------------------------------------------------------------------


def _table() -> str:
    rows = [(name, years) for part in (*_FAMILIES, _INTERNAL) for years, names in part.names.items() for name in names.split()]
    lines = [f"| {_link(name)} | {years} | `{method_of(name)}` | {_opcode_links(method_of(name))} |" for name, years in sorted(rows)]
    return "\n".join([_TABLE, *lines])


def _classes() -> Iterator[str]:
    for name in aliases.__all__:
        yield f"| `{name}` | `{getattr(aliases, name).__name__}` |"
