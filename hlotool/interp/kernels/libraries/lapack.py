"""Linear algebra targets, computed with SciPy's LAPACK; without SciPy, they are not supported.

JAX lowers linear algebra to `lapack_*_ffi` for CPUs, to targets such as `cusolver_*_ffi` for GPUs,
and to XLA's own targets for TPUs.

Each function solves a problem for one matrix. For a batch, a loop calls the function for each
matrix.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache, lru_cache, partial
from importlib import import_module
from importlib.util import find_spec
from math import prod
from typing import Any

import numpy as np

from hlotool.interp.arrays.dtypes import NUMPY_TYPES, Array
from hlotool.interp.arrays.values import Value
from hlotool.interp.kernels.libraries.base import results_of
from hlotool.record import Record

__all__ = ["LAPACK_EXTRA", "is_lapack_target", "lapack_target"]

LAPACK_EXTRA = "lapack"
"""The extra of hlotool that installs SciPy."""

_NAME = re.compile(r"lapack_[sdcz]([a-z0-9]+)_ffi")
_GPU_NAME = re.compile(r"(?:cusolver|hipsolver|cublas|hipblas|cusparse|hipsparse)_([a-z0-9]+?)(?:_batched)?(?:_ffi)?")
_SETTING = re.compile(r"(\w+)\s*=\s*(-?\d+|true|false)")
_VECTORS, _LOWER, _LEFT, _UNIT, _ALL = map(ord, "VLLUA")
_NONE = ord("N")


class Problem(Record):
    """One matrix problem: the LAPACK routine's type letter, its settings, and the result shapes.

    The shapes exclude the dimensions of the batch.
    """

    letter: str
    settings: dict[str, int]
    shapes: tuple[tuple[int, ...], ...]

    @property
    def is_complex(self) -> bool:
        return self.letter in "cz"

    def routine(self, name: str) -> Callable[..., Any]:
        function: Callable[..., Any] = getattr(_scipy(), self.letter + name)
        return function


@cache
def _scipy() -> Any:
    # SciPy is optional, and slow to import.
    return import_module("scipy.linalg.lapack")


Results = Sequence[Any]
"""The results of one problem, in the order of the instruction's results."""


def _getrf(p: Problem, a: Array) -> Results:
    lu, pivots, info = p.routine("getrf")(a)
    # SciPy counts rows from 0, LAPACK from 1.
    return lu, pivots + 1, max(info, 0)


def _potrf(p: Problem, a: Array) -> Results:
    factor, info = p.routine("potrf")(a, lower=int(p.settings.get("uplo") == _LOWER), clean=0)
    return factor, info


def _geqrf(p: Problem, a: Array) -> Results:
    qr, tau, _, _ = p.routine("geqrf")(a)
    return qr, tau


def _orgqr(p: Problem, a: Array, tau: Array) -> Results:
    q, _, _ = p.routine("ungqr" if p.is_complex else "orgqr")(a, tau)
    return (q,)


def _ormqr(p: Problem, a: Array, tau: Array, c: Array) -> Results:
    side = "L" if p.settings.get("left") else "R"
    transposed = "C" if p.is_complex else "T"
    workspace = 64 * max(1, *c.shape)
    product, _, _ = p.routine("unmqr" if p.is_complex else "ormqr")(side, transposed if p.settings.get("transpose") else "N", a, tau, c, workspace)
    return (product,)


def _geqp3(p: Problem, a: Array, pivots: Array) -> Results:
    qr, chosen, tau, _, _ = p.routine("geqp3")(a)
    return qr, chosen, tau


def _singular_values(p: Problem, a: Array, *, routine: str) -> Results:
    mode = p.settings.get("mode", _ALL)
    u, s, vt, info = p.routine(routine)(a, compute_uv=int(mode != _NONE), full_matrices=int(mode == _ALL))
    if mode == _NONE:
        u, vt = np.zeros(p.shapes[2]), np.zeros(p.shapes[3])
    return a, s, u, vt, info


