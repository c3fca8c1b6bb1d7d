"""What a verification is asked to assume: the switches of XLA's verifier under the names of `hlotool.VerifyModes`.

Knows no rule; op definitions and module-level rules read the switches. Options of the command line and keys of settings files are derived from
the fields.
"""

from __future__ import annotations

from hlotool.options import option
from hlotool.record import Record

__all__ = ["VerifyModes"]


class VerifyModes(Record):
    """The options of a verification.

    `layout_sensitive` also compares layouts; None does so for modules after optimization. `layouts_kept` says that layouts are assigned for
    good, so that only copies and the like may change them; None says so where `layout_sensitive` was asked for, but not of its own accord, since
    the last stages of compilers do otherwise.

    `stage` says where in the compiler the module comes from: "before-opt" or "after-opt"; with "auto" a scheduled module is taken for an
    optimized one. Layouts are compared after optimization, and rules about what optimization should have left (W041, W042) or partitioning
    should have removed (P036) say nothing before it. `target` names the backend for rules that depend on it, `devices` overrides the number of
    devices that the module's header gives.

    `names_unchanged` makes an error of an instruction that has another name than when it was scheduled. `memory_budget`, in bytes, and
    `in_flight_limit`, a number of operations of one kind, ask for warnings where a schedule needs more.

    >>> VerifyModes(allow_mixed_precision=True).allow_mixed_precision
    True
    """

    layout_sensitive: bool | None = option(None, "Compare layouts, too; auto: after optimization.", "auto")
    layouts_kept: bool | None = option(None, "Only copies may change layouts; auto: with --layout-sensitive true.", "auto")
    allow_mixed_precision: bool = option(False, "Let operands have different float types.")
    reshape_is_bitcast: bool = option(False, "Reshapes must not move elements.")
    no_host_memory: bool = option(False, "Refuse host memory spaces.")
    nested_thread_names: bool = option(False, "Calls and custom calls keep their thread, too.")
    broadcast_dimensions_sorted: bool = option(False, "The dimensions of a broadcast ascend.")
    bitcast_may_differ_in_size: bool = option(False, "A bitcast may change the size in bytes.")
    unbounded_dynamic: bool = option(False, "Let dimensions be unbounded.")
    collective_deadlocks: bool = option(False, "Look for sends and receives that wait for each other.")
    check_replica_groups: bool = option(True, "Check replica groups; the default.")
    names_unchanged: bool = option(False, "Scheduled instructions keep the names they were scheduled under.")
    stage: str = option("auto", "From where in the compiler; auto: scheduled is optimized.", choices=("auto", "before-opt", "after-opt"))
    target: str = option("generic", "For which kind of device they are.", choices=("generic", "cpu", "gpu", "tpu"))
    devices: int | None = option(None, "The number of devices; default: from the header.", "count", least=1, unset="from the header")
    memory_budget: int | None = option(None, "Warn where a module needs more memory, such as 500M or 16GiB.", "size", least=1)
    in_flight_limit: int | None = option(None, "Warn where more than N async operations of one kind overlap.", "count")
