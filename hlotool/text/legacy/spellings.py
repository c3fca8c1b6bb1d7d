"""Table of old spellings that XLA and its forks have used.

A row contains an old spelling, today's spelling, the last year of the old spelling, and a function.
The row also contains either a pattern, whose matches the function replaces, or an opcode, whose
instructions the function rewrites.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

from hlotool.errors import Edit
from hlotool.text.legacy import instructions
from hlotool.text.legacy.instructions import Rewriting, compare, no_equivalent, rename
from hlotool.text.legacy.literals import dense_literal, plain_literal, separate_bits
from hlotool.text.legacy.old_statements import TYPE, Text
from hlotool.text.legacy.sparse_dots import sparse_dot

__all__ = ["INSTRUCTIONS", "PATTERNS", "OpcodeSpelling", "PatternSpelling"]


Replacement = Callable[[Text, re.Match[str]], list[Edit] | None]


class PatternSpelling(NamedTuple):
    """An old spelling that is found with a regular expression.

    The masked text is searched only if it contains `keyword`. Messages underline the whole match.
    `replace` returns the edits: an empty list if there is no equivalent today, or None if the match
    is not an old spelling after all.
    """

    old: str
    today: str
    until: int
    keyword: str
    pattern: re.Pattern[str]
    replace: Replacement


class OpcodeSpelling(NamedTuple):
    """An old form of the instructions with a given opcode.

    If `opcode` is `-start`, `-update` or `-done`, the row is for all opcodes with this suffix; if
    `opcode` is empty, the row is for all opcodes. `rewrite` returns the edits: an empty list if
    there is no equivalent today, or None if an instruction does not have the old form.
    """

    opcode: str
    old: str
    today: str
    until: int
    rewrite: Rewriting


# ---- patterns ----------------------------------------------------------------------------------

_SHAPE = rf"{TYPE}\[[0-9,<=? ]*+\]"
_KEY = r"(?<![A-Za-z0-9_.\-%])"


def _delete(group: int | str = 0) -> Replacement:
    return lambda text, match: [Edit(*match.span(group), "")]


def _write(words: str, group: int | str = 0) -> Replacement:
    return lambda text, match: [Edit(*match.span(group), words)]


def _attribute(old: str, today: str, until: int) -> PatternSpelling:
    """Returns the row for a renamed attribute."""
    return PatternSpelling(f"{old}=", f"{today}=", until, f"{old}=", re.compile(rf"(?<=[\s,]){old}(?==)"), _write(today))


def _removed_attribute(old: str, value: str, until: int) -> PatternSpelling:
    """Returns the row for a removed attribute, which is deleted with the comma before it."""
    return PatternSpelling(f"{old}=", "left out", until, f"{old}=", re.compile(rf",\s*+{old}={value}"), _delete())


def _removed_field(old: str, value: str, until: int) -> PatternSpelling:
    """Returns the row for a removed metadata field."""
    pattern = re.compile(rf"(?<=[{{ ,]){old}={value}[ ,]?+")
    return PatternSpelling(f"{old}= in metadata", "left out", until, f"{old}=", pattern, _delete())


def _sparse(text: Text, match: re.Match[str]) -> list[Edit]:
    literal = match["literal"]
    if literal is None:
        return [Edit(*match.span("layout"), "")]
    dense = dense_literal(match["dimensions"], literal)
    return [] if dense is None else [Edit(*match.span("layout"), ""), Edit(match.start("shape"), match.end("literal"), dense)]


_WHOLE_ARRAY = re.compile(rf"{_KEY}{_SHAPE}")
# The maximum number of characters from the start of a shape to its empty layout.
_MAX_SHAPE_LENGTH = 300


def _empty_layout(text: Text, match: re.Match[str]) -> list[Edit] | None:
    low = max(0, match.start() - _MAX_SHAPE_LENGTH)
    start = text.masked.rfind("[", low, match.start())
    while start > low and text.masked[start - 1].isalnum():
        start -= 1
    # In `literal=f32[0]{}`, the braces are the literal, not a layout.
    is_shape = start >= 0 and _WHOLE_ARRAY.fullmatch(text.masked, start, match.start() + 1) and text.masked[start - 1 : start] != "="
    return [Edit(*match.span("layout"), "")] if is_shape else None


_ARRAY_INSIDE = re.compile(rf"\b{TYPE}\[")


def _literal_with_shapes(text: Text, match: re.Match[str]) -> list[Edit] | None:
    start, end = match.span("literal")
    return [Edit(start, end, plain_literal(text.whole[start:end]))] if _ARRAY_INSIDE.search(match["literal"]) else None


def _bits(text: Text, match: re.Match[str]) -> list[Edit] | None:
    start, end = match.span("literal")
    return [Edit(start, end, separate_bits(match["literal"]))] if re.search(r"[01]{2}", match["literal"]) else None


def _replace_inside(pattern: str, template: str) -> Replacement:
    """Returns a function that replaces group 1 of each match of `pattern` in the row's match."""

    def replace(text: Text, match: re.Match[str]) -> list[Edit] | None:
        inner = re.compile(pattern).finditer(text.masked, *match.span())
        return [Edit(*found.span(1), template.format(text.whole[slice(*found.span(1))])) for found in inner] or None

    return replace


