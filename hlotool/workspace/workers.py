"""Applies a function to many files, in this process or in several processes."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any, TypeVar

from hlotool.workspace.reading import STDIN, file_status, input_size, limit_input_size, one_by_one

__all__ = ["map_in_order"]

Setting = TypeVar("Setting")
Result = TypeVar("Result")
# In bytes of text. Starting a process takes as long as processing a megabyte.
_MIN_PARALLEL_SIZE = 4_000_000
# A request for more processes than this is a mistake.
_MAX_WORKERS = 256
# The time, in seconds, that processes are given to end by themselves.
_GRACE_PERIOD = 2.0
_SAFE_PATH = "PYTHONSAFEPATH"
# Sent instead of the number of a file if there are no more files.
_STOP = -1


def map_in_order(
    work: Callable[[str, Setting], Result], files: Sequence[tuple[str, Setting]], jobs: int, lost: Callable[[str, str], Result]
) -> Iterator[Result]:
    """Yields `work(file, setting)` for each file, in order, computed by `jobs` processes.

    If `jobs` is 0, the size of the files determines how many processes are started. If a process
    dies, the result for its file is `lost(file, reason)`, and a new process replaces it.
    The processes end when the iteration ends, even if it ends early or with an exception.
    """
    workers = min(_workers(jobs, [file for file, _ in files]), len(files), _MAX_WORKERS)
    if workers <= 1:
        for file, (_, setting) in zip(one_by_one([name for name, _ in files]), files, strict=True):
            yield work(file, setting)
        return
    pool = _Pool(work, files, lost)
    try:
        yield from pool.results(workers)
    finally:
        pool.end()


def _workers(jobs: int, files: Sequence[str]) -> int:
    # Other processes cannot read the standard input of this process.
    if STDIN in files or not _can_be_safe():
        return 1
    if jobs:
        return jobs
    total = sum(status.st_size for file in files if (status := file_status(file)) is not None)
    return (os.cpu_count() or 1) if total > _MIN_PARALLEL_SIZE and len(files) > 1 else 1


class _Pool:
    """A pool of processes.

    Each process has a connection over which it receives the numbers of files and returns the
    results.
    """

    def __init__(self, work: Callable[[str, Any], Any], files: Sequence[tuple[str, Any]], lost: Callable[[str, str], Any]) -> None:
        self.work = work
        self.files = files
        self.lost = lost
        self.next = 0
        # By connection: the process, and the number of its file.
        self.members: dict[Any, tuple[Any, int]] = {}

    def results(self, workers: int) -> Iterator[Any]:
        """Yields the results in the order of the files."""
        wait = import_module("multiprocessing.connection").wait
        done: dict[int, Any] = {}
        for _ in range(workers):
            self._start()
        for number in range(len(self.files)):
            while number not in done:
                for connection in wait(list(self.members)):
                    k, result = self._receive(connection)
                    done[k] = result
            yield done.pop(number)

    def _start(self) -> None:
        """Starts a process with the next file."""
        if self.next >= len(self.files):
            return
        processes = import_module("multiprocessing")
        ours, theirs = processes.Pipe()
        process = processes.Process(target=_serve, args=(self.work, self.files, theirs, input_size()), daemon=True)
        with _without_signals(), _safe_path():
            process.start()
        # Only the process itself may hold its end of the connection, so that our end is closed when
        # it dies.
        theirs.close()
        self._send(ours, process)

    def _send(self, connection: Any, process: Any) -> None:
        """Sends the next file to an idle process, or ends the process if no file is left."""
        if self.next >= len(self.files):
            del self.members[connection]
            with contextlib.suppress(OSError):
                connection.send(_STOP)
            process.join(_GRACE_PERIOD)
            connection.close()
            return
        self.members[connection] = process, self.next
        # The death of a process is noticed when its result is received.
        with contextlib.suppress(OSError):
            connection.send(self.next)
        self.next += 1

    def _receive(self, connection: Any) -> tuple[int, Any]:
        process, number = self.members[connection]
        try:
            result = connection.recv()
        except (EOFError, OSError):
            del self.members[connection]
            process.join(_GRACE_PERIOD)
            code = process.exitcode
            reason = f"was killed by signal {-code}" if code is not None and code < 0 else f"ended with exit code {code}"
            self._start()
            return number, self.lost(self.files[number][0], f"its process {reason}, perhaps because it ran out of memory")
        self._send(connection, process)
        return number, result

    def end(self) -> None:
        """Ends all processes."""
        members, self.members = [process for process, _ in self.members.values()], {}
        for process in members:
            process.terminate()
        deadline = time.monotonic() + _GRACE_PERIOD
        for process in members:
            process.join(max(0.0, deadline - time.monotonic()))
            if process.is_alive():
                process.kill()


@contextlib.contextmanager
def _without_signals() -> Iterator[None]:
    """Delays signals in a `with` block.

    Python ignores exceptions in functions that it calls at a fork, including KeyboardInterrupt.
    """
    signal = import_module("signal")
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _can_be_safe() -> bool:
    """Returns whether processes can be started without the working directory on their import path.

    Processes that are not forked inherit `-E`, with which `_safe_path` has no effect.
    """
    ignores = sys.flags.ignore_environment and not sys.flags.safe_path
    return not ignores or import_module("multiprocessing").get_start_method() == "fork"


@contextlib.contextmanager
def _safe_path() -> Iterator[None]:
    """Keeps the working directory off the import path of processes started in a `with` block.

    This includes the servers and trackers that multiprocessing starts with the first process.
    Modules in the working directory, which may come from untrusted sources, would take precedence
    over Python's own modules. Forked processes are not affected.
    """
    before = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_SAFE_PATH]
        else:
            os.environ[_SAFE_PATH] = before


# ---- in a process ------------------------------------------------------------------------------


def _serve(work: Callable[[str, Any], Any], files: Sequence[tuple[str, Any]], connection: Any, max_size: int) -> None:
    """Processes the files whose numbers arrive."""
    limit_input_size(max_size)
    signal = import_module("signal")
    # Ctrl-C reaches all processes of a terminal; the parent ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _handle_termination)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT, signal.SIGTERM))
    threading.Thread(target=_watch, daemon=True).start()
    if not gc.isenabled():
        # Imported modules stay in memory, as in `one_by_one`.
        gc.freeze()
    while (number := connection.recv()) != _STOP:
        connection.send(work(*files[number]))
        if not gc.isenabled():
            gc.collect()


def _handle_termination(number: int, frame: object) -> None:
    """Ends the process so that unfinished files are removed."""
    raise SystemExit(128 + number)


def _watch() -> None:
    """Ends the process if its parent was killed, and could not end the process itself."""
    # To the operating system, the parent may be a fork server, which keeps running.
    import_module("multiprocessing").parent_process().join()
    os._exit(1)
