"""The table of old spellings: what XLA wrote, until when, what it writes today, and how one becomes the other.

A row either has a pattern, whose matches a function replaces, or belongs to an opcode, whose instructions a function rewrites.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from hlotool.errors import Edit
from hlotool.memo import cached_property
from hlotool.text.legacy.literals import dense_literal, plain_literal, spaced_bits
from hlotool.text.legacy.statements import TYPE, Statement, masked, operands_of

__all__ = ["OPCODES", "PATTERNS", "OpcodeSpelling", "PatternSpelling", "Text"]


class Text:
    """The text with old spellings, the same text with strings and comments masked, and its words."""

    def __init__(self, whole: str) -> None:
        self.whole = whole
        self.masked = masked(whole)

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(re.findall(r"[A-Za-z0-9_.\-]++", self.masked))


Replacement = Callable[[Text, re.Match[str]], list[Edit] | None]
Rewriting = Callable[[Text, Statement], list[Edit]]


class PatternSpelling(NamedTuple):
    """An old spelling that a regular expression finds in masked text which has the keyword; its group 0 is underlined.

    `replace` gives the edits: an empty list if there is no equivalent today, None if the match is no old spelling after all.
    """

    old: str
    today: str
    until: int
    keyword: str
    pattern: re.Pattern[str]
    replace: Replacement


class OpcodeSpelling(NamedTuple):
    """An old form of instructions of an opcode. `rewrite` gives the edits, none if an instruction does not have the old form."""

    old: str
    today: str
    until: int
    rewrite: Rewriting


# ---- patterns ---------------------------------------------------------------------------------------------------------

_SHAPE = rf"{TYPE}\[[0-9,<=? ]*+\]"
_KEY = r"(?<![A-Za-z0-9_.\-%])"


def _delete(group: int | str = 0) -> Replacement:
    return lambda text, match: [Edit(*match.span(group), "")]


def _write(words: str, group: int | str = 0) -> Replacement:
    return lambda text, match: [Edit(*match.span(group), words)]


def _attribute(old: str, today: str, until: int) -> PatternSpelling:
    """A renamed attribute."""
    return PatternSpelling(f"{old}=", f"{today}=", until, f"{old}=", re.compile(rf"(?<=[\s,]){old}(?==)"), _write(today))


def _dropped(old: str, value: str, until: int) -> PatternSpelling:
    """An attribute that is gone, with the comma before it."""
    return PatternSpelling(f"{old}=", "left out", until, f"{old}=", re.compile(rf",\s*+{old}={value}"), _delete())


def _dropped_field(old: str, value: str, until: int) -> PatternSpelling:
    """A field of the metadata that is gone."""
    pattern = re.compile(rf"(?<=[{{ ,]){old}={value}[ ,]?+")
    return PatternSpelling(f"{old}= in metadata", "left out", until, f"{old}=", pattern, _delete())


def _sparse(text: Text, match: re.Match[str]) -> list[Edit]:
    literal = match["literal"]
    if literal is None:
        return [Edit(*match.span("layout"), "")]
    dense = dense_literal(match["dimensions"], literal)
    return [] if dense is None else [Edit(*match.span("layout"), ""), Edit(*match.span("literal"), dense)]


_ARRAY_BEFORE = re.compile(rf"{_KEY}{_SHAPE}")
# How far before an empty layout its shape may begin.
_LONGEST_SHAPE = 300


def _empty_layout(text: Text, match: re.Match[str]) -> list[Edit] | None:
    low = max(0, match.start() - _LONGEST_SHAPE)
    start = text.masked.rfind("[", low, match.start())
    while start > low and text.masked[start - 1].isalnum():
        start -= 1
    # The braces of `literal=f32[0]{}` are the literal.
    is_shape = start >= 0 and _ARRAY_BEFORE.fullmatch(text.masked, start, match.start() + 1) and text.masked[start - 1 : start] != "="
    return [Edit(*match.span("layout"), "")] if is_shape else None


_ARRAY_INSIDE = re.compile(rf"\b{TYPE}\[")


def _literal_with_shapes(text: Text, match: re.Match[str]) -> list[Edit] | None:
    start, end = match.span("literal")
    return [Edit(start, end, plain_literal(text.whole[start:end]))] if _ARRAY_INSIDE.search(match["literal"]) else None


def _bits(text: Text, match: re.Match[str]) -> list[Edit] | None:
    start, end = match.span("literal")
    return [Edit(start, end, spaced_bits(match["literal"]))] if re.search(r"[01]{2}", match["literal"]) else None


def _inside(pattern: str, template: str) -> Replacement:
    """Replaces the group 1 of every match of a pattern inside what the row's own pattern matches."""

    def replace(text: Text, match: re.Match[str]) -> list[Edit] | None:
        inner = re.compile(pattern).finditer(text.masked, *match.span())
        return [Edit(*found.span(1), template.format(text.whole[slice(*found.span(1))])) for found in inner] or None

    return replace


