"""Products of matrices of 8-bit integers, computed by machine code.

NumPy can only multiply such matrices as floats. Some processors multiply four times as many bytes
at the same time, and add the products of four adjacent bytes in the same instruction.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from math import prod
from typing import NamedTuple

import numpy as np

from hlotool.interp.arrays.dtypes import NUMPY_TYPES, Array
from hlotool.interp.kernels.contraction import MatrixForm
from hlotool.interp.plan.native.compiler import compile_text, is_installed, seconds_to_load
from hlotool.interp.plan.operations import Operation
from hlotool.interp.plan.products import matrix_form_of
from hlotool.interp.plan.runtime import aligned

__all__ = ["native_product"]

_MIN_WORK = 1 << 22
"""The minimum number of multiplications for which machine code is worth its overhead."""
_SECONDS = 0.025
"""The measured time for compiling the function."""
_LANES, _ROWS, _VECTORS = 16, 8, 2
"""The sums that are in registers at a time are those of 8 rows and of 2 vectors of 16 columns."""


class _Variant(NamedTuple):
    """A way to compute products, for processors with a certain feature.

    Matrices are padded to multiples of `rows` and `quads`. `excess` is added to signed numbers.
    """

    feature: str
    rows: int
    quads: int
    excess: int
    write: Callable[[bool], str]


def native_product(operation: Operation, kernel: Callable[..., Array]) -> Callable[..., Array]:
    """Returns a function that computes the result of a dot product's kernel, or the kernel."""
    types = [variable.shape.element_type for variable in (*operation.reads, *operation.results)]
    form = matrix_form_of(operation) if types in (["s8", "s8", "s32"], ["u8", "s8", "s32"]) and is_installed() else None
    if form is None or len(form.lhs_sizes) > 2 or prod(form.lhs_sizes) * form.rhs_sizes[-1] < _MIN_WORK:
        return kernel
    return _Product(form, kernel)


