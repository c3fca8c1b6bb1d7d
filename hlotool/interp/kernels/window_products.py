"""Computes convolutions of floats with a few large operations.

There are five methods; the choice depends on the sizes:

* columns: the elements that each position of the result reads are copied into a buffer (im2col),
  and a matrix product combines them with the kernels;
* rows: like columns, but for one row of taps at a time; the products are summed, and fewer elements
  are copied;
* positions: a product for each position, if the result has fewer positions than the window has
  taps, as in gradients of kernels; if there are few images, or if features are outside of the batch
  in memory, the result is computed as a sum of products of blocks instead, with columns of taps;
* shifts and correlations: the counterparts of columns and positions for groups with a single
  feature, which have no matrices to multiply.

A buffer has up to about 262,144 elements (1 MiB of f32), to stay in a core's cache. It has the
memory order of the images: channels are outside or inside of the spatial dimensions. Padding is
represented by zeros in a buffer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from hlotool.interp.arrays.dtypes import Array
from hlotool.interp.arrays.windows import phases, positions, transpose_window
from hlotool.shapes.values import WindowDimension

__all__ = ["Convolution", "is_layout_independent"]

_BUFFER = 1 << 18
"""The approximate maximum number of elements of a buffer that is reused."""

_MIN_POSITIONS = 256
_MIN_COLUMNS = 32
"""Minimum matrix sizes for several products instead of one.

With smaller matrices, one product of concatenated matrices is faster.
"""

_MANY_TAPS = 4
"""Minimum number of taps per image for which columns of taps are faster than positions.