_aliases = _inside(r"\}:\s*+([0-9]++)(?=\s*+[,}])", "({}, {{}})")
_unquoted = _inside(r"(?<!frontend_attributes)=([A-Za-z0-9_.\-]++)(?=\s*+[,}])", '"{}"')
_INTEGER = r"-?[0-9]++"
_LIST = r"\{[^{}]*+\}"
_STRING = r'"_*+"'
# The literal of a constant, with parentheses down to three levels.
_LITERAL = r"(?P<literal>(?:[^()]++|\((?:[^()]++|\((?:[^()]++|\([^()]*+\))*+\))*+\))*+)"

PATTERNS: tuple[PatternSpelling, ...] = (
    PatternSpelling("f32[2]invalid{}", "f32[2]", 2020, "]invalid{}", re.compile(rf"{_KEY}{_SHAPE}(?P<layout>invalid\{{\}})"), _delete("layout")),
    PatternSpelling(
        "f32[9]sparse{10}",
        "a dense array",
        2020,
        "]sparse{",
        re.compile(
            rf"{_KEY}{TYPE}\[(?P<dimensions>[0-9, ]*+)\](?P<layout>sparse\{{[0-9]*+\}})(?:\s*+constant\((?P<literal>\{{[^{{}}\n]*+\}})(?=\)))?+"
        ),
        _sparse,
    ),
    # The patterns of these rows, whose keywords are in every text, begin with their keywords: such patterns are found much faster.
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
    _attribute("original_value", "origin", 2025),
    _attribute("original_value_recovery_table", "origin_recovery_table", 2025),
    PatternSpelling(
        "is_cross_program_prefetch=true",
        "cross_program_prefetch_index=0",
        2022,
        "is_cross_program_prefetch=true",
        re.compile(r"(?<=[\s,])is_cross_program_prefetch=true\b"),
        _write("cross_program_prefetch_index=0"),
    ),
    _dropped("is_cross_program_prefetch", "false", 2022),
    _dropped("outer_dimension_partitions", _LIST, 2022),
    _dropped("async_group_id", _INTEGER, 2023),
    _dropped("replica_group_ids", _LIST, 2018),
    _dropped("barrier", _STRING, 2019),
    _dropped("dynamic_parameter_binding", r"\{(?:[^{}]++|\{[^{}]*+\})*+\}", 2023),
    _dropped_field("creation_pass_id", _INTEGER, 2023),
    _dropped_field("logical_creation_pass_id", _INTEGER, 2023),
    _dropped_field("size_of_generated_code_in_bytes", _INTEGER, 2025),
    _dropped_field("size_of_memory_working_set_in_bytes", _INTEGER, 2025),
    _dropped_field("preserve_layout", "(?:true|false)", 2025),
    PatternSpelling("kind=kTransposeDot", "kind=kOutput", 2018, "kTransposeDot", re.compile(r"(?<=kind=)kTransposeDot\b"), _write("kOutput")),
    PatternSpelling("must_alias", "must-alias", 2020, "must_alias", re.compile(rf"{_KEY}must_alias\b"), _write("must-alias")),
    PatternSpelling("may_alias", "may-alias", 2020, "may_alias", re.compile(rf"{_KEY}may_alias\b"), _write("may-alias")),
    PatternSpelling(
        "input_output_alias={ {0}: 0 }",
        "{0}: (0, {})",
        2019,
        "input_output_alias=",
        re.compile(r"input_output_alias=\{(?:[^{}\n]++|\{[^{}\n]*+\})*+\}"),
        _aliases,
    ),
    PatternSpelling(
        "frontend_attributes={a=b}",
        'frontend_attributes={a="b"}',
        2020,
        "frontend_attributes=",
        re.compile(r"frontend_attributes=\{[^{}]++\}"),
        _unquoted,
    ),
)
"""Rows that are found by their own pattern. Of matches that overlap, the first row wins."""

