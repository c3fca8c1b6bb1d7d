"""The verifier's constraints that apply to every op, and helpers for constraints on single ops.

The constraints on a single op are next to the definition of its opcode.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from hlotool.errors import Violation
from hlotool.opdefs.base import REQUIRED, OpDef, require
from hlotool.opdefs.inference import arrays_compatible_up_to_precision, bounds, kind_of, same_type_up_to_precision
from hlotool.opdefs.modes import VerifyModes
from hlotool.opdefs.traits import ACCUMULATED, ELEMENTWISE, LAYOUT_KEPT, MIXED_PRECISION, PRECISION_KEPT, SHAPE_GUESSED
from hlotool.record import replace
from hlotool.shapes.shape import UNBOUNDED, Shape, compatible

__all__ = [
    "Path",
    "ResultRules",
    "check_precision",
    "check_result",
    "difference",
    "path_text",
    "require_same_element_type",
    "same_order",
    "same_shape",
    "without_memory_space",
]

Path = tuple[Any, int] | None
"""The path to a part of a shape: the path to a tuple and an index in that tuple.

The path to the whole shape is None.

Paths are linked lists, since flat tuples would take quadratic memory in deeply nested shapes.
"""

MIXED_PRECISION_HINT = "allow mixed precision (--allow-mixed-precision true)"

# Longer paths are truncated, since no reader would follow them to the end.
_SHOWN_PATH = 12
_MAX_OPERANDS_SHOWN = 2

_TYPE_KEPT = frozenset({LAYOUT_KEPT, PRECISION_KEPT})


def same_shape(first: Shape, second: Shape, modes: VerifyModes) -> bool:
    """Returns whether two shapes count as the same when a value is passed to a computation.

    Layouts and dynamic dimensions count only in some modes. Memory spaces never count, since
    compilers for TPUs assign them to the operands of fusions but not to the parameters of the
    bodies.
    """
    if not modes.layout_sensitive:
        return compatible(first, second)
    return all(without_memory_space(a) == without_memory_space(b) for _, a, b in _leaf_pairs(first, second))


def without_memory_space(shape: Shape) -> Shape:
    """Returns the shape with the default memory space; does not look into tuples."""
    layout = shape.layout
    return shape if layout is None or not layout.memory_space else shape.with_layout(replace(layout, memory_space=0))


def same_order(first: Shape, second: Shape, modes: VerifyModes) -> bool:
    """Returns whether values of two shapes may share memory.

    The shapes must be compatible and, in layout-sensitive mode, have their dimensions in the same
    order.
    """
    if not compatible(first, second):
        return False
    return not modes.layout_sensitive or all(
        a.layout is None or b.layout is None or a.layout.minor_to_major == b.layout.minor_to_major for _, a, b in _leaf_pairs(first, second)
    )


def _leaf_pairs(first: Shape, second: Shape) -> Iterator[tuple[Path, Shape, Shape]]:
    """Yields pairs of leaves at the same path. Parts with different structures are not split.

    Uses an explicit stack, since tuples may be nested deeply.
    """
    stack: list[tuple[Path, Shape, Shape]] = [(None, first, second)]
    while stack:
        path, a, b = stack.pop()
        if a is b:
            continue
        if a.is_tuple and b.is_tuple and len(a.elements) == len(b.elements):
            stack += [((path, k), a.elements[k], b.elements[k]) for k in range(len(a.elements) - 1, -1, -1)]
        elif a.element_type == b.element_type == "buffer":
            stack.append((path, a.elements[0], b.elements[0]))
        else:
            yield path, a, b


def path_text(path: Path) -> str:
    """Returns the path as text, such as `{1,0}`; omits the beginning of a long path."""
    indices: list[str] = []
    while path is not None and len(indices) < _SHOWN_PATH:
        indices.append(str(path[1]))
        path = path[0]
    return "{" + ("...," if path is not None else "") + ",".join(reversed(indices)) + "}"


def difference(expected: Shape, actual: Shape, agree: Callable[[Shape, Shape], bool] = compatible) -> tuple[str, str, str]:
    """Returns the first difference between two shapes: its position, and both shapes there.

    Parts that do not agree take precedence over parts that agree but are not equal. The returned
    texts include layouts only if nothing else differs.

    >>> from hlotool.shapes.shape import array_shape, tuple_shape
    >>> difference(tuple_shape([array_shape("f32")]), tuple_shape([array_shape("s32")]))
    ('element {0} of ', 'f32[]', 's32[]')
    """
    pairs = [(path, a, b) for path, a, b in _leaf_pairs(expected, actual) if a != b]
    path, a, b = next((pair for pair in pairs if not agree(pair[1], pair[2])), pairs[0] if pairs else (None, expected, actual))
    where = f"element {path_text(path)} of " if path else ""
    texts = a.text_without_layout, b.text_without_layout
    return (where, *texts) if texts[0] != texts[1] else (where, a.text, b.text)


def _agrees(op: OpDef, expected: Shape, result: Shape, modes: VerifyModes) -> bool:
    if modes.layout_sensitive and LAYOUT_KEPT in op.traits:
        return expected == result
    if compatible(expected, result):
        return True
    if not modes.allow_mixed_precision or not op.traits.isdisjoint(_TYPE_KEPT):
        return False
    return all(compatible(a, b) or arrays_compatible_up_to_precision(a, b) for _, a, b in _leaf_pairs(expected, result))


def _layout_position(expected: Shape, result: Shape) -> str:
    """Returns the position of the first different layout, in shapes that differ only in layouts."""
    path = next((path for path, a, b in _leaf_pairs(expected, result) if a != b), None)
    indices: list[str] = []
    while path is not None and len(indices) < _SHOWN_PATH:
        indices.append(f"[{path[1]}]")
        path = path[0]
    # A very deeply nested position is not named; the finding then marks the whole shape.
    return "shape" + "".join(reversed(indices)) + "[layout]" if path is None else "shape"


class ResultRules:
    """The inference and the constraints of one op, with cached lookups.

    >>> from hlotool.opdefs.table import OPS
    >>> from hlotool.shapes.shape import array_shape
    >>> x = array_shape("f32", (2, 3))
    >>> ResultRules(OPS["transpose"]).expected(x, (x,), {"dimensions": (1, 0)}, VerifyModes()).text_without_layout
    'f32[3,2]'
    """

    __slots__ = ("_check_parsed", "_defaults", "_infer", "_names", "_verify")

    def __init__(self, op: OpDef) -> None:
        self._infer = op.infer if (op.infers or op.shape_ignored) and SHAPE_GUESSED not in op.traits else None
        self._check_parsed = op.check_parsed
        self._verify = op.verify
        self._names = op.attributes.keys()
        self._defaults = {name: spec.default for name, spec in op.attributes.items() if spec.default is not REQUIRED}

    def expected(self, result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> Shape | None:
        """Returns the result shape, or None if it is not determined.

        Raises Violation for a broken rule. Called computations are passed as ProgramShapes.
        """
        expected = None
        if self._check_parsed is not None:
            # The parser has already checked this, but the instruction may have been edited since.
            self._check_parsed(result, operands, attributes)
        if self._infer is not None:
            names = self._names
            # Attributes that any instruction may have are not parameters of the inference function.
            arguments = attributes if attributes.keys() <= names else {name: value for name, value in attributes.items() if name in names}
            expected = self._infer(*operands, **arguments)
        return self.constrained(result, operands, attributes, modes) or expected

    def constrained(self, result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> Shape | None:
        """Like `expected`, but without inference, for a result that has just been inferred.

        Raises Violation for a broken rule of the verifier.

        >>> from hlotool.opdefs.table import OPS
        >>> from hlotool.shapes.shape import array_shape
        >>> ResultRules(OPS["negate"]).constrained(array_shape("f32"), (array_shape("f32"),), {}, VerifyModes()) is None
        True
        """
        if self._verify is None:
            return None
        return self._verify(result, operands, {**self._defaults, **attributes}, modes)


# Findings of these rules mark the name and the shape; findings of other rules mark only the shape.
_CODES_MARKING_NAME = frozenset({"A006", "A016", "A019", "C003", "C011", "C014", "T009", "T024", "T095"})


def check_result(op: OpDef, operands: Sequence[Shape], expected: Shape, result: Shape, modes: VerifyModes) -> None:
    """Raises Violation if the written result shape is not the expected one."""
    if ACCUMULATED in op.traits:
        expected = _with_result_type(expected, result)
    if expected is result:
        return
    if _agrees(op, expected, result, modes):
        _check_dynamic(op, expected, result)
        return
    where, expected_text, written = difference(expected, result)
    if compatible(expected, result):
        message = f"{where}the result of '{op.name}' must have the layout of {expected_text}, but {written} is written"
        raise Violation("L024", _layout_position(expected, result), message)
    at = "result" if op.result_code in _CODES_MARKING_NAME else "shape"
    if where:
        raise Violation(op.result_code, at, f"{where}the result of '{op.name}' is {expected_text}, but {written} is written")
    inputs = f" of {' and '.join(shape.text_without_layout for shape in operands)}" if 0 < len(operands) <= _MAX_OPERANDS_SHOWN else ""
    hint = f"write {expected_text}" + (f", or {MIXED_PRECISION_HINT}" if arrays_compatible_up_to_precision(expected, result) else "")
    raise Violation(op.result_code, at, f"'{op.name}'{inputs} returns {expected_text}, but {written} is written", hint)


def _check_dynamic(op: OpDef, expected: Shape, result: Shape) -> None:
    """Raises Violation if a dimension should be dynamic but is static, or vice versa.

    A violation is an error for elementwise ops, whose result has the shape of the operands, but
    only a warning for other ops: XLA does not check these, and its own programs have static shapes
    after set-dimension-size.
    """
    for path, a, b in _leaf_pairs(expected, result):
        if a.dynamic == b.dynamic:
            continue
        k, sizes = next((k, pair) for k, pair in enumerate(zip(bounds(a), bounds(b), strict=True)) if pair[0][1] != pair[1][1])
        where = f" of element {path_text(path)}" if path else ""
        kinds = [("dynamic (?)" if size == UNBOUNDED else f"dynamic (<={size})") if is_dynamic else "static" for size, is_dynamic in sizes]
        message = f"result dimension {k}{where} of '{op.name}' is {kinds[0]}, but written as {kinds[1]}"
        raise Violation("T082", "result", message, severity=None if ELEMENTWISE in op.traits else "warning")


def check_precision(op: OpDef, operands: Sequence[Shape], modes: VerifyModes) -> None:
    """Raises Violation for operands of different floating-point types.

    Ops that only forward values or that have a separate accumulation type are exempt.
    """
    if modes.allow_mixed_precision or len(operands) < 2 or MIXED_PRECISION in op.traits:
        return
    seen = ""
    for operand in operands:
        for leaf in operand.leaves():
            if leaf.element_type == seen or kind_of(leaf.element_type) != "float":
                continue
            message = f"operands of '{op.name}' have the types {seen} and {leaf.element_type}"
            require(not seen, "T085", "operands", message, f"convert one operand, or {MIXED_PRECISION_HINT}")
            seen = leaf.element_type


def require_same_element_type(result: Shape, operand: Shape, opcode: str, modes: VerifyModes, code: str = "T020") -> None:
    """Raises Violation if an op that only moves elements changes the element type."""
    operand_type, written = operand.element_type, result.element_type
    agree = same_type_up_to_precision(operand_type, written) if modes.allow_mixed_precision else operand_type == written
    is_precision = same_type_up_to_precision(operand_type, written)
    hint = f"add a convert, or {MIXED_PRECISION_HINT}" if is_precision else "use convert to convert values, or bitcast-convert to reinterpret bits"
    require(agree, code, "shape", f"'{opcode}' keeps the element type {operand_type}, but {written} is written", hint)


def _with_result_type(inferred: Shape, result: Shape) -> Shape:
    """Returns the inferred shape with the element type of the result.

    Products are accumulated in the result type; XLA accepts any type.
    """
    return inferred.with_element_type(result.element_type) if result.is_array else inferred
