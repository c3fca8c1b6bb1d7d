"""Random arrays, which are the same on every machine, and the domains of their numbers."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from hlotool.interp.arrays.dtypes import NUMBERS, Array, NumberType
from hlotool.shapes.dtype import ElementType
from hlotool.shapes.shape import Shape

__all__ = ["Domain", "random_array"]


class Domain:
    """The numbers that are suitable for an array of a parameter.

    They range from `least` to `greatest` (None means no limit). `scale` multiplies normally
    distributed floats. `is_sorted` and `is_unique` apply to elements or to rows along the last
    dimension; `nonzero` excludes 0. `reasons` lists the reasons for all of these properties.
    """

    def __init__(self) -> None:
        self.least: float | None = None
        self.greatest: float | None = None
        self.scale = 1.0
        self.nonzero = False
        self.is_sorted = False
        self.is_unique = False
        self.reasons: list[str] = []

    def narrow(self, least: float | None, greatest: float | None, reason: str) -> None:
        """Adds limits unless they contradict existing ones, so that nearer uses take precedence.

        For example, the limits of `log(x)` and `sqrt(-x)` contradict each other.
        """
        # Adding 0 turns -0 into 0: NumPy rejects a range from 0 to -0.
        least, greatest = (None if bound is None else bound + 0.0 for bound in (least, greatest))
        low = least if self.least is None else self.least if least is None else max(least, self.least)
        high = greatest if self.greatest is None else self.greatest if greatest is None else min(greatest, self.greatest)
        is_a_number = least == greatest or self.least == self.greatest
        if low is not None and high is not None and (low > high or (low == high and not is_a_number)):
            return
        if (low, high) != (self.least, self.greatest):
            self.least, self.greatest = low, high
            self._add_reason(reason)

    def mark(self, name: str, reason: str) -> None:
        """Sets the flag `name`."""
        if not getattr(self, name):
            setattr(self, name, True)
            self._add_reason(reason)

    def shrink(self, scale: float, reason: str) -> None:
        """Sets the scale unless it is already set."""
        if self.scale == 1 and scale < 1:
            self.scale = scale
            self._add_reason(reason)

    def _add_reason(self, reason: str) -> None:
        if reason not in self.reasons:
            self.reasons.append(reason)

    @property
    def is_free(self) -> bool:
        """True if nothing restricts the numbers."""
        return not self.reasons

    @property
    def text(self) -> str:
        """The properties and their reasons, as in `0 to 49: index of 'gather' rows`."""
        parts = []
        if self.least is not None and self.greatest is not None:
            parts.append(f"{self.least:.6g} to {self.greatest:.6g}")
        elif self.least is not None:
            parts.append("positive" if self.least == 0 else f"above {self.least:.6g}")
        elif self.greatest is not None:
            parts.append(f"below {self.greatest:.6g}")
        if self.scale != 1:
            parts.append(f"scaled by {self.scale:.3g}")
        parts += [word for word, holds in (("not 0", self.nonzero), ("sorted", self.is_sorted), ("unique", self.is_unique)) if holds]
        return f"{', '.join(parts)}: {'; '.join(self.reasons[:3])}"


_INTEGER_SPAN = 8
"""The largest magnitude of random integers.

