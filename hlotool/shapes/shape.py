"""Shapes: arrays, tuples, tokens, opaque values and buffers, with their text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from hlotool.record import Record, replace
from hlotool.shapes.layout import Layout, default_layout

__all__ = [
    "OPAQUE",
    "TOKEN",
    "UNBOUNDED",
    "ProgramShape",
    "Shape",
    "array_shape",
    "buffer_shape",
    "compatible",
    "indexed_leaves",
    "is_prefix",
    "join_elements",
    "size_text",
    "sizes_text",
    "subshape",
    "tuple_shape",
    "with_default_order",
]

UNBOUNDED = -1
"""The size of a dimension written `?`."""


def size_text(size: int) -> str:
    """Returns the size of a dimension as text.

    >>> size_text(4), size_text(UNBOUNDED)
    ('4', '?')
    """
    return "?" if size == UNBOUNDED else str(size)


def sizes_text(sizes: Iterable[int]) -> str:
    """Returns the sizes of dimensions as a list.

    >>> sizes_text((UNBOUNDED, 4))
    '[?, 4]'
    """
    return f"[{', '.join(map(size_text, sizes))}]"


def join_elements(texts: Iterable[str]) -> str:
    """Joins texts with `, ` and XLA's index comments: `/*index=5*/` before every fifth element."""
    return "".join(("" if k == 0 else ", " if k % 5 else f", /*index={k}*/") + text for k, text in enumerate(texts))


class Shape(Record):
    """The type of an instruction's result: an array, a tuple, a token, an opaque value or a buffer.

    `element_type` is a name of ELEMENT_TYPES, "tuple" or "buffer". `dynamic` has a flag for each
    dimension, or is empty if all of them are static. Only arrays have a `layout`. `elements` has
    the shapes in a tuple, or the array in a buffer.

    >>> array_shape("f32", (2, 3)).text
    'f32[2,3]{1,0}'
    """

    element_type: str
    dimensions: tuple[int, ...] = ()
    dynamic: tuple[bool, ...] = ()
    layout: Layout | None = None
    elements: tuple[Shape, ...] = ()
    _text: str = ""
    _plain_text: str = ""
    _hash: int = 0
    _counts: tuple[int, int] | None = None
    _leaves: tuple[Shape, ...] | None = None

    @property
    def is_tuple(self) -> bool:
        return self.element_type == "tuple"

    @property
    def is_array(self) -> bool:
        return self.element_type not in ("tuple", "token", "opaque", "buffer")

    @property
    def rank(self) -> int:
        return len(self.dimensions)

    @property
    def text(self) -> str:
        """The shape as XLA prints it with layouts: `f32[2,3]{1,0}`, `(s32[], f32[4]{0})`."""
        if not self._text:
            object.__setattr__(self, "_text", _text(self, layouts=True))
        return self._text

    def cache_text(self, text: str) -> None:
        """Caches `text`, for a parser that already knows the canonical text."""
        object.__setattr__(self, "_text", text)

    @property
    def text_without_layout(self) -> str:
        """The shape as XLA prints it without layouts, for example in signatures: `f32[2,3]`."""
        if self.elements:
            return _text(self, layouts=False)
        # Cached for arrays, because many messages are built but never shown.
        if not self._plain_text:
            object.__setattr__(self, "_plain_text", _text(self, layouts=False))
        return self._plain_text

    def __str__(self) -> str:
        return self.text

    def __hash__(self) -> int:
        # Cached, because tuples may have thousands of leaves. Uses an explicit stack, because
        # tuples may be nested more deeply than Python's recursion limit allows.
        if not self._hash:
            stack = [self]
            while stack:
                shape = stack.pop()
                if shape._hash:
                    continue
                missing = [element for element in shape.elements if not element._hash]
                if missing:
                    stack += [shape, *missing]
                    continue
                parts = (shape.element_type, shape.dimensions, shape.dynamic, shape.layout, tuple(element._hash for element in shape.elements))
                object.__setattr__(shape, "_hash", hash(parts) or 1)
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Shape):
            return NotImplemented
        if self is other:
            return True
        if not self.elements:
            return (
                self.element_type == other.element_type
                and self.dimensions == other.dimensions
                and not other.elements
                and self.dynamic == other.dynamic
                and self.layout == other.layout
            )
        stack: list[tuple[Shape, Shape]] = [(self, other)]
        # Pairs of tuples are visited once, because tuples of tuples may share their elements.
        seen: set[tuple[int, int]] = set()
        while stack:
            a, b = stack.pop()
            if a is b:
                continue
            if a.element_type != b.element_type or a.dimensions != b.dimensions or len(a.elements) != len(b.elements):
                return False
            if a.dynamic != b.dynamic or a.layout != b.layout:
                return False
            if a.elements and (id(a), id(b)) not in seen:
                seen.add((id(a), id(b)))
                stack.extend(zip(a.elements, b.elements, strict=True))
        return True

    def __repr__(self) -> str:
        return f"<shape {self.text}>"

    @property
    def leaf_count(self) -> int:
        """The number of `leaves`, computed without expanding tuples of tuples; cached."""
        return self._count()[0] if self.is_tuple else 1

    @property
    def tree_size(self) -> int:
        """The number of shapes in this shape, including itself; repetitions are counted."""
        return self._count()[1] if self.elements else 1

    def _count(self) -> tuple[int, int]:
        """Returns the number of leaves and the number of shapes in a tuple or buffer; cached."""
        stack = [self]
        while self._counts is None:
            shape = stack.pop()
            if shape._counts is not None:
                continue
            missing = [element for element in shape.elements if element.elements and element._counts is None]
            if missing:
                stack += [shape, *missing]
                continue
            leaves = sum(element.leaf_count for element in shape.elements) if shape.is_tuple else 1
            object.__setattr__(shape, "_counts", (leaves, 1 + sum(element.tree_size for element in shape.elements)))
        return self._counts

    def leaves(self) -> Iterator[Shape]:
        """Yields the shapes in a tuple that are not tuples themselves, at any depth, in order.

        If the shape is not a tuple, yields the shape itself.
        """
        if self.element_type != "tuple":
            return iter((self,))
        # Cached, because many rules need the leaves. A tuple whose only element is a tuple has the
        # same leaves as that element.
        inner = self
        while inner._leaves is None and len(inner.elements) == 1 and inner.elements[0].is_tuple:
            inner = inner.elements[0]
        leaves = inner._leaves
        if leaves is None:
            is_nested = any(element.is_tuple for element in inner.elements)
            leaves = tuple([leaf for _, leaf in indexed_leaves(inner)]) if is_nested else inner.elements
            object.__setattr__(inner, "_leaves", leaves)
        if inner is not self:
            object.__setattr__(self, "_leaves", leaves)
        return iter(leaves)

    def with_layout(self, layout: Layout | None) -> Shape:
        """Returns the same shape with another layout."""
        return replace(self, layout=layout)

    def with_dimensions(self, dimensions: Iterable[int], dynamic: Iterable[bool] = ()) -> Shape:
        """Returns the shape with other dimensions, the same element type and the default layout."""
        return array_shape(self.element_type, tuple(dimensions), tuple(dynamic))

    def with_element_type(self, element_type: str) -> Shape:
        """Returns the same shape with another element type."""
        return replace(self, element_type=element_type)


