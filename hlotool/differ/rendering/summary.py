"""The difference in a sentence, as a person would tell it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from hlotool.differ.categories import MINOR
from hlotool.differ.delta import Delta
from hlotool.differ.rendering.notes import SIDE_ISSUES
from hlotool.differ.rendering.report import Report

__all__ = ["count_of", "region_sentence", "region_sentences", "summary"]

_MOST_HEADLINES = 3
_MOST_REGIONS = 3
_WORDS = {
    "backend_config": "backend configurations",
    "element_type": "element types",
    "frontend_attributes": "frontend attributes",
    "layout": "layouts",
    "moved": "what is in which computation",
    "schedule": "the schedule",
    "sharding": "shardings",
}
_REGIONS = {
    "cloned": ("computation was cloned", "computations were cloned"),
    "fused": ("fusion was formed", "fusions were formed"),
    "inlined": ("computation was inlined", "computations were inlined"),
    "merged": ("computation was merged", "computations were merged"),
    "outlined": ("computation was outlined", "computations were outlined"),
    "unfused": ("fusion was taken apart", "fusions were taken apart"),
}


def summary(report: Report, *, is_brief: bool = False) -> str:
    """The sentence; empty if nothing differs.

    A brief one begins with what happened to whole computations, and says nothing of names and metadata where there are other differences.

    >>> import hlotool
    >>> from hlotool.differ.rendering.report import report_of
    >>> left = hlotool.parse("ENTRY e { p = f32[] parameter(0) ROOT n = f32[] negate(p) }")
    >>> right = hlotool.parse("ENTRY e { q = f32[] parameter(0) ROOT m = f32[] abs(q) }")
    >>> summary(report_of(hlotool.diff(left, right)))
    '1 instruction changed (negate -> abs); nothing else but names'
    """
    delta = report.delta
    # Regions tell what moved.
    told = {"moved"} if report.regions else set()
    side_issues = [_WORDS.get(name, name) for name in delta.categories if name in SIDE_ISSUES - told]
    clauses = [*_changed(report), *_one_sided(report), *_others(report)]
    clauses = [*_regions(report), *clauses] if is_brief else [*clauses, *_regions(report)]
    if not clauses:
        return f"equal but for {_joined(side_issues)}" if side_issues else ""
    if is_brief:
        side_issues = [_WORDS.get(name, name) for name in delta.categories if name in SIDE_ISSUES - told - MINOR]
    return ", ".join(clauses) + (f"; nothing else but {_joined(side_issues)}" if side_issues else "")


def _changed(report: Report) -> list[str]:
    """How many instructions have changed in what they compute, and how."""
    headlines: Counter[str] = Counter()
    homes: dict[str, set[str]] = {}
    for node, changes in report.delta.changed.items():
        if SIDE_ISSUES.issuperset(change["kind"] for change in changes):
            continue
        headline = report.notes.headline(node, changes)
        headlines[headline] += 1
        homes.setdefault(headline, set()).add(report.title(report.delta.graph.home[node], -1).removesuffix(" (ENTRY)"))
    if not headlines:
        return []
    total = headlines.total()
    if len(headlines) == 1:
        (headline,) = headlines
        where = f" in {next(iter(homes[headline]))}" if total > 1 and len(homes[headline]) == 1 else ""
        return [f"{count_of(total, 'instruction')} changed ({headline}{where})"]
    common = headlines.most_common(_MOST_HEADLINES)
    parts = [f"{number}x {headline}" if number > 1 else headline for headline, number in common]
    rest = total - sum(number for _, number in common)
    if rest:
        parts.append(count_of(rest, "other"))
    return [f"{count_of(total, 'instruction')} changed ({', '.join(parts)})"]


def _one_sided(report: Report) -> list[str]:
    delta = report.delta
    clauses = []
    for kind, nodes in (("inserted", delta.inserted), ("deleted", delta.deleted)):
        if nodes and kind not in delta.ignored:
            clauses.append(f"{len(nodes)} {kind} ({_opcodes(delta, nodes)})")
    return clauses


def _opcodes(delta: Delta, nodes: Iterable[int]) -> str:
    counts = Counter(delta.graph.nodes[node].op.name for node in nodes)
    common = counts.most_common(_MOST_HEADLINES)
    rest = counts.total() - sum(number for _, number in common)
    parts = [f"{number}x {opcode}" if number > 1 else opcode for opcode, number in common]
    return ", ".join([*parts, count_of(rest, "other")] if rest else parts)


def _others(report: Report) -> list[str]:
    clauses = []
    if report.delta.new_roots:
        clauses.append("another root" if len(report.delta.new_roots) == 1 else f"{len(report.delta.new_roots)} other roots")
    keys = [change["key"] for change in report.header if change["kind"] not in SIDE_ISSUES]
    if keys:
        clauses.append(f"the header changed ({', '.join(keys)})")
    return clauses


def _regions(report: Report) -> list[str]:
    if not (report.delta.inserted or report.delta.deleted or report.delta.changed):
        return []
    kinds = Counter(str(region["kind"]) for region in report.regions)
    return [f"{number} {_REGIONS[kind][number > 1]}" for kind, number in sorted(kinds.items())]


# ---- regions ---------------------------------------------------------------------------------------------------------


def region_sentences(report: Report, most: int | None = _MOST_REGIONS) -> list[str]:
    """A sentence for each region, at most `most` of each kind."""
    by_kind: dict[str, list[str]] = {}
    for region in report.regions:
        by_kind.setdefault(str(region["kind"]), []).append(region_sentence(str(region["kind"]), region["left"], region["right"]))
    sentences = []
    for kind, found in sorted(by_kind.items()):
        number = len(found) if most is None or len(found) <= most + 1 else most
        sentences += found[:number]
        if len(found) > number:
            sentences.append(f"... and {len(found) - number} more {kind}")
    return sentences


def region_sentence(kind: str, left: Sequence[str] | str, right: Sequence[str] | str) -> str:
    """What happened to a computation.

    >>> region_sentence("inlined", ["f"], ["main"])
    'f inlined into main'
    >>> region_sentence("cloned", ["f"], ["f", "f.clone"])
    'f cloned as f.clone'
    """
    first, second = (_joined(list(side)) for side in (left, right))
    if kind in ("outlined", "fused"):
        return f"{second} {kind} from {first}"
    if kind == "cloned":
        return f"{first} cloned as {_joined([name for name in right if name not in left])}"
    return f"{first} {kind} into {second}"


def count_of(number: int, noun: str) -> str:
    """A number with its noun.

    >>> count_of(1, "computation"), count_of(2, "computation")
    ('1 computation', '2 computations')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _joined(words: Sequence[str]) -> str:
    if len(words) > 1:
        return f"{', '.join(words[:-1])} and {words[-1]}"
    return words[0] if words else "none"