def _syevd(p: Problem, a: Array) -> Results:
    name = "heevd" if p.is_complex else "syevd"
    settings = {"compute_v": int(p.settings.get("mode") == _VECTORS), "lower": int(p.settings.get("uplo") == _LOWER)}
    w, v, info = p.routine(name)(a, **settings)
    return v, w, info


def _geev(p: Problem, a: Array) -> Results:
    settings = {f"compute_v{side[0]}": int(p.settings.get(f"compute_{side}") == _VECTORS) for side in ("left", "right")}
    *values, left, right, info = p.routine("geev")(a, **settings)
    if not p.is_complex:
        left, right = (_complex_vectors(values[1], vectors) for vectors in (left, right))
    left, right = (x if x.shape == a.shape else np.zeros(a.shape) for x in (left, right))
    return *values, left, right, info


def _complex_vectors(imaginary: Array, vectors: Array) -> Array:
    """Returns the complex eigenvectors of a real matrix.

    For a conjugate pair, LAPACK stores the real part in one column and the imaginary part in the
    next.
    """
    if vectors.shape[-1] != len(imaginary):
        return vectors
    first, second = imaginary > 0, imaginary < 0
    pairs = vectors.astype(np.result_type(vectors, np.complex64))
    pairs[:, first] = vectors[:, first] + 1j * vectors[:, second]
    pairs[:, second] = np.conj(pairs[:, first])
    return pairs


def _trsm(p: Problem, a: Array, b: Array) -> Results:
    """Solves op(a) x = b or x op(a) = b, the latter as the transposed problem."""
    trans = "NTC".index(chr(p.settings.get("trans_x", _NONE)))
    lower, unit = int(p.settings.get("uplo") == _LOWER), int(p.settings.get("diag") == _UNIT)
    if p.settings.get("side", _LEFT) == _LEFT:
        return (p.routine("trtrs")(a, b, lower=lower, trans=trans, unitdiag=unit)[0],)
    if trans == 2:
        return (np.conj(p.routine("trtrs")(a, np.conj(b.T), lower=lower, trans=0, unitdiag=unit)[0]).T,)
    return (p.routine("trtrs")(a, b.T, lower=lower, trans=1 - trans, unitdiag=unit)[0].T,)


def _ignore_eigenvalue(*eigenvalue: Any) -> None:
    """Does nothing: the order of eigenvalues does not matter, since none are selected."""


def _gees(p: Problem, a: Array) -> Results:
    t, chosen, *values, vectors, _, info = p.routine("gees")(_ignore_eigenvalue, a, compute_v=int(p.settings.get("mode") == _VECTORS), sort_t=0)
    return t, vectors, *values, chosen, info


def _gehrd(p: Problem, a: Array) -> Results:
    size = a.shape[-1]
    reduced, tau, info = p.routine("gehrd")(a, lo=p.settings.get("low", 1) - 1, hi=p.settings.get("high", size) - 1)
    return reduced, tau, info


def _sytrd(p: Problem, a: Array) -> Results:
    reduced, diagonal, off_diagonal, tau, info = p.routine("hetrd" if p.is_complex else "sytrd")(a, lower=int(p.settings.get("uplo") == _LOWER))
    return reduced, diagonal, off_diagonal, tau, info


def _gtsv(p: Problem, lower: Array, diagonal: Array, upper: Array, b: Array) -> Results:
    # The first element of `lower` and the last element of `upper` are outside the matrix.
    *_, x, info = p.routine("gtsv")(lower[1:], diagonal, upper[:-1], b)
    return lower, diagonal, upper, x, info


def _lu_decomposition(p: Problem, a: Array) -> Results:
    """Computes the factors, the 0-based pivots, and the permutation of the rows."""
    lu, pivots, _ = p.routine("getrf")(a)
    order = np.arange(len(a))
    for k, other in enumerate(pivots):
        order[[k, other]] = order[[other, k]]
    return lu, pivots, order