class _Product:
    """The product of two matrices: the kernel, until it has run half as long as compiling takes.

    The products of one instruction take much longer in the kernel, and are rarely few.
    """

    def __init__(self, form: MatrixForm, kernel: Callable[..., Array]) -> None:
        self._form = form
        self._kernel = kernel
        self._seconds = 0.0
        self._variants = iter(_VARIANTS)
        self._variant = _VARIANTS[0]
        self._function: Callable[..., None] | None = None

    def __call__(self, lhs: Array, rhs: Array, **keywords: object) -> Array:
        if self._function is None and self._seconds > (_SECONDS + seconds_to_load()) / 2:
            # If no variant is possible, there is nothing left to try in later calls.
            for variant in self._variants:
                self._function = compile_text(variant.write(lhs.dtype == np.int8), [lhs, rhs, lhs, 0, 0, 0], variant.feature)
                if self._function is not None:
                    self._variant = variant
                    break
        if self._function is None:
            start = time.monotonic()
            result = self._kernel(lhs, rhs, **keywords)
            self._seconds += time.monotonic() - start
            return result
        form, variant, width = self._form, self._variant, _LANES * _VECTORS
        (rows, count), columns = form.lhs_sizes, form.rhs_sizes[-1]
        blocks, panels, quads = -(-rows // variant.rows), -(-columns // width), -(-count // (4 * variant.quads)) * variant.quads
        left = _padded(lhs.transpose(form.lhs_order).reshape(form.lhs_sizes).view(np.uint8), (blocks * variant.rows, 4 * quads))
        if variant.excess and lhs.dtype == np.int8:
            left ^= np.uint8(variant.excess)
        right = rhs.transpose(form.rhs_order).reshape(form.rhs_sizes).view(np.uint8)
        if right.shape != (4 * quads, panels * width):
            right = _padded(right, (4 * quads, panels * width))
        for dtype in ("<u2", "<u4"):
            # Combine the bytes of two rows, then those of four.
            upper = right[1::2].astype(dtype)
            upper <<= upper.dtype.type(8 * right.itemsize)
            right = np.bitwise_or(upper, right[::2], out=upper)
        packed = aligned((panels, quads, width), right.dtype)
        packed[...] = right.reshape(quads, panels, width).transpose(1, 0, 2)
        sums = np.empty((blocks * variant.rows, panels * width), NUMPY_TYPES["s32"])
        self._function(left.ctypes.data, packed.ctypes.data, sums.ctypes.data, blocks, quads, panels)
        return sums if sums.shape == form.sizes else sums[:rows, :columns].reshape(form.sizes)


def _padded(matrix: Array, sizes: tuple[int, int]) -> Array:
    """Returns a copy of a matrix of bytes, with zeros at the end of rows and columns."""
    padded = aligned(sizes, np.dtype(np.uint8))
    rows, columns = matrix.shape
    padded[rows:], padded[:, columns:] = 0, 0
    padded[:rows, :columns] = matrix
    return padded


def _write_with_vectors(is_signed: bool) -> str:
    """Returns the function in LLVM's language.

    Each lane is a quad: four bytes of a row on the left, or of a column on the right. The bytes on
    the left are too large by 128 if they are signed, so this multiple of each column's sum is
    subtracted.
    """
    lanes, width = _LANES, _LANES * _VECTORS
    sums = [(f"{r}.{v}", r, v) for r in range(_ROWS) for v in range(_VECTORS)]
    sums += [(f"c.{v}", -1, v) for v in range(_VECTORS)]
    kind = f"<{lanes} x i32>"
    multiply = f"{kind} @llvm.x86.avx512.vpdpbusd.{32 * lanes}"
    lines = [f"declare {multiply}({kind}, {kind}, {kind})"]
    lines += ["define void @loop(ptr %left, ptr %right, ptr %result, i64 %blocks, i64 %quads, i64 %panels) {"]
    lines += ["entry:", f"%columns = mul i64 %panels, {width}", f"%o = insertelement {kind} poison, i32 {0x80808080 if is_signed else 0}, i64 0"]
    lines += [f"%excess = shufflevector {kind} %o, {kind} poison, {kind} zeroinitializer", "br label %panel"]
    lines += ["panel:", "%j = phi i64 [0, %entry], [%jn, %stored]", f"%j1 = mul i64 %j, {width}", "%j2 = mul i64 %j1, %quads", "br label %block"]
    lines += ["block:", "%i = phi i64 [0, %panel], [%in, %store]", f"%i0 = mul i64 %i, {_ROWS}", "br label %quad"]
    lines += ["quad:", "%k = phi i64 [0, %block], [%kn, %quad]"]
    lines += [f"%s{name} = phi {kind} [zeroinitializer, %block], [%n{name}, %quad]" for name, _, _ in sums]
    lines += [f"%k1 = mul i64 %k, {width}", "%k2 = add i64 %j2, %k1"]
    for v in range(_VECTORS):
        lines += [f"%b{v}i = add i64 %k2, {v * lanes}", f"%b{v}p = getelementptr i32, ptr %right, i64 %b{v}i"]
        lines += [f"%b{v} = load {kind}, ptr %b{v}p, align 4"]
    for r in range(_ROWS):
        lines += [f"%a{r}r = add i64 %i0, {r}", f"%a{r}s = mul i64 %a{r}r, %quads", f"%a{r}i = add i64 %a{r}s, %k"]
        lines += [f"%a{r}p = getelementptr i32, ptr %left, i64 %a{r}i", f"%a{r}x = load i32, ptr %a{r}p"]
        lines += [f"%a{r}y = insertelement {kind} poison, i32 %a{r}x, i64 0"]
        lines += [f"%a{r} = shufflevector {kind} %a{r}y, {kind} poison, {kind} zeroinitializer"]
    for name, r, v in sums:
        row = "%excess" if r < 0 else f"%a{r}"
        lines += [f"%n{name} = call {multiply}({kind} %s{name}, {kind} {row}, {kind} %b{v})"]
    lines += ["%kn = add i64 %k, 1", "%kd = icmp eq i64 %kn, %quads", "br i1 %kd, label %store, label %quad", "store:"]
    for name, r, v in sums:
        if r >= 0:
            lines += [f"%r{name}a = add i64 %i0, {r}", f"%r{name}b = mul i64 %r{name}a, %columns", f"%r{name}c = add i64 %r{name}b, %j1"]
            lines += [f"%r{name}d = add i64 %r{name}c, {v * lanes}", f"%r{name} = getelementptr i32, ptr %result, i64 %r{name}d"]
            lines += [f"%t{name} = sub {kind} %n{name}, %nc.{v}", f"store {kind} %t{name}, ptr %r{name}, align 4"]
    lines += ["%in = add i64 %i, 1", "%id = icmp eq i64 %in, %blocks", "br i1 %id, label %stored, label %block"]
    lines += ["stored:", "%jn = add i64 %j, 1", "%jd = icmp eq i64 %jn, %panels", "br i1 %jd, label %end, label %panel", "end:", "ret void", "}"]
    return "\n".join(lines)


def _write_with_tiles(is_signed: bool) -> str:
    """Returns the function for processors with registers for tiles of 16 rows of 16 quads.

    The sums of two times two tiles are in registers at a time.
    """
    instruction = "tdpbssd" if is_signed else "tdpbusd"
    pairs = [(r, v) for r in range(2) for v in range(2)]
    declared = ["ldtilecfg(ptr)", "tilerelease()", "tilezero(i8)", f"{instruction}(i8, i8, i8)"]
    declared += [f"{name}(i8, ptr, i64)" for name in ("tileloadd64", "tilestored64")]
    # The type of the configuration, and for each of 8 tiles the bytes per row, and the rows.
    config = [1, *[0] * 15, *[64, 0] * 8, *[0] * 16, *[16] * 8, *[0] * 8]
    lines = [f"declare void @llvm.x86.{name}" for name in declared]
    lines += [f"@config = private constant [64 x i8] [{', '.join(f'i8 {byte}' for byte in config)}], align 64"]
    lines += ["define void @loop(ptr %left, ptr %right, ptr %result, i64 %blocks, i64 %quads, i64 %panels) {"]
    lines += ["entry:", "call void @llvm.x86.ldtilecfg(ptr @config)", "%row = mul i64 %quads, 4", "%line = mul i64 %panels, 128"]
    lines += ["%tall = mul i64 %row, 16", "%far = mul i64 %line, 16", "%deep = mul i64 %quads, 128", "br label %panel"]
    lines += ["panel:", "%j = phi i64 [0, %entry], [%jn, %stored]", "%j1 = mul i64 %j, %deep", "%b = getelementptr i8, ptr %right, i64 %j1"]
    lines += ["%j2 = mul i64 %j, 128", "%c = getelementptr i8, ptr %result, i64 %j2", "br label %block"]
    lines += ["block:", "%i = phi i64 [0, %panel], [%in, %store]", "%i1 = mul i64 %i, 2", "%i2 = mul i64 %i1, %tall"]
    lines += ["%a = getelementptr i8, ptr %left, i64 %i2", *(f"call void @llvm.x86.tilezero(i8 {k})" for k in range(4)), "br label %quad"]
    lines += ["quad:", "%k = phi i64 [0, %block], [%kn, %quad]", "%k1 = mul i64 %k, 4", "%k2 = mul i64 %k, 128"]
    lines += ["%a0 = getelementptr i8, ptr %a, i64 %k1", "%a1 = getelementptr i8, ptr %a0, i64 %tall"]
    lines += ["%b0 = getelementptr i8, ptr %b, i64 %k2", "%b1 = getelementptr i8, ptr %b0, i64 64"]
    for k, (address, stride) in enumerate((("%a0", "%row"), ("%a1", "%row"), ("%b0", "128"), ("%b1", "128")), 4):
        lines += [f"call void @llvm.x86.tileloadd64(i8 {k}, ptr {address}, i64 {stride})"]
    lines += [f"call void @llvm.x86.{instruction}(i8 {2 * r + v}, i8 {4 + r}, i8 {6 + v})" for r, v in pairs]
    lines += ["%kn = add i64 %k, 16", "%kd = icmp eq i64 %kn, %quads", "br i1 %kd, label %store, label %quad", "store:"]
    lines += ["%i3 = mul i64 %i1, %far", "%c0 = getelementptr i8, ptr %c, i64 %i3", "%c2 = getelementptr i8, ptr %c0, i64 %far"]
    lines += ["%c1 = getelementptr i8, ptr %c0, i64 64", "%c3 = getelementptr i8, ptr %c2, i64 64"]
    lines += [f"call void @llvm.x86.tilestored64(i8 {k}, ptr %c{k}, i64 %line)" for k in range(4)]
    lines += ["%in = add i64 %i, 1", "%id = icmp eq i64 %in, %blocks", "br i1 %id, label %stored, label %block"]
    lines += ["stored:", "%jn = add i64 %j, 1", "%jd = icmp eq i64 %jn, %panels", "br i1 %jd, label %end, label %panel"]
    lines += ["end:", "call void @llvm.x86.tilerelease()", "ret void", "}"]
    return "\n".join(lines)


_VARIANTS = (_Variant("amx-int8", 32, 16, 0, _write_with_tiles), _Variant("avx512vnni", _ROWS, 1, 128, _write_with_vectors))
