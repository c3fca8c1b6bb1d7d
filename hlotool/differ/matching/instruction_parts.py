"""The parts of an instruction that are compared: everything except its operands and its name.

Equal parts get the same number in both modules, so instructions are compared by comparing numbers.
Spelling does not matter: explicit defaults, the key order of configurations and the numbers of
stack frames are normalized.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Hashable
from typing import Any

from hlotool.differ.matching.constant_keys import ConstantKeys
from hlotool.ir.model import Computation, Instruction, Module
from hlotool.literals.literal import Literal
from hlotool.opdefs.base import REQUIRED
from hlotool.opdefs.codecs.base import WriteStyle
from hlotool.opdefs.table import CODECS
from hlotool.shapes.metadata import FileLocation, decode_stack_tables
from hlotool.shapes.shape import Shape
from hlotool.shapes.strings import unquote
from hlotool.shapes.values import Raw, ResultAccuracy

__all__ = ["ANNOTATIONS", "COMPARED_SEPARATELY", "Parts", "attribute_differences", "calls_of", "is_called_value", "shape_kinds"]

ANNOTATIONS = ("metadata", "backend_config", "sharding", "frontend_attributes")
"""The kinds of changes that do not affect the computed values."""

COMPARED_SEPARATELY = frozenset({"sharding", "frontend_attributes", "control-predecessors"})
"""The attributes that are compared separately, not as part of an instruction's `attributes`."""

# The index of the first annotation in a row.
_ANNOTATED = 4

# The number of a stack frame. Strings match as well, so that nothing inside a string is taken for a
# frame number.
_FRAME = re.compile(r' ?stack_frame_id=(\d+)|"(?:[^"\\]++|\\.)*+"')


class Parts:
    """The parts of instructions, as rows.

    A row contains, in this order: the opcode, the shape, and the numbers of the attributes, the
    value of a constant, and the `ANNOTATIONS`. A key is the index of a row. `structures` lists, for
    each key, the number of the row without its annotations.
    """

    def __init__(self) -> None:
        self.rows: list[tuple[Any, ...]] = []
        self.structures: list[int] = []
        self._numbers: dict[Hashable, int] = {}
        self._rows: dict[Hashable, int] = {}
        self._raw: dict[Hashable, int] = {}
        self._costs: dict[tuple[int, int], int] = {}
        self._configurations: dict[str, int] = {}
        self._sets: dict[Hashable, int] = {}
        self._constants = ConstantKeys()

    def add(self, module: Module) -> list[int]:
        """Returns the keys of all instructions of a module, in textual order.

        This method must be called for the left module first, then for the right one.
        """
        frames = _Frames(module, self._number)
        raw = self._raw
        keys = []
        for x in module.all_instructions():
            # The fast path compares identities, since instructions share shapes and attributes, and
            # normalizing these takes time.
            metadata: Hashable = x.metadata_text
            if isinstance(metadata, str) and "stack_frame_id" in metadata:
                metadata = frames.resolve(metadata)
            immediate = id(x.immediate) if isinstance(x.immediate, Literal) else x.immediate
            quick = (id(x.op), id(x.shape), id(x.attributes), immediate, metadata, x.backend_config)
            key = raw.get(quick)
            if key is None:
                key = raw[quick] = self._key(x, metadata)
            keys.append(key)
        self._constants.begin_second()
        return keys

    def _key(self, x: Instruction, metadata: Hashable) -> int:
        attributes = x.attributes
        structure = (
            x.op.name,
            x.shape,
            self._attributes(x),
            self._number(("constant", self._constants.of(x.immediate))) if isinstance(x.immediate, Literal) else 0,
        )
        annotations = (
            self._number(("metadata", metadata)) if metadata is not None else 0,
            self._configuration(x.backend_config) if x.backend_config is not None else 0,
            self._number(("sharding", _freeze(attributes["sharding"]))) if "sharding" in attributes else 0,
            self._number(("frontend", _freeze(attributes["frontend_attributes"]))) if attributes.get("frontend_attributes") else 0,
        )
        row = structure + annotations
        return self._key_of(row)

    def _key_of(self, row: tuple[Any, ...]) -> int:
        key = self._rows.get(row)
        if key is None:
            key = self._rows[row] = len(self.rows)
            self.rows.append(row)
            self.structures.append(self._number(("structure", row[:_ANNOTATED])))
        return key

    def comparable(self, first: list[int], second: list[int]) -> list[int]:
        """Returns the keys of two modules, ignoring kinds of annotations that only one module has.

        Such annotations, for instance metadata that a dump leaves out, do not help to find pairs.
        A kind is also ignored if the other module has few annotations of this kind, and none of
        their values occurs in both modules.
        """
        counts = Counter(first), Counter(second)
        absent = set()
        for column in range(_ANNOTATED, _ANNOTATED + len(ANNOTATIONS)):
            here, there = ({key: n for key, n in count.items() if self.rows[key][column]} for count in counts)
            fewer, more = sorted((sum(here.values()), sum(there.values())))
            if 2 * fewer < more and not {self.rows[key][column] for key in here} & {self.rows[key][column] for key in there}:
                absent.add(column)
        if not absent:
            return first + second
        known: dict[int, int] = {}
        for key in {*first, *second}:
            known[key] = self._key_of(tuple([0 if k in absent else number for k, number in enumerate(self.rows[key])]))
        return [known[key] for key in (*first, *second)]

    def _attributes(self, x: Instruction) -> int:
        # An `id` is a safe key, since the modules keep their attributes alive.
        depends_on_shape = x.op.derived or x.op.operand_defaults
        quick = (id(x.op), id(x.attributes), id(x.shape) if depends_on_shape else 0, x.immediate if x.op.name == "parameter" else None)
        number = self._sets.get(quick)
        if number is None:
            number = self._sets[quick] = self._number(_freeze(_own_attributes(x)))
        return number

    def _configuration(self, text: str) -> int:
        number = self._configurations.get(text)
        if number is None:
            try:
                value = _freeze(configuration(text))
            except RecursionError:
                # JSON that is nested too deeply counts as text.
                value = text
            number = self._configurations[text] = self._number(("configuration", value))
        return number

    def _number(self, value: Hashable) -> int:
        return self._numbers.setdefault(value, len(self._numbers) + 1)

    def has_same_opcode(self, a: int, b: int) -> bool:
        """Returns whether two keys have the same opcode."""
        return a == b or bool(self.rows[a][0] == self.rows[b][0])

    def cost(self, a: int, b: int) -> int:
        """Returns the number of kinds of changes between two keys; a new opcode counts twice."""
        if a == b:
            return 0
        pair = (a, b) if a < b else (b, a)
        cost = self._costs.get(pair)
        if cost is None:
            cost = self._costs[pair] = self._cost(self.rows[a], self.rows[b])
        return cost

    def _cost(self, a: tuple[Any, ...], b: tuple[Any, ...]) -> int:
        cost = sum(bool(x != y) for x, y in zip(a[_ANNOTATED:], b[_ANNOTATED:], strict=True))
        kinds = shape_kinds(a[1], b[1])
        cost += len(kinds)
        if a[0] != b[0]:
            return cost + 2
        has_same_type = "shape" not in kinds and "element_type" not in kinds
        return cost + bool(a[2] != b[2]) + bool(a[3] != b[3] and has_same_type)


