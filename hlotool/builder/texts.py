"""Parsing of shapes, attributes and other values that are given as text."""

from __future__ import annotations

from functools import lru_cache
from operator import index
from typing import Any

from hlotool.errors import HlotoolError, ParseError, Violation
from hlotool.opdefs.base import AttributeSpec
from hlotool.opdefs.common import COMMON_ATTRIBUTES
from hlotool.opdefs.table import CODECS, OPS
from hlotool.shapes.dtype import ELEMENT_TYPES
from hlotool.shapes.layout import Layout
from hlotool.shapes.shape import UNBOUNDED, Shape, array_shape
from hlotool.text.parse.parser import parse
from hlotool.text.parse.shapes import shape as parse_shape

__all__ = ["ShapeLike", "as_attribute", "as_module_attribute", "as_shape", "as_stack_tables", "make_shape"]

ShapeLike = Shape | str
"""A shape or its text, such as `f32[2,3]{1,0}`."""


_ANY_COMPUTATION = "ENTRY e { ROOT r = () tuple() }"
# Errors to ignore, because this computation does not match the entry that the header describes.
_ENTRY_ERRORS = frozenset({"M004"})


def as_shape(shape: ShapeLike) -> Shape:
    """Parses a shape given as text; returns a Shape unchanged.

    Raises Violation if the text is not a shape.

    >>> as_shape("(s32[], f32[2,3]{0,1})").elements[1].layout.minor_to_major
    (0, 1)
    """
    if isinstance(shape, Shape):
        return shape
    if not isinstance(shape, str):
        raise Violation(
            "S017", "shape", f"expected a shape or its text, found {type(shape).__name__}", 'create a shape, as in make_shape("f32", [2, 3])'
        )
    try:
        return parse_shape(shape)
    except ParseError as error:
        found = error.diagnostics[0]
        raise Violation(found.code, "shape", found.message, found.hint) from error


def make_shape(element_type: str, dimensions: Any = (), minor_to_major: Any = None, *, dynamic: Any = ()) -> Shape:
    """Returns an array shape; the layout is row-major unless `minor_to_major` is given.

    `dimensions` lists the sizes in the order of the dimension numbers, and `dynamic` lists the
    numbers of the dynamic dimensions. Raises HlotoolError for an unknown type, for negative sizes,
    and if `minor_to_major` is not a permutation of the dimensions.

    >>> make_shape("f32", [2, 3]).text, make_shape("f32", [2, 3], [0, 1], dynamic=[1]).text
    ('f32[2,3]{1,0}', 'f32[2,<=3]{0,1}')
    """
    sizes = tuple(map(index, dimensions))
    if not (element_type in ELEMENT_TYPES and ELEMENT_TYPES[element_type].bits):
        raise HlotoolError(f"'{element_type}' is not an element type of arrays")
    if any(size < 0 and size != UNBOUNDED for size in sizes):
        raise HlotoolError(f"sizes of dimensions cannot be negative, got {list(sizes)}")
    if minor_to_major is not None and sorted(minor_to_major) != list(range(len(sizes))):
        raise HlotoolError(f"minor_to_major must be a permutation of {list(range(len(sizes)))}, got {list(minor_to_major)}")
    layout = None if minor_to_major is None else Layout(tuple(minor_to_major))
    return array_shape(element_type, sizes, tuple(k in dynamic for k in range(len(sizes))), layout)


@lru_cache(maxsize=4096)
def as_attribute(name: str, text: str, kind: str | None = None, shape: str = "f32[2,2]") -> Any:
    """Returns the value of an attribute given as text.

    `shape` is the result shape of the instruction. `kind` is the attribute's kind in its opcode; it
    is required if attributes of different kinds share this name. Raises Violation if the text
    cannot be read.

    >>> as_attribute("sharding", "{devices=[2,1]0,1}").text
    '{devices=[2,1]0,1}'
    """
    # The parse is not strict, because no opcode has all attributes. The attribute's name selects
    # the grammar.
    module = parse(f"ENTRY e {{ ROOT r = {shape} parameter(0), {name}={text} }}", strict=False)
    root = module.entry.root
    attributes = dict(root.attributes) if root.metadata_text is None else {**root.attributes, "metadata": root.metadata}
    errors = [diagnostic for diagnostic in module.diagnostics if diagnostic.severity == "error"]
    if errors or attributes.keys() != {name}:
        reason = f": {errors[0].message}" if errors else ""
        raise Violation("S017", name, f"'{text[:60]}' cannot be read{reason}")
    convert = CODECS[kind or _attribute_kind(name)].convert
    if convert is None or name in COMMON_ATTRIBUTES:
        return attributes[name]
    try:
        return convert(attributes[name])
    except Violation as violation:
        raise Violation(violation.code, name, violation.message, violation.hint) from None


def _attribute_kind(name: str) -> str:
    """Returns the kind of the first attribute with this name found in any opcode."""
    tables: list[dict[str, AttributeSpec]] = [COMMON_ATTRIBUTES, *(op.attributes for op in OPS.values())]
    return next(table[name].kind for table in tables if name in table)


@lru_cache(maxsize=64)
def as_module_attribute(name: str, text: str) -> Any:
    """Returns the value of a module header attribute given as text.

    Raises Violation if the text cannot be read.

    >>> as_module_attribute("buffer_donor", "{ (0, {}) }")
    ((0, ()),)
    """
    module = parse(f"HloModule m, {name}={text}\n\n{_ANY_COMPUTATION}", strict=False)
    errors = [diagnostic for diagnostic in module.diagnostics if diagnostic.severity == "error" and diagnostic.code not in _ENTRY_ERRORS]
    if errors or module.attributes.keys() != {name}:
        raise Violation("S017", name, f"'{text[:60]}' cannot be read" + (f": {errors[0].message}" if errors else ""))
    return module.attributes[name]


def as_stack_tables(text: str) -> str:
    """Returns the canonical text of the stack frame tables, from FileNames to StackFrames.

    Raises Violation if the tables cannot be read.

    >>> as_stack_tables("FileNames FunctionNames FileLocations StackFrames")
    'FileNames\\n\\nFunctionNames\\n\\nFileLocations\\n\\nStackFrames\\n\\n'
    """
    try:
        tables = parse(f"HloModule m\n\n{text}\n{_ANY_COMPUTATION}").stack_tables_text
    except ParseError as error:
        raise Violation("S001", "text", f"the tables cannot be read: {error.diagnostics[0].message}") from error
    if tables is None:
        raise Violation("S001", "text", "there are no stack frame tables", "the text must begin with FileNames")
    return tables