def _device(text: Text, match: re.Match[str]) -> list[Edit] | None:
    return [Edit(*match.span("old"), f"sharding={{maximal device={match['device']}}}")]


_LAYOUT_PART = re.compile(r"D\([A-Z,+~]*+\)|#\([a-z0-9]*+\)|\*\([a-z0-9]*+\)|P\((?:[^()]++|\((?:[^()]++|\([^()]*+\))*+\))*+\)|[A-Z]\([^()]*+\)")


def _sparse_layout(text: Text, match: re.Match[str]) -> list[Edit] | None:
    """Deletes the parts of a layout that only sparse arrays had.

    These are the dimension kinds, the index types and the physical shape.
    """
    at, edits = match.start("sparse"), []
    while (part := _LAYOUT_PART.match(text.masked, at)) is not None:
        if part[0][0] in "D#*P":
            edits.append(Edit(*part.span(), ""))
        at = part.end()
    # Deletes the colon as well if no property is left after it.
    if edits and edits[0].start == match.start("sparse") and text.masked.startswith("}", at) and edits[-1].end == at:
        edits = [Edit(edits[0].start - 1, at, "")] if all(a.end == b.start for a, b in pairwise(edits)) else edits
    return edits


_parenthesize_aliases = _replace_inside(r"\}:\s*+([0-9]++)(?=\s*+[,}])", "({}, {{}})")
_quote_values = _replace_inside(r"(?<!frontend_attributes)=([A-Za-z0-9_.\-]++)(?=\s*+[,}])", '"{}"')
_INTEGER = r"-?[0-9]++"
_LIST = r"\{[^{}]*+\}"
_STRING = r'"_*+"'
# The literal of a constant, with up to three levels of nested parentheses.
_LITERAL = r"(?P<literal>(?:[^()]++|\((?:[^()]++|\((?:[^()]++|\([^()]*+\))*+\))*+\))*+)"

