"""Opcodes for matrices and signals: cholesky, triangular-solve and fft."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from hlotool.errors import Violation
from hlotool.opdefs.base import op, require
from hlotool.opdefs.inference import (
    array_operand,
    bare,
    bounds,
    change_element_type,
    dimensions_agree,
    kind_of,
    require_array,
    require_kind,
    sizes_agree,
    with_bounds,
)
from hlotool.opdefs.kinds import Bool, Dims, FftType, TransposeOption
from hlotool.opdefs.modes import VerifyModes
from hlotool.opdefs.traits import EXPENSIVE, ORDER_KEPT
from hlotool.opdefs.work import Work, elements
from hlotool.shapes.shape import UNBOUNDED, Shape, compatible, sizes_text

__all__ = ["cholesky", "fft", "triangular_solve"]


@op(traits=(ORDER_KEPT, EXPENSIVE), work=lambda result, operands, attributes: Work(elements(result) * max(0, result.dimensions[-1]) // 3))
def cholesky(a: Shape, *, lower: Bool = False) -> Shape:
    """Factors each Hermitian positive-definite matrix into a triangular matrix times its adjoint.

    Reads only the triangle selected by `lower`.

        r = f32[4,4] cholesky(f32[4,4] a), lower=true
    """
    array = array_operand(a, "operand 0", "cholesky")
    require_kind(array, "operands", "cholesky", ("float", "complex"), "T058")
    require(array.rank >= 2, "T058", "operands", f"operand 0 of 'cholesky' must have rank 2 or more, got {a.text_without_layout}")
    minor = array.dimensions[-2:]
    require(sizes_agree(*minor), "T058", "operands", f"the last two dimensions must be equal, got {list(minor)}")
    return a


@op(traits=(ORDER_KEPT, EXPENSIVE), work=lambda result, operands, attributes: Work(2 * elements(result) * max(0, operands[0].dimensions[-1])))
def triangular_solve(
    a: Shape,
    b: Shape,
    *,
    left_side: Bool = False,
    lower: Bool = False,
    unit_diagonal: Bool = False,
    transpose_a: TransposeOption = "TRANSPOSE_INVALID",
) -> Shape:
    """Solves op(a) x = b (with left_side) or x op(a) = b for x, where a is triangular.

    Reads only the triangle selected by `lower`.

        r = f32[4,2] triangular-solve(f32[4,4] a, f32[4,2] b), left_side=true, lower=true, transpose_a=NO_TRANSPOSE
    """
    matrix, other = array_operand(a, "operand 0", "triangular-solve"), array_operand(b, "operand 1", "triangular-solve")
    require_kind(matrix, "operands", "triangular-solve", ("float", "complex"), "T057")
    same_type = other.element_type == matrix.element_type
    require(same_type, "T057", "operands", f"element types differ: a is {a.text_without_layout}, b is {b.text_without_layout}")
    require(matrix.rank >= 2, "T057", "operands", f"a must have rank 2 or more, got {a.text_without_layout}")
    require(other.rank == matrix.rank, "T057", "operands", f"a has rank {matrix.rank}, but b has rank {other.rank}")
    minor = matrix.dimensions[-2:]
    require(sizes_agree(*minor), "T057", "operands", f"a must be square, got {list(minor)}")
    shared = other.dimensions[-2 if left_side else -1]
    require(sizes_agree(minor[1], shared), "T057", "operands", f"a has size {minor[1]}, but the shared dimension of b has size {shared}")
    batches = matrix.dimensions[:-2], other.dimensions[:-2]
    require(batches[0] == batches[1], "T057", "operands", f"a has batch dimensions {sizes_text(batches[0])}, but b has {sizes_text(batches[1])}")
    valid = transpose_a != "TRANSPOSE_INVALID"
    require(valid, "T057", "transpose_a", "transpose_a must not be TRANSPOSE_INVALID, which is its default", "write transpose_a=NO_TRANSPOSE")
    return b


def _verify_fft(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> None:
    """Checks that the lengths of a complex transform match the operand's innermost dimensions.

    XLA does not check this, so a mismatch is only a warning unless the result shape is wrong as
    well. Empty arrays are not checked.
    """
    lengths, operand = attributes["fft_length"], bare(operands[0])
    inner = operand.dimensions[-len(lengths) :]
    if attributes["fft_type"] not in ("FFT", "IFFT") or dimensions_agree(inner, lengths) or 0 in operand.dimensions:
        return
    message = f"fft_length {list(lengths)} does not match the innermost dimensions {sizes_text(inner)}"
    raise Violation("T055", "fft_length value", message, severity="warning" if compatible(result, operands[0]) else None)


def _fft_work(result: Shape, operands: tuple[Shape, ...], attributes: Mapping[str, Any]) -> Work:
    """Counts one complex multiplication and addition (8 operations) per element and level."""
    levels = prod(max(0, length.bit_length() - 1) for length in attributes["fft_length"])
    return Work(8 * elements(operands[0]) * levels)


@op(verify=_verify_fft, traits=(ORDER_KEPT, EXPENSIVE), work=_fft_work)
def fft(operand: Shape, *, fft_type: FftType, fft_length: Dims) -> Shape:
    """Computes the discrete Fourier transform over the last one to three dimensions.

    `fft_length` lists the lengths of these dimensions. RFFT transforms real data to half of a
    spectrum, and IRFFT transforms half of a spectrum to real data.

        r = c64[5] fft(f32[8] x), fft_type=RFFT, fft_length={8}
    """
    rank = len(fft_length)
    require(1 <= rank <= 3, "T055", "fft_length", f"fft_length must have one to three entries, got {rank}")
    array = array_operand(operand, "operand 0", "fft")
    element_type = array.element_type
    if fft_type == "RFFT":
        require(element_type in ("f32", "f64"), "T056", "fft_type", f"RFFT requires an f32 or f64 operand, got {element_type}")
    else:
        complex_operand = kind_of(element_type) == "complex"
        require(complex_operand, "T056", "fft_type", f"{fft_type} requires a complex operand, got {element_type}", "use RFFT for real numbers")
    require(
        array.rank >= rank, "T055", "fft_length", f"fft_length {list(fft_length)} requires an operand of rank {rank} or more, got rank {array.rank}"
    )
    if fft_type in ("FFT", "IFFT"):
        return operand
    require_array(operand, "operand 0", fft_type)
    *outer, (last, dynamic) = bounds(array)
    length = fft_length[-1]
    half = _half_spectrum(length)
    needed = fft_length if fft_type == "RFFT" else (*fft_length[:-1], half)
    if fft_type == "RFFT":
        matches = all(have in (UNBOUNDED, want) for have, want in zip(array.dimensions[-rank:], fft_length, strict=True))
        size = half if length != 0 else last
        result_type = "c64" if element_type == "f32" else "c128"
    else:
        # Unlike RFFT, IRFFT compares the outer lengths by value, so an unbounded dimension never
        # fits.
        outer_sizes = array.dimensions[array.rank - rank : -1]
        matches = UNBOUNDED not in outer_sizes and outer_sizes == fft_length[:-1]
        matches = matches and (last == length == 0 or last in (UNBOUNDED, half))
        size, result_type = length, "f32" if element_type == "c64" else "f64"
    require(
        matches,
        "T055",
        "fft_length",
        f"fft_length {list(fft_length)} requires innermost dimensions {list(needed)}, got {sizes_text(array.dimensions)}",
    )
    keeps_unbounded = last == UNBOUNDED and fft_type == "RFFT" and length == 0
    require(size >= 0 or keeps_unbounded, "T055", "fft_length", f"fft_length {length} would result in a negative size")
    # The layout is kept, except for the element size, which depends on the type.
    return with_bounds(change_element_type(array, result_type), [*outer, (size, dynamic and (last != UNBOUNDED or keeps_unbounded))])


def _half_spectrum(length: int) -> int:
    """Returns the length of the non-redundant half of a spectrum.

    The division truncates toward zero, as in C++.
    """
    return (length // 2 if length >= 0 else -(-length // 2)) + 1
