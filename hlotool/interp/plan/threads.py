"""Threads for loops over blocks. NumPy's functions release the lock of the interpreter, so that they run at the same time."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import pairwise

import numpy as np

__all__ = ["in_parts"]


def in_parts(compute: Callable[[int, int], None], size: int, step: int, threads: int) -> None:
    """Calls `compute(first, last)` for parts of a range at the same time, which begin at multiples of `step`; the last one ends at `size`.

    Raises what the first part that fails raises, when all have ended.

    >>> parts = []
    >>> in_parts(lambda first, last: parts.append((first, last)), size=10, step=4, threads=2)
    >>> sorted(parts)
    [(0, 4), (4, 10)]
    """
    steps = -(-size // step)
    count = min(threads, steps)
    bounds = [steps * k // count * step for k in range(count)] + [size]
    pool = _pool(threads)
    others = [pool.submit(_computed, compute, first, last) for first, last in pairwise(bounds[1:])]
    try:
        compute(bounds[0], bounds[1])
    finally:
        errors = [future.exception() for future in others]
    for error in errors:
        if error is not None:
            raise error


def _computed(compute: Callable[[int, int], None], first: int, last: int) -> None:
    # How NumPy handles overflows is a setting of each thread.
    with np.errstate(all="ignore"):
        compute(first, last)


@lru_cache(maxsize=4)
def _pool(threads: int) -> ThreadPoolExecutor:
    """The threads that wait for work, besides the one that has it."""
    return ThreadPoolExecutor(max(1, threads - 1), thread_name_prefix="hlotool")


if hasattr(os, "register_at_fork"):
    # A process that is forked has no threads but the one that forked it.
    os.register_at_fork(after_in_child=_pool.cache_clear)