PATTERNS: tuple[PatternSpelling, ...] = (
    PatternSpelling("f32[2]invalid{}", "f32[2]", 2020, "]invalid{}", re.compile(rf"{_KEY}{_SHAPE}(?P<layout>invalid\{{\}})"), _delete("layout")),
    PatternSpelling(
        "f32[9]sparse{10}",
        "a dense array",
        2020,
        "]sparse{",
        re.compile(
            rf"{_KEY}{TYPE}\[(?P<dimensions>[0-9, ]*+)\](?P<layout>sparse\{{[0-9]*+\}})"
            rf"(?:\s*+constant\((?P<shape>(?:{_SHAPE}\s*+)?+)(?P<literal>\{{[^{{}}\n]*+\}})(?=\)))?+"
        ),
        _sparse,
    ),
    # Almost every module contains the keywords of these rows, so their patterns begin with the
    # keyword: searches for such patterns are much faster.
    PatternSpelling("f32[]{}", "f32[]", 2019, "]{", re.compile(r"\](?P<layout>\{[ ]*+\})(?=\s*+[a-z%A-Z,)}])"), _empty_layout),
    PatternSpelling(
        "constant(f32[2] {1, 2})", "constant({1, 2})", 2019, "constant(", re.compile(rf"constant\((?={_LITERAL}\))"), _literal_with_shapes
    ),
    PatternSpelling(
        "pred[4] constant({1011})",
        "constant({1, 0, 1, 1})",
        2019,
        "pred[",
        re.compile(rf"pred\[[0-9, ]++\](?:\{{[0-9, ]*+\}})?+\s*+constant\((?={_LITERAL}\))"),
        _bits,
    ),
    _attribute("output_window_dims", "offset_dims", 2018),
    _attribute("elided_window_dims", "collapsed_slice_dims", 2018),
    _attribute("gather_dims_to_operand_dims", "start_index_map", 2018),
    _attribute("window_bounds", "slice_sizes", 2018),
    _attribute("opaque", "backend_config", 2019),
    _attribute("all_reduce_id", "channel_id", 2019),
    _attribute("has_side_effect", "custom_call_has_side_effect", 2019),
    _attribute("async_thread_name", "async_execution_thread", 2022),
    _attribute("thread_name", "execution_thread", 2022),
    _attribute("original_value", "origin", 2025),
    _attribute("conv_kind", "convolution_kind", 2026),
    _attribute("original_value_recovery_table", "origin_recovery_table", 2025),
    PatternSpelling(
        "is_cross_program_prefetch=true",
        "cross_program_prefetch_index=0",
        2022,
        "is_cross_program_prefetch=true",
        re.compile(r"(?<=[\s,])is_cross_program_prefetch=true\b"),
        _write("cross_program_prefetch_index=0"),
    ),
    _removed_attribute("is_cross_program_prefetch", "false", 2022),
    _removed_attribute("outer_dimension_partitions", _LIST, 2022),
    _removed_attribute("async_group_id", _INTEGER, 2023),
    _removed_attribute("operation_queue_id", _INTEGER, 2024),
    _removed_attribute("wait_on_operation_queues", _LIST, 2024),
    _removed_attribute("use_atomic", "(?:true|false)", 2019),
    _removed_attribute("replica_group_ids", _LIST, 2018),
    _removed_attribute("barrier", _STRING, 2019),
    _removed_attribute("dynamic_parameter_binding", r"\{(?:[^{}]++|\{[^{}]*+\})*+\}", 2023),
    _removed_field("creation_pass_id", _INTEGER, 2023),
    _removed_field("logical_creation_pass_id", _INTEGER, 2023),
    _removed_field("size_of_generated_code_in_bytes", _INTEGER, 2025),
    _removed_field("size_of_memory_working_set_in_bytes", _INTEGER, 2025),
    _removed_field("preserve_layout", "(?:true|false)", 2025),
    PatternSpelling("kind=kTransposeDot", "kind=kOutput", 2018, "kTransposeDot", re.compile(r"(?<=kind=)kTransposeDot\b"), _write("kOutput")),
    PatternSpelling("must_alias", "must-alias", 2020, "must_alias", re.compile(rf"{_KEY}must_alias\b"), _write("must-alias")),
    PatternSpelling("may_alias", "may-alias", 2020, "may_alias", re.compile(rf"{_KEY}may_alias\b"), _write("may-alias")),
    PatternSpelling(
        "SYSTEM and USER aliases",
        "may-alias",
        2020,
        "input_output_alias=",
        re.compile(r"input_output_alias=\{(?:[^{}\n]++|\{[^{}\n]*+\})*+\}"),
        _replace_inside(r"(?<=[\s,])(SYSTEM|USER)(?=\s*+\))", "may-alias"),
    ),
    PatternSpelling(
        "device=0", "sharding={maximal device=0}", 2017, "device=", re.compile(r"(?<=,)\s*+(?P<old>device=(?P<device>[0-9]++))(?=\s)"), _device
    ),
    PatternSpelling(
        "{f32[2] devices=...}",
        "{devices=...} without the tile's shape",
        2018,
        "devices=[",
        re.compile(rf"(?<=\{{)\s*+(?P<tile>{_SHAPE}\s++)(?=devices=\[)"),
        _delete("tile"),
    ),
    PatternSpelling(
        "f32[2,3]{1,0:D(D,C)P(...)}", "a dense array", 2025, ":D(", re.compile(r"\][ ]*+(?=\{[0-9, ]*+:(?P<sparse>D\())"), _sparse_layout
    ),
    PatternSpelling(
        "input_output_alias={ {0}: 0 }",
        "{0}: (0, {})",
        2019,
        "input_output_alias=",
        re.compile(r"input_output_alias=\{(?:[^{}\n]++|\{[^{}\n]*+\})*+\}"),
        _parenthesize_aliases,
    ),
    PatternSpelling(
        "frontend_attributes={a=b}",
        'frontend_attributes={a="b"}',
        2020,
        "frontend_attributes=",
        re.compile(r"frontend_attributes=\{[^{}]++\}"),
        _quote_values,
    ),
)
"""The rows that have a pattern. If matches overlap, the first row wins."""

