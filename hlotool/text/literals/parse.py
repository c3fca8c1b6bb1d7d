"""Reads the text of literals: checks it as XLA's parser does and normalises its braces, whitespace and index comments.

Elements keep the author's spelling; turning them into numbers for use is `text.literals.data`'s work.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from math import inf, isinf, prod

from hlotool.errors import Violation
from hlotool.record import Record, replace
from hlotool.shapes.dtype import ELEMENT_TYPES, ElementType
from hlotool.shapes.layout import Layout
from hlotool.shapes.literal import ELIDED, Literal, literal_shape, tuple_literal
from hlotool.shapes.shape import UNBOUNDED, Shape
from hlotool.text.literals.floats import DOUBLE_QUIET, payload_mask, representable_range

__all__ = ["INDEX_COMMENT", "brace_frame", "int64_value", "parse_literal"]

# The tokens of the grammar that matter here; every pattern below is built from them.
SPACE = r"[ \t\r\n]"
COMMENT = r"//[^\r\n]*+|/\*[\s\S]*?\*/"
EXPONENT = r"[eE][+-]?+[0-9]++"
# A point may come first only after a minus.
DECIMAL = rf"(?:-?[0-9]++\.[0-9]*+|-\.[0-9]++)(?:{EXPONENT})?+|-?[0-9]++{EXPONENT}"
# What may not follow begins a longer number-like token (1.5, 1x2, 0_1, 01bf_01io->01bf) or a word that is no value.
INT = r"-?[0-9]++(?![.eExb_?]|f(?!alse))"
WORD_END = r"(?![A-Za-z0-9_.:=-])"
PAYLOAD = r"\(0x[0-9a-fA-F]++\)"
# Neither -nan nor -inf need end where a word ends: `-inf-inf` are two tokens.
NAN = rf"-nan{PAYLOAD}|-nan(?!\()|nan{PAYLOAD}|nan(?!\(){WORD_END}"
INF = rf"-inf|inf{WORD_END}"
BOOL = rf"(?:true|false){WORD_END}"

_TOKENS = (
    rf"(?P<int>{INT})|(?P<decimal>{DECIMAL})|(?P<open>\{{)|(?P<close>\}})|(?P<nan>{NAN})|(?P<inf>{INF})|(?P<bool>{BOOL})"
    rf"|(?P<left>\()|(?P<right>\))|(?P<comma>,)|(?P<dots>\.\.\.)|(?P<comment>{COMMENT})|(?P<end>\Z)|(?P<other>[\s\S])"
)
_TOKEN = re.compile(rf"{SPACE}*+(?:{_TOKENS})")
_TOKEN_IN_BRACES = re.compile(rf"(?:{SPACE}|,)*+(?:{_TOKENS})")
_KIND = _TOKEN.groupindex
_INT, _DECIMAL, _OPEN, _CLOSE, _NAN, _INF, _BOOL = (_KIND[name] for name in ("int", "decimal", "open", "close", "nan", "inf", "bool"))
_LEFT, _RIGHT, _COMMA, _DOTS, _COMMENT, _END = (_KIND[name] for name in ("left", "right", "comma", "dots", "comment", "end"))
_NUMBERS = frozenset({_INT, _DECIMAL, _NAN, _INF})
_ELEMENTS = _NUMBERS | {_BOOL}

INDEX_COMMENT = re.compile(r"/\*i[0-9]++=[0-9]++\*/ ?")
_NUMBER = re.compile(r"-?[0-9][0-9.eE+-]*+")
# Deletes every character that elements are made of and keeps the layout; the index numbers of comments are compared apart.
_LAYOUT_ONLY = dict.fromkeys(map(ord, "0123456789.+-eEinfatruls"))


# Empty arrays with more inner braces than this are spelled `,`.
_MANY_BRACES = 4096

# The next double above the largest f32, on both sides.
_C64_RANGE = (-(2.0**128 - 2.0**104 + 2.0**75), 2.0**128 - 2.0**104 + 2.0**75)


class _Plan(Record):
    """What parsing needs to know of one array shape."""

    shape: Shape
    dimensions: tuple[int, ...]
    sizes: tuple[int, ...]
    count: int
    element: ElementType
    safe: re.Pattern[str] | None
    wide: re.Pattern[str] | None
    low: float
    high: float
    frame: str

    def layout_only(self) -> str:
        return self.frame or brace_frame(self.sizes, "(, )" if self.element.kind == "complex" else "").translate(_LAYOUT_ONLY)


@lru_cache(maxsize=4096)
def _plan(declared: Shape) -> _Plan:
    shape = literal_shape(declared)
    element = ELEMENT_TYPES.get(shape.element_type)
    if element is None or element.kind in ("token", "opaque"):
        raise Violation("S032", 0, f"a constant cannot have the type {shape.element_type}")
    if declared.layout is not None:
        _check_layout(declared.layout, shape.dimensions)
    low, high = _range(element)
    safe, wide = _canonical_patterns(element, shape.rank == 0)
    sizes = tuple(max(size, 0) for size in shape.dimensions)
    count = prod(sizes)
    plan = _Plan(shape, shape.dimensions, sizes, count, element, safe, wide, low, high, "")
    # The frames of large literals are as large as these and used once: not worth keeping.
    return replace(plan, frame=plan.layout_only()) if sizes and count <= 512 and max(sizes) <= 512 else plan


def _check_layout(layout: Layout, dimensions: tuple[int, ...]) -> None:
    """Refuses the layouts for which XLA aborts when it lays the literal out."""
    rank = len(dimensions)
    if sorted(layout.minor_to_major) != list(range(rank)):
        raise Violation("S032", 0, f"the layout {layout.text} of a constant is not a permutation of its {rank} dimensions")
    if layout.index_type is not None or layout.pointer_type is not None:
        raise Violation("S032", 0, f"the layout {layout.text} of a constant has an index or pointer type", "these belong to sparse arrays")
    if any(not tile or any(size < 1 and size != -1 for size in tile) for tile in layout.tiles):
        raise Violation("S032", 0, f"the layout {layout.text} of a constant has an empty tile or one with a size under 1")
    if layout.element_size_in_bits < 0 or layout.tail_padding_alignment_in_elements < 1:
        raise Violation("S032", 0, f"the layout {layout.text} of a constant has a size under 1")
    split = [dimension for dimension, _ in layout.split_configs]
    if len(set(split)) < len(split) or any(not 0 <= dimension < rank for dimension in split):
        raise Violation("S032", 0, f"the layout {layout.text} of a constant splits a dimension twice or one that it does not have")
    for dimension, indices in layout.split_configs:
        if any(not before < index < dimensions[dimension] for before, index in zip((0, *indices), indices, strict=False)):
            raise Violation("S032", 0, f"the layout {layout.text} of a constant has split indices that do not increase within the dimension")


def _range(element: ElementType) -> tuple[float, float]:
    """Least and greatest integer, or the open interval of finite numbers, that fit."""
    if element.kind == "float":
        return representable_range(element.name)
    if element.kind == "complex":
        # Here XLA compares instead of converting, so that nothing above the largest value is rounded down to it.
        return representable_range("f64") if element.name == "c128" else _C64_RANGE
    # Bytes and 64-bit numbers take every INT: it wraps, or counts as true.
    return (-inf, inf) if element.bits == 64 or element.kind == "pred" else (element.minimum, element.maximum)


@cache
def _canonical_patterns(element: ElementType, scalar: bool) -> tuple[re.Pattern[str] | None, re.Pattern[str] | None]:
    """Patterns of whole canonical texts: one whose numbers cannot be out of range, and one whose numbers must be looked at."""
    tokens: tuple[str, ...] = _canonical_tokens(element)
    if not scalar:
        tokens = tuple(token and rf"[{{ ]*+(?:{token})(?:(?:, | ?\}}[ }},]*+\{{[ {{]*+)(?:{token}))*+[ }}]*+" for token in tokens)
    safe, wide = (re.compile(token) if token else None for token in tokens)
    return safe, wide


def _canonical_tokens(element: ElementType) -> tuple[str, str]:
    """The common spellings of one element, safe and wide; spellings left out here are read by the exact scanner."""
    wide = "-?[0-9]{1,18}"
    if element.kind == "pred":
        return rf"[01]|true|false|{wide}", ""
    if element.is_integral:
        digits = f"[0-{min(element.maximum, 9)}]" if element.maximum < 10 else f"[0-9]{{1,{len(str(element.maximum)) - 1}}}"
        safe = "-?" + digits if element.kind == "signed" else digits
        return safe, wide if element.bits < 64 else ""
    special = "|-?inf|-?nan"
    if element.kind == "complex":
        number = _safe_number(representable_range("f32" if element.name == "c64" else "f64")[1]) + special
        return rf"\((?:{number}), (?:{number})\)", ""
    low, high = representable_range(element.name)
    safe = "" if low == 0 else _safe_number(high) + special
    return safe, rf"{wide}(?:\.[0-9]*+)?+(?:[eE][+-]?+[0-9]{{1,3}})?+{special}"


def _safe_number(high: float) -> str:
    """Decimals short enough to lie under `high`."""
    exponent = r"-[0-9]{1,3}"
    digits = 18 if isinf(high) else min(18, len(str(int(high))) - 1)
    if digits == 18:
        exponent += r"|\+?(?:[01][0-9]|[0-9])"
    return rf"-?[0-9]{{1,{digits}}}(?:\.[0-9]*+)?+(?:[eE](?:{exponent}))?+"


def brace_frame(sizes: Iterable[int], element: str) -> str:
    """A literal's text, as XLA lays it out, with `element` in place of every element.

    >>> brace_frame((2, 2), "%s")
    '{ { %s, %s }, { %s, %s } }'
    """
    sizes = tuple(sizes)
    rank = len(sizes)
    if rank == 0:
        return element
    # `inside` is what stands between the braces of one array at `depth`; all of them are alike but for the index in the outermost comment.
    inside = ", ".join([element] * sizes[-1])
    pad = " " if rank > 1 and sizes[-1] > 1 else ""
    opening, closing = "{" + pad, pad + "}"
    for depth in range(rank - 2, -1, -1):
        if depth < rank - 2:
            space = " " if sizes[depth + 1] > 0 else ""
            opening, closing = ("{ ", " }") if rank <= 3 else (f"{{ /*i{depth}=%d*/{space}", " }")
        if "%d" in opening:
            inside = ", ".join([opening % index + inside + closing for index in range(sizes[depth])])
        else:
            inside = ", ".join([opening + inside + closing] * sizes[depth])
    return "{" + inside + "}" if rank == 1 else "{ " + inside + " }"


def parse_literal(shape: Shape, text: str) -> Literal:
    """The literal that `text`, what stands between the parentheses of `constant(...)`, spells for an instruction of this shape.

    Raises Violation where XLA refuses or aborts: S030 for counts and nesting, S031 for values out of range, S032 for values of the
    wrong kind and S001 for other syntax; its `at` is an offset into `text`.

    >>> from hlotool.shapes.shape import array_shape
    >>> parse_literal(array_shape("f32", (2, 2)), "{{1,2.50},{3,4}}").text
    '{ { 1, 2.50 }, { 3, 4 } }'
    """
    if shape.element_type == "tuple":
        return _parse_tuple(shape, text)
    plan = _plan(shape)
    if _is_canonical(plan, text):
        return Literal(plan.shape, text)
    scanner = _ArrayScanner(plan)
    literal, end = scanner.scan(text, 0)
    rest = _next(text, end)
    if rest.lastindex != _END:
        raise scanner.fault or Violation("S001", _start(rest), f"expected the end of the constant, found {_shown(rest)}")
    return literal


def _is_canonical(plan: _Plan, text: str) -> bool:
    """Whether `text` is normalised already and certainly acceptable; False says nothing."""
    if not plan.sizes:
        return bool(plan.safe and plan.safe.fullmatch(text)) or _is_canonical_in_range(plan, text)
    if text == ELIDED:
        return plan.count > 0
    # The second test keeps a short text for a huge shape from being compared with a huge frame.
    if plan.count == 0 or len(text) <= plan.count:
        return False
    bare = text if len(plan.sizes) <= 3 else INDEX_COMMENT.sub("", text)
    if not (plan.safe and plan.safe.fullmatch(bare)) and not _is_canonical_in_range(plan, bare):
        return False
    if text.translate(_LAYOUT_ONLY) != plan.layout_only():
        return False
    return bare is text or INDEX_COMMENT.findall(text) == INDEX_COMMENT.findall(brace_frame(plan.sizes, ""))


def _is_canonical_in_range(plan: _Plan, bare: str) -> bool:
    if plan.wide is None or not plan.wide.fullmatch(bare):
        return False
    numbers = _NUMBER.findall(bare)
    if plan.element.is_integral:
        integers = list(map(int, numbers))
        return plan.low <= min(integers) and max(integers) <= plan.high
    decimals = list(map(float, numbers))
    # A decimal beyond double is refused even where infinities saturate.
    return not decimals or (plan.low < min(decimals) and max(decimals) < plan.high and -inf < min(decimals) and max(decimals) < inf)


def _next(text: str, position: int) -> re.Match[str]:
    """The token at `position`, past whitespace and comments."""
    while True:
        match = _TOKEN.match(text, position)
        assert match is not None  # the last alternatives match anything
        if match.lastindex != _COMMENT:
            return match
        position = match.end()


def _start(match: re.Match[str]) -> int:
    return match.start(match.lastindex or 0)


def _expect(text: str, position: int, kind: int, message: str) -> int:
    match = _next(text, position)
    if match.lastindex != kind:
        raise Violation("S001", _start(match), f"{message}, found {_shown(match)}")
    return match.end()


def _shown(match: re.Match[str]) -> str:
    if match.lastindex == _END:
        return "the end"
    # A digit here begins a token that is none of the numbers; its first character alone would mislead.
    found = re.compile(r"[A-Za-z0-9_.?+-]{1,40}|[\s\S]").match(match.string, _start(match))
    return repr(found.group() if found else match.group())


def _parse_tuple(shape: Shape, text: str) -> Literal:
    """Reads `( e0, e1 )` after the tuple shape, with an explicit stack since shapes nest as deep as the text likes.

    As in XLA, commas between elements may be missing, and `()` for a tuple that has elements gives each of them the empty tuple.
    """
    position = _expect(text, 0, _LEFT, "expected '(' in front of tuple elements")
    stack: list[tuple[Shape, list[Literal]]] = [(shape, [])]
    while True:
        current, done = stack[-1]
        match = _next(text, position)
        if not done and match.lastindex == _RIGHT:
            done.extend(tuple_literal(()) for _ in current.elements)
        if len(done) < len(current.elements):
            if done and match.lastindex == _COMMA:
                position = match.end()
            element = current.elements[len(done)]
            if element.is_tuple:
                position = _expect(text, position, _LEFT, "expected '(' in front of tuple elements")
                stack.append((element, []))
            else:
                literal, position = _ArrayScanner(_plan(element)).scan(text, position)
                done.append(literal)
            continue
        count = len(current.elements)
        position = _expect(text, position, _RIGHT, f"expected ')' at the end of the tuple with {count} element{'' if count == 1 else 's'}")
        stack.pop()
        literal = tuple_literal(done)
        if not stack:
            _expect(text, position, _END, "expected the end of the constant")
            return literal
        stack[-1][1].append(literal)


class _ArrayScanner:
    """Reads one array literal token by token: the authority on what is accepted.

    XLA goes on after an element at the wrong nesting level, and after one too many in a row, and accepts the literal unless a later
    check fails: so `7` is a value for f32[2] (the rest are zeros), and so is `,`. The first such fault is kept for the message.
    """

    def __init__(self, plan: _Plan) -> None:
        self.plan = plan
        self.items: list[str] = []
        self.seen = [0] * len(plan.dimensions)
        self.opened = [0] * len(plan.dimensions)
        self.level = 0
        self.values_after_dots: int | None = None
        self.fault: Violation | None = None

    def scan(self, text: str, position: int) -> tuple[Literal, int]:
        plan, items = self.plan, self.items
        rank, in_braces, outside, is_complex = len(plan.dimensions), _TOKEN_IN_BRACES.match, _TOKEN.match, plan.element.kind == "complex"
        check, count = _CHECKS[plan.element.kind], plan.count
        while True:
            match = (in_braces if self.level else outside)(text, position)
            # The last alternatives match anything.
            assert match is not None
            assert match.lastindex is not None
            kind, position = match.lastindex, match.end()
            if kind in _ELEMENTS:
                if rank:
                    if self.level == rank:
                        self.seen[-1] += 1
                    if self.level != rank or self.seen[-1] > plan.dimensions[-1]:
                        self.misplaced(match)
                token = match.group(kind)
                check(plan, kind, token, match)
                if len(items) >= count:
                    raise self.fault or Violation("S030", match.start(kind), f"expected {_elements(count)}, found more")
                items.append(token)
            elif kind == _OPEN:
                self.open(match)
            elif kind == _CLOSE:
                self.close(match)
            elif kind == _COMMENT:
                continue
            elif kind == _LEFT and is_complex:
                position = self.complex(match)
            elif kind == _DOTS:
                if self.level != 1:
                    raise self.fault or Violation("S030", match.start(kind), f"expected '...' at nesting level 1, found it at level {self.level}")
                self.seen[0] = plan.dimensions[0]
                self.values_after_dots = len(items)
            elif kind == _LEFT:
                raise self.fault or Violation("S032", match.start(kind), f"'(' begins a complex number, but the type is {plan.element.name}")
            elif kind != _COMMA:
                raise self.fault or Violation("S001", match.start(kind), f"expected a value, found {_shown(match)}")
            if not self.level:
                return self.literal(), position

    def misplaced(self, match: re.Match[str]) -> Violation:
        if self.fault is not None:
            return self.fault
        dimensions, at = self.plan.dimensions, _start(match)
        if self.level != len(dimensions):
            self.fault = Violation("S030", at, f"expected values at nesting level {len(dimensions)}, found one at level {self.level}")
        else:
            self.fault = Violation("S030", at, f"{_expected(dimensions, len(dimensions) - 1)}, found more")
        return self.fault

    def open(self, match: re.Match[str]) -> None:
        dimensions, level = self.plan.dimensions, self.level
        if level == len(dimensions):
            raise self.fault or Violation("S030", _start(match), f"expected at most {len(dimensions)} levels of braces, found more")
        self.level = level + 1
        self.opened[level] = _start(match)
        if level:
            self.seen[level - 1] += 1
            if self.seen[level - 1] > dimensions[level - 1]:
                raise self.fault or Violation("S030", _start(match), f"{_expected(dimensions, level - 1)}, found more")

    def close(self, match: re.Match[str]) -> None:
        dimensions, level = self.plan.dimensions, self.level - 1
        if level < 0:
            raise self.fault or Violation("S001", _start(match), "expected a value, found '}'")
        if self.seen[level] != dimensions[level]:
            raise self.fault or Violation("S030", self.opened[level], f"{_expected(dimensions, level)}, found {self.seen[level]}")
        self.seen[level] = 0
        self.level = level

    def complex(self, match: re.Match[str]) -> int:
        """Reads `(re, im)` from its parenthesis on; returns the end."""
        plan, text, at = self.plan, match.string, _start(match)
        rank = len(plan.dimensions)
        if self.level != rank or (rank and self.seen[-1] >= plan.dimensions[-1]):
            # Unlike for real numbers this ends XLA's parsing at once.
            raise self.misplaced(match)
        if rank:
            self.seen[-1] += 1
        position, parts = match.end(), []
        for part, separator, kind in (("real", "','", _COMMA), ("imaginary", "')'", _RIGHT)):
            number = _next(text, position)
            if number.lastindex not in _NUMBERS:
                raise Violation("S032", _start(number), f"expected the {part} part of a complex number, found {_shown(number)}")
            parts.append((part, number.group(number.lastindex), number.start(number.lastindex)))
            position = _expect(text, number.end(), kind, f"expected {separator} after the {part} part of a complex number")
        _check_complex(plan, parts, at)
        if len(self.items) >= plan.count:
            raise self.fault or Violation("S030", at, f"expected {_elements(plan.count)}, found more")
        self.items.append(f"({parts[0][1]}, {parts[1][1]})")
        return position

    def literal(self) -> Literal:
        plan, items = self.plan, self.items
        # What stands before the dots is overwritten by XLA's invented values; only a full set after them leaves nothing unknown.
        if self.values_after_dots is not None and plan.count and (self.values_after_dots or len(items) < plan.count):
            return Literal(plan.shape, ELIDED)
        # A bare value or comma stays as short as the author wrote it, however large the shape.
        if 1 < plan.count > len(items):
            return Literal(plan.shape, items[0] if items else ",")
        # So does an array without elements: `{...}` and `,` would expand to as many braces as its first dimensions say.
        if plan.count == 0 and prod(plan.sizes[: plan.sizes.index(0)]) > _MANY_BRACES:
            return Literal(plan.shape, ",")
        items += [_zero(plan)] * (plan.count - len(items))
        return Literal(plan.shape, brace_frame(plan.sizes, "%s") % tuple(items))


def _zero(plan: _Plan) -> str:
    """Spelling of the value that XLA leaves where the text gives none: all bits zero."""
    if plan.element.name == "f8e8m0fnu":
        return "5.877e-39"
    return {"complex": "(0, 0)", "pred": "0" if plan.sizes else "false"}.get(plan.element.kind, "0")


def _elements(count: int) -> str:
    return f"{count} element{'' if count == 1 else 's'}"


def _expected(dimensions: tuple[int, ...], dimension: int) -> str:
    if dimensions[dimension] == UNBOUNDED:
        return f"expected {ELIDED}, the only value for dimension {dimension} of unknown size"
    return f"expected {_elements(dimensions[dimension])} in dimension {dimension}"


def int64_value(token: str) -> int | None:
    """The value of an INT as XLA holds it: in 64 bits, beyond 2^63 negative; None when it does not fit.

    >>> int64_value("18446744073709551615"), int64_value("-0"), int64_value("18446744073709551616")
    (-1, 0, None)
    """
    # int() refuses thousands of digits, which may all be leading zeros.
    if len(token) > 20:
        digits = token.lstrip("-").lstrip("0") or "0"
        token = ("-" if token[0] == "-" else "") + digits
        if len(digits) > 20:
            return None
    value = int(token)
    if not -(1 << 63) <= value < 1 << 64:
        return None
    return value - (1 << 64) if value >= 1 << 63 else value


def _integer(token: str, at: int) -> int:
    value = int64_value(token)
    if value is None:
        raise Violation("S031", at, f"the number {token[:40]} does not fit in 64 bits")
    return value


def _check_pred(plan: _Plan, kind: int, token: str, match: re.Match[str]) -> None:
    if kind == _INT:
        _integer(token, match.start(kind))
    elif kind != _BOOL:
        raise Violation("S032", match.start(kind), f"expected true, false or an integer, found {token[:40]}")


def _check_integer(plan: _Plan, kind: int, token: str, match: re.Match[str]) -> None:
    if kind != _INT:
        raise Violation("S032", match.start(kind), f"expected an integer for {plan.element.name}, found {token[:40]}")
    value = int(token) if len(token) < 19 else _integer(token, match.start(kind))
    if not plan.low <= value <= plan.high:
        raise Violation("S031", match.start(kind), f"{token[:40]} is out of range for {plan.element.name}, which holds {plan.low} to {plan.high}")


def _check_float(plan: _Plan, kind: int, token: str, match: re.Match[str]) -> None:
    if kind == _BOOL:
        raise Violation("S032", match.start(kind), f"expected a number for {plan.element.name}, found {token}")
    if kind == _NAN:
        _check_payload(plan.element.name, token, match.start(kind))
    elif kind != _INF:
        value = _finite(token, kind == _INT, match.start(kind))
        if not plan.low < value < plan.high:
            raise Violation("S031", match.start(kind), f"{token[:40]} is out of range for {plan.element.name}")


def _finite(token: str, integer: bool, at: int) -> float:
    value = float(_integer(token, at) if integer else token)
    if isinf(value):
        raise Violation("S031", at, f"{token[:40]} is out of range even for f64")
    return value


def _check_payload(name: str, token: str, at: int) -> None:
    if "(" not in token:
        return
    payload = int(token[token.index("x") + 1 : -1], 16)
    if not 1 <= payload < 1 << 52:
        raise Violation("S001", at, "a NaN's payload lies between 0x1 and 0xfffffffffffff")
    mask = payload_mask(name)
    if payload > mask and payload != DOUBLE_QUIET:
        hint = f"{name} takes payloads up to {mask:#x}" if mask else f"{name} takes no payload"
        raise Violation("S031", at, f"the NaN's payload {payload:#x} is out of range for {name}", hint)


def _check_bare_complex(plan: _Plan, kind: int, token: str, match: re.Match[str]) -> None:
    raise Violation("S032", match.start(kind), f"expected (real, imaginary) for {plan.element.name}, found {token[:40]}")


def _check_complex(plan: _Plan, parts: list[tuple[str, str, int]], at: int) -> None:
    for part, token, start in parts:
        if "nan" in token:
            # XLA converts the imaginary part's payload to the type and never finds it too large.
            _check_payload("f64" if part == "imaginary" or plan.element.name == "c128" else "f32", token, at)
        elif "inf" not in token:
            value = _finite(token, token.lstrip("-").isdigit(), start)
            if not plan.low < value < plan.high:
                raise Violation("S031", at, f"the {part} part {token[:40]} is out of range for {plan.element.name}")


_CHECKS = {
    "pred": _check_pred,
    "signed": _check_integer,
    "unsigned": _check_integer,
    "float": _check_float,
    "complex": _check_bare_complex,
}
