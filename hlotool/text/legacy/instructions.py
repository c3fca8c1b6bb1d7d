"""Rewrites instructions from old forms to today's forms, for the rows of `spellings.py`.

Each function takes the text and an instruction. It returns None if the instruction does not have
the old form, and an empty list if it has the old form but cannot be rewritten, for example because
the text does not contain the shape of an operand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from hlotool.errors import Edit
from hlotool.opdefs.table import OPS
from hlotool.text.legacy.old_statements import TYPE, Array, Statement, Text, operands_of
from hlotool.text.source.tokens import LINE

__all__ = [
    "Instructions",
    "Rewriting",
    "bernoulli",
    "broadcast_degenerate_dimensions",
    "compare",
    "cross_replica_sum",
    "device_id",
    "dot",
    "drop_attributes",
    "extra_async_attributes",
    "flat_async_shape",
    "host_compute",
    "infeed",
    "iota",
    "mismatched_tuple",
    "no_equivalent",
    "opcode_edit",
    "outfeed",
    "packed_nibbles",
    "recv_done",
    "rename",
    "rename_instruction",
    "scalar_add",
    "scan",
    "send_done",
    "send_or_recv",
    "sort",
    "topk",
    "tuple_select",
]  # fmt: skip

Rewriting = Callable[[Text, Statement], list[Edit] | None]


class Instructions:
    """New instructions that are inserted before a rewritten instruction, to serve as operands."""

    def __init__(self, text: Text, statement: Statement) -> None:
        self.text, self.statement = text, statement
        self.separator = _indent(text, statement)
        self.written = ""
        self.names: set[str] = set()

    def add(self, suffix: str, expression: str) -> str:
        """Adds an instruction, named after the rewritten instruction, and returns its name."""
        name = _new_name(self.text, self.statement, suffix)
        while name in self.names:
            name += "_"
        self.names.add(name)
        self.written += f"{name} = {expression}{self.separator}"
        return name

    @property
    def edit(self) -> Edit:
        return Edit(self.statement.start, self.statement.start, self.written)


def opcode_edit(statement: Statement, opcode: str) -> Edit:
    return Edit(statement.opcode_start, statement.opcode_start + len(statement.opcode), opcode)


def _append(statement: Statement, attributes: str) -> Edit:
    """Returns the edit that adds attributes after the operands."""
    at = statement.operands[1] + 1
    return Edit(at, at, attributes)


def drop_attributes(statement: Statement, names: Iterable[str]) -> list[Edit]:
    return [Edit(*statement.attributes[name], "") for name in names if name in statement.attributes]


def no_equivalent(text: Text, statement: Statement) -> list[Edit] | None:
    """Returns no edits, for an instruction that has no equivalent today."""
    return []


def compare(direction: str) -> Rewriting:
    return lambda text, statement: [opcode_edit(statement, "compare"), _append(statement, f", direction={direction}")]


def rename(opcode: str, attributes: str = "") -> Rewriting:
    return lambda text, statement: [opcode_edit(statement, opcode), *([_append(statement, attributes)] if attributes else [])]


def rename_instruction(text: Text, statement: Statement) -> list[Edit] | None:
    """Renames an instruction whose name is no longer valid.

    Also renames its uses, up to the next instruction with the same name.
    """
    bare = statement.name.removeprefix("%")
    if bare not in text.new_names:
        return None
    start, end = text.scope_of_name(statement)
    spans = [statement.name_span, *(span for span in text.uses.get(bare, ()) if start < span[0] < end)]
    return [Edit(*span, text.new_name(text.masked[slice(*span)])) for span in spans]


def _clean_shape(text: Text, statement: Statement) -> str:
    """Returns an instruction's shape, without old layouts."""
    return re.sub(r"(?:(?:invalid|sparse)\{[0-9]*+\}|(?<=\])\{[ ]*+\})", "", text.whole[slice(*statement.shape)])


def tuple_select(text: Text, statement: Statement) -> list[Edit] | None:
    shape = _clean_shape(text, statement)
    if not shape:
        return []
    branches = f", true_computation={{ ROOT on_true = {shape} parameter(0) }}, false_computation={{ ROOT on_false = {shape} parameter(0) }}"
    return [opcode_edit(statement, "conditional"), _append(statement, branches)]


