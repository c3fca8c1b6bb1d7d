"""The parser of literals, with the checks of XLA's parser.

Braces, whitespace and index comments are normalized. The text of elements is kept as written;
`literals.data` converts it to numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from math import inf, isinf, prod

from hlotool.errors import Violation
from hlotool.literals.data import INDEX_COMMENT, int64_value
from hlotool.literals.floats import QUIET_PAYLOAD, payload_mask, representable_range
from hlotool.literals.literal import ELIDED, Literal, literal_shape, tuple_literal
from hlotool.record import Record, replace
from hlotool.shapes.dtype import ELEMENT_TYPES, ElementType
from hlotool.shapes.layout import Layout
from hlotool.shapes.shape import UNBOUNDED, Shape

__all__ = ["brace_frame", "parse_literal"]

# The tokens of literals; all patterns below are composed of them.
SPACE = r"[ \t\r\n]"
COMMENT = r"//[^\r\n]*+|/\*[\s\S]*?\*/"
EXPONENT = r"[eE][+-]?+[0-9]++"
# A number may begin with a point only after a minus sign.
DECIMAL = rf"(?:-?[0-9]++\.[0-9]*+|-\.[0-9]++)(?:{EXPONENT})?+|-?[0-9]++{EXPONENT}"
# The lookahead excludes longer tokens that begin with an integer (1.5, 1x2, 0_1, 01bf_01io->01bf)
# and words that are not values.
INT = r"-?[0-9]++(?![.eExb_?]|f(?!alse))"
WORD_END = r"(?![A-Za-z0-9_.:=-])"
PAYLOAD = r"\(0x[0-9a-fA-F]++\)"
# Unlike nan and inf, -nan and -inf may be followed by a word character or a minus sign: `-inf-inf`
# is two tokens.
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

_NUMBER = re.compile(r"-?[0-9][0-9.eE+-]*+")
# Numbers of any size, and numbers that every type of floats contains.
_WIDE = "-?[0-9]{1,18}"
_SPECIAL = "|-?inf|-?nan"
# For str.translate: deletes the characters of elements and keeps the layout. The numbers in index
# comments are compared separately.
_LAYOUT_ONLY = dict.fromkeys(map(ord, "0123456789.+-eEinfatruls"))


# An empty array with more inner braces than this is normalized to `,`.
_MAX_EMPTY_BRACES = 4096

# The finite parts of c64 numbers are strictly between these doubles. On each side, the double is
# the first beyond the largest f32.
_C64_RANGE = (-(2.0**128 - 2.0**104 + 2.0**75), 2.0**128 - 2.0**104 + 2.0**75)


class _ArraySpec(Record):
    """The properties of an array shape that are needed to parse its literals, computed once.

    `low` and `high` are the range of the elements. `frame` is the normalized text without the
    elements, or an empty string if that text is too large to keep.
    """

    shape: Shape
    dimensions: tuple[int, ...]
    sizes: tuple[int, ...]
    count: int
    element: ElementType
    low: float
    high: float
    frame: str

    def layout_only(self) -> str:
        return self.frame or brace_frame(self.sizes, "(, )" if self.element.kind == "complex" else "").translate(_LAYOUT_ONLY)


@lru_cache(maxsize=4096)
def _array_spec(declared: Shape) -> _ArraySpec:
    shape = literal_shape(declared)
    element = ELEMENT_TYPES.get(shape.element_type)
    if element is None or element.kind in ("token", "opaque"):
        raise Violation("S032", 0, f"a constant cannot have the type {shape.element_type}")
    if declared.layout is not None:
        _check_layout(declared.layout, shape.dimensions)
    low, high = _range(element)
    sizes = tuple(max(size, 0) for size in shape.dimensions)
    count = prod(sizes)
    spec = _ArraySpec(shape, shape.dimensions, sizes, count, element, low, high, "")
    # The frame of a large literal is as large as the literal's text, and is used only once.
    return replace(spec, frame=spec.layout_only()) if sizes and count <= 512 and max(sizes) <= 512 else spec


def _check_layout(layout: Layout, dimensions: tuple[int, ...]) -> None:
    """Raises Violation for layouts that make XLA abort when it creates the literal."""
    rank = len(dimensions)
    if sorted(layout.minor_to_major) != list(range(rank)):
        raise Violation("S032", 0, f"the layout {layout.text} of a constant is not a permutation of its dimensions (rank {rank})")
    if layout.index_type is not None or layout.pointer_type is not None:
        raise Violation(
            "S032",
            0,
            f"the layout {layout.text} of a constant has an index or pointer type",
            "remove `#(...)` and `*(...)`",
        )
    if any(not tile or any(size < 1 and size != -1 for size in tile) for tile in layout.tiles):
        raise Violation("S032", 0, f"the layout {layout.text} of a constant has an empty tile or a tile size below 1")
    if layout.element_size_in_bits < 0 or layout.tail_padding_alignment_in_elements < 1:
        raise Violation("S032", 0, f"the layout {layout.text} of a constant has an element size below 0 or an alignment below 1")
    split = [dimension for dimension, _ in layout.split_configs]
    if len(set(split)) < len(split) or any(not 0 <= dimension < rank for dimension in split):
        raise Violation("S032", 0, f"the layout {layout.text} of a constant splits a dimension twice or a dimension that does not exist")
    for dimension, indices in layout.split_configs:
        if any(not before < index < dimensions[dimension] for before, index in zip((0, *indices), indices, strict=False)):
            raise Violation("S032", 0, f"the layout {layout.text} of a constant has split indices that do not increase within the dimension")


def _range(element: ElementType) -> tuple[float, float]:
    """Returns the range of integers, or the open interval of finite numbers, of a type."""
    if element.kind == "float":
        return representable_range(element.name)
    if element.kind == "complex":
        # XLA compares the parts with the largest value instead of rounding them to the type.
        return representable_range("f64") if element.name == "c128" else _C64_RANGE
    # 64-bit types accept every INT and wrap it. pred also accepts every INT, as true or false.
    return (-inf, inf) if element.bits == 64 or element.kind == "pred" else (element.minimum, element.maximum)


@cache
def _safe_pattern(element: ElementType) -> re.Pattern[str] | None:
    """Returns the pattern of normalized literals in which all numbers are certainly in range.

    Like `_wide_pattern`, it matches only common spellings; the scanner reads all other spellings.
    """
    if element.kind == "pred":
        return _canonical(rf"[01]|true|false|{_WIDE}")
    if element.is_integral:
        digits = f"[0-{min(element.maximum, 9)}]" if element.maximum < 10 else f"[0-9]{{1,{len(str(element.maximum)) - 1}}}"
        return _canonical("-?" + digits if element.kind == "signed" else digits)
    if element.kind == "complex":
        number = _safe_number(representable_range("f32" if element.name == "c64" else "f64")[1]) + _SPECIAL
        return _canonical(rf"\((?:{number}), (?:{number})\)")
    low, high = representable_range(element.name)
    return _canonical(_safe_number(high) + _SPECIAL) if low else None


@cache
def _wide_pattern(element: ElementType) -> re.Pattern[str] | None:
    """Returns the pattern of normalized literals in which numbers must be checked."""
    if element.kind in ("pred", "complex") or (element.is_integral and element.bits == 64):
        return None
    return _canonical(_WIDE if element.is_integral else rf"{_WIDE}(?:\.[0-9]*+)?+(?:[eE][+-]?+[0-9]{{1,3}})?+{_SPECIAL}")


def _canonical(token: str) -> re.Pattern[str]:
    # The token occurs only once in the pattern, since compiling it takes as long as many matches.
    return re.compile(rf"[{{ ]*+(?:(?:{token})(?:, | ?\}}[ }},]*+\{{[ {{]*+|[ }}]*+\Z))++")


def _safe_number(high: float) -> str:
    """Returns a pattern for decimals with too few digits to reach `high`."""
    exponent = r"-[0-9]{1,3}"
    digits = 18 if isinf(high) else min(18, len(str(int(high))) - 1)
    if digits == 18:
        exponent += r"|\+?(?:[01][0-9]|[0-9])"
    return rf"-?[0-9]{{1,{digits}}}(?:\.[0-9]*+)?+(?:[eE](?:{exponent}))?+"


def brace_frame(sizes: Iterable[int], element: str) -> str:
    """Returns the text of a literal as XLA prints it, with `element` in place of every element.

    >>> brace_frame((2, 2), "%s")
    '{ { %s, %s }, { %s, %s } }'
    """
    sizes = tuple(sizes)
    rank = len(sizes)
    if rank == 0:
        return element
    # `inside` is the text between the braces of one array at `depth`. All arrays at the same depth
    # are equal except for the index in a comment.
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
    """Parses the text between the parentheses of `constant(...)` for an instruction of this shape.

    Raises Violation if XLA reports an error or aborts: S030 for wrong counts and nesting, S031 for
    values out of range, S032 for values of the wrong kind, and S001 for other syntax errors. The
    violation's `at` is an offset in `text`.

    >>> from hlotool.shapes.shape import array_shape
    >>> parse_literal(array_shape("f32", (2, 2)), "{{1,2.50},{3,4}}").spelling
    '{ { 1, 2.50 }, { 3, 4 } }'
    """
    if shape.element_type == "tuple":
        return _parse_tuple(shape, text)
    spec = _array_spec(shape)
    if _is_canonical(spec, text):
        return Literal(spec.shape, text)
    scanner = _ArrayScanner(spec)
    literal, end = scanner.scan(text, 0)
    rest = _next(text, end)
    if rest.lastindex != _END:
        raise scanner.fault or Violation("S001", _start(rest), f"expected the end of the constant, found {_quoted(rest)}")
    return literal


def _is_canonical(spec: _ArraySpec, text: str) -> bool:
    """Returns whether `text` is known to be normalized and valid.

    This is a fast check: if it returns False, the scanner must read the text.
    """
    if text == ELIDED and spec.sizes:
        return spec.count > 0
    # Do not build the huge frame of a huge shape just to compare it with a short text.
    if spec.count == 0 or len(text) < spec.count:
        return False
    bare = text if len(spec.sizes) <= 3 else INDEX_COMMENT.sub("", text)
    safe = _safe_pattern(spec.element)
    if not (safe and safe.fullmatch(bare)) and not _is_canonical_in_range(spec, bare):
        return False
    if text.translate(_LAYOUT_ONLY) != spec.layout_only():
        return False
    return bare is text or INDEX_COMMENT.findall(text) == INDEX_COMMENT.findall(brace_frame(spec.sizes, ""))


def _is_canonical_in_range(spec: _ArraySpec, bare: str) -> bool:
    wide = _wide_pattern(spec.element)
    if wide is None or not wide.fullmatch(bare):
        return False
    numbers = _NUMBER.findall(bare)
    if spec.element.is_integral:
        integers = list(map(int, numbers))
        return spec.low <= min(integers) and max(integers) <= spec.high
    decimals = list(map(float, numbers))
    # XLA rejects a decimal that overflows a double, even for types in which large values saturate.
    return not decimals or (spec.low < min(decimals) and max(decimals) < spec.high and -inf < min(decimals) and max(decimals) < inf)


def _next(text: str, position: int) -> re.Match[str]:
    """Returns the next token at or after `position`, skipping whitespace and comments."""
    while True:
        match = _TOKEN.match(text, position)
        assert match is not None  # the last alternative of the pattern matches anything
        if match.lastindex != _COMMENT:
            return match
        position = match.end()


def _start(match: re.Match[str]) -> int:
    return match.start(match.lastindex or 0)


def _expect(text: str, position: int, kind: int, message: str) -> int:
    match = _next(text, position)
    if match.lastindex != kind:
        raise Violation("S001", _start(match), f"{message}, found {_quoted(match)}")
    return match.end()


def _quoted(match: re.Match[str]) -> str:
    if match.lastindex == _END:
        return "the end"
    # Show the whole word: a digit may begin a token that is not a number.
    word = re.compile(r"[A-Za-z0-9_.?+-]{1,40}|[\s\S]").match(match.string, _start(match))
    return repr(word.group() if word else match.group())


def _parse_tuple(shape: Shape, text: str) -> Literal:
    """Parses `( e0, e1 )`.

    Uses an explicit stack, because tuples may be nested more deeply than Python's recursion limit
    allows. As in XLA, commas between elements may be missing, and `()` for a tuple with elements
    turns each element into an empty tuple.
    """
    position = _expect(text, 0, _LEFT, "expected '(' before the elements of a tuple")
    stack: list[tuple[Shape, list[Literal]]] = [(shape, [])]
    while True:
        tuple_shape, elements = stack[-1]
        match = _next(text, position)
        if not elements and match.lastindex == _RIGHT:
            elements.extend(tuple_literal(()) for _ in tuple_shape.elements)
        if len(elements) < len(tuple_shape.elements):
            if elements and match.lastindex == _COMMA:
                position = match.end()
            element = tuple_shape.elements[len(elements)]
            if element.is_tuple:
                position = _expect(text, position, _LEFT, "expected '(' before the elements of a tuple")
                stack.append((element, []))
            else:
                literal, position = _ArrayScanner(_array_spec(element)).scan(text, position)
                elements.append(literal)
            continue
        count = len(tuple_shape.elements)
        position = _expect(text, position, _RIGHT, f"expected ')' at the end of the tuple with {count} element{'' if count == 1 else 's'}")
        stack.pop()
        literal = tuple_literal(elements)
        if not stack:
            _expect(text, position, _END, "expected the end of the constant")
            return literal
        stack[-1][1].append(literal)


class _ArrayScanner:
    """A scanner that reads one array literal, token by token, with exactly XLA's checks.

    After an element at the wrong nesting level, or an element too many in a row, XLA continues, and
    accepts the literal unless a later check fails. So `7` is a value of f32[2] (the other element
    is zero), and so is `,`. `fault` is the first error of this kind, for the message.
    """

    def __init__(self, spec: _ArraySpec) -> None:
        self.spec = spec
        self.items: list[str] = []
        self.seen = [0] * len(spec.dimensions)
        self.opened = [0] * len(spec.dimensions)
        self.level = 0
        self.values_after_dots: int | None = None
        self.fault: Violation | None = None

    def scan(self, text: str, position: int) -> tuple[Literal, int]:
        spec, items = self.spec, self.items
        rank, in_braces, outside, is_complex = len(spec.dimensions), _TOKEN_IN_BRACES.match, _TOKEN.match, spec.element.kind == "complex"
        check, count = _CHECKS[spec.element.kind], spec.count
        while True:
            match = (in_braces if self.level else outside)(text, position)
            # The last alternative of the pattern matches anything.
            assert match is not None
            assert match.lastindex is not None
            kind, position = match.lastindex, match.end()
            if kind in _ELEMENTS:
                if rank:
                    if self.level == rank:
                        self.seen[-1] += 1
                    if self.level != rank or self.seen[-1] > spec.dimensions[-1]:
                        self.misplaced(match)
                token = match.group(kind)
                check(spec, kind, token, match)
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
                    depth = _depth(self.level)
                    raise self.fault or Violation("S030", match.start(kind), f"'...' must be inside one level of braces, found it {depth}")
                self.seen[0] = spec.dimensions[0]
                self.values_after_dots = len(items)
            elif kind == _LEFT:
                raise self.fault or Violation("S032", match.start(kind), f"'(' begins a complex number, but the type is {spec.element.name}")
            elif kind != _COMMA:
                raise self.fault or Violation("S001", match.start(kind), f"expected a value, found {_quoted(match)}")
            if not self.level:
                return self.literal(), position

    def misplaced(self, match: re.Match[str]) -> Violation:
        if self.fault is not None:
            return self.fault
        dimensions, at = self.spec.dimensions, _start(match)
        if self.level != len(dimensions):
            self.fault = Violation("S030", at, f"expected values inside {_levels(len(dimensions))} of braces, found one {_depth(self.level)}")
        else:
            self.fault = Violation("S030", at, f"{_expected(dimensions, len(dimensions) - 1)}, found more")
        return self.fault

    def open(self, match: re.Match[str]) -> None:
        dimensions, level = self.spec.dimensions, self.level
        if level == len(dimensions):
            expected = f"at most {_levels(level)} of braces, found more" if level else "a single value without braces, found '{'"
            raise self.fault or Violation("S030", _start(match), f"expected {expected}")
        self.level = level + 1
        self.opened[level] = _start(match)
        if level:
            self.seen[level - 1] += 1
            if self.seen[level - 1] > dimensions[level - 1]:
                raise self.fault or Violation("S030", _start(match), f"{_expected(dimensions, level - 1)}, found more")

    def close(self, match: re.Match[str]) -> None:
        dimensions, level = self.spec.dimensions, self.level - 1
        if level < 0:
            raise self.fault or Violation("S001", _start(match), "expected a value, found '}'")
        if self.seen[level] != dimensions[level]:
            raise self.fault or Violation("S030", self.opened[level], f"{_expected(dimensions, level)}, found {self.seen[level]}")
        self.seen[level] = 0
        self.level = level

    def complex(self, match: re.Match[str]) -> int:
        """Reads `(real, imaginary)`, starting at the parenthesis in `match`; returns the end."""
        spec, text, at = self.spec, match.string, _start(match)
        rank = len(spec.dimensions)
        if self.level != rank or (rank and self.seen[-1] >= spec.dimensions[-1]):
            # Unlike for a misplaced real number, XLA stops here.
            raise self.misplaced(match)
        if rank:
            self.seen[-1] += 1
        position, parts = match.end(), []
        for part, separator, kind in (("real", "','", _COMMA), ("imaginary", "')'", _RIGHT)):
            number = _next(text, position)
            if number.lastindex not in _NUMBERS:
                raise Violation("S032", _start(number), f"expected the {part} part of a complex number, found {_quoted(number)}")
            parts.append((part, number.group(number.lastindex), number.start(number.lastindex)))
            position = _expect(text, number.end(), kind, f"expected {separator} after the {part} part of a complex number")
        _check_complex(spec, parts, at)
        if len(self.items) >= spec.count:
            raise self.fault or Violation("S030", at, f"expected {_elements(spec.count)}, found more")
        self.items.append(f"({parts[0][1]}, {parts[1][1]})")
        return position

    def literal(self) -> Literal:
        spec, items = self.spec, self.items
        # XLA replaces the values before `...` with made-up values. So the values are known only if
        # all of them come after `...`.
        if self.values_after_dots is not None and spec.count and (self.values_after_dots or len(items) < spec.count):
            return Literal(spec.shape, ELIDED)
        # A bare value or comma is not expanded, because the shape may be huge.
        if 1 < spec.count > len(items):
            return Literal(spec.shape, items[0] if items else ",")
        # An array without elements is not expanded either: its outer dimensions may be huge.
        if spec.count == 0 and prod(spec.sizes[: spec.sizes.index(0)]) > _MAX_EMPTY_BRACES:
            return Literal(spec.shape, ",")
        items += [_zero(spec)] * (spec.count - len(items))
        return Literal(spec.shape, brace_frame(spec.sizes, "%s") % tuple(items))


def _zero(spec: _ArraySpec) -> str:
    """Returns the text of elements that are not written: the value whose bits are all zero."""
    if spec.element.name == "f8e8m0fnu":
        return "5.877e-39"
    return {"complex": "(0, 0)", "pred": "0" if spec.sizes else "false"}.get(spec.element.kind, "0")


def _elements(count: int) -> str:
    return f"{count} element{'' if count == 1 else 's'}"


def _levels(count: int) -> str:
    return f"{count} level{'' if count == 1 else 's'}"


def _depth(level: int) -> str:
    return f"inside {_levels(level)}" if level else "without braces"


def _expected(dimensions: tuple[int, ...], dimension: int) -> str:
    if dimensions[dimension] == UNBOUNDED:
        return f"expected {ELIDED}, the only value for dimension {dimension}, whose size is unknown"
    return f"expected {_elements(dimensions[dimension])} in dimension {dimension}"


def _integer(token: str, at: int) -> int:
    value = int64_value(token)
    if value is None:
        raise Violation("S031", at, f"the number {token[:40]} does not fit in 64 bits")
    return value


def _check_pred(spec: _ArraySpec, kind: int, token: str, match: re.Match[str]) -> None:
    if kind == _INT:
        _integer(token, match.start(kind))
    elif kind != _BOOL:
        raise Violation("S032", match.start(kind), f"expected true, false or an integer, found {token[:40]}")


def _check_integer(spec: _ArraySpec, kind: int, token: str, match: re.Match[str]) -> None:
    if kind != _INT:
        raise Violation("S032", match.start(kind), f"expected an integer for {spec.element.name}, found {token[:40]}")
    value = int(token) if len(token) < 19 else _integer(token, match.start(kind))
    if not spec.low <= value <= spec.high:
        raise Violation("S031", match.start(kind), f"{token[:40]} is out of range for {spec.element.name}, which holds {spec.low} to {spec.high}")


def _check_float(spec: _ArraySpec, kind: int, token: str, match: re.Match[str]) -> None:
    if kind == _BOOL:
        raise Violation("S032", match.start(kind), f"expected a number for {spec.element.name}, found {token}")
    if kind == _NAN:
        _check_payload(spec.element.name, token, match.start(kind))
    elif kind != _INF:
        value = _finite(token, kind == _INT, match.start(kind))
        if not spec.low < value < spec.high:
            raise Violation("S031", match.start(kind), f"{token[:40]} is out of range for {spec.element.name}")


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
        raise Violation("S001", at, "the payload of a NaN must be between 0x1 and 0xfffffffffffff")
    mask = payload_mask(name)
    if payload > mask and payload != QUIET_PAYLOAD:
        hint = f"payloads of {name} go up to {mask:#x}" if mask else f"a NaN of {name} has no payload"
        raise Violation("S031", at, f"the NaN payload {payload:#x} is out of range for {name}", hint)


def _check_bare_complex(spec: _ArraySpec, kind: int, token: str, match: re.Match[str]) -> None:
    raise Violation("S032", match.start(kind), f"expected (real, imaginary) for {spec.element.name}, found {token[:40]}")


def _check_complex(spec: _ArraySpec, parts: list[tuple[str, str, int]], at: int) -> None:
    for part, token, start in parts:
        if "nan" in token:
            # XLA does not check the payload of the imaginary part but converts it to the type.
            _check_payload("f64" if part == "imaginary" or spec.element.name == "c128" else "f32", token, at)
        elif "inf" not in token:
            value = _finite(token, token.lstrip("-").isdigit(), start)
            if not spec.low < value < spec.high:
                raise Violation("S031", at, f"the {part} part {token[:40]} is out of range for {spec.element.name}")


_CHECKS = {
    "pred": _check_pred,
    "signed": _check_integer,
    "unsigned": _check_integer,
    "float": _check_float,
    "complex": _check_bare_complex,
}