def _text(root: Shape, *, layouts: bool) -> str:
    if not root.elements and root.element_type != "tuple":
        return _leaf_text(root, layouts)
    # Uses an explicit stack, because tuples may be nested more deeply than Python's recursion limit
    # allows.
    out: list[str] = []
    stack: list[Shape | str] = [root]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            out.append(item)
        elif item.element_type == "buffer":
            stack += [")", item.elements[0], "b("]
        elif item.element_type == "tuple":
            stack.append(")")
            for k in range(len(item.elements) - 1, -1, -1):
                stack.append(item.elements[k])
                stack.append("" if k == 0 else ", " if k % 5 else f", /*index={k}*/")
            stack.append("(")
        else:
            out.append(_leaf_text(item, layouts))
    return "".join(out)


def _leaf_text(shape: Shape, layouts: bool) -> str:
    if not shape.dynamic:
        text = f"{shape.element_type}[{','.join(map(str, shape.dimensions))}]"
    else:
        sizes = ("?" if d == UNBOUNDED else f"<={d}" if dynamic else str(d) for d, dynamic in zip(shape.dimensions, shape.dynamic, strict=True))
        text = f"{shape.element_type}[{','.join(sizes)}]"
    return text + shape.layout.text if layouts and shape.layout is not None else text


def array_shape(element_type: str, dimensions: tuple[int, ...] = (), dynamic: tuple[bool, ...] = (), layout: Layout | None = None) -> Shape:
    """Returns an array shape, by default with a row-major layout.

    `dynamic` is normalized to `()` if all dimensions are static.

    >>> array_shape("f32", (2, 3), (True, False)).text
    'f32[<=2,3]{1,0}'
    """
    if layout is None and not any(dynamic):
        return _plain_shape(element_type, dimensions)
    return Shape(element_type, dimensions, dynamic if any(dynamic) else (), layout if layout is not None else default_layout(len(dimensions)))


@lru_cache(maxsize=4096)
def _plain_shape(element_type: str, dimensions: tuple[int, ...]) -> Shape:
    return Shape(element_type, dimensions, (), default_layout(len(dimensions)))


def tuple_shape(elements: Iterable[Shape]) -> Shape:
    """Returns the tuple of these shapes.

    >>> tuple_shape([array_shape("f32"), TOKEN]).text
    '(f32[], token[])'
    """
    return Shape("tuple", elements=tuple(elements))


