"""Convolutions of floats as few large operations, in one of four ways, depending on the sizes.

* columns: the elements that each place of the result reads are copied into a buffer (im2col), and a matrix product combines them
  with the kernels;
* places: a product for each place, if the result has fewer places than the window has taps, as in gradients of kernels;
* shifts and correlations: the same two for groups of a single feature, in which there are no matrices to multiply.

Buffers have a few hundred kilobytes, to stay in a core's cache, and the memory order of the images: channels outside or inside of the
spatial dimensions. Padding is zeros in a buffer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from hlotool.interp.dtypes import Array
from hlotool.interp.windows import phases, positions, transposed
from hlotool.shapes.values import WindowDimension

__all__ = ["Convolution"]

_BUFFER = 1 << 18
"""The number of elements of a buffer that is reused."""

_Slices = tuple[slice, ...]


class Convolution:
    """`out[g, n, o, c] = sum over t and f of images[g, n, at(o, t), f] * kernels[t, g, f, c]`, in arrays of one floating-point type.

    `kernels` are finite and not reversed; all three may be views with any strides.
    """

    def __init__(self, images: Array, kernels: Array, out: Array, window: Sequence[WindowDimension]) -> None:
        self.images = images
        self.kernels = kernels
        self.out = out
        self.window = window
        self.sizes = out.shape[2:-1]
        self.taps = kernels.shape[:-3]
        self.features, self.outputs = kernels.shape[-2:]

    def fill(self) -> None:
        """Computes all of `out`."""
        if any(w.base_dilation > 1 for w in self.window):
            self._fill_by_phases()
        elif not (self.out.size and self.images.size and self.kernels.size):
            self.out.fill(0)
        else:
            self._fill_undilated()

    def _fill_by_phases(self) -> None:
        """For dilated images, which have holes: places that hit elements through the same taps are a convolution without dilation."""
        for chosen in product(*(phases(w, size) for w, size in zip(self.window, self.sizes, strict=True))):
            places, taps = tuple(phase[0] for phase in chosen), tuple(phase[1] for phase in chosen)
            out = self.out[(slice(None), slice(None), *places)]
            Convolution(self.images, self.kernels[taps], out, [phase[2] for phase in chosen]).fill()

    def _fill_undilated(self) -> None:
        has_few_places = prod(self.sizes) < prod(self.taps)
        if self.outputs == 1 and (self.images.shape[1] if has_few_places else self.features) == 1 and self.window:
            fill = self._fill_by_correlations if has_few_places else self._fill_by_shifts
        else:
            fill = self._fill_by_places if has_few_places else self._fill_by_columns
        fill()

    # ---- columns --------------------------------------------------------------------------------------------------------

    def _fill_by_columns(self) -> None:
        # [group, output, tap * feature]
        weights = np.moveaxis(self.kernels, (-3, -1), (0, 1)).reshape(self.out.shape[0], self.outputs, -1)
        images, out = np.moveaxis(self.images, 1, 0), np.moveaxis(self.out, 1, 0)
        if _is_outside(self.images, -1):
            # [batch, group, feature, place...]
            images, out = np.moveaxis(images, -1, 2), np.moveaxis(out, -1, 2)
            for batch, rows, columns in self._columns(images, 3):
                at: tuple[slice, ...] = (batch, slice(None), slice(None), *rows)
                _multiply(weights, columns.reshape(*columns.shape[:2], weights.shape[-1], -1), out[at], 3, out.ndim)
            return
        weights = np.ascontiguousarray(weights.swapaxes(1, 2))
        if len(weights) == 1:
            # Without groups all places are rows of one matrix.
            images, weights, out = images[:, 0], weights[0], out[:, 0]
        for batch, rows, columns in self._columns(images, images.ndim - len(self.sizes) - 1):
            at = (batch, *([slice(None)] * (weights.ndim - 2)), *rows)
            lead = columns.shape[:2] if weights.ndim == 3 else ()
            _multiply(columns.reshape(*lead, -1, weights.shape[-2]), weights, out[at], len(lead), out.ndim - 1)

    def _columns(self, images: Array, first_spatial: int) -> Iterator[tuple[slice, _Slices, Array]]:
        """Blocks of the batch and of the first spatial dimension: their slices, and the elements that their places read.

        The taps are before the dimension of features, which is the last one or the one before the spatial dimensions.
        """
        if self._is_pointwise():
            yield slice(None), (), images
            return
        rows = self.sizes[0] if self.sizes else 1
        each = prod(images.shape[1:]) // prod(images.shape[first_spatial:][: len(self.sizes)]) * prod(self.sizes[1:]) * prod(self.taps)
        step = max(1, min(rows, _BUFFER // each))
        count = max(1, _BUFFER // (each * rows))
        for start in range(0, len(images), count):
            for row in range(0, rows, step):
                block = images[start : start + count]
                span = slice(row, min(row + step, rows))
                yield slice(start, start + count), (span,), self._laid_out(block, first_spatial, span)

    def _is_pointwise(self) -> bool:
        return all(w.size == w.stride == 1 and not w.padding_low for w in self.window) and self.sizes == self.images.shape[2:-1]

    def _laid_out(self, block: Array, first: int, rows: slice) -> Array:
        """A column of the elements that the taps read for each place of these rows, and zeros for padding."""
        sizes = (rows.stop - rows.start, *self.sizes[1:])
        lead: list[Any] = [slice(None)] * first
        if first + len(sizes) == block.ndim:
            columns = np.zeros((*block.shape[: first - 1], *self.taps, block.shape[first - 1], *sizes), block.dtype)
            # [lead..., feature, place..., tap...]
            view = np.moveaxis(columns, range(first - 1, first - 1 + len(sizes)), range(-len(sizes), 0))
        else:
            columns = np.zeros((*block.shape[:first], *sizes, *self.taps, block.shape[-1]), block.dtype)
            # [lead..., place..., feature, tap...]
            view = np.moveaxis(columns, -1, -1 - len(sizes))
        for tap in product(*map(range, self.taps)):
            slices = self._reads(tap, rows)
            if slices is not None:
                view[(*lead, *slices[0], ..., *tap)] = block[(*lead, *slices[1])]
        return columns

    def _reads(self, tap: Sequence[int], rows: slice) -> tuple[_Slices, _Slices] | None:
        """The places in `rows` that read an element through a tap, relative to its start, and the elements; None if there are none."""
        pairs = [positions(w, t, size, base) for w, t, size, base in zip(self.window, tap, self.sizes, self.images.shape[2:-1], strict=True)]
        pairs[:1] = [_within(rows, *pair) for pair in pairs[:1]]
        if any(target.start >= target.stop for target, _ in pairs):
            return None
        return tuple(target for target, _ in pairs), tuple(source for _, source in pairs)

    # ---- places ---------------------------------------------------------------------------------------------------------

    def _fill_by_places(self) -> None:
        for place in product(*map(range, self.sizes)):
            slices = self._reads_from(place)
            at: tuple[Any, ...] = (slice(None), slice(None), *place)
            self.out[at] = 0 if slices is None else _contracted(self.images[(slice(None), slice(None), *slices[1])], self.kernels[slices[0]])

    def _reads_from(self, place: Sequence[int]) -> tuple[_Slices, _Slices] | None:
        """The taps through which a place reads elements, and the elements; None if there are none. Places and taps change roles here."""
        pairs = [
            positions(transposed(w, size), o, w.size, base)
            for w, o, size, base in zip(self.window, place, self.sizes, self.images.shape[2:-1], strict=True)
        ]
        if any(taps.start >= taps.stop for taps, _ in pairs):
            return None
        return tuple(taps for taps, _ in pairs), tuple(elements for _, elements in pairs)

    # ---- single features ------------------------------------------------------------------------------------------------

    def _fill_by_shifts(self) -> None:
        """[group, batch]: each tap adds the whole block, shifted, in one operation."""
        kernels, frame = self.kernels[..., 0, 0], _Frame(self)
        for batch in range(self.images.shape[1]):
            for groups in frame.blocks():
                flat = frame.padded(self.images[groups, batch, ..., 0])
                total = np.zeros_like(flat)
                length = frame.reach(self.sizes, [w.stride for w in self.window])
                term = np.empty_like(flat[:, :length])
                for tap in product(*map(range, self.taps)):
                    start = frame.offset([t * w.window_dilation for t, w in zip(tap, self.window, strict=True)])
                    np.multiply(flat[:, start : start + length], kernels[tap][groups, None], out=term)
                    total[:, :length] += term
                ends = tuple(slice(0, (size - 1) * w.stride + 1, w.stride) for size, w in zip(self.sizes, self.window, strict=True))
                self.out[groups, batch, ..., 0] = frame.shaped(total)[(slice(None), *ends)]

    def _fill_by_correlations(self) -> None:
        """[group, feature]: each place is a sum of products along whole blocks, added up in double precision."""
        frame = _Frame(self)
        dilations = tuple(w.window_dilation for w in self.window)
        length = frame.reach(self.taps, dilations)
        total = np.zeros((len(self.images), *self.sizes))
        for groups in frame.blocks():
            spread, spread_places = frame.empty(groups), tuple(slice(0, (t - 1) * d + 1, d) for t, d in zip(self.taps, dilations, strict=True))
            spread.fill(0)
            for feature in range(self.features):
                flat = frame.padded(self.images[groups, 0, ..., feature])
                frame.shaped(spread)[(slice(None), *spread_places)] = np.moveaxis(self.kernels[..., groups, feature, 0], -1, 0)
                for place in product(*map(range, self.sizes)):
                    start = frame.offset([o * w.stride for o, w in zip(place, self.window, strict=True)])
                    at: tuple[Any, ...] = (groups, *place)
                    total[at] += np.einsum("cl,cl->c", flat[:, start : start + length], spread[:, :length])
        self.out[:, 0, ..., 0] = total


class _Frame:
    """A block of images with its padding, flattened: the elements that a tap reads are a range of it, with unused ones between them."""

    def __init__(self, convolution: Convolution) -> None:
        images, self.window = convolution.images, convolution.window
        self.is_outside = _is_outside(images, 0)
        spans = [((size - 1) * w.stride + 1, (w.size - 1) * w.window_dilation) for size, w in zip(convolution.sizes, self.window, strict=True)]
        self.sizes = tuple(places + taps for places, taps in spans)
        self.groups = len(images)
        self.dtype = images.dtype
        self.pitches = [prod(self.sizes[k + 1 :]) for k in range(len(self.sizes))]

    def blocks(self) -> Iterator[slice]:
        """Ranges of the groups that are computed together."""
        step = max(1, _BUFFER // 4 // prod(self.sizes))
        return (slice(start, min(start + step, self.groups)) for start in range(0, self.groups, step))

    def empty(self, groups: slice) -> Array:
        """[group, element]; groups are the inner dimension in memory if they are that of the images."""
        count, length = groups.stop - groups.start, prod(self.sizes)
        return np.empty((count, length), self.dtype) if self.is_outside else np.empty((length, count), self.dtype).T

    def shaped(self, flat: Array) -> Array:
        """[group, spatial...]"""
        return flat.reshape(len(flat), *self.sizes) if self.is_outside else np.moveaxis(flat.T.reshape(*self.sizes, len(flat)), -1, 0)

    def padded(self, images: Array) -> Array:
        """[group, element] of images [group, spatial...], with zeros for padding."""
        flat = self.empty(slice(0, len(images)))
        flat.fill(0)
        targets, sources = [], []
        for w, size, base in zip(self.window, self.sizes, images.shape[1:], strict=True):
            first, last = max(0, -w.padding_low), min(base, size - w.padding_low)
            if last <= first:
                return flat
            targets.append(slice(first + w.padding_low, last + w.padding_low))
            sources.append(slice(first, last))
        self.shaped(flat)[(slice(None), *targets)] = images[(slice(None), *sources)]
        return flat

    def offset(self, place: Sequence[int]) -> int:
        """The offset of a place in the padded images."""
        return sum(at * pitch for at, pitch in zip(place, self.pitches, strict=True))

    def reach(self, sizes: Sequence[int], steps: Sequence[int]) -> int:
        """The length of the range from the first to the last of these numbers of places with these steps."""
        return self.offset([(size - 1) * step for size, step in zip(sizes, steps, strict=True)]) + 1


def _is_outside(images: Array, channels: int) -> bool:
    """Whether a dimension of channels is outside of the spatial dimensions in memory."""
    spatial = images.strides[2:-1]
    return images.shape[channels] > 1 and bool(spatial) and abs(images.strides[channels]) > max(map(abs, spatial))


def _within(rows: slice, targets: slice, sources: slice) -> tuple[slice, slice]:
    """The pairs of the two ranges whose targets are in `rows`, with targets relative to its start."""
    step, source_step = targets.step or 1, sources.step or 1
    first = max(0, -((targets.start - rows.start) // step))
    count = -((targets.start - min(rows.stop, targets.stop)) // step) - first
    start, source = targets.start - rows.start + first * step, sources.start + first * source_step
    return slice(start, start + count * step, step), slice(source, source + count * source_step, source_step)


def _multiply(lhs: Array, rhs: Array, out: Array, first: int, last: int) -> None:
    """Fills out with lhs @ rhs, which has one dimension in place of the dimensions `first` to `last` of out."""
    sizes, strides = out.shape, out.strides
    if all(strides[k] == strides[k + 1] * sizes[k + 1] for k in range(first, last - 1)):
        # A view, since these dimensions are adjacent in memory.
        np.matmul(lhs, rhs, out=out.reshape(*sizes[:first], -1, *sizes[last:]))
    else:
        out[...] = np.matmul(lhs, rhs).reshape(sizes)


def _contracted(images: Array, kernels: Array) -> Array:
    """[group, batch, output] of images [group, batch, spatial..., feature] and kernels [spatial..., group, feature, output]."""
    groups, batch, *spatial, features = images.shape
    outputs = kernels.shape[-1]
    if images.strides[-1] <= images.strides[1]:
        rows = images.reshape(groups, batch, -1)
        return np.asarray(np.matmul(rows, np.moveaxis(kernels, -3, 0).reshape(groups, -1, outputs)))
    # Features outside of the batch cannot be moved next to the spatial dimensions without copying everything.
    images, kernels = np.moveaxis(images, -1, 0), np.moveaxis(kernels, (-2, -3), (0, 1))
    total = np.zeros((groups, batch, outputs), images.dtype)
    step = max(1, _BUFFER // max(1, groups * batch * max(outputs, prod(spatial))))
    for start in range(0, features, step):
        block = slice(start, start + step)
        left = images[block].reshape(-1, groups, batch, prod(spatial))
        total += np.matmul(left, kernels[block].reshape(len(left), groups, -1, outputs)).sum(axis=0)
    return total
