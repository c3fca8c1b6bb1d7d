"""W028 and W029: custom calls whose function may be missing or outdated."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

from hlotool.errors import nearest
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []

# Targets that XLA's own passes insert, expand or remove. No functions have these names.
_XLA_TARGETS = frozenset(
    "Sharding SPMDFullToShardShape SPMDShardToFullShape LayoutConstraint AllocateBuffer CreateBuffer Pin Unpin GetRngSeed ConcatBitcast"
    " annotate_device_placement MoveToHost MoveToDevice PrepareAsyncCallStart PrepareAsyncCallDone AsyncCollectiveStart AsyncCollectiveDone"
    " X64SplitLow X64SplitHigh X64Combine SliceToDynamic PadToStatic AssumeGatherIndicesInBound GatherScatterIndicesBitpacked ResizeNearest"
    " ResizeBilinear ResizeNearestGrad ResizeBilinearGrad Qr QrDecompositionBlock ProductOfElementaryHouseholderReflectors CompactWyHelper"
    " LuDecomposition LuDecompositionBlock Cholesky InvertDiagBlocksLowerTriangular InvertDiagBlocksUpperTriangular Eigh TopK PartialReduce"
    " ApproxTopK mhlo.topk stablehlo.dynamic_top_k erf_inv tpu_custom_call".split()
)
_KNOWN = re.compile(
    r"__(?:cublas|cudnn|cusolver|cufft|onednn|triton|gpu|nvshmem|nccl)\$[\w$]+|xla\.sdy\.\w+|(?:lapack|cusolver|cublas|hipsolver|ducc_fft|cu|mosaic)_\w+"
    r"|__gpu\$\S+|triton_kernel_call\w*|xla_(?:ffi_)?(?:partitioned_)?python_(?:cpu|gpu)_callback|te_\w+|DynamicUpdateSlice\w*"
)
_ORIGINAL = ("", "API_VERSION_ORIGINAL")


@module_rule("W028", stage="lint")
def unknown_targets(facts: Facts) -> Iterator[Finding]:
    """The targets of custom calls are known functions.

    Checks: each target is one of XLA's own, comes from a library that ships with XLA or JAX, or
    matches a pattern of the setting known-custom-calls.
    """
    own = facts.modes.known_custom_calls
    for computation, x in facts.instructions_of("custom-call"):
        target = x.attributes["custom_call_target"]
        if target not in _XLA_TARGETS and not _KNOWN.fullmatch(target) and not any(fnmatchcase(target, pattern) for pattern in own):
            meant = nearest(target, _XLA_TARGETS)
            hint = f"did you mean '{meant}'?" if meant else "if this target is your own, add it to the setting known-custom-calls"
            yield Finding("W028", computation, x, "custom_call_target value", f"unknown custom-call target '{target}'", hint)


@module_rule("W029", stage="lint")
def old_interfaces(facts: Facts) -> Iterator[Finding]:
    """Custom calls use the typed interface, and custom calls with effects have a fixed order.

    Checks: no call has the original API version, which is also the default, except for targets that
    XLA replaces; calls with side effects have a token or a control predecessor.
    """
    for computation, x in facts.instructions_of("custom-call"):
        target = x.attributes["custom_call_target"]
        if target in _XLA_TARGETS or target.startswith(("xla.sdy.", "__")):
            continue
        if str(x.attributes.get("api_version", "")) in _ORIGINAL:
            yield Finding("W029", computation, x, "api_version", "this call uses the original custom-call interface", "use API_VERSION_TYPED_FFI")
        elif x.attributes.get("custom_call_has_side_effect", False):
            leaves = [leaf.element_type for y in (x, *x.operands) for leaf in y.shape.leaves()]
            if "token" not in leaves and not x.control_predecessors:
                yield Finding(
                    "W029", computation, x, "custom_call_has_side_effect", "this call has a side effect but no token, so its order is not fixed"
                )