def buffer_shape(element: Shape) -> Shape:
    """Returns the buffer that holds this array: `b(f32[2]{0})`."""
    return Shape("buffer", elements=(element,))


TOKEN = Shape("token")
OPAQUE = Shape("opaque")


def compatible(first: Shape, second: Shape) -> bool:
    """Returns whether two shapes are equal except for layouts and dynamic flags.

    This is XLA's ShapeUtil::Compatible. An unbounded dimension equals a dimension of any size.
    """
    if first is second:
        return True
    stack: list[tuple[Shape, Shape]] = [(first, second)]
    seen: set[tuple[int, int]] = set()
    while stack:
        a, b = stack.pop()
        if a is b:
            continue
        if a.element_type != b.element_type or len(a.elements) != len(b.elements):
            return False
        if a.dimensions != b.dimensions and not _sizes_match(a.dimensions, b.dimensions):
            return False
        if a.elements and (id(a), id(b)) not in seen:
            seen.add((id(a), id(b)))
            stack.extend(zip(a.elements, b.elements, strict=True))
    return True


def is_prefix(part: Shape, whole: Shape, same: Callable[[Shape, Shape], bool] = compatible) -> bool:
    """Returns whether a shape is a prefix of another shape, as in XLA's ShapeUtil::IsPrefix.

    A shape is a prefix of itself. A tuple of prefixes of the first elements of another tuple is a
    prefix of that tuple. `()` is a prefix of any shape.

    >>> number = array_shape("f32")
    >>> is_prefix(tuple_shape([number]), tuple_shape([number, number])), is_prefix(number, tuple_shape([number])), is_prefix(tuple_shape(()), number)
    (True, False, True)
    """
    stack = [(part, whole)]
    while stack:
        a, b = stack.pop()
        if same(a, b) or (a.is_tuple and not a.elements):
            continue
        if not (a.is_tuple and b.is_tuple and len(a.elements) <= len(b.elements)):
            return False
        stack.extend(zip(a.elements, b.elements, strict=False))
    return True


def _sizes_match(first: tuple[int, ...], second: tuple[int, ...]) -> bool:
    """Returns whether the sizes are equal; an unbounded size equals any size."""
    return len(first) == len(second) and all(x == y or UNBOUNDED in (x, y) for x, y in zip(first, second, strict=True))


def subshape(shape: Shape, index: tuple[int, ...]) -> Shape | None:
    """Returns the element of a tuple shape at `index`, a path into nested tuples, or None."""
    for k in index:
        if not shape.is_tuple or not 0 <= k < len(shape.elements):
            return None
        shape = shape.elements[k]
    return shape


def indexed_leaves(shape: Shape) -> Iterator[tuple[tuple[int, ...], Shape]]:
    """Yields the leaves of a shape, each with its path.

    >>> from hlotool.shapes.shape import array_shape, tuple_shape
    >>> [path for path, _ in indexed_leaves(tuple_shape([array_shape("f32"), tuple_shape([array_shape("s32")])]))]
    [(0,), (1, 0)]
    """
    # A single path is updated, because copies at each level would take quadratic time in deep
    # tuples. It contains the numbers of the elements to visit next.
    path: list[int] = []
    stack: list[Iterator[Shape]] = [iter((shape,))]
    while stack:
        part = next(stack[-1], None)
        if part is None:
            stack.pop()
            if path:
                path.pop()
            if path:
                path[-1] += 1
        elif part.is_tuple:
            stack.append(iter(part.elements))
            path.append(0)
        else:
            yield tuple(path), part
            if path:
                path[-1] += 1


def with_default_order(root: Shape) -> Shape:
    """Returns the shape with the default dimension order in all arrays.

    Tiles and other parts of layouts are unchanged.
    """
    # Visits shapes in post-order with an explicit stack. `finished` contains the new shapes whose
    # enclosing tuples are not finished yet.
    stack: list[tuple[Shape, bool]] = [(root, False)]
    finished: list[Shape] = []
    while stack:
        shape, ready = stack.pop()
        if shape.layout is not None:
            finished.append(replace(shape, layout=replace(shape.layout, minor_to_major=tuple(range(shape.rank - 1, -1, -1)))))
        elif not shape.elements:
            finished.append(shape)
        elif not ready:
            stack.append((shape, True))
            stack.extend((element, False) for element in reversed(shape.elements))
        else:
            count = len(shape.elements)
            finished[-count:] = [replace(shape, elements=tuple(finished[-count:]))]
    return finished[0]


class ProgramShape(Record):
    """The shapes of a computation's parameters and of its result.

    An op definition sees nothing else of a called computation.
    """

    parameters: tuple[Shape, ...]
    result: Shape