def shape_kinds(first: Shape, second: Shape) -> tuple[str, ...]:
    """Returns the kinds of changes between two shapes: `shape`, `element_type` and `layout`.

    If the structure of tuples or the rank differs, layouts differ as a consequence and are not
    reported.

    >>> from hlotool.shapes.shape import array_shape
    >>> shape_kinds(array_shape("f32", (2, 3)), array_shape("bf16", (2, 4)))
    ('element_type', 'shape')
    """
    if first is second or first == second:
        return ()
    kinds: set[str] = set()
    stack = [(first, second)]
    # Tuples may share their elements.
    seen: set[tuple[int, int]] = set()
    while stack:
        a, b = stack.pop()
        if (id(a), id(b)) in seen:
            continue
        seen.add((id(a), id(b)))
        if a.is_tuple != b.is_tuple or len(a.elements) != len(b.elements):
            return ("shape",)
        if a.is_tuple:
            stack.extend(zip(a.elements, b.elements, strict=True))
            continue
        if a.element_type != b.element_type:
            kinds.add("element_type")
        if a.dimensions != b.dimensions or a.dynamic != b.dynamic:
            kinds.add("shape")
        if a.layout != b.layout and a.rank == b.rank:
            kinds.add("layout")
    return tuple(sorted(kinds))


# ---- attributes --------------------------------------------------------------------------------


def is_called_value(value: Any) -> bool:
    """Returns whether the value of an attribute is a computation or a tuple of computations."""
    return isinstance(value, Computation) or (isinstance(value, tuple) and bool(value) and isinstance(value[0], Computation))


def calls_of(x: Instruction) -> dict[str, tuple[Computation, ...]]:
    """Returns the computations that an instruction calls, by the names of its attributes."""
    if not x.op.calls and not any(map(is_called_value, x.attributes.values())):
        return {}
    return {name: value if isinstance(value, tuple) else (value,) for name, value in x.attributes.items() if is_called_value(value)}


def _own_attributes(x: Instruction) -> dict[str, Any]:
    """Returns the attributes except called computations, defaults and values implied by shapes."""
    values: dict[str, Any] = {}
    if x.op.name == "parameter":
        values["parameter_number"] = x.immediate
    for name, value in x.attributes.items():
        if name in COMPARED_SEPARATELY or name in x.op.derived or is_called_value(value):
            continue
        if not _is_default(x, name, value):
            values[name] = value
    for name, default in x.op.operand_defaults.items():
        # The meaning of a missing attribute depends on the operands.
        if name not in x.attributes and name not in x.op.derived:
            value = default(tuple(operand.shape for operand in x.operands))
            if not _is_default(x, name, value):
                values[name] = value
    return values


