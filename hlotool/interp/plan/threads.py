"""Threads for loops over blocks: NumPy's functions release the GIL, so they run in parallel."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import pairwise

import numpy as np

__all__ = ["run_in_parallel"]


def run_in_parallel(compute: Callable[[int, int], None], size: int, step: int, threads: int) -> None:
    """Calls `compute(first, last)` in parallel for parts of the range from 0 to `size`.

    The parts begin at multiples of `step`; the last one ends at `size`. When all calls have ended,
    raises the error of the first part that failed, if any.

    >>> parts = []
    >>> run_in_parallel(lambda first, last: parts.append((first, last)), size=10, step=4, threads=2)
    >>> sorted(parts)
    [(0, 4), (4, 10)]
    """
    steps = -(-size // step)
    count = min(threads, steps)
    bounds = [steps * k // count * step for k in range(count)] + [size]
    pool = _pool(threads)
    others = [pool.submit(_compute_part, compute, first, last) for first, last in pairwise(bounds[1:])]
    try:
        compute(bounds[0], bounds[1])
    finally:
        errors = [future.exception() for future in others]
    for error in errors:
        if error is not None:
            raise error


def _compute_part(compute: Callable[[int, int], None], first: int, last: int) -> None:
    # NumPy's error handling must be set in each thread.
    with np.errstate(all="ignore"):
        compute(first, last)


@lru_cache(maxsize=4)
def _pool(threads: int) -> ThreadPoolExecutor:
    """Returns a pool of threads that wait for work; the calling thread is not one of them."""
    return ThreadPoolExecutor(max(1, threads - 1), thread_name_prefix="hlotool")


if hasattr(os, "register_at_fork"):
    # A forked process has only the thread that called fork, so it needs a new pool.
    os.register_at_fork(after_in_child=_pool.cache_clear)
