"""Codecs for result accuracy, sparsity, aliases, buffer donors, entry layouts and origins."""

from __future__ import annotations

from typing import Any

from hlotool.errors import Violation
from hlotool.opdefs.codecs.base import WriteStyle, builds, codec
from hlotool.opdefs.codecs.provenance import leaf_text
from hlotool.opdefs.codecs.scalars import braces, float_text, integer, shape_list, sizes, string
from hlotool.shapes.shape import ProgramShape
from hlotool.shapes.strings import escape
from hlotool.shapes.values import (
    AliasPair,
    DebugEntry,
    OriginLeaf,
    Recovery,
    ResultAccuracy,
    SparsityConfig,
    TensorSparsity,
)

__all__: list[str] = []

_ULPS_LIMIT = 2.0**63
_MODES = ("default", "highest")
_LOG_MODES = ("default", "fusion_debugger")


@builds("tolerance")
def build_tolerance(children: list[Any]) -> tuple[Any, float]:
    return children[0], children[1]


@builds("result_accuracy")
def build_result_accuracy(children: list[Any]) -> ResultAccuracy:
    if children[0].type == "KEY_OF_MODE":
        token = children[1]
        if token.lower() not in _MODES:
            raise Violation("S018", token.start_pos, f"'{token[:60]}' is not one of {', '.join(_MODES)}")
        return ResultAccuracy(token.lower())
    bounds = {"atol=": 0.0, "rtol=": 0.0, "ulps=": 0.0}
    for key, number in children[1:]:
        bounds[str(key)] = number
    ulps = bounds["ulps="]
    if not -_ULPS_LIMIT <= ulps < _ULPS_LIMIT:
        raise Violation("S017", children[0].start_pos, f"ulps must fit in 64 bits, got {ulps:g}")
    return ResultAccuracy("default", (bounds["atol="], bounds["rtol="], int(ulps)))


def _write_result_accuracy(value: ResultAccuracy, style: WriteStyle) -> str:
    if value.tolerance is None:
        return f"{{mode={value.mode}}}"
    atol, rtol, ulps = value.tolerance
    return f"{{tolerance={{atol={_number(atol, style)},rtol={_number(rtol, style)},ulps={ulps}}}}}"


def _number(value: float, style: WriteStyle) -> str:
    return float_text(value, style).removesuffix(".0")


@builds("tensor_sparsity")
def build_tensor_sparsity(children: list[Any]) -> tuple[Any, Any]:
    key, token = children
    return key, sizes(token) if token.type == "DXD" else integer(token)


_SPARSITY_FIELDS = {"sparsity=": "sparsity", "dimension=": "dimension", "stride=": "stride", "idx=": "index"}


@builds("sparsity_config")
def build_sparsity_config(children: list[Any]) -> SparsityConfig:
    sides: dict[str, dict[str, Any]] = {}
    side: dict[str, Any] = {}
    for child in children:
        if isinstance(child, tuple):
            side[_SPARSITY_FIELDS[child[0]]] = child[1]
        else:
            side = sides[str(child[:-1])] = sides.get(str(child[:-1]), {})
    return SparsityConfig(**{name: TensorSparsity(**fields) for name, fields in sides.items()})


def _write_sparsity_config(value: SparsityConfig, style: WriteStyle) -> str:
    parts = []
    for name, side in (("lhs", value.lhs), ("rhs", value.rhs)):
        if side is not None:
            index = "" if side.index is None else f" idx={side.index}"
            sizes = "x".join(map(str, side.sparsity))
            parts.append(f"{name}={{sparsity={sizes} dimension={side.dimension} stride={side.stride}{index}}}")
    return "{" + " ".join(parts) + "}"


# ---- aliasing ----------------------------------------------------------------------------------


@builds("output_alias")
def build_output_alias(children: list[Any]) -> AliasPair:
    output, number, index = children
    return AliasPair(output, integer(number), index)


@builds("input_output_pair")
def build_input_output_pair(children: list[Any]) -> AliasPair:
    output, number, index = children[:3]
    return AliasPair(output, integer(number), index, str(children[3]) if len(children) > 3 else "may-alias")


@builds("output_aliases", "input_output_alias")
def build_aliases(children: list[Any]) -> tuple[AliasPair, ...]:
    return tuple(children)


def _write_output_aliases(value: tuple[AliasPair, ...], style: WriteStyle) -> str:
    return "{" + ", ".join(f"{braces(p.output_index)}: ({p.number}, {braces(p.index)})" for p in value) + "}"