# ---- opcodes ----------------------------------------------------------------------------------------------------------


def _opcode_edit(statement: Statement, opcode: str) -> Edit:
    return Edit(statement.opcode_start, statement.opcode_start + len(statement.opcode), opcode)


def _appended(statement: Statement, attributes: str) -> Edit:
    """Adds attributes after the operands."""
    at = statement.operands[1] + 1
    return Edit(at, at, attributes)


def _compare(direction: str) -> Rewriting:
    return lambda text, statement: [_opcode_edit(statement, "compare"), _appended(statement, f", direction={direction}")]


def _renamed(opcode: str, attributes: str = "") -> Rewriting:
    return lambda text, statement: [_opcode_edit(statement, opcode), *([_appended(statement, attributes)] if attributes else [])]


def _clean_shape(text: Text, statement: Statement) -> str:
    """The shape of an instruction without old layouts."""
    return re.sub(r"(?:(?:invalid|sparse)\{[0-9]*+\}|(?<=\])\{[ ]*+\})", "", text.whole[slice(*statement.shape)])


def _tuple_select(text: Text, statement: Statement) -> list[Edit]:
    shape = _clean_shape(text, statement)
    if not shape:
        return []
    branches = f", true_computation={{ ROOT on_true = {shape} parameter(0) }}, false_computation={{ ROOT on_false = {shape} parameter(0) }}"
    return [_opcode_edit(statement, "conditional"), _appended(statement, branches)]


def _cross_replica_sum(text: Text, statement: Statement) -> list[Edit]:
    edits = [_opcode_edit(statement, "all-reduce")]
    if "to_apply" not in statement.attributes:
        element = re.search(TYPE, _clean_shape(text, statement))
        if element is None:
            return []
        scalar = f"{element[0]}[]"
        body = f"{{ x = {scalar} parameter(0) y = {scalar} parameter(1) ROOT sum = {scalar} add(x, y) }}"
        edits.append(_appended(statement, f", to_apply={body}"))
    return edits


def _sort(text: Text, statement: Statement) -> list[Edit]:
    if "to_apply" in statement.attributes:
        return []
    arrays = re.findall(rf"({TYPE})\[([0-9,<= ]*+)\]", _clean_shape(text, statement))
    if not arrays:
        return []
    parameters = " ".join(
        f"p.{k}.{side} = {dtype}[] parameter({2 * k + n})" for k, (dtype, _) in enumerate(arrays) for n, side in enumerate(("lhs", "rhs"))
    )
    body = f"{{ {parameters} ROOT less = pred[] compare(p.0.lhs, p.0.rhs), direction=LT }}"
    # Before sort had dimensions, it sorted along the last one.
    along = "" if "dimensions" in statement.attributes else f", dimensions={{{arrays[0][1].count(',')}}}"
    return [_appended(statement, f"{along}, to_apply={body}")]


def _iota(text: Text, statement: Statement) -> list[Edit]:
    return [] if "iota_dimension" in statement.attributes else [_appended(statement, ", iota_dimension=0")]


