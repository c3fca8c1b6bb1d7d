"""Memory that is used again instead of being given back.

Arrays of some megabytes come from the operating system, each page of them cleared on first use; a run makes and drops thousands of such
arrays and would spend more time on that than on arithmetic.
"""

from __future__ import annotations

import ctypes

__all__ = ["keep_freed_memory"]

# Parameters of mallopt, from malloc.h.
_TRIM_THRESHOLD, _MMAP_MAX = -1, -4
_NEVER = -1


def keep_freed_memory() -> bool:
    """Asks the C library to keep what this process frees for what it allocates next; whether it knows how to.

    It does so for the whole process, so only a command should ask, not a library that somebody imports. Known to glibc.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return False
    return bool(mallopt(_MMAP_MAX, 0) and mallopt(_TRIM_THRESHOLD, _NEVER))
