"""The modes of a verification: `hlotool.VerifyModes`, with the options of XLA's verifier and a few more.

Op definitions and module-level rules read them. Options of the command line and keys of settings files are derived from the fields.
"""

from __future__ import annotations

from hlotool.options import option
from hlotool.record import Record

__all__ = ["VerifyModes"]

_LAYOUTS = ("L009", "L010", "L013", "L021", "L022", "L024", "L025", "L026", "M010", "T106")


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
    `in_flight_limit`, a number of operations of one kind, enable warnings about modules that need more. `fusion_operand_limit`,
    `entry_parameter_limit` and `constant_size_limit` are the thresholds of W042, W055 and W006; `known_custom_calls` are shell patterns
    for targets that W028 does not report.

    >>> VerifyModes(allow_mixed_precision=True).allow_mixed_precision
    True
    """

    layout_sensitive: bool | None = option(None, "Also compare layouts; auto, the default: after optimization only.", "auto", enables=_LAYOUTS)
    layouts_kept: bool | None = option(
        None,
        "Allow only copies to change layouts; auto, the default: with --layout-sensitive true.",
        "auto",
        enables=("L008", "L015", "L016", "L017"),
    )
    allow_mixed_precision: bool | None = option(
        None,
        "Allow float operands of different types; auto, the default: after optimization, in modules with tiles, and for TPUs.",
        "auto",
        disables=("T085",),
        concerns=("T003", "T020", "C022"),
    )
    reshape_is_bitcast: bool = option(False, "Require reshapes to leave every element in its place in memory.", enables=("L012",))
    no_host_memory: bool = option(False, "Report layouts in host memory.", enables=("L018",))
    nested_thread_names: bool = option(False, "Require calls and custom calls to stay in their execution thread.", concerns=("C038",))
    broadcast_dimensions_sorted: bool = option(False, "Require the dimensions of broadcasts in ascending order.", concerns=("T019",))
    bitcast_may_differ_in_size: bool = option(False, "Allow bitcasts to change the size in bytes.", concerns=("L009",))
    unbounded_dynamic: bool = option(False, "Allow unbounded dynamic dimensions.", disables=("T083",))
    collective_deadlocks: bool = option(False, "Report sends and receives that wait for each other.", enables=("A026", "A027"))
    check_replica_groups: bool = option(True, "Check replica groups (default).", enables=("P001", "P002", "P003", "P004", "P005", "P006", "P030"))
    names_unchanged: bool = option(False, "Require scheduled instructions to have the names under which they were scheduled.", concerns=("A033",))
    stage: str = option(
        "auto",
        "Stage of compilation; auto, the default, takes scheduled modules for optimized ones.",
        choices=("auto", "before-opt", "after-opt"),
        concerns=("W001", "W041", "W042", "P036"),
    )
    target: str = option(
        "generic",
        "Kind of device that modules are for; default: generic.",
        choices=("generic", "cpu", "gpu", "tpu"),
        concerns=("L006", "L030"),
    )
    devices: int | None = option(
        None, "Number of devices; default: from the module's header.", "count", least=1, unset="from the header", concerns=("P022", "P029")
    )
    memory_budget: int | None = option(
        None, "Warn about modules that need more memory than SIZE, such as 500M or 16GiB.", "size", least=1, enables=("A035",)
    )
    in_flight_limit: int | None = option(None, "Warn if more than N async operations of one kind overlap.", "count", enables=("A034",))
    fusion_operand_limit: int = option(64, "Operands of a fusion above which it is reported; default: 64.", "count", concerns=("W042",))
    entry_parameter_limit: int = option(
        2000, "Arrays that the program takes as arguments above which it is reported; default: 2000.", "count", concerns=("W055",)
    )
    constant_size_limit: int = option(1 << 20, "Size from which constants are reported; default: 1MiB.", "size", least=1, concerns=("W006",))
    known_custom_calls: tuple[str, ...] = option(
        (), "Targets of custom calls that exist, as shell patterns, in addition to those of XLA and JAX.", "list", concerns=("W028",)
    )
