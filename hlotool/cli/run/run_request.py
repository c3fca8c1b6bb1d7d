"""The options of `hlotool run`, as a typed request."""

from __future__ import annotations

from typing import NamedTuple

from hlotool.workspace.reading import InputForm

__all__ = ["RunRequest"]


class RunRequest(NamedTuple):
    """The options of the command by name; `arguments` lists the names and values of --input."""

    seed: int | None
    inputs: str | None
    arguments: list[tuple[str, str]]
    output: str | None
    compare: str | None
    against: str | None
    rtol: float | None
    atol: float | None
    trace: str | None
    trace_out: str | None
    check_nans: bool
    check_infs: bool
    profile: bool
    executor: str
    show_plan: bool
    threads: int
    elided: str | None
    max_iterations: int | None
    max_memory: str | None
    timeout: float | None
    verify: bool
    as_json: bool
    replicas: int | None
    partitions: int | None
    custom_calls: tuple[str, ...]
    color: str
    quiet: bool
    verbose: bool
    form: InputForm