def _is_default(x: Instruction, name: str, value: Any) -> bool:
    if value is None or value == () or value == ResultAccuracy():
        return True
    spec = x.op.attributes.get(name)
    if spec is not None and spec.default is not REQUIRED:
        # Some values, such as replica groups, have their own types even if they are empty.
        return bool(value == spec.default) or (spec.default == () and _is_written_empty(spec.kind, value))
    if name in x.op.operand_defaults:
        return bool(value == x.op.operand_defaults[name](tuple(operand.shape for operand in x.operands)))
    return not value if isinstance(value, dict) else False


def _is_written_empty(kind: str, value: Any) -> bool:
    return kind in CODECS and not isinstance(value, Raw) and CODECS[kind].write(value, WriteStyle()) == "{}"


def attribute_differences(x: Instruction, y: Instruction) -> list[str]:
    """Returns the names of the attributes in which two instructions differ.

    Annotations, called computations and control predecessors do not count.

    >>> from hlotool.text.parse.parser import parse
    >>> text = "ENTRY e { p = (f32[], s32[]) parameter(0) ROOT g = get-tuple-element(p), index=%d }"
    >>> attribute_differences(parse(text % 0).entry.root, parse(text % 1).entry.root)
    ['index']
    """
    names: list[str] = []
    if x.op is y.op and x.op.name == "parameter" and x.immediate != y.immediate:
        names.append("parameter_number")
    if x.attributes is y.attributes:
        return names
    first, second = _own_attributes(x), _own_attributes(y)
    for name in sorted(x.attributes.keys() | y.attributes.keys()):
        if name in COMPARED_SEPARATELY or is_called_value(x.attributes.get(name)) or is_called_value(y.attributes.get(name)):
            continue
        if name in x.op.derived and name in y.op.derived:
            if _value(x, name) != _value(y, name) and x.op.derived[name](x.shape) != y.op.derived[name](y.shape):
                names.append(name)
        elif not _same(_value(x, name), _value(y, name)) and not _same(first.get(name), second.get(name)):
            names.append(name)
    return names


def _value(x: Instruction, name: str) -> Any:
    spec = x.op.attributes.get(name)
    return x.attributes.get(name, None if spec is None else spec.default)


def _same(a: Any, b: Any) -> bool:
    # A value that contains a NaN is not equal to itself, so the texts of values are compared, too.
    return a is b or a == b or (type(a) is type(b) and repr(a) == repr(b))


def _freeze(value: Any) -> Hashable:
    """Returns a hashable value that is equal for equal values."""
    if isinstance(value, dict):
        return tuple((name, _freeze(value[name])) for name in sorted(value))
    if isinstance(value, list | tuple):
        return (type(value).__name__, *map(_freeze, value))
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, bool):
        return ("bool", value)
    return value if type(value).__hash__ is not None else repr(value)


# ---- configurations, constants, metadata -------------------------------------------------------


def configuration(text: str | None) -> Any:
    """Returns a backend configuration as JSON values, or its text if it is not JSON."""
    if text is None:
        return None
    try:
        value = json.loads(text)
        return json.loads(value) if isinstance(value, str) and value[:1] in ("{", "[") else value
    except (ValueError, RecursionError):
        return unquote(text) if text.startswith('"') else text


class _Frames:
    """The stack frames of one module.

    Frames of the two modules are equal if they and all their callers have the same locations.
    """

    def __init__(self, module: Module, number_of: Callable[[Hashable], int]) -> None:
        text = module.stack_tables_text
        self.tables = None if text is None else decode_stack_tables(text)
        self._number_of = number_of
        self._known: dict[int, int] = {}
        self._texts: dict[str, Hashable] = {}

    def resolve(self, metadata: str) -> Hashable:
        """Returns metadata with the frame number replaced with a number for the frame's locations.

        If the frame has no locations, the frame number is removed.
        """
        value = self._texts.get(metadata)
        if value is None:
            match = next((match for match in _FRAME.finditer(metadata) if match[1] is not None), None)
            frames = self._frames(int(match[1])) if match is not None else 0
            rest = metadata[: match.start()] + metadata[match.end() :] if match is not None else metadata
            value = self._texts[metadata] = (rest, frames) if frames else rest
        return value

    def _frames(self, number: int) -> int:
        """Returns a number for the locations of a frame and its callers, or 0 if there are none."""
        tables, known = self.tables, self._known
        if tables is None:
            return 0
        # Walks from the innermost frame outward to a known one, then back. In a damaged table,
        # frames may form a cycle.
        path: dict[int, None] = {}
        while 0 < number <= len(tables.stack_frames) and number not in known and number not in path:
            path[number] = None
            number = tables.stack_frames[number - 1].parent_frame_id - 1
        result = known.get(number, 0)
        for inner in reversed(path):
            location_id = tables.stack_frames[inner - 1].file_location_id
            if 0 < location_id <= len(tables.file_locations):
                result = self._number_of(("frame", self._location(tables.file_locations[location_id - 1]), result))
            known[inner] = result
        return result

    def _location(self, location: FileLocation) -> Hashable:
        tables = self.tables
        assert tables is not None
        file = tables.file_names[location.file_name_id - 1] if location.file_name_id else ""
        function = tables.function_names[location.function_name_id - 1] if location.function_name_id else ""
        return (file, function, location.line, location.end_line, location.column, location.end_column)