def _new_name(text: Text, statement: Statement, suffix: str) -> str:
    """A name for another instruction that an instruction becomes: with a percent sign if it has one, and unused in the text."""
    name = f"{statement.name}.{suffix}"
    while name.removeprefix("%") in text.words:
        name += "_"
    return name


_DEEPEST_INDENT = 200


def _indent(text: Text, statement: Statement) -> str:
    """What separates an instruction from the one before it: the line end and the space before it."""
    start = statement.start
    line = text.whole.rfind("\n", max(0, start - _DEEPEST_INDENT), start) + 1
    space = text.whole[line:start]
    return f"\n{space}" if line and not space.strip() else " "


def _with_token(text: Text, statement: Statement, wanted: int) -> tuple[str, str] | None:
    """The definition of a token and its name, if the instruction has `wanted` operands, that is, none for the token."""
    if len(operands_of(text.masked, statement)) != wanted:
        return None
    token = _new_name(text, statement, "token")
    return f"{token} = token[] after-all(){_indent(text, statement)}", token


def _head(text: Text, statement: Statement, definition: str, name: str, shape: str) -> Edit:
    """Replaces everything before the opcode."""
    return Edit(statement.start, statement.opcode_start, f"{definition}{name} = {shape} ")


def _tail(text: Text, statement: Statement, expression: str) -> Edit:
    """Defines the old name after the instruction."""
    return Edit(statement.end, statement.end, f"{_indent(text, statement)}{statement.root}{statement.name} = {expression}")


def _infeed(text: Text, statement: Statement) -> list[Edit]:
    token, shape = _with_token(text, statement, 0), _clean_shape(text, statement)
    if token is None or not shape:
        return []
    pair = _new_name(text, statement, "pair")
    return [
        _head(text, statement, token[0], pair, f"({shape}, token[])"),
        Edit(*statement.operands, token[1]),
        _tail(text, statement, f"{shape} get-tuple-element({pair}), index=0"),
    ]


def _effect_only(text: Text, statement: Statement, definition: str) -> list[Edit]:
    """An instruction that gave an empty tuple and gives a token today. As the root, it is followed by the empty tuple."""
    if not statement.root:
        return [_head(text, statement, definition, statement.name, "token[]")]
    name = _new_name(text, statement, "done")
    return [_head(text, statement, definition, name, "token[]"), _tail(text, statement, "() tuple()")]


def _outfeed(text: Text, statement: Statement) -> list[Edit]:
    token = _with_token(text, statement, 1)
    if token is None:
        return []
    at = statement.operands[1]
    return [*_effect_only(text, statement, token[0]), Edit(at, at, f", {token[1]}")]


def _send_or_recv(operands: int) -> Rewriting:
    def rewrite(text: Text, statement: Statement) -> list[Edit]:
        token, shape = _with_token(text, statement, operands), _clean_shape(text, statement)
        if token is None or not shape.startswith("("):
            return []
        shape = shape if "token[]" in shape else f"{shape[:-1]}, token[])"
        at = statement.operands[1]
        name = f"{statement.root}{statement.name}"
        return [_head(text, statement, token[0], name, shape), Edit(at, at, f", {token[1]}" if operands else token[1])]

    return rewrite


def _operand_with_token(text: Text, statement: Statement) -> list[Edit]:
    """Adds a token to the shape that is written before the operand, if there is one."""
    for start, end in operands_of(text.masked, statement):
        operand = text.masked[start:end]
        close = operand.rfind(")")
        if operand.startswith("(") and "token[]" not in operand:
            return [Edit(start + close, start + close, ", token[]")]
    return []


def _recv_done(text: Text, statement: Statement) -> list[Edit]:
    shape = _clean_shape(text, statement)
    if not shape or "token[]" in shape:
        return []
    pair = _new_name(text, statement, "pair")
    return [
        _head(text, statement, "", pair, f"({shape}, token[])"),
        *_operand_with_token(text, statement),
        _tail(text, statement, f"{shape} get-tuple-element({pair}), index=0"),
    ]