def cross_replica_sum(text: Text, statement: Statement) -> list[Edit] | None:
    edits = [opcode_edit(statement, "all-reduce")]
    if "to_apply" not in statement.attributes:
        element = re.search(TYPE, _clean_shape(text, statement))
        if element is None:
            return []
        edits.append(_append(statement, f", to_apply={scalar_add(element[0])}"))
    return edits


def scalar_add(dtype: str) -> str:
    return f"{{ x = {dtype}[] parameter(0) y = {dtype}[] parameter(1) ROOT sum = {dtype}[] add(x, y) }}"


def sort(text: Text, statement: Statement) -> list[Edit] | None:
    if "to_apply" in statement.attributes:
        return None
    arrays = re.findall(rf"({TYPE})\[([0-9,<= ]*+)\]", _clean_shape(text, statement))
    if not arrays:
        return []
    parameters = " ".join(
        f"p.{k}.{side} = {dtype}[] parameter({2 * k + n})" for k, (dtype, _) in enumerate(arrays) for n, side in enumerate(("lhs", "rhs"))
    )
    body = f"{{ {parameters} ROOT less = pred[] compare(p.0.lhs, p.0.rhs), direction=LT }}"
    # Before `sort` had a `dimensions` attribute, it sorted along the last dimension.
    along = "" if "dimensions" in statement.attributes else f", dimensions={{{arrays[0][1].count(',')}}}"
    return [_append(statement, f"{along}, to_apply={body}")]


def iota(text: Text, statement: Statement) -> list[Edit] | None:
    return None if "iota_dimension" in statement.attributes else [_append(statement, ", iota_dimension=0")]


def _new_name(text: Text, statement: Statement, suffix: str) -> str:
    """Returns an unused name for an additional instruction derived from `statement`.

    The name has a percent sign if the original name has one.
    """
    name = f"{statement.name}.{suffix}"
    while name.removeprefix("%") in text.words:
        name += "_"
    return name


_DEEPEST_INDENT = 200


def _indent(text: Text, statement: Statement) -> str:
    """Returns the separator before an instruction: a line end and the indentation, or a space."""
    start = statement.start
    line = text.whole.rfind("\n", max(0, start - _DEEPEST_INDENT), start) + 1
    space = text.whole[line:start]
    return f"\n{space}" if line and not space.strip() else " "


def _make_token(text: Text, statement: Statement, wanted: int) -> tuple[str, str] | None:
    """Returns the definition and the name of a token for an instruction without a token operand.

    Returns None unless the instruction has exactly `wanted` operands, as it had before XLA added
    tokens.
    """
    if len(operands_of(text.masked, statement)) != wanted:
        return None
    token = _new_name(text, statement, "token")
    return f"{token} = token[] after-all(){_indent(text, statement)}", token


def _head(text: Text, statement: Statement, definition: str, name: str, shape: str) -> Edit:
    """Returns the edit that replaces everything before the opcode."""
    return Edit(statement.start, statement.opcode_start, f"{definition}{name} = {shape} ")


def _tail(text: Text, statement: Statement, expression: str) -> Edit:
    """Returns the edit that adds an instruction with the old name after the instruction."""
    return Edit(statement.end, statement.end, f"{_indent(text, statement)}{statement.root}{text.new_name(statement.name)} = {expression}")


def infeed(text: Text, statement: Statement) -> list[Edit] | None:
    token, shape = _make_token(text, statement, 0), _clean_shape(text, statement)
    if token is None:
        return None
    if not shape:
        return []
    pair = _new_name(text, statement, "pair")
    return [
        _head(text, statement, token[0], pair, f"({shape}, token[])"),
        Edit(*statement.operands, token[1]),
        _tail(text, statement, f"{shape} get-tuple-element({pair}), index=0"),
    ]


def _effect_only(text: Text, statement: Statement, definition: str) -> list[Edit]:
    """Rewrites an instruction that once returned an empty tuple and now returns a token.

    If the instruction is the root, adds an empty tuple after it.
    """
    if not statement.root:
        return [_head(text, statement, definition, text.new_name(statement.name), "token[]")]
    name = _new_name(text, statement, "done")
    return [_head(text, statement, definition, name, "token[]"), _tail(text, statement, "() tuple()")]


def outfeed(text: Text, statement: Statement) -> list[Edit] | None:
    token = _make_token(text, statement, 1)
    if token is None:
        return None
    at = statement.operands[1]
    return [*_effect_only(text, statement, token[0]), Edit(at, at, f", {token[1]}")]