INSTRUCTIONS: tuple[OpcodeSpelling, ...] = (
    OpcodeSpelling("equal-to", "equal-to(a, b)", "compare(a, b), direction=EQ", 2019, compare("EQ")),
    OpcodeSpelling("not-equal-to", "not-equal-to(a, b)", "compare(a, b), direction=NE", 2019, compare("NE")),
    OpcodeSpelling("greater-than-or-equal-to", "greater-than-or-equal-to(a, b)", "compare(a, b), direction=GE", 2019, compare("GE")),
    OpcodeSpelling("greater-than", "greater-than(a, b)", "compare(a, b), direction=GT", 2019, compare("GT")),
    OpcodeSpelling("less-than-or-equal-to", "less-than-or-equal-to(a, b)", "compare(a, b), direction=LE", 2019, compare("LE")),
    OpcodeSpelling("less-than", "less-than(a, b)", "compare(a, b), direction=LT", 2019, compare("LT")),
    OpcodeSpelling("tuple-select", "tuple-select(p, a, b)", "a conditional whose branches return their parameters", 2022, instructions.tuple_select),
    OpcodeSpelling("all-reduce-scatter", "all-reduce-scatter", "reduce-scatter", 2021, rename("reduce-scatter")),
    OpcodeSpelling("cross-replica-sum", "cross-replica-sum", "all-reduce", 2019, instructions.cross_replica_sum),
    OpcodeSpelling("generate-token", "generate-token", "after-all", 2018, rename("after-all")),
    OpcodeSpelling("trace", "trace", "a custom-call", 2022, rename("custom-call", ', custom_call_target="trace", custom_call_has_side_effect=true')),
    OpcodeSpelling("infeed", "infeed()", "infeed(token), which returns a pair", 2018, instructions.infeed),
    OpcodeSpelling("outfeed", "outfeed(x)", "outfeed(x, token)", 2018, instructions.outfeed),
    OpcodeSpelling("send", "send(x)", "send(x, token)", 2018, instructions.send_or_recv(1)),
    OpcodeSpelling("send-done", "() send-done", "token[] send-done", 2018, instructions.send_done),
    OpcodeSpelling("recv", "recv()", "recv(token)", 2018, instructions.send_or_recv(0)),
    OpcodeSpelling("recv-done", "recv-done without a token", "recv-done, which returns a pair", 2018, instructions.recv_done),
    OpcodeSpelling("sort", "sort without a comparator", "sort(...), to_apply=...", 2019, instructions.sort),
    OpcodeSpelling("iota", "iota()", "iota(), iota_dimension=0", 2018, instructions.iota),
    OpcodeSpelling("dot", "dot(a, b)", "dot(a, b), lhs_contracting_dims={...}, rhs_contracting_dims={...}", 2018, instructions.dot),
    OpcodeSpelling("", "names that are now keywords or element types", "another name, such as token_", 2024, instructions.rename_instruction),
    OpcodeSpelling("rng", "distribution=rng_bernoulli", "a comparison of random numbers", 2018, instructions.bernoulli),
    OpcodeSpelling("logical-and", "logical-and", "and", 2017, rename("and")),
    OpcodeSpelling("logical-or", "logical-or", "or", 2017, rename("or")),
    OpcodeSpelling("logical-not", "logical-not", "not", 2017, rename("not")),
    OpcodeSpelling("index", "index", "dynamic-slice", 2017, no_equivalent),
    OpcodeSpelling("update", "update", "dynamic-update-slice", 2017, no_equivalent),
    OpcodeSpelling("broadcast-dim-one", "broadcast-dim-one", "a reshape and a broadcast", 2018, instructions.broadcast_degenerate_dimensions),
    OpcodeSpelling("host-compute", "host-compute", "a custom-call", 2018, instructions.host_compute),
    OpcodeSpelling(
        "tuple",
        "a tuple whose shape has more or fewer elements than operands",
        "a tuple whose shape has one element per operand",
        2021,
        instructions.mismatched_tuple,
    ),
    OpcodeSpelling("partition-id", "s32[] partition-id()", "u32[] partition-id()", 2024, instructions.device_id),
    OpcodeSpelling("replica-id", "s32[] replica-id()", "u32[] replica-id()", 2024, instructions.device_id),
    OpcodeSpelling(
        "-start", "the shape of an async-start as (operand, result, ...)", "((operands...), result, ...)", 2022, instructions.flat_async_shape
    ),
    OpcodeSpelling("-update", "a copy of the start's attributes", "left out", 2023, instructions.extra_async_attributes),
    OpcodeSpelling("-done", "a copy of the start's attributes", "left out", 2023, instructions.extra_async_attributes),
    OpcodeSpelling(
        "dot", "dot(lhs, rhs, positions), sparsity=..., from 2024", "dot of a dense operand (structured sparsity was removed)", 2025, sparse_dot
    ),
    OpcodeSpelling("dot", "operand_precision={packed_nibble}", "a convert of s4 or u4 arrays", 2025, instructions.packed_nibbles),
    OpcodeSpelling("convolution", "operand_precision={packed_nibble}", "a convert of s4 or u4 arrays", 2025, instructions.packed_nibbles),
    OpcodeSpelling("topk", "topk(x), to_apply=...", "topk(x), largest=...", 2023, instructions.topk),
    OpcodeSpelling("scan", "scan without num_carries", "scan(...), num_carries=...", 2026, instructions.scan),
)
"""The rows that have an opcode."""