It is small, so that indices are often in range and sums do not wrap around.
"""


def _integers(generator: np.random.Generator, sizes: tuple[int, ...], element: ElementType) -> Array:
    low, high = max(element.minimum, -_INTEGER_SPAN), min(element.maximum, _INTEGER_SPAN)
    return generator.integers(low, high, sizes, endpoint=True)


def _floats(generator: np.random.Generator, sizes: tuple[int, ...], element: ElementType) -> Array:
    return np.asarray(generator.standard_normal(sizes))


def _complexes(generator: np.random.Generator, sizes: tuple[int, ...], element: ElementType) -> Array:
    return np.asarray(generator.standard_normal(sizes) + 1j * generator.standard_normal(sizes))


def _preds(generator: np.random.Generator, sizes: tuple[int, ...], element: ElementType) -> Array:
    return generator.integers(0, 2, sizes)


_BY_KIND: dict[str, Callable[[np.random.Generator, tuple[int, ...], ElementType], Array]] = {
    "pred": _preds,
    "signed": _integers,
    "unsigned": _integers,
    "float": _floats,
    "complex": _complexes,
}


def random_array(shape: Shape, seed: int, *stream: int, domain: Domain | None = None) -> Array:
    """Returns an array of random numbers with the given shape.

    Unless a domain says otherwise, floats are normally distributed and integers are small.
    Different `stream` numbers produce different arrays for the same seed.

    >>> from hlotool.shapes.shape import array_shape
    >>> random_array(array_shape("s32", (4,)), 0).tolist()
    [6, 2, 0, -4]
    """
    number = NUMBERS[shape.element_type]
    generator = np.random.Generator(np.random.PCG64([seed, *stream]))
    sizes = tuple(max(size, 0) for size in shape.dimensions)
    with np.errstate(all="ignore"):
        return np.asarray(_draw(generator, sizes, number, domain).astype(number.computed).astype(number.held))


def _draw(generator: np.random.Generator, sizes: tuple[int, ...], number: NumberType, domain: Domain | None) -> Array:
    if domain is None or domain.is_free or number.kind in ("pred", "complex"):
        return _BY_KIND[number.kind](generator, sizes, number.element)
    return _draw_floats(generator, sizes, domain) if number.kind == "float" else _draw_integers(generator, sizes, number, domain)


def _draw_floats(generator: np.random.Generator, sizes: tuple[int, ...], domain: Domain) -> Array:
    least, greatest = domain.least, domain.greatest
    if least is not None and greatest is not None:
        drawn = generator.uniform(least, greatest, sizes)
    elif least is not None or greatest is not None:
        # Values keep a distance from the limit, because functions are steep near it.
        distance = generator.uniform(_NEAREST, _FARTHEST, sizes)
        drawn = max(least, 0.0) + distance if least is not None else (greatest or 0.0) - distance
    else:
        drawn = np.asarray(generator.standard_normal(sizes) * domain.scale)
    if domain.nonzero:
        drawn = np.where(np.abs(drawn) < _NEAREST, np.copysign(_NEAREST, drawn), drawn)
    return np.asarray(np.sort(drawn, axis=None).reshape(sizes) if domain.is_sorted else drawn)


_NEAREST, _FARTHEST = 0.25, 2.0


def _draw_integers(generator: np.random.Generator, sizes: tuple[int, ...], number: NumberType, domain: Domain) -> Array:
    low = -_INTEGER_SPAN if domain.least is None else math.ceil(domain.least)
    high = max(low, _INTEGER_SPAN) if domain.greatest is None else math.floor(domain.greatest)
    low = -(2**63) if domain.least is None and domain.greatest is not None and high < low else low
    # A limit is a float, and may exceed the largest integer because it was rounded.
    low = min(max(low, number.element.minimum), number.element.maximum)
    high = max(low, min(high, number.element.maximum))
    if domain.is_unique:
        drawn = _unique_integers(generator, sizes, low, high, is_sorted=domain.is_sorted)
    else:
        drawn = _uniform_integers(generator, sizes, low, high)
        drawn = np.sort(drawn, axis=None).reshape(sizes) if domain.is_sorted else drawn
    return np.where(drawn == 0, min(1, high), drawn) if domain.nonzero else drawn


def _uniform_integers(generator: np.random.Generator, sizes: tuple[int, ...], low: int, high: int) -> Array:
    # Only unsigned 64-bit numbers can exceed the range of int64.
    return generator.integers(low, high, sizes, endpoint=True, dtype=np.int64 if high < 2**63 else np.uint64)


def _unique_integers(generator: np.random.Generator, sizes: tuple[int, ...], low: int, high: int, *, is_sorted: bool) -> Array:
    """Returns distinct numbers if the range contains enough of them.

    Otherwise, the rows along the last dimension are distinct. If there are not enough different
    rows either, numbers and rows may repeat.
    """
    count, width = math.prod(sizes), high - low + 1
    length = 1 if count <= width or not sizes else sizes[-1]
    rows, choices = count // max(1, length), width**length
    if rows > choices or choices >= 2**63:
        drawn = _uniform_integers(generator, sizes, low, high)
        return np.sort(drawn, axis=None).reshape(sizes) if is_sorted else drawn
    chosen = generator.choice(choices, rows, replace=False, shuffle=True)
    chosen = np.sort(chosen) if is_sorted else chosen
    # The numbers in a row are the digits of the number chosen for the row.
    digits = [chosen // width**k % width for k in range(length - 1, -1, -1)]
    return np.stack(digits, axis=-1).reshape(sizes) + low