def _eigh(p: Problem, a: Array) -> Results:
    values, vectors, _ = p.routine("heevd" if p.is_complex else "syevd")(a, lower=p.settings.get("lower", 1))
    return vectors, values


def _gpu_potrf(p: Problem, a: Array) -> Results:
    factor, info = p.routine("potrf")(a, lower=p.settings.get("lower", 0), clean=0)
    return factor, info


def _gpu_singular_values(p: Problem, a: Array, *, is_jacobi: bool = False) -> Results:
    """Computes the singular value decomposition as GPU libraries do.

    `gesvdj` (Jacobi's method) returns the right vectors in columns. If `transposed` is set, `gesvd`
    returns the right vectors, in rows, before the left vectors, in columns.
    """
    is_wanted, is_full = p.settings.get("compute_uv", 1), p.settings.get("full_matrices", 0)
    u, s, vt, info = p.routine("gesdd")(a, compute_uv=is_wanted, full_matrices=is_full)
    if not is_wanted:
        u, vt = np.zeros(p.shapes[2]), np.zeros(p.shapes[3])
    elif is_jacobi:
        vt = np.conj(vt.T)
    elif p.settings.get("transposed"):
        u, vt = vt, u
    return a, s, u, vt, info


def _gpu_syevd(p: Problem, a: Array) -> Results:
    v, w = _eigh(p, a)
    return v, w, 0


def _gpu_sytrd(p: Problem, a: Array) -> Results:
    reduced, diagonal, off_diagonal, tau, info = p.routine("hetrd" if p.is_complex else "sytrd")(a, lower=p.settings.get("lower", 0))
    return reduced, diagonal, off_diagonal, tau, info


def _gpu_gtsv(p: Problem, lower: Array, diagonal: Array, upper: Array, b: Array) -> Results:
    return (_gtsv(p, lower, diagonal, upper, b)[3],)


_ROUTINES: dict[str, tuple[Callable[..., Results], tuple[int, ...]]] = {
    "getrf": (_getrf, (2,)),
    "potrf": (_potrf, (2,)),
    "geqrf": (_geqrf, (2,)),
    "orgqr": (_orgqr, (2, 1)),
    "ungqr": (_orgqr, (2, 1)),
    "ormqr": (_ormqr, (2, 1, 2)),
    "unmqr": (_ormqr, (2, 1, 2)),
    "geqp3": (_geqp3, (2, 1)),
    "gesdd": (partial(_singular_values, routine="gesdd"), (2,)),
    "gesvd": (partial(_singular_values, routine="gesvd"), (2,)),
    "syevd": (_syevd, (2,)),
    "heevd": (_syevd, (2,)),
    "geev": (_geev, (2,)),
    "trsm": (_trsm, (2, 2)),
    "gees": (_gees, (2,)),
    "gehrd": (_gehrd, (2,)),
    "sytrd": (_sytrd, (2,)),
    "hetrd": (_sytrd, (2,)),
    "gtsv": (_gtsv, (1, 1, 1, 2)),
}
"""The function that solves one problem, and the ranks of its operands, by the routine's name."""

_GPU_ROUTINES: dict[str, tuple[Callable[..., Results], tuple[int, ...]]] = {
    **{name: _ROUTINES[name] for name in ("getrf", "geqrf", "orgqr", "ormqr")},
    "potrf": (_gpu_potrf, (2,)),
    "gesvd": (_gpu_singular_values, (2,)),
    "gesvdj": (partial(_gpu_singular_values, is_jacobi=True), (2,)),
    "syevd": (_gpu_syevd, (2,)),
    "syevj": (_gpu_syevd, (2,)),
    "sytrd": (_gpu_sytrd, (2,)),
    "gtsv2": (_gpu_gtsv, (1, 1, 1, 2)),
}
"""Like `_ROUTINES`, for NVIDIA's and AMD's libraries, whose settings have different names."""

