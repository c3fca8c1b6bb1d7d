"""Products of matrices of 8-bit integers, computed by machine code.

NumPy can only multiply such matrices as floats. Some processors multiply four times as many bytes
at the same time, and add the products of four adjacent bytes in the same instruction.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from math import prod

import numpy as np

from hlotool.interp.arrays.dtypes import NUMPY_TYPES, Array
from hlotool.interp.kernels.contraction import MatrixForm
from hlotool.interp.plan.native.compiler import compile_text, is_installed, seconds_to_load
from hlotool.interp.plan.operations import Operation
from hlotool.interp.plan.products import matrix_form_of

__all__ = ["native_product"]

_MIN_WORK = 1 << 22
"""The minimum number of multiplications for which machine code is worth its overhead."""
_SECONDS = 0.025
"""The measured time for compiling the function."""
_LANES, _ROWS, _VECTORS = 16, 8, 2
"""The sums that are in registers at a time are those of 8 rows and of 2 vectors of 16 columns."""


def native_product(operation: Operation, kernel: Callable[..., Array]) -> Callable[..., Array]:
    """Returns a function that computes the result of a dot product's kernel, or the kernel."""
    types = [variable.shape.element_type for variable in (*operation.reads, *operation.results)]
    form = matrix_form_of(operation) if types in (["s8", "s8", "s32"], ["u8", "s8", "s32"]) and is_installed() else None
    if form is None or len(form.lhs_sizes) > 2 or prod(form.lhs_sizes) * form.rhs_sizes[-1] < _MIN_WORK:
        return kernel
    return _Product(form, kernel)


class _Product:
    """The product of two matrices: the kernel, until it has run for as long as compiling takes."""

    def __init__(self, form: MatrixForm, kernel: Callable[..., Array]) -> None:
        self._form = form
        self._kernel = kernel
        self._seconds = 0.0
        self._is_possible = True
        self._function: Callable[..., None] | None = None

    def __call__(self, lhs: Array, rhs: Array, **keywords: object) -> Array:
        if self._function is None and self._is_possible and self._seconds > _SECONDS + seconds_to_load():
            self._function = compile_text(_text(128 if lhs.dtype == np.int8 else 0), [lhs, rhs, lhs, 0, 0, 0], "avx512vnni")
            self._is_possible = self._function is not None
        if self._function is None:
            start = time.monotonic()
            result = self._kernel(lhs, rhs, **keywords)
            self._seconds += time.monotonic() - start
            return result
        form, width = self._form, _LANES * _VECTORS
        (rows, count), columns = form.lhs_sizes, form.rhs_sizes[-1]
        blocks, quads, panels = -(-rows // _ROWS), -(-count // 4), -(-columns // width)
        left = np.zeros((blocks * _ROWS, 4 * quads), np.uint8)
        left[:rows, :count] = lhs.transpose(form.lhs_order).reshape(form.lhs_sizes).view(np.uint8)
        if lhs.dtype == np.int8:
            left ^= np.uint8(128)
        right = np.zeros((4 * quads, panels * width), np.uint8)
        right[:count, :columns] = rhs.transpose(form.rhs_order).reshape(form.rhs_sizes).view(np.uint8)
        for dtype in ("<u2", "<u4"):
            # Combine the bytes of two rows, then those of four.
            upper = right[1::2].astype(dtype)
            upper <<= upper.dtype.type(8 * right.itemsize)
            right = np.bitwise_or(upper, right[::2], out=upper)
        right = np.ascontiguousarray(right.reshape(quads, panels, width).transpose(1, 0, 2))
        sums = np.empty((blocks * _ROWS, panels * width), NUMPY_TYPES["s32"])
        self._function(left.ctypes.data, right.ctypes.data, sums.ctypes.data, blocks, quads, panels)
        return sums if sums.shape == form.sizes else sums[:rows, :columns].reshape(form.sizes)


def _text(excess: int) -> str:
    """Returns the function in LLVM's language.

    Each lane is a quad: four bytes of a row on the left, or of a column on the right. The bytes on
    the left are too large by `excess`, so this multiple of each column's sum is subtracted.
    """
    lanes, width = _LANES, _LANES * _VECTORS
    sums = [(f"{r}.{v}", r, v) for r in range(_ROWS) for v in range(_VECTORS)]
    sums += [(f"c.{v}", -1, v) for v in range(_VECTORS)]
    kind = f"<{lanes} x i32>"
    multiply = f"{kind} @llvm.x86.avx512.vpdpbusd.{32 * lanes}"
    lines = [f"declare {multiply}({kind}, {kind}, {kind})"]
    lines += ["define void @loop(ptr %left, ptr %right, ptr %result, i64 %blocks, i64 %quads, i64 %panels) {"]
    lines += ["entry:", f"%columns = mul i64 %panels, {width}", f"%o = insertelement {kind} poison, i32 {0x01010101 * excess}, i64 0"]
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
