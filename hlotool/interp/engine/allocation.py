"""Memory of the process: reuse of freed blocks, and a limit on allocation.

Large arrays come straight from the operating system, which clears each page on first use. A run
allocates and frees thousands of arrays. Without reuse, it would spend more time clearing pages than
doing arithmetic.
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

# Extra memory for Python itself, which must still be able to report that a run reached its limit.
_SLACK = 32 << 20
# The index of the field in /proc/self/statm that counts data and stack pages.
_DATA = 5

# Parameters of mallopt, from malloc.h.
_TRIM_THRESHOLD, _MMAP_MAX = -1, -4
_NEVER = -1

_MAX_REUSED_SIZE = (32 << 20) - (64 << 10)
"""A size just below DEFAULT_MMAP_THRESHOLD_MAX, the maximum size of blocks in glibc's own heap.

The difference leaves space for headers and for rounding up to whole pages.
"""


def keep_freed_memory() -> bool:
    """Makes the C library keep freed memory for later allocations.

    Returns whether the C library supports this; glibc does. The setting affects the whole process,
    so a command may call this function, but a library may not.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return False
    return bool(mallopt(_MMAP_MAX, 0) and mallopt(_TRIM_THRESHOLD, _NEVER))


def reuse_large_blocks() -> None:
    """Makes glibc take blocks of up to 32 MB from its heap, and keep 64 MB of free memory there.

    glibc applies these settings as soon as a program frees a block of this size, so this function
    allocates such a block and frees it. Unlike `keep_freed_memory`, it has no effect that other
    code would notice: any program that frees such a block changes these settings.
    """
    # Under a memory limit, the allocation may fail.
    with suppress(MemoryError):
        np.empty(_MAX_REUSED_SIZE, np.uint8)


@contextmanager
def memory_limit(size: int | None) -> Iterator[None]:
    """Limits the process to `size` more bytes within a context, then restores the previous limit.

    Exceeding the limit raises MemoryError. None means no limit. The limit covers all allocated
    memory, even if estimates leave it out. It applies only on Linux, since the memory in use is
    unknown on other systems.
    """
    used = _data_size()
    if size is None or used is None:
        yield
        return
    # NumPy's library for matrix products allocates its own memory on first use, and terminates the
    # process if that fails. So a small product is computed before the limit takes effect.
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
    """Returns the number of bytes that the process has allocated, or None if it is unknown."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[_DATA]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError, AttributeError):
        return None
