"""Codecs for annotations.

Annotations are metadata, stack frames, frontend attributes, backend configurations, statistics,
origins and domains.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hlotool.errors import Violation
from hlotool.opdefs.codecs.base import CODECS, WriteStyle, builds, codec
from hlotool.opdefs.codecs.scalars import float_text, integer, string
from hlotool.shapes.metadata import FileLocation, Metadata, StackFrame, StackTables
from hlotool.shapes.strings import is_raw_dict, printed_string, quote
from hlotool.shapes.values import DomainMetadata, Origin, OriginLeaf, StatisticsViz

__all__ = ["origin_text"]


# ---- metadata and stack tables -----------------------------------------------------------------


# XLA's enum ProfileType has values from 0 to 3; XLA rejects other numbers.
_PROFILE_TYPES = 4


@builds("metadata_field")
def build_metadata_field(children: list[Any]) -> tuple[Any, Any]:
    key, value = children
    if isinstance(value, tuple):
        unknown = [kind for kind in value if not 0 <= kind < _PROFILE_TYPES]
        if unknown:
            raise Violation("S018", key.start_pos, f"a profile type must be between 0 and {_PROFILE_TYPES - 1}, got {unknown[0]}")
        return key, value
    return key, string(value) if value.type == "STRING" else integer(value, bits=32)


@builds("metadata")
def build_metadata(children: list[Any]) -> Metadata:
    return Metadata(**_unique(children[1:], "the metadata"))


def _unique(fields: list[tuple[Any, Any]], where: str) -> dict[str, Any]:
    """Returns the fields by name; raises Violation if a name occurs twice."""
    values: dict[str, Any] = {}
    for key, value in fields:
        name = key[:-1]
        if name in values:
            raise Violation("S016", key.start_pos, f"'{name}' occurs twice in {where}")
        values[name] = value
    return values


@builds("file_name", "function_name")
def build_table_name(children: list[Any]) -> str:
    return string(children[1])


@builds("location_field", "frame_field")
def build_table_field(children: list[Any]) -> tuple[Any, int]:
    return children[0], integer(children[1], bits=32)


def _row(children: list[Any], kind: type, required: tuple[str, ...]) -> Any:
    values = _unique(children[1:], "this row")
    missing = [name for name in required if name not in values]
    if missing:
        raise Violation("S014", children[0].start_pos, f"'{missing[0]}' is missing from this row")
    return kind(**values)


@builds("file_location")
def build_file_location(children: list[Any]) -> FileLocation:
    required = ("file_name_id", "function_name_id", "line", "end_line", "column", "end_column")
    location: FileLocation = _row(children, FileLocation, required)
    return location


@builds("stack_frame")
def build_stack_frame(children: list[Any]) -> StackFrame:
    frame: StackFrame = _row(children, StackFrame, ("file_location_id", "parent_frame_id"))
    return frame


@builds("stack_tables")
def build_stack_tables(children: list[Any]) -> StackTables:
    heads = [k for k, child in enumerate(children) if getattr(child, "type", "") in _HEADS] + [len(children)]
    tables = [tuple(children[start + 1 : end]) for start, end in pairwise(heads)]
    return StackTables(*tables)


_HEADS = ("FILE_NAMES", "FUNCTION_NAMES", "FILE_LOCATIONS", "STACK_FRAMES")


# ---- dictionaries ------------------------------------------------------------------------------


def _dict_or_string(token: Any) -> str:
    return str(token) if token.type == "RAW_DICT" else string(token)


@builds("frontend_attribute")
def build_frontend_attribute(children: list[Any]) -> tuple[str, str]:
    return children[0][:-1], _dict_or_string(children[1])


@builds("frontend_attributes")
def build_frontend_attributes(children: list[Any]) -> dict[str, str]:
    return dict(children)


def _write_frontend_attributes(value: dict[str, str], style: WriteStyle) -> str:
    return "{" + ",".join(f"{key}={_write_raw(value[key], style)}" for key in sorted(value)) + "}"


def _write_raw(value: str, style: WriteStyle) -> str:
    if style.exact:
        # Without quotes, text around a dictionary would be lost.
        return value if is_raw_dict(value) else quote(value)
    return printed_string(value)


@builds("backend_config")
def build_backend_config(children: list[Any]) -> str:
    return _dict_or_string(children[0])


# ---- statistics --------------------------------------------------------------------------------


@builds("statistic")
def build_statistic(children: list[Any]) -> tuple[str, float]:
    return children[0][:-1], float(children[1])


@builds("statistics")
def build_statistics(children: list[Any]) -> StatisticsViz:
    return StatisticsViz(integer(children[1]), tuple(children[2:])) if children else StatisticsViz()


def _write_statistics(value: StatisticsViz, style: WriteStyle) -> str:
    numbers = "".join(f",{name}={float_text(number, style).removesuffix('.0')}" for name, number in value.values)
    return f"{{visualizing_index={value.visualizing_index}{numbers}}}"


# ---- origins -----------------------------------------------------------------------------------


@builds("shape_index")
def build_shape_index(children: list[Any]) -> tuple[int, ...]:
    return tuple(integer(token) for token in children)


@builds("origin_leaf")
def build_origin_leaf(children: list[Any]) -> OriginLeaf:
    return OriginLeaf(string(children[0]), *children[1:]) if children else OriginLeaf()


@builds("origin_tree")
def build_origin_tree(children: list[Any]) -> object:
    return children[0]


@builds("origin_node")
def build_origin_node(children: list[Any]) -> object:
    return tuple(children)


@builds("origin")
def build_origin(children: list[Any]) -> Origin:
    return Origin(children[0] if children else ())


@builds("synthetic_origin")
def build_synthetic_origin(children: list[Any]) -> Origin:
    return Origin(synthetic=True)


def leaf_text(leaf: OriginLeaf) -> str:
    """Returns the text of a leaf, such as `{"name" {1,0}}`. As in XLA, the name is not escaped."""
    if leaf.name is None:
        return "{}"
    return f'{{"{leaf.name}"' + (f" {{{','.join(map(str, leaf.index))}}}" if leaf.index else "") + "}"


def origin_text(tree: object) -> str:
    """Returns the text of a tree, with its parentheses: `({"p"}, {"q" {1,0}})`.

    >>> origin_text((OriginLeaf("p"), OriginLeaf("q", (1, 0))))
    '({"p"}, {"q" {1,0}})'
    """
    out: list[str] = []
    stack: list[object] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            out.append(node)
        elif isinstance(node, tuple):
            stack.append(")")
            for k in range(len(node) - 1, -1, -1):
                stack.append(node[k])
                stack.append(", " if k else "(")
            if not node:
                stack.append("(")
        elif isinstance(node, OriginLeaf):
            out.append(leaf_text(node))
    return "".join(out)


def _write_origin(value: Origin, style: WriteStyle) -> str:
    return "{[synthetic_call]}" if value.synthetic else "{" + origin_text(value.tree) + "}"


# ---- domains -----------------------------------------------------------------------------------


@builds("domain_field")
def build_domain_field(children: list[Any]) -> tuple[Any, Any]:
    key, value = children
    return key, string(value) if key == "kind=" else value


@builds("domain")
def build_domain(children: list[Any]) -> DomainMetadata:
    brace, *fields = children
    values = _unique(fields, "this domain")
    missing = [name for name in ("kind", "entry", "exit") if name not in values]
    if missing:
        raise Violation("S014", brace.start_pos, f"'{missing[0]}' is missing from this domain")
    if values["kind"] != "sharding":
        raise Violation("S018", brace.start_pos, f'the kind of a domain must be "sharding", got {quote(values["kind"])}')
    return DomainMetadata(**values)


def _write_domain(value: DomainMetadata, style: WriteStyle) -> str:
    write = CODECS["Sharding"].write
    return f'{{kind="{value.kind}", entry={write(value.entry, style)}, exit={write(value.exit, style)}}}'


def _write_metadata(value: Metadata, style: WriteStyle) -> str:
    if style.metadata_only_op_name:
        return Metadata(op_name=value.op_name).text
    return value.text


codec("Metadata", "metadata", _write_metadata)
codec("FrontendAttributes", "frontend_attributes", _write_frontend_attributes)
codec("BackendConfig", "backend_config", _write_raw)
codec("Statistics", "statistics", _write_statistics)
codec("Origin", "origin", _write_origin)
codec("Domain", "domain", _write_domain)
