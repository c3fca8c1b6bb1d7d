"""A table of hlotool's own passes that does not import them, so that completion is fast."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from hlotool.errors import nearest

__all__ = ["BUILT_IN", "meant_pass", "pass_summaries"]

BUILT_IN: Mapping[str, tuple[str, str]] = {
    "inline": ("passes.inline", "inline_calls"),
    "loops": ("passes.loops", "simplify_loops"),
    "conditionals": ("passes.conditionals", "simplify_conditionals"),
    "arguments": ("passes.arguments", "simplify_arguments"),
    "variadic": ("passes.variadic", "remove_unneeded_operands"),
    "dedup": ("passes.cse", "merge_computations"),
    "zero-sized": ("passes.zero_sized", "replace_empty_arrays"),
    "algsimp": ("pipeline", "apply_all_rules"),
    "fold": ("passes.fold", "fold_constants"),
    "cse": ("passes.cse", "merge_instructions"),
    "dce": ("passes.dce", "remove_dead_code"),
    "defuse": ("passes.defuse", "undo_fusions"),
    "hoist": ("passes.loops", "hoist_invariants"),
    "unroll": ("passes.trip_counts", "unroll_loops"),
    "annotate": ("passes.trip_counts", "annotate_trip_counts"),
    "expand-barrier": ("passes.expand", "expand_barriers"),
    "expand-batch-norm": ("passes.expand_batch_norm", "expand_batch_norms"),
    "expand-bitcast": ("passes.expand", "expand_bitcasts"),
    "expand-clamp": ("passes.expand", "expand_clamps"),
    "expand-compare": ("passes.expand", "expand_total_order"),
    "expand-dot": ("passes.expand_dot", "expand_dots"),
    "expand-gather": ("passes.expand_indexing", "expand_gathers"),
    "expand-iota": ("passes.expand", "expand_iotas"),
    "expand-logistic": ("passes.expand", "expand_logistics"),
    "expand-pad": ("passes.expand", "expand_paddings"),
    "expand-scatter": ("passes.expand_indexing", "expand_scatters"),
}
"""The passes, each with its module and function. Each file in the folder `rules` is a pass, too."""

_OTHER_NAMES = {
    "algsimp": "algebraic-simplifier algebraic-simplification simplify canonicalize canonicalizer instcombine instsimplify",
    "annotate": "while-loop-trip-count-annotator",
    "calls": "map-inliner",
    "collectives": "all-reduce-simplifier all-gather-simplifier collective-simplifier",
    "conditionals": "conditional-simplifier simplify-conditional simplifycfg",
    "cse": "common-subexpression-elimination early-cse gvn",
    "dce": "dead-code-elimination symbol-dce adce",
    "dedup": "computation-deduplicator deduplicate",
    "defuse": "defuser",
    "expand-dot": "dot-decomposer",
    "expand-gather": "gather-expander",
    "expand-scatter": "scatter-expander",
    "fold": "constant-folding constant-fold constprop sccp",
    "gather_scatter": "gather-simplifier scatter-simplifier",
    "hoist": "while-loop-invariant-code-motion loop-invariant-code-motion licm",
    "identities": "tuple-simplifier",
    "inline": "call-inliner inliner",
    "loops": "while-loop-simplifier simplify-while-loops",
    "rearranged_operands": "reshape-mover convert-mover",
    "sort": "sort-simplifier simplify-sorts",
    "unroll": "while-loop-unroller loop-unroll",
    "zero-sized": "zero-sized-elimination",
}
"""The names of corresponding passes in XLA, MLIR and LLVM."""

_CORRESPONDING = {other: name for name, others in _OTHER_NAMES.items() for other in others.split()}
_FOLDER = Path(__file__).parent
_MODULE_SUMMARY = re.compile(r'"""(.*?)(?:"""|$)', re.MULTILINE)


def meant_pass(word: str, names: list[str]) -> str | None:
    """Returns the pass that a user probably means by a name, or None.

    The name may be misspelled, or be the name of the corresponding pass in XLA, MLIR or LLVM.

    >>> meant_pass("tuple-simplifier", ["dce", "identities"]), meant_pass("HloDCE", ["dce"]), meant_pass("dec", ["dce"])
    ('identities', 'dce', 'dce')
    """
    plain = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", word).lower().replace("_", "-").removeprefix("hlo-").removesuffix("-pass").replace("-hlo-", "-")
    known = {name.replace("_", "-"): name for name in names}
    meant = known.get(plain) or _CORRESPONDING.get(plain)
    return meant if meant in names else nearest(word, names)


def pass_summaries() -> dict[str, str]:
    """Returns the passes and topics of hlotool, each with the first line of its documentation.

    The lines are read from the files, without importing them.

    >>> pass_summaries()["algsimp"], "identities" in pass_summaries()
    ('Applies all rewrite rules until none of them matches.', True)
    """
    texts: dict[str, str] = {}
    summaries = {}
    for name, (module, function) in BUILT_IN.items():
        if module not in texts:
            texts[module] = _FOLDER.joinpath(*module.split(".")).with_suffix(".py").read_text(encoding="utf-8")
        match = re.compile(rf'def {function}\([^"]*"""(.*?)(?:"""|$)', re.MULTILINE).search(texts[module])
        summaries[name] = match[1] if match is not None else ""
    for path in sorted((_FOLDER / "rules").glob("[!_]*.py")):
        match = _MODULE_SUMMARY.match(path.read_text(encoding="utf-8"))
        summaries[path.stem] = match[1] if match is not None else ""
    return summaries
