"""The modes of a verification: `hlotool.VerifyModes`, with the options of XLA's verifier and a few more.

Op definitions and module-level rules read them. Options of the command line and keys of settings files are derived from the fields.
"""

from __future__ import annotations

from hlotool.options import option
from hlotool.record import Record

__all__ = ["VerifyModes"]


class VerifyModes(Record):
    """The options of a verification.

    `layout_sensitive` also compares layouts; None compares them after optimization only. `layouts_kept` allows only copies and similar
    instructions to change layouts; None does so if `layout_sensitive` is True, but not if it is None, since the last stages of compilers do
    change layouts.

    `allow_mixed_precision` lets the operands and the result of an instruction have different float types; None does so in modules that are
    scheduled, have tiled layouts or come from after optimization, and for TPUs, whose compiler leaves such instructions behind.

    `stage` is the stage of compilation that the module comes from: "before-opt" or "after-opt"; "auto" takes a scheduled module for an
    optimized one. Rules about what optimization (W041, W042) or partitioning (P036) leaves behind apply only after optimization. `target`
    names the backend for rules that depend on it; `devices` overrides the number of devices that follows from the module's header.

    `names_unchanged` reports an instruction whose name has changed since it was scheduled as an error. `memory_budget`, in bytes, and
    `in_flight_limit`, a number of operations of one kind, enable warnings about modules that need more.

    >>> VerifyModes(allow_mixed_precision=True).allow_mixed_precision
    True
    """

    layout_sensitive: bool | None = option(None, "Also compare layouts; auto, the default: after optimization only.", "auto")
    layouts_kept: bool | None = option(None, "Allow only copies to change layouts; auto, the default: with --layout-sensitive true.", "auto")
    allow_mixed_precision: bool | None = option(
        None, "Allow float operands of different types; auto, the default: after optimization, and in modules with tiles or for TPUs.", "auto"
    )
    reshape_is_bitcast: bool = option(False, "Require reshapes to leave every element in its place in memory.")
    no_host_memory: bool = option(False, "Report layouts in host memory.")
    nested_thread_names: bool = option(False, "Require calls and custom calls to stay in their execution thread.")
    broadcast_dimensions_sorted: bool = option(False, "Require the dimensions of broadcasts in ascending order.")
    bitcast_may_differ_in_size: bool = option(False, "Allow bitcasts to change the size in bytes.")
    unbounded_dynamic: bool = option(False, "Allow unbounded dynamic dimensions.")
    collective_deadlocks: bool = option(False, "Report sends and receives that wait for each other.")
    check_replica_groups: bool = option(True, "Check replica groups (default).")
    names_unchanged: bool = option(False, "Require scheduled instructions to have the names under which they were scheduled.")
    stage: str = option(
        "auto", "Stage of compilation; auto, the default, takes scheduled modules for optimized ones.", choices=("auto", "before-opt", "after-opt")
    )
    target: str = option("generic", "Kind of device that modules are for; default: generic.", choices=("generic", "cpu", "gpu", "tpu"))
    devices: int | None = option(None, "Number of devices; default: from the module's header.", "count", least=1, unset="from the header")
    memory_budget: int | None = option(None, "Warn about modules that need more memory than SIZE, such as 500M or 16GiB.", "size", least=1)
    in_flight_limit: int | None = option(None, "Warn if more than N async operations of one kind overlap.", "count")
