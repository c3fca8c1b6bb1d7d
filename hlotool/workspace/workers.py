"""Applies a function to many files, in this process or in several."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import TypeVar

from hlotool.workspace.reading import STDIN, one_by_one

__all__ = ["in_order"]

Setting = TypeVar("Setting")
Result = TypeVar("Result")
# In bytes of text. Starting a process takes as long as a megabyte.
_MIN_PARALLEL_SIZE = 4_000_000


def in_order(work: Callable[[str, Setting], Result], files: Sequence[tuple[str, Setting]], jobs: int) -> Iterator[Result]:
    """Yields `work(file, setting)` for each file, in order, computed by `jobs` processes; with 0, by as many as are worth their start."""
    workers = _workers(jobs, [file for file, _ in files])
    if workers <= 1 or len(files) <= 1:
        for file, (_, setting) in zip(one_by_one([name for name, _ in files]), files, strict=True):
            yield work(file, setting)
        return
    futures = import_module("concurrent.futures")
    with futures.ProcessPoolExecutor(min(workers, len(files))) as pool:
        yield from pool.map(work, *zip(*files, strict=True), chunksize=1)


def _workers(jobs: int, files: Sequence[str]) -> int:
    # Other processes cannot read this one's standard input.
    if STDIN in files:
        return 1
    if jobs:
        return jobs
    total = 0
    for file in files:
        try:
            total += Path(file).stat().st_size
        except (OSError, ValueError):
            continue
    return (os.cpu_count() or 1) if total > _MIN_PARALLEL_SIZE and len(files) > 1 else 1
