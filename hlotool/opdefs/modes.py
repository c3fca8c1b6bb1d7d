"""What a verification is asked to assume: the switches of XLA's verifier under the names of `hlotool.VerifyModes`.

Knows no rule; op definitions and module-level rules read the switches.
"""

from __future__ import annotations

from hlotool.record import Record

__all__ = ["VerifyModes"]


class VerifyModes(Record):
    """The options of a verification.

    `layout_sensitive` also compares layouts; None does so for scheduled modules. `layouts_kept` says that layouts are assigned for good, so that
    only copies and the like may change them; None says so where `layout_sensitive` was asked for, but not of its own accord, since the last
    stages of compilers do otherwise. `stage` and `target` name the compiler's stage and backend for rules that depend on them, `devices`
    overrides the number of devices that the module's header gives.

    `names_unchanged` makes an error of an instruction that has another name than when it was scheduled. `memory_budget`, in bytes, and
    `in_flight_limit`, a number of operations of one kind, ask for warnings where a schedule needs more.

    >>> VerifyModes(allow_mixed_precision=True).allow_mixed_precision
    True
    """

    layout_sensitive: bool | None = None
    layouts_kept: bool | None = None
    allow_mixed_precision: bool = False
    reshape_is_bitcast: bool = False
    no_host_memory: bool = False
    nested_thread_names: bool = False
    broadcast_dimensions_sorted: bool = False
    bitcast_may_differ_in_size: bool = False
    unbounded_dynamic: bool = False
    collective_deadlocks: bool = False
    check_replica_groups: bool = True
    names_unchanged: bool = False
    stage: str = "auto"
    target: str = "generic"
    devices: int | None = None
    memory_budget: int | None = None
    in_flight_limit: int | None = None