def send_or_recv(operands: int) -> Rewriting:
    def rewrite(text: Text, statement: Statement) -> list[Edit] | None:
        token, shape = _make_token(text, statement, operands), _clean_shape(text, statement)
        if token is None:
            return None
        if not shape.startswith("("):
            # At first, the shape of `send` and `recv` was the shape of the data.
            shape = f"({shape}, u32[], token[])" if shape else ""
        elif "token[]" not in shape:
            shape = f"{shape[:-1]}, token[])"
        at = statement.operands[1]
        name = f"{statement.root}{text.new_name(statement.name)}"
        head = _head(text, statement, token[0], name, shape)
        return [head, Edit(at, at, f", {token[1]}" if operands else token[1])] if shape else []

    return rewrite


def _add_token_to_shape(text: Text, statement: Statement) -> list[Edit]:
    """Adds a token to the tuple shape written before the operand, if there is such a shape."""
    for start, end in operands_of(text.masked, statement):
        operand = text.masked[start:end]
        close = operand.rfind(")")
        if operand.startswith("(") and "token[]" not in operand:
            return [Edit(start + close, start + close, ", token[]")]
    return []


def recv_done(text: Text, statement: Statement) -> list[Edit] | None:
    shape = _clean_shape(text, statement)
    if not shape or "token[]" in shape:
        return None
    pair = _new_name(text, statement, "pair")
    return [
        _head(text, statement, "", pair, f"({shape}, token[])"),
        *_add_token_to_shape(text, statement),
        _tail(text, statement, f"{shape} get-tuple-element({pair}), index=0"),
    ]


def send_done(text: Text, statement: Statement) -> list[Edit] | None:
    if text.masked[slice(*statement.shape)].replace(" ", "") != "()":
        return None
    return [*_effect_only(text, statement, ""), *_add_token_to_shape(text, statement)]


def dot(text: Text, statement: Statement) -> list[Edit] | None:
    """Adds dimension numbers to a `dot` without any, if its operands are vectors or matrices."""
    if any(name.endswith("_contracting_dims") or name == "sparsity" for name in statement.attributes):
        return None
    arrays = [text.operand_array(operand) for operand in operands_of(text.masked, statement)]
    if len(arrays) != 2:
        return None
    ranks = [len(array.dimensions) for array in arrays if array is not None]
    result = text.array(statement.shape)
    if len(ranks) != 2 or min(ranks) < 1 or max(ranks) > 2 or result is None or len(result.dimensions) != sum(ranks) - 2:
        return []
    return [_append(statement, f", lhs_contracting_dims={{{ranks[0] - 1}}}, rhs_contracting_dims={{0}}")]


def broadcast_degenerate_dimensions(text: Text, statement: Statement) -> list[Edit] | None:
    """Rewrites `broadcast-dim-one`, which repeated an operand along its dimensions of size 1."""
    operands, result = operands_of(text.masked, statement), text.array(statement.shape)
    operand = text.operand_array(operands[0]) if len(operands) == 1 else None
    if operand is None or result is None or len(operand.dimensions) != len(result.dimensions):
        return []
    pairs = list(zip(operand.dimensions, result.dimensions, strict=True))
    kept = [k for k, (old, new) in enumerate(pairs) if old == new]
    if any(old not in {1, new} for old, new in pairs):
        return []
    before = Instructions(text, statement)
    squeezed = operand.with_dimensions(*(operand.dimensions[k] for k in kept)).text
    name = before.add("squeezed", f"{squeezed} reshape({text.name_of(operands[0])})")
    edits = [before.edit, opcode_edit(statement, "broadcast"), Edit(*operands[0], name)]
    return [*edits, _append(statement, f", dimensions={{{','.join(map(str, kept))}}}")]


def bernoulli(text: Text, statement: Statement) -> list[Edit] | None:
    """Rewrites the generation of random booleans that are true with a given probability."""
    low, high = statement.attributes.get("distribution", (0, 0))
    if text.masked[low:high].partition("=")[2].strip() != "rng_bernoulli":
        return None
    operands, result = operands_of(text.masked, statement), text.array(statement.shape)
    if len(operands) != 1 or result is None or result.dtype != "pred":
        return []
    before, shape = Instructions(text, statement), Array("f32", result.dimensions).text
    zero, one = before.add("zero", "f32[] constant(0)"), before.add("one", "f32[] constant(1)")
    numbers = before.add("numbers", f"{shape} rng({zero}, {one}), distribution=rng_uniform")
    chance = before.add("chance", f"{shape} broadcast({text.name_of(operands[0])}), dimensions={{}}")
    return [
        before.edit,
        opcode_edit(statement, "compare"),
        Edit(*statement.operands, f"{numbers}, {chance}"),
        *drop_attributes(statement, ["distribution"]),
        _append(statement, ", direction=LT"),
    ]