def _write_input_output_alias(value: tuple[AliasPair, ...], style: WriteStyle) -> str:
    pairs = sorted(value, key=lambda p: p.output_index)
    return "{ " + ", ".join(f"{braces(p.output_index)}: ({p.number}, {braces(p.index)}, {p.kind})" for p in pairs) + " }"


@builds("donor")
def build_donor(children: list[Any]) -> tuple[int, tuple[int, ...]]:
    return integer(children[0]), children[1]


@builds("buffer_donor")
def build_buffer_donor(children: list[Any]) -> tuple[tuple[int, tuple[int, ...]], ...]:
    return tuple(sorted(set(children)))


def _write_buffer_donor(value: tuple[tuple[int, tuple[int, ...]], ...], style: WriteStyle) -> str:
    return "{ " + ", ".join(f"({number}, {braces(index)})" for number, index in value) + " }"


@builds("entry_layout")
def build_entry_layout(children: list[Any]) -> ProgramShape:
    return ProgramShape(tuple(children[:-1]), children[-1])


def _write_entry_layout(value: ProgramShape, style: WriteStyle) -> str:
    return f"{{({shape_list(value.parameters)})->{value.result.text}}}"


# ---- recovery and debug tables -----------------------------------------------------------------


@builds("recovery")
def build_recovery(children: list[Any]) -> Recovery:
    old, new, *module = children
    return Recovery(old, new, string(module[0]) if module else None)


@builds("recovery_table")
def build_recovery_table(children: list[Any]) -> tuple[Recovery, ...]:
    # XLA keeps the first of several rows for the same array.
    rows: dict[Any, Recovery] = {}
    for row in children:
        rows.setdefault(row.old, row)
    return tuple(rows.values())


def _write_recovery_table(value: tuple[Recovery, ...], style: WriteStyle) -> str:
    rows = []
    for row in sorted(value, key=lambda r: (r.old.name or "", r.old.index)):
        module = "" if row.module is None else f',\n  "\n{escape_lines(row.module)}\n  "'
        rows.append(f"  {_array_text(row.old)} : {_array_text(row.new)}{module}\n")
    return "{\n" + "".join(rows) + "}\n"


def _array_text(leaf: OriginLeaf) -> str:
    """Returns the text of an array in a table; for an array without a name, XLA prints ""."""
    return leaf_text(leaf) if leaf.name is not None else '{""}'


def escape_lines(text: str) -> str:
    """Escapes a module as XLA does in a recovery table.

    Unlike `escape`, keeps line endings and single quotes.
    """
    return "\n".join(escape(line).replace("\\'", "'") for line in text.split("\n"))


@builds("debug_field")
def build_debug_field(children: list[Any]) -> tuple[str, str]:
    name, value = children[0][:-1], children[1]
    if name == "log_mode" and value not in _LOG_MODES:
        raise Violation("S018", value.start_pos, f"'{value[:60]}' is not one of {', '.join(_LOG_MODES)}")
    return name, str(value)


@builds("debug_record")
def build_debug_record(children: list[Any]) -> tuple[tuple[str, str], ...]:
    return tuple(children)


@builds("debug_entry")
def build_debug_entry(children: list[Any]) -> DebugEntry:
    return DebugEntry(children[0], tuple(children[1:]))


@builds("debug_attributes")
def build_debug_attributes(children: list[Any]) -> tuple[DebugEntry, ...]:
    return tuple(children)


def _write_debug_attributes(value: tuple[DebugEntry, ...], style: WriteStyle) -> str:
    rows = []
    for entry in value:
        records = ", ".join("{" + ",".join(f"{name}={text}" for name, text in record) + "}" for record in entry.records)
        rows.append(f"  {leaf_text(entry.array)}:({records})")
    return "{\n" + ",\n".join(rows) + "\n}"


codec("ResultAccuracy", "result_accuracy", _write_result_accuracy)
codec("SparsityConfig", "sparsity_config", _write_sparsity_config)
codec("OutputAliases", "output_aliases", _write_output_aliases)
codec("InputOutputAlias", "input_output_alias", _write_input_output_alias)
codec("BufferDonor", "buffer_donor", _write_buffer_donor)
codec("EntryLayout", "entry_layout", _write_entry_layout)
codec("RecoveryTable", "recovery_table", _write_recovery_table)
codec("DebugAttributes", "debug_attributes", _write_debug_attributes)