_XLA_ROUTINES: dict[str, tuple[Callable[..., Results], tuple[int, ...]]] = {
    "Eigh": (_eigh, (2,)),
    "LuDecomposition": (_lu_decomposition, (2,)),
    "ProductOfElementaryHouseholderReflectors": (_orgqr, (2, 1)),
    "Qr": (_geqrf, (2,)),
}
"""Like `_ROUTINES`, for XLA's own targets, by target."""

_LETTERS = {"f": "s", "d": "d", "F": "c", "D": "z"}
"""LAPACK's letters by NumPy's type characters."""


def _solve(*operands: Array, call: Any, routine: tuple[Callable[..., Results], tuple[int, ...]]) -> Value:
    """Solves the problem for each matrix in the batch."""
    function, ranks = routine
    shapes = results_of(call)
    batch = operands[0].shape[: operands[0].ndim - ranks[0]]
    problem = Problem(_LETTERS[operands[0].dtype.char], _settings(call.backend_config), tuple(shape.dimensions[len(batch) :] for shape in shapes))
    # Workspaces remain zero, and so does "info" if the routine does not return it.
    results = [np.zeros(shape.dimensions, NUMPY_TYPES[shape.element_type]) for shape in shapes]
    rows = [x.reshape(prod(batch), *x.shape[len(batch) :]) for x in operands]
    for k, index in enumerate(np.ndindex(batch)):
        for target, value in zip(results, function(problem, *(row[k] for row in rows)), strict=False):
            target[index] = value
    return tuple(results) if call.result.is_tuple else results[0]


def _settings(backend_config: str) -> dict[str, int]:
    """Returns the settings in a backend configuration.

    Settings are written as `{uplo = 76 : ui8, left = true}`, or as a list such as `"1,1,100,1e-6"`,
    whose first number is 1 if the lower triangle is to be read.
    """
    words = {"true": 1, "false": 0}
    named = {name: words[value] if value in words else int(value) for name, value in _SETTING.findall(backend_config)}
    first = backend_config.strip('"').partition(",")[0]
    return named or ({"lower": int(first)} if first.isdigit() else _packed_settings(backend_config))


def _packed_settings(backend_config: str) -> dict[str, int]:
    """Returns the setting in a binary structure, the form that older versions of JAX write.

    The second number in the structure is 0 for the lower triangle.
    """
    if not backend_config.startswith('"\\'):
        return {}
    numbers = np.frombuffer(_decode_bytes(backend_config)[:8], "<i4")
    return {"lower": int(numbers[1] == 0)} if len(numbers) > 1 else {}


def _decode_bytes(text: str) -> bytes:
    """Returns the bytes of a quoted string with octal escapes."""
    return re.sub(rb"\\([0-7]{3})", lambda match: bytes([int(match[1], 8) & 0xFF]), text.strip('"').encode())


@lru_cache(maxsize=256)
def lapack_target(target: str) -> Callable[..., Value] | None:
    """Returns the function that computes a linear algebra target.

    Returns None for other targets, for unknown routines, and if SciPy is not installed.

    >>> lapack_target("lapack_sfrobnicate_ffi") is None
    True
    """
    routine = _routine(target)
    return partial(_solve, routine=routine) if routine is not None and find_spec("scipy") is not None else None


def is_lapack_target(target: str) -> bool:
    """Returns whether `lapack_target` returns a function for the target if SciPy is installed.

    >>> is_lapack_target("lapack_spotrf_ffi"), is_lapack_target("lapack_sfrobnicate_ffi")
    (True, False)
    """
    return _routine(target) is not None


def _routine(target: str) -> tuple[Callable[..., Results], tuple[int, ...]] | None:
    routine = _XLA_ROUTINES.get(target)
    for pattern, routines in ((_NAME, _ROUTINES), (_GPU_NAME, _GPU_ROUTINES)):
        match = pattern.fullmatch(target)
        routine = routine or (routines.get(match[1]) if match is not None else None)
    return routine
