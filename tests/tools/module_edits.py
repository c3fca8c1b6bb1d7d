"""Random edits that change a module's meaning, for example its operands, dimensions or schedule.

`mutation` edits characters instead. This module edits the header and lines that look like
instructions; other lines stay unchanged. It does not check its results: most edited modules are
invalid, but some are still valid.

>>> from random import Random
>>> edited("HloModule m\\n\\nENTRY e {\\n  p = f32[4]{0} parameter(0)\\n  ROOT n = f32[4]{0} negate(p)\\n}\\n", Random(3), "dimension")
'HloModule m\\n\\nENTRY e {\\n  p = f32[3]{0} parameter(0)\\n  ROOT n = f32[4]{0} negate(p)\\n}\\n'
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from case_files import read_cases
from random_text_values import ARRAY_TYPES

from hlotool.errors import ParseError
from hlotool.opdefs.table import OPS
from hlotool.text.parse.parser import parse
from hlotool.verifier.engine import verify

__all__ = ["KINDS", "case_seeds", "edited", "inferred", "is_valid", "scheduled"]

_START = re.compile(r"^\s*(?:ROOT )?%?(?P<name>[\w.\-]+) = ")
_HEADER = re.compile(r"^HloModule [^\s,]*(?P<attributes>[^\n]*)", re.MULTILINE)
_OPCODE = re.compile(r"\s*(?P<opcode>[a-z][\w\-]*)\(")
_SIZES = re.compile(r"(?<=[a-z0-9])\[(?P<sizes>[^\]\[\"]*)\]")
_TYPE = re.compile(r"\b(?:pred|bf16|[suf](?:1|2|4|8|16|32|64)(?:e\w+)?|c64|c128|token|opaque)(?=\[)")
_LAYOUT = re.compile(r"(?<=\])\{(?P<layout>[0-9,]*(?::[^{}]*)?)\}")
_NUMBER = re.compile(r"(?<![\w.#\-])-?[0-9]+(?![\w.])")
_LAYOUT_NUMBER = re.compile(r"-?[0-9]+")
_ENUM = re.compile(r"(?<==)[A-Za-z_]+(?=[,}\s]|$)")
_CALLED = re.compile(
    r"(?:to_apply|calls|body|condition|select|scatter|(?:true|false)_computation|branch_computations|called_computations)=(?P<names>\{[^}]*\}|%?[\w.\-]+)"
)
_GROUPS = re.compile(r"(?:replica_groups|source_target_pairs)=(?P<groups>\{(?:[^{}]|\{[^{}]*\})*\}|\[[0-9,]*\]<=\[[0-9,]*\](?:T\([0-9,]*\))?)")
_SHARDING = re.compile(r"sharding=(?P<sharding>\{(?:[^{}]|\{[^{}]*\})*\})")
_PREDECESSORS = re.compile(r", control-predecessors=\{(?P<names>[^}]*)\}")
_ATTRIBUTE = re.compile(r", (?P<name>[a-z_\-]+)=")
# These attributes do not change the meaning of an instruction.
_NOTES = re.compile(r"(?:metadata|backend_config|frontend_attributes|origin)=")
_WORDS = {
    "direction": ("EQ", "NE", "GE", "GT", "LE", "LT"), "type": ("FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"),
    "kind": ("kLoop", "kInput", "kOutput", "kCustom"), "fft_type": ("FFT", "IFFT", "RFFT", "IRFFT"),
    "distribution": ("rng_uniform", "rng_normal"), "algorithm": ("rng_default", "rng_philox", "rng_three_fry"),
    "transpose_a": ("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"), "dim_labels": ("bf_io->bf", "b0f_0io->b0f", "b01f_01io->b01f", "bf0_oi0->bf0"),
}  # fmt: skip
_HEADER_ATTRIBUTES = (
    "input_output_alias={ {}: (0, {}, may-alias) }", "input_output_alias={ {0}: (0, {}, must-alias), {1}: (1, {}) }", "buffer_donor={ (0, {}) }",
    "num_partitions=2", "replica_count=2", "is_scheduled=true",
)  # fmt: skip
_BOOLEANS = ("true", "false")


@dataclass(frozen=True)
class _Line:
    """The line of an instruction: head + shape + rest[:operands] + ...

    Offsets count from the start of the line.
    """

    text: str
    name: str
    opcode: str
    shape: tuple[int, int]
    operands: tuple[int, int]
    attributes: tuple[int, int]

    def part(self, span: tuple[int, int]) -> str:
        return self.text[span[0] : span[1]]


@dataclass(frozen=True)
class _Place:
    """The location of an edit: the lines of the module, the chosen line, and its contents."""

    lines: list[str]
    number: int
    line: _Line

    def with_line(self, text: str) -> str:
        return "".join([*self.lines[: self.number], text, *self.lines[self.number + 1 :]])

    def with_part(self, span: tuple[int, int], text: str) -> str:
        return self.with_line(self.line.text[: span[0]] + text + self.line.text[span[1] :])

    def body(self) -> range:
        """Returns the line numbers of the instructions in the same computation."""
        first = last = self.number
        while first > 0 and _START.match(self.lines[first - 1]):
            first -= 1
        while last + 1 < len(self.lines) and _START.match(self.lines[last + 1]):
            last += 1
        return range(first, last + 1)


Edit = Callable[[_Place, Random], str | None]
KINDS: dict[str, Edit] = {}
"""The kinds of edits by name; an edit returns None if it does not apply to the line."""


def _edit(function: Edit) -> Edit:
    KINDS[function.__name__.strip("_")] = function
    return function


def edited(text: str, random: Random, kind: str | None = None) -> str | None:
    """Returns the text after one edit, of the given kind or of any kind.

    Returns None if a few attempts found no edit.
    """
    lines = text.splitlines(keepends=True)
    positions = [_Place(lines, number, line) for number, text in enumerate(lines) if (line := _read(text)) is not None]
    # Most kinds apply only to a few lines; in most modules, some kinds apply to no line.
    for name in [kind] if kind else random.sample(tuple(KINDS), len(KINDS)):
        for position in random.sample(positions, len(positions))[:40]:
            found = KINDS[name](position, random)
            if found is not None and found != text:
                return found
    return None


def scheduled(text: str) -> str:
    """Returns the text with a header that marks the module as scheduled."""
    header = _HEADER.search(text)
    if header is None:
        return "HloModule scheduled, is_scheduled=true\n\n" + text
    return text if "is_scheduled=" in header[0] else text[: header.end()] + ", is_scheduled=true" + text[header.end() :]


def inferred(text: str, random: Random) -> str | None:
    """Returns the text without the shape of one instruction, which parsers then infer.

    Returns None if no shape can be left out.
    """
    lines = text.splitlines(keepends=True)
    positions = [_Place(lines, number, line) for number, text in enumerate(lines) if (line := _read(text)) is not None]
    fit = [
        position
        for position in positions
        if position.line.opcode not in ("parameter", "constant") and position.line.shape[0] < position.line.shape[1]
    ]
    return _without_shape(random.choice(fit)) if fit else None


# ---- reading lines ----------------------------------------------------------------------------------------------------


def _read(text: str) -> _Line | None:
    start = _START.match(text)
    if start is None:
        return None
    end = _shape_end(text, start.end())
    opcode = _OPCODE.match(text, end)
    if opcode is None:
        # The shape may be missing.
        end, opcode = start.end(), _OPCODE.match(text, start.end())
    if opcode is None:
        return None
    close = _closing(text, opcode.end() - 1)
    notes = _NOTES.search(text, close)
    comment = text.find("//", close)
    stop = min(notes.start() if notes else len(text), comment if comment >= 0 else len(text), len(text.rstrip("\n")))
    return _Line(text, start["name"], opcode["opcode"], (start.end(), end), (opcode.end(), close - 1), (close, max(close, stop)))


def _shape_end(text: str, at: int) -> int:
    if text[at] == "(":
        return _closing(text, at)
    while at < len(text) and text[at] != " ":
        at = _closing(text, at) if text[at] in "[{" else at + 1
    return at


def _closing(text: str, at: int) -> int:
    """Returns the offset after the bracket that closes the bracket at an offset."""
    depth, quoted = 0, False
    for k in range(at, len(text)):
        if text[k] == '"' and text[k - 1] != "\\":
            quoted = not quoted
        if quoted:
            continue
        depth += (text[k] in "([{") - (text[k] in ")]}")
        if depth == 0:
            return k + 1
    return len(text)


def _split(text: str) -> list[str]:
    """Returns the parts between commas outside of brackets."""
    parts, start, at = [], 0, 0
    while at < len(text):
        if text[at] in "([{":
            at = _closing(text, at)
        elif text[at] == ",":
            parts.append(text[start:at])
            start = at = at + 1
        else:
            at += 1
    parts.append(text[start:])
    return [part for part in parts if part.strip()]


def _joined(parts: list[str]) -> str:
    return ", ".join(part.strip() for part in parts)


def _another_number(number: str, random: Random) -> str:
    value = int(number)
    return str(random.choice((value + 1, value - 1, 0, 1, 2, value * 2, value + random.randrange(2, 9), -1, 1000)))


def _change_in(position: _Place, span: tuple[int, int], pattern: re.Pattern[str], change: Callable[[str], str], random: Random) -> str | None:
    """Returns the module after changing one match of the pattern in a part of the line."""
    found = list(pattern.finditer(position.line.text, *span))
    if not found:
        return None
    match = random.choice(found)
    return position.with_part(match.span(), change(match[0]))


def _without_one(text: str, random: Random) -> str:
    """Returns a list in brackets with an entry left out, repeated, or exchanged with another."""
    parts = _split(text[1:-1])
    if parts:
        _change_list(parts, random)
    return text[0] + ",".join(part.strip() for part in parts) + text[-1]


def _change_list(parts: list[str], random: Random) -> None:
    at, other = random.randrange(len(parts)), random.randrange(len(parts))
    kind = random.randrange(3)
    if kind == 0:
        del parts[at]
    elif kind == 1:
        parts.insert(other, parts[at])
    else:
        parts[at], parts[other] = parts[other], parts[at]


# ---- edits of an instruction ------------------------------------------------------------------------------------------


@_edit
def _operand(position: _Place, random: Random) -> str | None:
    """Removes or repeats an operand, or exchanges two operands."""
    operands = _split(position.line.part(position.line.operands))
    if not operands or position.line.opcode in ("constant", "parameter"):
        return None
    _change_list(operands, random)
    return position.with_part(position.line.operands, _joined(operands))


@_edit
def _other_operand(position: _Place, random: Random) -> str | None:
    """Replaces an operand with another value from the same computation."""
    operands = _split(position.line.part(position.line.operands))
    names = [match["name"] for k in position.body() if (match := _START.match(position.lines[k])) and k != position.number]
    if not operands or not names or position.line.opcode in ("constant", "parameter"):
        return None
    name = random.choice(names)
    operands[random.randrange(len(operands))] = f"%{name}" if f"%{name} = " in "".join(position.lines) else name
    return position.with_part(position.line.operands, _joined(operands))


@_edit
def _dimension(position: _Place, random: Random) -> str | None:
    """Changes a size in the shape, or adds or removes a dimension."""

    def change(sizes: str) -> str:
        parts = sizes[1:-1].split(",") if sizes != "[]" else []
        kind = random.randrange(6)
        if kind == 0 or not parts:
            parts.insert(random.randrange(len(parts) + 1), random.choice("1234"))
        elif kind == 1:
            del parts[random.randrange(len(parts))]
        elif kind == 2:
            random.shuffle(parts)
        else:
            at = random.randrange(len(parts))
            parts[at] = _another_number(parts[at], random) if parts[at].isdigit() else "4"
        return f"[{','.join(parts)}]"

    return _change_in(position, position.line.shape, _SIZES, change, random)


@_edit
def _element_type(position: _Place, random: Random) -> str | None:
    common = ("f32", "s32", "pred", "bf16", "f16", "f64", "u32", "c64", "s8", "u8", "s64")
    return _change_in(position, position.line.shape, _TYPE, lambda _: random.choice(common if random.random() < 0.8 else ARRAY_TYPES), random)


@_edit
def _shape(position: _Place, random: Random) -> str | None:
    """Removes the shape, or replaces it with the shape of another instruction."""
    others = [line for number in position.body() if number != position.number and (line := _read(position.lines[number]))]
    other = random.choice(others) if others else None
    if random.random() < 0.3 or other is None:
        return _without_shape(position)
    return position.with_part(position.line.shape, other.part(other.shape))


def _without_shape(position: _Place) -> str:
    opcode = position.line.operands[0] - 1 - len(position.line.opcode)
    return position.with_part((position.line.shape[0], opcode), "")


@_edit
def _layout(position: _Place, random: Random) -> str | None:
    """Changes a digit or the order of a layout, or adds or removes tiles or a memory space."""

    def change(layout: str) -> str:
        kind = random.randrange(5)
        numbers = list(_LAYOUT_NUMBER.finditer(layout))
        if kind == 0 and numbers:
            match = random.choice(numbers)
            return layout[: match.start()] + _another_number(match[0], random) + layout[match.end() :]
        if kind == 1 and ":" not in layout:
            return layout[:-1] + random.choice((":T(8,128)", ":S(1)", ":S(5)", ":E(32)", ":T(256)", ":T(8,128)(2,1)", ":T(4,128)S(1)", ":D(D)")) + "}"
        if kind == 2:
            return layout.partition(":")[0].rstrip("}") + "}"
        order, colon, rest = layout[1:-1].partition(":")
        parts = order.split(",")
        random.shuffle(parts)
        return "{" + ",".join(parts) + colon + rest + "}"

    found = _change_in(position, position.line.shape, _LAYOUT, change, random)
    return found or _change_in(position, position.line.shape, _SIZES, lambda sizes: sizes + _some_layout(sizes, random), random)


def _some_layout(sizes: str, random: Random) -> str:
    order = [str(k) for k in range(sizes.count(",") + (sizes != "[]"))]
    random.shuffle(order)
    return "{" + ",".join(order) + "}"


@_edit
def _number(position: _Place, random: Random) -> str | None:
    """Changes a number in an attribute."""
    return _change_in(position, position.line.attributes, _NUMBER, lambda number: _another_number(number, random), random)


@_edit
def _list(position: _Place, random: Random) -> str | None:
    """Removes, repeats or exchanges entries of a list in an attribute."""
    return _change_in(position, position.line.attributes, re.compile(r"\{[^{}]*\}"), lambda entries: _without_one(entries, random), random)


@_edit
def _enum(position: _Place, random: Random) -> str | None:
    """Changes an attribute whose value is a word."""
    found = list(_ENUM.finditer(position.line.text, *position.line.attributes))
    if not found:
        return None
    match = random.choice(found)
    name = re.search(r"(\w+)=$", position.line.text[: match.start()])
    words = _BOOLEANS if match[0] in _BOOLEANS else _WORDS.get(name[1] if name else "", ())
    return position.with_part(match.span(), random.choice(words)) if words else None


@_edit
def _no_attribute(position: _Place, random: Random) -> str | None:
    """Removes an attribute."""
    text = position.line.text
    found = list(_ATTRIBUTE.finditer(text, *position.line.attributes))
    if not found:
        return None
    match = random.choice(found)
    end = position.line.attributes[1]
    at = match.end()
    while at < end and text[at] not in ", ":
        at = _closing(text, at) if text[at] in "([{" else at + 1
    return position.with_part((match.start(), at), "")


@_edit
def _opcode(position: _Place, random: Random) -> str | None:
    """Changes the opcode to another one with the same number of operands."""
    here = OPS.get(position.line.opcode)
    if here is None or position.line.opcode in ("constant", "parameter"):
        return None
    alike = [name for name, op in OPS.items() if op.arity == here.arity and name != here.name]
    start = position.line.operands[0] - 1 - len(position.line.opcode)
    return position.with_part((start, position.line.operands[0] - 1), random.choice(alike)) if alike else None


@_edit
def _immediate(position: _Place, random: Random) -> str | None:
    """Changes a parameter number, or a number in a constant."""
    if position.line.opcode not in ("constant", "parameter"):
        return None
    return _change_in(position, position.line.operands, re.compile(r"\b[0-9]+\b"), lambda number: _another_number(number, random), random)


@_edit
def _called(position: _Place, random: Random) -> str | None:
    """Replaces a called computation with another one."""
    names = re.findall(r"^(?:ENTRY )?(%?[\w.\-]+) (?:\([^\n]*)?\{$", "".join(position.lines), re.MULTILINE)
    found = list(_CALLED.finditer(position.line.text, *position.line.attributes))
    if not found or not names:
        return None
    match = random.choice(found)
    if match["names"].startswith("{"):
        parts = _split(match["names"][1:-1])
        if not parts:
            return None
        parts[random.randrange(len(parts))] = random.choice(names)
        return position.with_part(match.span("names"), "{" + _joined(parts) + "}")
    return position.with_part(match.span("names"), random.choice(names))


@_edit
def _control_predecessor(position: _Place, random: Random) -> str | None:
    """Removes or adds a control dependency."""
    found = _PREDECESSORS.search(position.line.text, *position.line.attributes)
    if found and random.random() < 0.7:
        names = _split(found["names"])
        del names[random.randrange(len(names)) :]
        return position.with_part(found.span(), ", control-predecessors={" + _joined(names) + "}" if names else "")
    names = [match["name"] for k in position.body() if k != position.number and (match := _START.match(position.lines[k]))]
    if found or not names:
        return None
    end = position.line.attributes[1]
    here = position.line.text[:end].rstrip(", ")
    more = f", control-predecessors={{{random.choice(names)}}}"
    return position.with_part((len(here), len(here)), more)


@_edit
def _groups(position: _Place, random: Random) -> str | None:
    """Changes the groups of devices: a number, an entry or a group."""
    found = _GROUPS.search(position.line.text, *position.line.attributes)
    if found is None:
        return None
    start, end = found.span("groups")
    kind = random.randrange(3)
    if kind == 0 and found["groups"].startswith("{"):
        return position.with_part((start, end), _without_one(found["groups"], random))
    if kind == 1 and found["groups"].startswith("{"):
        return position.with_part((start, end), random.choice(("{}", "{{0}}", "{{0,1}}", "{{0},{1}}", "{{0,1},{2,3}}", "[2,1]<=[2]", "[1,2]<=[2]")))
    return _change_in(position, (start, end), re.compile(r"[0-9]+"), lambda number: _another_number(number, random), random)


@_edit
def _sharding(position: _Place, random: Random) -> str | None:
    """Changes a number in a sharding, or adds a sharding."""
    found = _SHARDING.search(position.line.text, *position.line.attributes)
    if found is not None:
        return _change_in(position, found.span("sharding"), re.compile(r"[0-9]+"), lambda number: _another_number(number, random), random)
    some = (
        "{replicated}",
        "{maximal device=0}",
        "{devices=[2]0,1}",
        "{devices=[2,1]<=[2]}",
        "{devices=[1,2]0,1}",
        "{manual}",
        "{{replicated}, {replicated}}",
    )
    end = len(position.line.text[: position.line.attributes[1]].rstrip(", "))
    return position.with_part((end, end), f", sharding={random.choice(some)}")


# ---- edits of a computation -------------------------------------------------------------------------------------------


@_edit
def _position(position: _Place, random: Random) -> str | None:
    """Moves the instruction to another position in its computation."""
    body = position.body()
    if len(body) < 2:
        return None
    lines = list(position.lines)
    line = lines.pop(position.number)
    lines.insert(random.choice(body), line)
    return "".join(lines)


@_edit
def _root(position: _Place, random: Random) -> str | None:
    """Marks another instruction, or no instruction, as the root."""
    lines = list(position.lines)
    for number in position.body():
        lines[number] = re.sub(r"^(\s*)ROOT ", r"\1", lines[number])
    if random.random() < 0.8:
        lines[position.number] = re.sub(r"^(\s*)", r"\1ROOT ", lines[position.number])
    return "".join(lines)


@_edit
def _no_instruction(position: _Place, random: Random) -> str | None:
    """Removes an instruction; its users use one of its operands instead, if there is one."""
    operands = _split(position.line.part(position.line.operands))
    rest = "".join([*position.lines[: position.number], *position.lines[position.number + 1 :]])
    if not operands or position.line.opcode in ("constant", "parameter"):
        return rest
    other = operands[random.randrange(len(operands))].split()[-1].lstrip("%")
    return re.sub(rf"(?<![\w.\-=]){re.escape(position.line.name)}(?![\w.\-])", other.replace("\\", ""), rest)


# ---- edits of the header ----------------------------------------------------------------------------------------------


@_edit
def _header(position: _Place, random: Random) -> str | None:
    """Changes a number in the header: in an alias, the entry's layout, or a device count."""
    text = "".join(position.lines)
    header = _HEADER.search(text)
    if header is None:
        return None
    numbers = list(re.finditer(r"(?<![\w.])[0-9]+(?![\w.])", header["attributes"]))
    if numbers and random.random() < 0.7:
        match, offset = random.choice(numbers), header.start("attributes")
        return text[: offset + match.start()] + _another_number(match[0], random) + text[offset + match.end() :]
    chosen = random.choice(_HEADER_ATTRIBUTES)
    name = chosen.partition("=")[0]
    if name + "=" in header[0]:
        return None
    return text[: header.end()] + ", " + chosen + text[header.end() :]


# ---- seeds ------------------------------------------------------------------------------------------------------------


def is_valid(text: str) -> bool:
    """Returns whether a text is a module without any reported error."""
    try:
        module = parse(text)
    except ParseError:
        return False
    return not any(d.severity == "error" for d in verify(module))


def case_seeds(folder: Path, longest: int = 6000) -> list[str]:
    """Returns the valid modules of samples and of case files below a folder, without comments."""
    paths = [*sorted(folder.rglob("*.hlo")), *sorted((folder.parent / "samples").glob("*.hlo"))]
    texts = (case.text for path in paths for case in read_cases(path))
    # Comments are removed because they may announce or suppress findings.
    bare = (re.sub(r"[ \t]*//[^\n]*", "", text) for text in texts)
    return [text for text in dict.fromkeys(bare) if len(text) <= longest and _printable(text) and is_valid(text)]


def _printable(text: str) -> bool:
    return text.isprintable() or not any(0xD800 <= ord(c) <= 0xDFFF for c in text)