def _send_done(text: Text, statement: Statement) -> list[Edit]:
    if text.masked[slice(*statement.shape)].replace(" ", "") != "()":
        return []
    return [*_effect_only(text, statement, ""), *_operand_with_token(text, statement)]


def _dot(text: Text, statement: Statement) -> list[Edit]:
    """`dot` of a matrix and a vector or matrix without dimension numbers, where the operands' shapes are written."""
    if any(name.endswith("_contracting_dims") for name in statement.attributes):
        return []
    ranks = []
    for start, end in operands_of(text.masked, statement):
        shape = re.match(rf"{TYPE}\[([0-9, ]*+)\]", text.masked[start:end])
        if shape is None or not shape[1].strip():
            return []
        ranks.append(shape[1].count(",") + 1)
    result = re.match(rf"{TYPE}\[([0-9, ]*+)\]", text.masked[slice(*statement.shape)])
    rank = None if result is None else len(result[1].split(",")) if result[1].strip() else 0
    if len(ranks) != 2 or max(ranks) > 2 or rank != sum(ranks) - 2:
        return []
    return [_appended(statement, f", lhs_contracting_dims={{{ranks[0] - 1}}}, rhs_contracting_dims={{0}}")]


OPCODES: dict[str, OpcodeSpelling] = {
    "equal-to": OpcodeSpelling("equal-to(a, b)", "compare(a, b), direction=EQ", 2019, _compare("EQ")),
    "not-equal-to": OpcodeSpelling("not-equal-to(a, b)", "compare(a, b), direction=NE", 2019, _compare("NE")),
    "greater-than-or-equal-to": OpcodeSpelling("greater-than-or-equal-to(a, b)", "compare(a, b), direction=GE", 2019, _compare("GE")),
    "greater-than": OpcodeSpelling("greater-than(a, b)", "compare(a, b), direction=GT", 2019, _compare("GT")),
    "less-than-or-equal-to": OpcodeSpelling("less-than-or-equal-to(a, b)", "compare(a, b), direction=LE", 2019, _compare("LE")),
    "less-than": OpcodeSpelling("less-than(a, b)", "compare(a, b), direction=LT", 2019, _compare("LT")),
    "tuple-select": OpcodeSpelling("tuple-select(p, a, b)", "a conditional whose branches give their parameters", 2022, _tuple_select),
    "all-reduce-scatter": OpcodeSpelling("all-reduce-scatter", "reduce-scatter", 2021, _renamed("reduce-scatter")),
    "cross-replica-sum": OpcodeSpelling("cross-replica-sum", "all-reduce", 2019, _cross_replica_sum),
    "generate-token": OpcodeSpelling("generate-token", "after-all", 2018, _renamed("after-all")),
    "trace": OpcodeSpelling(
        "trace", "a custom-call", 2022, _renamed("custom-call", ', custom_call_target="trace", custom_call_has_side_effect=true')
    ),
    "infeed": OpcodeSpelling("infeed()", "infeed(token), which gives a pair", 2018, _infeed),
    "outfeed": OpcodeSpelling("outfeed(x)", "outfeed(x, token)", 2018, _outfeed),
    "send": OpcodeSpelling("send(x)", "send(x, token)", 2018, _send_or_recv(1)),
    "send-done": OpcodeSpelling("() send-done", "token[] send-done", 2018, _send_done),
    "recv": OpcodeSpelling("recv()", "recv(token)", 2018, _send_or_recv(0)),
    "recv-done": OpcodeSpelling("recv-done without a token", "recv-done, which gives a pair", 2018, _recv_done),
    "sort": OpcodeSpelling("sort without a comparator", "sort(...), to_apply=...", 2019, _sort),
    "iota": OpcodeSpelling("iota()", "iota(), iota_dimension=0", 2018, _iota),
    "dot": OpcodeSpelling("dot(a, b)", "dot(a, b), lhs_contracting_dims={...}, rhs_contracting_dims={...}", 2018, _dot),
}
"""Rows by opcode."""
