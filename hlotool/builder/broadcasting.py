"""Broadcasting for elementwise operations, as defined by XLA's broadcasting semantics.

Scalars are broadcast to any shape. Operands of different ranks require `broadcast_dimensions`,
which maps each dimension of the operand of lower rank (the "smaller" one) to a dimension of the
other operand (the "larger" one). Unlike NumPy, XLA does not infer this mapping. Finally, dimensions
of size 1 ("degenerate" dimensions) are repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import permutations

from hlotool.errors import Violation
from hlotool.opdefs.inference import Bound, bounds
from hlotool.record import Record
from hlotool.shapes.shape import UNBOUNDED, Shape, array_shape

__all__ = ["Expansion", "broadcast_in_dimensions", "expansions"]


class Expansion(Record):
    """The steps that expand one operand to the common shape.

    The first step is a broadcast to `mapped` with the given `dimensions`. The second is a reshape
    and a broadcast to `result`, which repeats all dimensions except those in `kept`. `mapped` or
    `result` is None if its step is not needed.
    """

    mapped: Shape | None = None
    dimensions: tuple[int, ...] = ()
    kept: tuple[int, ...] = ()
    result: Shape | None = None


_NO_EXPANSION = Expansion()


@lru_cache(maxsize=4096)
def expansions(lhs: Shape, rhs: Shape, broadcast_dimensions: tuple[int, ...] = ()) -> tuple[Expansion, Expansion]:
    """Returns the expansions of two arrays to a common shape.

    Raises Violation if the arrays are not compatible.

    >>> x, y = array_shape("f32", (4,)), array_shape("f32", (1, 2))
    >>> [(e.mapped and e.mapped.text, e.result and e.result.text) for e in expansions(x, y, (0,))]
    [('f32[4,2]{1,0}', None), (None, 'f32[4,2]{1,0}')]
    """
    if lhs.rank == rhs.rank:
        if broadcast_dimensions and list(broadcast_dimensions) != list(range(lhs.rank)):
            all_dimensions = list(range(lhs.rank))
            message = f"broadcast_dimensions of two operands of rank {lhs.rank} must be empty or {all_dimensions}, got {list(broadcast_dimensions)}"
            raise Violation("T001", "broadcast_dimensions", message)
        mapped: tuple[Shape | None, Shape | None] = (None, None)
    else:
        smaller, larger = (lhs, rhs) if lhs.rank < rhs.rank else (rhs, lhs)
        expanded = _mapped_shape(smaller, larger, broadcast_dimensions)
        mapped = (expanded, None) if smaller is lhs else (None, expanded)
    pair = mapped[0] or lhs, mapped[1] or rhs
    result = _common_bounds(*pair, (lhs, rhs))
    dimensions = tuple(broadcast_dimensions)
    left, right = (_expansion(old, new, dimensions, result) for old, new in zip(mapped, pair, strict=True))
    return left, right


def _mapped_shape(smaller: Shape, larger: Shape, dimensions: Sequence[int]) -> Shape:
    """Returns the shape of the smaller operand after its broadcast to the rank of the larger one.

    Its sizes are those of the smaller operand at `dimensions`, and those of the larger operand
    elsewhere.
    """
    if smaller.rank and len(dimensions) != smaller.rank:
        raise Violation("T001", "broadcast_dimensions", _missing_message(smaller, larger, dimensions), _suggestion(smaller, larger))
    if dimensions and not smaller.rank:
        raise Violation("T001", "broadcast_dimensions", f"a scalar has no dimensions to map, got {list(dimensions)}")
    new = bounds(larger)
    for k, (position, bound) in enumerate(zip(dimensions, bounds(smaller), strict=True)):
        if not 0 <= position < larger.rank:
            raise Violation("T001", "broadcast_dimensions", f"there is no dimension {position} in {larger.text_without_layout}")
        size, other = bound[0], larger.dimensions[position]
        if size != other and 1 not in (size, other) and UNBOUNDED not in (size, other):
            counterpart = f"dimension {position} of {larger.text_without_layout}"
            message = f"dimension {k} of {smaller.text_without_layout} has size {size}, but {counterpart} has size {other}"
            raise Violation("T001", "broadcast_dimensions", message, _suggestion(smaller, larger))
        if k and position <= dimensions[k - 1]:
            raise Violation("T001", "broadcast_dimensions", f"broadcast dimensions must be strictly increasing, got {list(dimensions)}")
        new[position] = bound
    return array_shape(smaller.element_type, tuple(size for size, _ in new), tuple(dynamic for _, dynamic in new))


def _missing_message(smaller: Shape, larger: Shape, dimensions: Sequence[int]) -> str:
    texts = f"{smaller.text_without_layout} and {larger.text_without_layout}"
    if not dimensions:
        return (
            f"{texts} have different ranks: broadcast_dimensions must list the dimension of {larger.text_without_layout} for each dimension"
            f" of {smaller.text_without_layout}"
        )
    return f"broadcast_dimensions must have one entry for each dimension of {smaller.text_without_layout}, got {list(dimensions)}"


# The maximum rank for which a hint is searched for; higher ranks would take too many attempts.
_MAX_RANK_FOR_HINT = 6


def _suggestion(smaller: Shape, larger: Shape) -> str | None:
    """Returns a hint if exactly one choice of dimensions has the right sizes."""
    if larger.rank > _MAX_RANK_FOR_HINT:
        return None
    choices = [positions for positions in permutations(range(larger.rank), smaller.rank) if list(positions) == sorted(positions)]
    matches = [choice for choice in choices if [larger.dimensions[k] for k in choice] == list(smaller.dimensions)]
    return f"did you mean broadcast_dimensions={list(matches[0])}?" if len(matches) == 1 else None


def _common_bounds(lhs: Shape, rhs: Shape, given: tuple[Shape, Shape]) -> list[Bound]:
    """Returns the result's dimensions; if one operand has size 1, the other's size is used."""
    result: list[Bound] = []
    for k, (a, b) in enumerate(zip(bounds(lhs), bounds(rhs), strict=True)):
        if a[0] == b[0]:
            result.append((a[0], a[1] or b[1]))
        elif UNBOUNDED in (a[0], b[0]):
            # An unbounded size is known only at run time; shape inference determines the result.
            result.append((UNBOUNDED, True))
        elif 1 in (a[0], b[0]):
            result.append(b if a[0] == 1 else a)
        else:
            texts = " and ".join(shape.text_without_layout for shape in given)
            raise Violation("T001", "rhs", f"{texts} are not compatible: the sizes of dimension {k} are {a[0]} and {b[0]}, and neither is 1")
    return result


def _expansion(mapped: Shape | None, shape: Shape, dimensions: tuple[int, ...], result: list[Bound]) -> Expansion:
    pairs = list(zip(bounds(shape), result, strict=True))
    repeated = {k for k, ((size, _), (common, _)) in enumerate(pairs) if size != common and UNBOUNDED not in (size, common)}
    if not repeated:
        return _NO_EXPANSION if mapped is None else Expansion(mapped, dimensions)
    kept = tuple(k for k in range(shape.rank) if k not in repeated)
    final = [common if k in repeated else own for k, (own, common) in enumerate(pairs)]
    return Expansion(
        mapped, dimensions, kept, array_shape(shape.element_type, tuple(size for size, _ in final), tuple(dynamic for _, dynamic in final))
    )


def broadcast_in_dimensions(operand: Shape, out_dim_size: Sequence[int], broadcast_dimensions: Sequence[int]) -> tuple[Shape, tuple[int, ...]]:
    """Returns the result shape of broadcast_in_dim, and the operand dimensions that it keeps.

    Raises Violation if the broadcast is not possible.

    >>> broadcast_in_dimensions(array_shape("f32", (1, 3)), [2, 3], [0, 1])
    (<shape f32[2,3]{1,0}>, (1,))
    """
    if len(broadcast_dimensions) != operand.rank:
        message = f"expected one entry for each dimension of {operand.text_without_layout}, got {list(broadcast_dimensions)}"
        raise Violation("T016", "broadcast_dimensions", message)
    sizes = bounds(operand)
    new: list[Bound] = [(size, False) for size in out_dim_size]
    for k, position in enumerate(broadcast_dimensions):
        if not 0 <= position < len(new):
            raise Violation("T017", "broadcast_dimensions", f"there is no dimension {position} in a result of rank {len(new)}")
        if k and position <= broadcast_dimensions[k - 1]:
            raise Violation("T019", "broadcast_dimensions", f"broadcast dimensions must be strictly increasing, got {list(broadcast_dimensions)}")
        if sizes[k][0] not in (1, new[position][0]):
            target = new[position][0]
            expected = f"{target}, the size" if target == 1 else f"1 or {target}, the size"
            message = f"dimension {k} of {operand.text_without_layout} must have size {expected} of dimension {position} of the result"
            raise Violation("T017", "broadcast_dimensions", message)
        new[position] = (new[position][0], sizes[k][1] and sizes[k][0] == new[position][0])
    shape = array_shape(operand.element_type, tuple(size for size, _ in new), tuple(dynamic for _, dynamic in new))
    return shape, tuple(k for k, position in enumerate(broadcast_dimensions) if sizes[k][0] == new[position][0])
