"""Collectives in groups of one device, which exchange nothing."""

from __future__ import annotations

from hlotool.analysis.collectives import CROSS_BOTH, group_mode, groups_of, ids_of_mode
from hlotool.ir.model import Instruction
from hlotool.optimizer.pattern_rewriter import PatternRewriter
from hlotool.optimizer.registry import rule

__all__: list[str] = []


@rule("all-reduce", "all-gather", "reduce-scatter", "all-to-all")
def collective_of_one_device(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """all-reduce(a), replica_groups={{0},{1}} -> a

    The same holds for all-gather, reduce-scatter and all-to-all; several operands become a tuple.
    The groups must be written out, since otherwise the number of devices is known only at run time.
    Groups of replicas that include all partitions are left alone, since they are larger than they
    look. The reducer is not called for a single device.
    """
    groups = groups_of(x)
    # Since no group is empty, each has one device if there are as many devices as groups.
    if not groups.group_count or groups.group_count != groups.device_count:
        return None
    if group_mode(x) == CROSS_BOTH or x.attributes.get("constrain_layout"):
        return None
    return rewriter.add("tuple", x.operands, x.shape) if x.shape.is_tuple else x.operands[0]


@rule("collective-permute")
def permute_to_itself(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """collective-permute(a), source_target_pairs={{0,0},{1,1}} -> a, if there are two devices

    The header must state the number of devices, since a device that is in no pair receives zeros.
    """
    if len(x.operands) != 1:
        return None
    count = ids_of_mode(group_mode(x), rewriter.module_rewriter.module)
    pairs = x.attributes["source_target_pairs"]
    if count <= 1 or {(k, k) for k in range(count)} != set(pairs):
        return None
    return x.operands[0]
