"""Keeping freed memory in the process for reuse.

Large arrays come straight from the operating system, which clears each page on first use. A run allocates and frees thousands of them,
and would spend more time on this than on arithmetic.
"""

from __future__ import annotations

import ctypes

__all__ = ["keep_freed_memory"]

# Parameters of mallopt, from malloc.h.
_TRIM_THRESHOLD, _MMAP_MAX = -1, -4
_NEVER = -1


def keep_freed_memory() -> bool:
    """Makes the C library keep freed memory for later allocations; returns whether it can, as glibc does.

    The setting is one of the whole process, so a command may call this, but not a library.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return False
    return bool(mallopt(_MMAP_MAX, 0) and mallopt(_TRIM_THRESHOLD, _NEVER))