The product for a position has one row for each image.
"""

_Slices = tuple[slice, ...]


def is_layout_independent(positions: Sequence[int], taps: Sequence[int], batch: int, outputs: int) -> bool:
    """Returns whether the result is the same regardless of the arrays' memory order.

    This is the case for few positions and many taps if there are no holes between elements: all
    elements are copied to blocks whose form depends only on the sizes.
    """
    has_matrices = batch > 1 or outputs > 1
    return has_matrices and 1 < prod(positions) < prod(taps) and prod(taps) >= _MANY_TAPS * batch


class Convolution:
    """A convolution of arrays of one floating-point type.

    The result is `out[g, n, o, c] = sum over t and f of images[g, n, at(o, t), f] * kernels[t, g,
    f, c]`, where at(o, t) is the element that position o reads through tap t. The elements of
    `kernels` are finite, and its dimensions are not reversed. All three arrays may be views with
    any strides.
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
        """Computes the convolution of dilated images, which have holes.

        Positions that read elements through the same taps form a convolution without dilation.
        """
        for chosen in product(*(phases(w, size) for w, size in zip(self.window, self.sizes, strict=True))):
            positions, taps = tuple(phase[0] for phase in chosen), tuple(phase[1] for phase in chosen)
            out = self.out[(slice(None), slice(None), *positions)]
            Convolution(self.images, self.kernels[taps], out, [phase[2] for phase in chosen]).fill()

    def _fill_undilated(self) -> None:
        has_few_positions = prod(self.sizes) < prod(self.taps)
        if self.outputs == 1 and (self.images.shape[1] if has_few_positions else self.features) == 1 and self.window:
            fill = self._fill_by_correlations if has_few_positions else self._fill_by_shifts
        elif has_few_positions:
            fill = self._fill_by_positions
        else:
            fill = self._fill_by_rows if self._may_share_rows() else self._fill_by_columns
        fill()

    # ---- columns --------------------------------------------------------------------------------

    def _fill_by_columns(self) -> None:
        # [group, output, tap * feature]
        weights = np.moveaxis(self.kernels, (-3, -1), (0, 1)).reshape(self.out.shape[0], self.outputs, -1)
        images, out = np.moveaxis(self.images, 1, 0), np.moveaxis(self.out, 1, 0)
        if _is_outside(self.images, -1):
            # [batch, group, feature, position...]
            images, out = np.moveaxis(images, -1, 2), np.moveaxis(out, -1, 2)
            for batch, rows, columns in self._columns(images, 3):
                at: tuple[slice, ...] = (batch, slice(None), slice(None), *rows)
                _multiply(weights, columns.reshape(*columns.shape[:2], weights.shape[-1], -1), out[at], 3, out.ndim)
            return
        weights = np.ascontiguousarray(weights.swapaxes(1, 2))
        if len(weights) == 1:
            # Without groups, all positions are rows of one matrix.
            images, weights, out = images[:, 0], weights[0], out[:, 0]
        for batch, rows, columns in self._columns(images, images.ndim - len(self.sizes) - 1):
            at = (batch, *([slice(None)] * (weights.ndim - 2)), *rows)
            lead = columns.shape[:2] if weights.ndim == 3 else ()
            _multiply(columns.reshape(*lead, -1, weights.shape[-2]), weights, out[at], len(lead), out.ndim - 1)

    def _columns(self, images: Array, first_spatial: int) -> Iterator[tuple[slice, _Slices, Array]]:
        """Yields blocks of the batch and of the first spatial dimension.

        A block consists of its slices of both dimensions, and of the elements that its positions
        read. In the array of elements, the taps come before the dimension of features, which is the
        last dimension or the last before the spatial dimensions. The array is a buffer that the
        next block overwrites.
        """
        if self._is_pointwise():
            yield slice(None), (), images
            return
        rows = self.sizes[0] if self.sizes else 1
        each = prod(images.shape[1:]) // prod(images.shape[first_spatial:][: len(self.sizes)]) * prod(self.sizes[1:]) * prod(self.taps)
        step = max(1, min(rows, _BUFFER // each))
        count = max(1, min(len(images), _BUFFER // (each * rows)))
        buffer = np.empty(count * step * each, images.dtype)
        for start in range(0, len(images), count):
            for row in range(0, rows, step):
                span = slice(row, min(row + step, rows))
                view = self._read_elements(images[start : start + count], first_spatial, span)
                columns = buffer[: view.size].reshape(view.shape)
                np.copyto(columns, view)
                yield slice(start, start + count), (span,), columns

    def _is_pointwise(self) -> bool:
        return all(w.size == w.stride == 1 and not w.padding_low for w in self.window) and self.sizes == self.images.shape[2:-1]

    def _read_elements(self, block: Array, first: int, rows: slice) -> Array:
        """Returns a view of the elements that the positions of these rows read through each tap.

        Its form is [lead..., position..., tap..., feature], or [lead..., tap..., feature,
        position...] if features are outside of the spatial dimensions.
        """
        rank = len(self.sizes)
        if not rank:
            return block
        padded = self._pad(block, first, rows)
        sizes, strides = (rows.stop - rows.start, *self.sizes[1:]), padded.strides[first : first + rank]
        positions = [(size, w.stride * stride) for size, w, stride in zip(sizes, self.window, strides, strict=True)]
        taps = [(w.size, w.window_dilation * stride) for w, stride in zip(self.window, strides, strict=True)]
        others = list(zip(padded.shape, padded.strides, strict=True))
        before, after = others[:first], others[first + rank :]
        order = [*before[:-1], *taps, before[-1], *positions] if first + rank == block.ndim else [*before, *positions, *taps, *after]
        return as_strided(padded, [size for size, _ in order], [stride for _, stride in order])

    def _pad(self, block: Array, first: int, rows: slice) -> Array:
        """Returns the range of elements that the positions of these rows read, padded with zeros.

        The result is a view if it contains no padding.
        """
        extents, targets, sources = [], [], []
        for k, (w, size, base) in enumerate(zip(self.window, self.sizes, block.shape[first:], strict=False)):
            positions = rows if k == 0 else slice(0, size)
            low = positions.start * w.stride - w.padding_low
            extent = (positions.stop - positions.start - 1) * w.stride + (w.size - 1) * w.window_dilation + 1
            start, stop = min(max(low, 0), base), min(max(low + extent, 0), base)
            extents.append(extent)
            sources.append(slice(start, stop))
            targets.append(slice(start - low, stop - low))
        inside = block[(slice(None),) * first + tuple(sources)]
        sizes = (*block.shape[:first], *extents, *block.shape[first + len(extents) :])
        if inside.shape == sizes:
            return inside
        padded = np.zeros(sizes, block.dtype)
        if inside.size:
            padded[(slice(None),) * first + tuple(targets)] = inside
        return padded

    # ---- rows -----------------------------------------------------------------------------------

    def _may_share_rows(self) -> bool:
        """Returns whether products for one row of taps at a time are large enough to be fast."""
        if len(self.out) != 1 or not self.window or _is_outside(self.images, -1):
            return False
        first = self.window[0]
        is_large = prod(self.sizes) >= _MIN_POSITIONS and prod(self.taps[1:]) * self.features >= _MIN_COLUMNS
        return is_large and first.size > 1 and first.stride == 1 and (first.size - 1) * first.window_dilation <= self.sizes[0]

    def _fill_by_rows(self) -> None:
        """Like `_fill_by_columns`, but with columns for the taps of all dimensions after the first.

        The elements of a row of the images are copied only once for all taps that read the row.
        """
        first, batch = self.window[0], self.images.shape[1]
        weights = np.ascontiguousarray(self.kernels[..., 0, :, :]).reshape(first.size, -1, self.outputs)
        images, out = self.images[0], self.out[0]
        inner = Convolution(self.images, self.kernels, self.out[:, :, 0], self.window[1:])
        reach, row_size = (first.size - 1) * first.window_dilation, prod(self.sizes[1:]) * weights.shape[1]
        step = max(1, min(self.sizes[0], max(4, _BUFFER // row_size) - reach))
        columns = np.empty((step + reach, row_size), images.dtype)
        total, term = np.empty((2, step * prod(self.sizes[1:]), self.outputs), images.dtype)
        for k, row in product(range(batch), range(0, self.sizes[0], step)):
            count = min(step, self.sizes[0] - row)
            inner._fill_row_columns(images[k], row - first.padding_low, columns[: count + reach])
            parts = [columns[start : start + count].reshape(-1, weights.shape[1]) for start in range(0, reach + 1, first.window_dilation)]
            position = out[k, row : row + count]
            rows = position.reshape(-1, self.outputs) if position.flags.c_contiguous else total[: len(parts[0])]
            np.matmul(parts[0], weights[0], out=rows)
            for part, weight in zip(parts[1:], weights[1:], strict=True):
                rows += np.matmul(part, weight, out=term[: len(part)])
            if not position.flags.c_contiguous:
                position[...] = rows.reshape(position.shape)

    def _fill_row_columns(self, image: Array, first: int, columns: Array) -> None:
        """Copies the elements that the positions of consecutive rows read into `columns`.

        `first` is the first of these rows. The form is [row, position * tap * feature], with zeros
        for rows outside of the image.
        """
        start, stop = min(max(first, 0), len(image)), min(max(first + len(columns), 0), len(image))
        columns[: start - first], columns[stop - first :] = 0, 0
        if start < stop:
            view = self._read_elements(image[start:stop], 1, slice(0, self.sizes[0] if self.sizes else 0))
            np.copyto(columns[start - first : stop - first].reshape(view.shape), view)

    # ---- positions ------------------------------------------------------------------------------

    def _fill_by_positions(self) -> None:
        if is_layout_independent(self.sizes, self.taps, self.images.shape[1], self.outputs):
            self._fill_by_tap_columns(is_batch_outside=False)
            return
        if self.features > 1 and self.images.strides[-1] > self.images.strides[1]:
            # Features outside of the batch cannot be moved next to the spatial dimensions without
            # copying all elements for each position.
            self._fill_by_tap_columns(is_batch_outside=_is_outside(self.images, 1))
            return
        for position in product(*map(range, self.sizes)):
            slices = self._taps_and_elements(position)
            at: tuple[Any, ...] = (slice(None), slice(None), *position)
            self.out[at] = 0 if slices is None else _contract(self.images[(slice(None), slice(None), *slices[1])], self.kernels[slices[0]])

    def _taps_and_elements(self, position: Sequence[int]) -> tuple[_Slices, _Slices] | None:
        """Returns the taps through which a position reads elements, and these elements.

        Returns None if the position reads no elements.
        """
        pairs = [
            positions(transpose_window(w, size), o, w.size, base)
            for w, o, size, base in zip(self.window, position, self.sizes, self.images.shape[2:-1], strict=True)
        ]
        if any(taps.start >= taps.stop for taps, _ in pairs):
            return None
        return tuple(taps for taps, _ in pairs), tuple(elements for _, elements in pairs)

    def _fill_by_tap_columns(self, *, is_batch_outside: bool) -> None:
        """Like `_fill_by_columns`, but with exchanged roles.

        Positions and taps exchange their roles, and so do batch and features. The result is a sum
        of matrix products over blocks of taps and features. If `is_batch_outside` is true, the
        batch is outside of the spatial dimensions in the blocks; this should match the order of the
        images in memory.
        """
        groups, batch, *positions, _ = self.out.shape
        kernels = np.moveaxis(self.kernels, (-3, -2), (0, 1))
        window = [transpose_window(w, size) for w, size in zip(self.window, self.sizes, strict=True)]
        # Products of matrices with a few hundred rows are fast.
        step = max(16, _BUFFER // (256 * prod(positions)))
        for start in range(0, batch, step):
            images, out = self.images[:, start : start + step].swapaxes(1, -1), self.out[:, start : start + step]
            total = np.zeros((groups, *positions, out.shape[1], self.outputs), out.dtype)
            exchanged = Convolution(images, np.moveaxis(out, (0, 1), (-3, -2)), kernels, window)
            for left, right in exchanged._blocks_of_positions(has_feature_columns=is_batch_outside):
                total += np.matmul(left, right).reshape(total.shape)
            out[...] = np.moveaxis(total, -2, 1)

    def _blocks_of_positions(self, *, has_feature_columns: bool) -> Iterator[tuple[Array, Array]]:
        """Yields pairs of matrices: the elements that are read, and the elements of the result.

        Their forms are [group, tap * feature, position] and [group, position, output].
        """
        groups, outputs = len(self.out), self.outputs
        images, out = np.moveaxis(self.images, 1, 0), np.moveaxis(self.out, 1, 0)
        if has_feature_columns:
            images = np.moveaxis(images, -1, 2)
        width = prod(self.taps) * self.features
        for batch, rows, columns in self._columns(images, 2 + has_feature_columns):
            positions = out[(batch, slice(None), *rows)]
            if groups == 1 and not has_feature_columns:
                # All positions of the batch are rows of one matrix.
                yield columns.reshape(1, -1, width).swapaxes(1, 2), np.ascontiguousarray(positions.reshape(1, -1, outputs))
                continue
            for block, right in zip(columns, positions, strict=True):
                left = block.reshape(groups, width, -1) if has_feature_columns else block.reshape(groups, -1, width).swapaxes(1, 2)
                yield left, np.ascontiguousarray(right.reshape(groups, -1, outputs))

    # ---- single features ------------------------------------------------------------------------

    def _fill_by_shifts(self) -> None:
        """Adds the whole block, shifted, in a single operation for each tap.

        A block belongs to one image of the batch, and to a range of groups.
        """
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
        """Computes each position as a sum of products of whole blocks, for each [group, feature].

        The sums over features are in double precision.
        """
        frame = _Frame(self)
        dilations = tuple(w.window_dilation for w in self.window)
        length = frame.reach(self.taps, dilations)
        total = np.zeros((len(self.images), *self.sizes))
        for groups in frame.blocks():
            spread, spread_positions = frame.empty(groups), tuple(slice(0, (t - 1) * d + 1, d) for t, d in zip(self.taps, dilations, strict=True))
            spread.fill(0)
            for feature in range(self.features):
                flat = frame.padded(self.images[groups, 0, ..., feature])
                frame.shaped(spread)[(slice(None), *spread_positions)] = np.moveaxis(self.kernels[..., groups, feature, 0], -1, 0)
                for position in product(*map(range, self.sizes)):
                    start = frame.offset([o * w.stride for o, w in zip(position, self.window, strict=True)])
                    at: tuple[Any, ...] = (groups, *position)
                    total[at] += np.einsum("cl,cl->c", flat[:, start : start + length], spread[:, :length])
        self.out[:, 0, ..., 0] = total


class _Frame:
    """A flattened block of images with its padding.

    The elements that a tap reads form a range of the block, with unused elements between them.
    """

    def __init__(self, convolution: Convolution) -> None:
        images, self.window = convolution.images, convolution.window
        self.is_outside = _is_outside(images, 0)
        spans = [((size - 1) * w.stride + 1, (w.size - 1) * w.window_dilation) for size, w in zip(convolution.sizes, self.window, strict=True)]
        self.sizes = tuple(positions + taps for positions, taps in spans)
        self.groups = len(images)
        self.dtype = images.dtype
        self.pitches = [prod(self.sizes[k + 1 :]) for k in range(len(self.sizes))]

    def blocks(self) -> Iterator[slice]:
        """Returns ranges of groups; the groups in a range are computed together."""
        step = max(1, _BUFFER // 2 // prod(self.sizes))
        return (slice(start, min(start + step, self.groups)) for start in range(0, self.groups, step))

    def empty(self, groups: slice) -> Array:
        """Returns an array [group, element] with uninitialized elements.

        In memory, groups are inside or outside of elements, as in the images.
        """
        count, length = groups.stop - groups.start, prod(self.sizes)
        return np.empty((count, length), self.dtype) if self.is_outside else np.empty((length, count), self.dtype).T

    def shaped(self, flat: Array) -> Array:
        """Returns a view [group, spatial...] of a flat array."""
        return flat.reshape(len(flat), *self.sizes) if self.is_outside else np.moveaxis(flat.T.reshape(*self.sizes, len(flat)), -1, 0)

    def padded(self, images: Array) -> Array:
        """Returns images [group, spatial...] as [group, element], with zeros for padding."""
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

    def offset(self, position: Sequence[int]) -> int:
        """Returns the offset of a position in the padded images."""
        return sum(at * pitch for at, pitch in zip(position, self.pitches, strict=True))

    def reach(self, sizes: Sequence[int], steps: Sequence[int]) -> int:
        """Returns the length of the range from the first to the last of `sizes` positions.

        The positions are `steps` apart.
        """
        return self.offset([(size - 1) * step for size, step in zip(sizes, steps, strict=True)]) + 1


def _is_outside(images: Array, channels: int) -> bool:
    """Returns whether a dimension of channels is outside of the spatial dimensions in memory."""
    spatial = images.strides[2:-1]
    return images.shape[channels] > 1 and bool(spatial) and abs(images.strides[channels]) > max(map(abs, spatial))


def _multiply(lhs: Array, rhs: Array, out: Array, first: int, last: int) -> None:
    """Fills `out` with lhs @ rhs.

    The product has one dimension in place of the dimensions from `first` to `last - 1` of `out`.
    """
    sizes, strides = out.shape, out.strides
    if all(strides[k] == strides[k + 1] * sizes[k + 1] for k in range(first, last - 1)):
        # These dimensions are adjacent in memory, so this is a view.
        np.matmul(lhs, rhs, out=out.reshape(*sizes[:first], -1, *sizes[last:]))
    else:
        out[...] = np.matmul(lhs, rhs).reshape(sizes)


def _contract(images: Array, kernels: Array) -> Array:
    """Returns the product of images and kernels, as [group, batch, output].

    The images are [group, batch, spatial..., feature], and the kernels [spatial..., group, feature,
    output].
    """
    groups, batch = images.shape[:2]
    rows = images.reshape(groups, batch, -1)
    return np.asarray(np.matmul(rows, np.moveaxis(kernels, -3, 0).reshape(groups, rows.shape[-1], kernels.shape[-1])))