def host_compute(text: Text, statement: Statement) -> list[Edit] | None:
    names = ("channel_name", "cost_estimate_ns")
    attributes = ', custom_call_target="host-compute", custom_call_has_side_effect=true'
    if "channel_name" in statement.attributes:
        low, high = statement.attributes["channel_name"]
        attributes += f", backend_config={text.whole[text.whole.index('=', low) + 1 : high]}"
    return [opcode_edit(statement, "custom-call"), _append(statement, attributes), *drop_attributes(statement, names)]


def device_id(text: Text, statement: Statement) -> list[Edit] | None:
    """Rewrites an instruction that returns a device number as a signed integer."""
    array = text.array(statement.shape)
    if array is None or array == Array("u32", ()):
        return None
    if array.dimensions:
        return []
    name = _new_name(text, statement, "id")
    return [_head(text, statement, "", name, "u32[]"), _tail(text, statement, f"{array.text} convert({name})")]


def scan(text: Text, statement: Statement) -> list[Edit] | None:
    """Adds `num_carries` to a scan: originally, half of the operands of every scan were carries."""
    if "num_carries" in statement.attributes:
        return None
    count = len(operands_of(text.masked, statement))
    return [] if count % 2 else [_append(statement, f", num_carries={count // 2}")]


_COMMON = frozenset(
    {"sharding", "metadata", "frontend_attributes", "backend_config", "control-predecessors", "origin", "original_value", "statistics"}
    | {"parameter_replication", "async_execution_thread", "async_thread_name"}
)


def extra_async_attributes(text: Text, statement: Statement) -> list[Edit] | None:
    """Drops attributes of an update or done op that, today, are written only on the start op.

    These are the attributes of the wrapped instruction, and the computation.
    """
    # `send-done` and similar opcodes are not syntactic sugar and have their own attributes.
    known = OPS[statement.opcode].attributes if statement.opcode in OPS and not statement.opcode.startswith("async-") else {}
    extra = [name for name in statement.attributes if name not in _COMMON and name not in known]
    return None if "channel_id" in extra or not extra else drop_attributes(statement, extra)


def flat_async_shape(text: Text, statement: Statement) -> list[Edit] | None:
    """Detects an asynchronous operation whose shape lacks a tuple of the operands' shapes."""
    if statement.opcode in OPS and statement.opcode != "async-start":
        return None
    shape = text.masked[slice(*statement.shape)]
    return [] if re.match(r"\(\s*+[a-z]", shape) else None


def packed_nibbles(text: Text, statement: Statement) -> list[Edit] | None:
    low, high = statement.attributes.get("operand_precision", (0, 0))
    return [] if re.search("packed_nibble", text.masked[low:high], re.IGNORECASE) else None


def mismatched_tuple(text: Text, statement: Statement) -> list[Edit] | None:
    """Drops the shape of a `tuple` whose number of elements differs from the number of operands.

    XLA ignored such a shape and used the shapes of the operands.
    """
    low, high = statement.shape
    shape = text.masked[low:high]
    if not shape.strip():
        return None
    inside = statement._replace(operands=(low + 1, high - 1))
    count = len(operands_of(text.masked, inside)) if shape.startswith("(") else -1
    return [Edit(low, high, "")] if count != len(operands_of(text.masked, statement)) else None


def topk(text: Text, statement: Statement) -> list[Edit] | None:
    """Rewrites a topk that uses a function to compare elements, as every topk originally did."""
    span = statement.attributes.get("to_apply")
    if span is None:
        return None
    name = text.masked[slice(*span)].partition("=")[2].strip().removeprefix("%")
    header = next((line for line in LINE.finditer(text.masked) if line["opened"] == name), None)
    direction = re.compile(r"direction=([GL])[ET]\b").search(text.masked, header.end()) if header is not None else None
    return [] if direction is None else [Edit(*span, f", largest={'true' if direction[1] == 'G' else 'false'}")]
