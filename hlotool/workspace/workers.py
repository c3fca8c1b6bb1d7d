"""The same work on many files, in this process or in several."""

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
# Starting a process costs as much as a megabyte of text.
_WORTH_IT = 4_000_000


def in_order(work: Callable[[str, Setting], Result], files: Sequence[tuple[str, Setting]], jobs: int) -> Iterator[Result]:
    """What `work` makes of each file and its setting, in the order of the files; `jobs` processes, 0 for as many as are worth it."""
    workers = _workers(jobs, [file for file, _ in files])
    if workers <= 1 or len(files) <= 1:
        for file, (_, setting) in zip(one_by_one([name for name, _ in files]), files, strict=True):
            yield work(file, setting)
        return
    futures = import_module("concurrent.futures")
    with futures.ProcessPoolExecutor(min(workers, len(files))) as pool:
        yield from pool.map(work, *zip(*files, strict=True), chunksize=1)


def _workers(jobs: int, files: Sequence[str]) -> int:
    # Standard input is this process's own.
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
    return (os.cpu_count() or 1) if total > _WORTH_IT and len(files) > 1 else 1
