"""Verification modes: the options of XLA's verifier and a few more.

Op definitions and module-level rules read the modes. The command-line options and the keys of
settings files are derived from the fields of `VerifyModes`.
"""

from __future__ import annotations

from hlotool.option_fields import option
from hlotool.record import Record

__all__ = ["VerifyModes"]

_LAYOUTS = ("L009", "L010", "L013", "L021", "L022", "L024", "L025", "L026", "M010", "T106")


class VerifyModes(Record):
    """The options of a verification.

    `layout_sensitive` also compares layouts; None compares them only after optimization.
    `layouts_kept` allows only copies and similar instructions to change layouts. None means the
    value of `layout_sensitive`, or False if that is None, too, since the last stages of compilers
    do change layouts.

    `allow_mixed_precision` allows the operands and the result of an instruction to have different
    float types. None allows it in modules that are scheduled, have tiled layouts or were dumped
    after optimization, and for TPUs, whose compiler leaves such instructions in place.

    `stage` is the stage of compilation that the module comes from: "before-opt" or "after-opt";
    "auto" treats a scheduled module as optimized. Rules about code left behind by optimization
    (W041, W042) or partitioning (P036) apply only after optimization. `target` names the backend
    for rules that depend on it; `devices` overrides the number of devices in the module's header.

    `names_unchanged` reports, as an error, an instruction whose name has changed since it was
    scheduled. `memory_budget` (in bytes) and `in_flight_limit` (operations of one kind) enable
    warnings about modules that exceed them. `fusion_operand_limit`, `entry_parameter_limit` and
    `constant_size_limit` are the thresholds of W042, W055 and W006; `known_custom_calls` lists
    shell patterns for targets that W028 does not report.

    >>> VerifyModes(allow_mixed_precision=True).allow_mixed_precision
    True
    """

    layout_sensitive: bool | None = option(None, "Also compare layouts; auto, the default: only after optimization.", "auto", enables=_LAYOUTS)
    layouts_kept: bool | None = option(
        None,
        "Allow only copies to change layouts; auto, the default: only with --layout-sensitive true.",
        "auto",
        enables=("L008", "L015", "L016", "L017"),
    )
    allow_mixed_precision: bool | None = option(
        None,
        "Allow float operands of different types; auto, the default: after optimization, in modules with tiled layouts, and for TPUs.",
        "auto",
        disables=("T085",),
        concerns=("T003", "T020", "C022"),
    )
    reshape_is_bitcast: bool = option(False, "Require reshapes to leave all elements in place in memory.", enables=("L012",))
    no_host_memory: bool = option(False, "Report layouts in host memory.", enables=("L018",))
    nested_thread_names: bool = option(False, "Require calls and custom calls to stay in their execution thread.", concerns=("C038",))
    broadcast_dimensions_sorted: bool = option(False, "Require the dimensions of broadcasts to be in ascending order.", concerns=("T019",))
    bitcast_may_differ_in_size: bool = option(
        False, "Compare the operand and the result of a bitcast by their sizes without padding.", concerns=("L009",)
    )
    unbounded_dynamic: bool = option(False, "Allow unbounded dynamic dimensions.", disables=("T083",))
    collective_deadlocks: bool = option(False, "Report sends and receives that wait for each other.", enables=("A026", "A027"))
    check_replica_groups: bool = option(True, "Check replica groups (default).", enables=("P001", "P002", "P003", "P004", "P005", "P006", "P030"))
    names_unchanged: bool = option(False, "Require scheduled instructions to keep the names under which they were scheduled.", concerns=("A033",))
    stage: str = option(
        "auto",
        "Stage of compilation; auto, the default, treats scheduled modules as optimized.",
        choices=("auto", "before-opt", "after-opt"),
        concerns=("W001", "W041", "W042", "P036"),
    )
    target: str = option(
        "generic",
        "Kind of target device; default: generic.",
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
    fusion_operand_limit: int = option(64, "Report fusions with more than N operands; default: 64.", "count", concerns=("W042",))
    entry_parameter_limit: int = option(
        2000, "Report programs that take more than N arrays as arguments; default: 2000.", "count", concerns=("W055",)
    )
    constant_size_limit: int = option(1 << 20, "Report constants of SIZE or more; default: 1MiB.", "size", least=1, concerns=("W006",))
    known_custom_calls: tuple[str, ...] = option(
        (), "Shell patterns for known targets of custom calls, in addition to the targets of XLA and JAX.", "list", concerns=("W028",)
    )
