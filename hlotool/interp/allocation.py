"""The memory of the process: keeping freed memory for reuse, and a limit.

Large arrays come straight from the operating system, which clears each page on first use. A run allocates and frees thousands of them,
and would spend more time on this than on arithmetic.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path

import numpy as np

__all__ = ["keep_freed_memory", "memory_limit", "reuse_large_blocks"]

# For Python itself: a run near its limit still has to say so.
_SLACK = 32 << 20
# The field of /proc/self/statm with the pages of data and stack.
_DATA = 5

# Parameters of mallopt, from malloc.h.
_TRIM_THRESHOLD, _MMAP_MAX = -1, -4
_NEVER = -1

_LARGEST_REUSED = (32 << 20) - (64 << 10)
"""Less than the largest block that glibc takes from its own heap, DEFAULT_MMAP_THRESHOLD_MAX, including what pages and headers add."""


def keep_freed_memory() -> bool:
    """Makes the C library keep freed memory for later allocations; returns whether it can, as glibc does.

    The setting is one of the whole process, so a command may call this, but not a library.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return False
    return bool(mallopt(_MMAP_MAX, 0) and mallopt(_TRIM_THRESHOLD, _NEVER))


def reuse_large_blocks() -> None:
    """Makes glibc take blocks of up to 32 MB from its heap, and keep 64 MB of it, as it does once a program has freed a block of this size.

    Unlike `keep_freed_memory`, this is nothing that other code would notice: any program that has freed such an array works this way.
    """
    # Within a limit, there may not be so much memory.
    with suppress(MemoryError):
        np.empty(_LARGEST_REUSED, np.uint8)


@contextmanager
def memory_limit(size: int | None) -> Iterator[None]:
    """A context in which the process can allocate `size` more bytes; more raises MemoryError. None is no limit.

    Counts everything, also what estimates do not foresee, where the system can: on Linux.
    """
    used = _data_size()
    if size is None or used is None:
        yield
        return
    # The library for matrix products ends the process if it cannot allocate its own memory, which it does on first use.
    np.dot(np.ones((64, 64)), np.ones((64, 64)))
    resource = import_module("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limits = [limit for limit in (used + size + _SLACK, soft, hard) if limit != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_DATA, (min(limits), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _data_size() -> int | None:
    """The bytes that the process has allocated; None if the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[_DATA]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError, AttributeError):
        return None
