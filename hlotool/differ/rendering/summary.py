"""Summarizes a difference in one sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from hlotool.differ.categories import MINOR
from hlotool.differ.rendering.change_notes import SIDE_ISSUES
from hlotool.differ.rendering.difference_report import Report
from hlotool.differ.rendering.layers import layers
from hlotool.ir.model import Instruction
from hlotool.opdefs.base import OpDef
from hlotool.opdefs.traits import COLLECTIVE, STRUCTURAL, TRANSCENDENTAL
from hlotool.shapes.shape import Shape

__all__ = ["count_of", "opcode_list", "region_sentences", "summary"]

_MAX_HEADLINES = 3
_MAX_IN_NUMBERS = 2
_MAX_REGIONS = 3
_MAX_NAMES = 3
# A sentence with more characters than this is replaced with a less detailed one.
_MAX_LENGTH = 180
# The kinds of changes in an instruction whose shape is sharded.
_RESIZED = frozenset({"operands", "shape"})
_WORDS = {
    "backend_config": "backend configurations",
    "element_type": "element types",
    "frontend_attributes": "frontend attributes",
    "layout": "layouts",
    "moved": "the grouping into computations",
    "schedule": "the schedule",
    "sharding": "shardings",
}
_REGIONS = {
    "cloned": ("computation cloned", "computations cloned"),
    "fused": ("fusion formed", "fusions formed"),
    "inlined": ("computation inlined", "computations inlined"),
    "merged": ("computation merged", "computations merged"),
    "outlined": ("computation outlined", "computations outlined"),
    "unfused": ("fusion unfused", "fusions unfused"),
}


def summary(report: Report, *, mentions_minor: bool = True, is_brief: bool = False) -> str:
    """Returns the sentence, or an empty string if nothing differs.

    Unless `mentions_minor` is true, the sentence does not mention names and metadata if there are
    other differences. A brief sentence, whose end may be cut off, begins with the changes to whole
    computations and lists the changed instructions, even if there are many.

    >>> import hlotool
    >>> from hlotool.differ.rendering.difference_report import report_of
    >>> left = hlotool.parse("ENTRY e { p = f32[] parameter(0) ROOT n = f32[] negate(p) }")
    >>> right = hlotool.parse("ENTRY e { q = f32[] parameter(0) ROOT m = f32[] abs(q) }")
    >>> summary(report_of(hlotool.diff(left, right)))
    '1 instruction changed (negate -> abs); the rest differs only in names'
    """
    delta = report.delta
    # The regions already explain the moved instructions.
    reported = {"moved"} if report.regions else set()
    side_issues = [_WORDS.get(name, name) for name in delta.categories if name in SIDE_ISSUES - reported]
    sharded, resharded = _describe_sharding(report)
    whole = [*_layers(report), *sharded]
    clauses = [*_describe_changes(report, resharded), *([] if layers(delta) else _one_sided(report, resharded)), *_others(report)]
    clauses = [*whole, *_regions(report), *clauses] if is_brief else [*whole, *clauses, *_regions(report)]
    if not clauses:
        return f"equal except for {_join(side_issues)}" if side_issues else ""
    if not mentions_minor:
        side_issues = [_WORDS.get(name, name) for name in delta.categories if name in SIDE_ISSUES - reported - MINOR]
    sentence = ", ".join(map(" ".join, clauses))
    if is_brief or len(sentence) <= _MAX_LENGTH:
        return sentence + (f"; the rest differs only in {_join(side_issues)}" if side_issues else "")
    return "; ".join([*(" ".join(clause) for clause in whole), _in_numbers(report)]) + (f"; also {_join(side_issues)}" if side_issues else "")


def _in_numbers(report: Report) -> str:
    """Describes the numbers of unchanged, changed, deleted and inserted instructions."""
    delta = report.delta
    before, after = delta.graph.split, len(delta.graph.nodes) - delta.graph.split
    changed = sum(bool(_kinds(changes)) for changes in delta.changed.values())
    same = before - len(delta.deleted) - changed
    title = "largely rewritten: " if 2 * same <= min(before, after) else ""
    rest = ", ".join(clause[0] for clause in (*_others(report), *_regions(report)))
    # The sentence already describes layers and shards completely.
    is_said = bool(_layers(report) or _describe_sharding(report)[0])
    how = "" if is_said else "".join(clause[1] for clause in _describe_changes(report, most=_MAX_IN_NUMBERS))
    nodes = delta.graph.nodes
    deleted, inserted = ("" if is_said else opcode_list((nodes[x] for x in found), _MAX_IN_NUMBERS) for found in (delta.deleted, delta.inserted))
    return (
        f"{title}{same:,} of {count_of(before, 'instruction')} unchanged; {_with_details(f'{changed:,} changed', how)}, "
        f"{_with_details(f'{len(delta.deleted):,} deleted', deleted)}, "
        f"{_with_details(f'{len(delta.inserted):,} inserted', inserted)}, now {after:,} in total" + (f"; {rest}" if rest else "")
    )


def _with_details(clause: str, details: str) -> str:
    details = details.removeprefix("(").removesuffix(")")
    return f"{clause} ({details})" if details else clause


_Clause = tuple[str, ...]
"""A change and, optionally, its details."""


def _layers(report: Report) -> list[_Clause]:
    """Describes the layers by which one of the modules is longer."""
    found = layers(report.delta)
    if found is None:
        return []
    position = f"after layer {found.before}" if found.before else "before layer 1"
    return [(f"{count_of(found.number, 'layer')} {'added' if found.is_added else 'removed'}", f"({count_of(found.size, 'instruction')}) {position}")]


def _describe_sharding(report: Report) -> tuple[list[_Clause], set[int]]:
    """Describes sharded or unsharded shapes, and the collectives that only one module has.

    Also returns the nodes whose changes are described completely.
    """
    delta = report.delta
    nodes, partner = delta.graph.nodes, delta.pairs.partner
    resized = [x for x, changes in delta.changed.items() if any(change["kind"] == "shape" for change in changes)]
    pairs = [(nodes[x].shape, nodes[partner[x]].shape) for x in resized]
    divided = [(a, b) for a, b in pairs if _is_part(b, a)]
    joined = [(a, b) for a, b in pairs if _is_part(a, b)]
    shown, word = (divided, "sharded") if len(divided) >= len(joined) else (joined, "unsharded")
    collectives: list[_Clause] = []
    named: set[int] = set()
    for kind, one_sided in (("inserted", delta.inserted), ("deleted", delta.deleted)):
        found = [x for x in one_sided if COLLECTIVE in nodes[x].op.traits]
        if found and kind not in delta.ignored:
            collectives.append((f"{count_of(len(found), 'collective')} {kind}", f"({opcode_list(nodes[x] for x in found)})"))
            named.update(found)
    if not collectives or 2 * len(shown) <= len(pairs):
        return [], set()
    examples = Counter(f"{a.text_without_layout} -> {b.text_without_layout}" for a, b in shown).most_common(2)
    clauses = [(f"{count_of(len(shown), 'shape')} {word}", f"({', '.join(text for text, _ in examples)})"), *collectives]
    named.update(x for x, pair in zip(resized, pairs, strict=True) if pair in shown and _RESIZED.issuperset(_kinds(delta.changed[x])))
    return clauses, named


def _kinds(changes: Iterable[Mapping[str, Any]]) -> set[str]:
    return {change["kind"] for change in changes} - SIDE_ISSUES


def _is_part(shard: Shape, whole: Shape) -> bool:
    """Returns whether `shard` has the dimensions of `whole`, with some of them divided."""
    if not (shard.is_array and whole.is_array) or shard.rank != whole.rank or shard.dimensions == whole.dimensions:
        return False
    return all(0 < a <= b and b % a == 0 for a, b in zip(shard.dimensions, whole.dimensions, strict=True))


def _describe_changes(report: Report, named: Collection[int] = (), most: int = _MAX_HEADLINES) -> list[_Clause]:
    """Describes the changes to what instructions compute, except for the nodes in `named`."""
    headlines: Counter[str] = Counter()
    # New opcodes come first: they are often the cause of changed operands.
    replaced: set[str] = set()
    homes: dict[str, set[str]] = {}
    for node, changes in report.delta.changed.items():
        if node in named or not _kinds(changes):
            continue
        headline = report.notes.headline(node, changes)
        headlines[headline] += 1
        if any(change["kind"] == "opcode" for change in changes):
            replaced.add(headline)
        homes.setdefault(headline, set()).add(report.title(report.delta.graph.home[node], -1).removesuffix(" (ENTRY)"))
    if not headlines:
        return []
    total = headlines.total()
    if len(headlines) == 1:
        (headline,) = headlines
        where = f" in {next(iter(homes[headline]))}" if total > 1 and len(homes[headline]) == 1 else ""
        return [(f"{count_of(total, 'instruction')} changed", f"({headline}{where})")]
    common = sorted(headlines.most_common(), key=lambda item: item[0] not in replaced)[:most]
    parts = [f"{number}x {headline}" if number > 1 else headline for headline, number in common]
    rest = total - sum(number for _, number in common)
    if rest:
        parts.append(count_of(rest, "other"))
    return [(f"{count_of(total, 'instruction')} changed", f"({', '.join(parts)})")]


def _one_sided(report: Report, named: Collection[int]) -> list[_Clause]:
    delta = report.delta
    clauses: list[_Clause] = []
    for kind, one_sided in (("inserted", delta.inserted), ("deleted", delta.deleted)):
        nodes = [node for node in one_sided if node not in named]
        if nodes and kind not in delta.ignored:
            clauses.append((f"{len(nodes):,} {kind}", f"({opcode_list(delta.graph.nodes[node] for node in nodes)})"))
    return clauses


def opcode_list(instructions: Iterable[Instruction], most: int = _MAX_HEADLINES) -> str:
    """Returns the opcodes with their counts, the most significant first, structural ones last."""
    counts = Counter(x.op for x in instructions)
    ordered = sorted(counts.most_common(), key=lambda item: _rank(item[0]))[:most]
    rest = counts.total() - sum(number for _, number in ordered)
    parts = [f"{number:,}x {op.name}" if number > 1 else op.name for op, number in ordered]
    return ", ".join([*parts, count_of(rest, "other")] if rest else parts)


def _rank(op: OpDef) -> int:
    ranks = (COLLECTIVE, TRANSCENDENTAL)
    return next((rank for rank, trait in enumerate(ranks) if trait in op.traits), len(ranks) + (STRUCTURAL in op.traits))


def _others(report: Report) -> list[_Clause]:
    clauses: list[_Clause] = []
    if report.delta.new_roots:
        clauses.append(("new root" if len(report.delta.new_roots) == 1 else f"{len(report.delta.new_roots)} new roots",))
    keys = [change["key"] for change in report.header if change["kind"] not in SIDE_ISSUES]
    if keys:
        clauses.append(("the header changed", f"({', '.join(keys)})"))
    return clauses


def _regions(report: Report) -> list[_Clause]:
    if not (report.delta.inserted or report.delta.deleted or report.delta.changed):
        return []
    kinds = Counter(str(region["kind"]) for region in report.regions)
    return [(f"{number:,} {_REGIONS[kind][number > 1]}",) for kind, number in sorted(kinds.items())]


# ---- regions -----------------------------------------------------------------------------------


def region_sentences(report: Report, most: int | None = _MAX_REGIONS) -> list[str]:
    """Returns a sentence for each group of computations with the same origin or destination.

    There are at most `most + 1` sentences for each kind, beginning with those about the most
    computations. If `most` is None, there is no limit, and each sentence names all its
    computations.
    """
    by_kind: dict[str, dict[tuple[str, ...], list[str]]] = {}
    for region in report.regions:
        kind = str(region["kind"])
        here, there = (region["right"], region["left"]) if kind in _INTO else (region["left"], region["right"])
        by_kind.setdefault(kind, {}).setdefault(tuple(here), []).extend(
            name for name in there if kind not in ("cloned", "merged") or name not in here
        )
    sentences = []
    for kind, positions in sorted(by_kind.items()):
        ordered = sorted(positions.items(), key=lambda item: -len(item[1]))
        number = len(ordered) if most is None or len(ordered) <= most + 1 else most
        sentences += [_region_sentence(kind, position, list(dict.fromkeys(names)), most) for position, names in ordered[:number]]
        if len(ordered) > number:
            rest = sum(len(names) for _, names in ordered[number:])
            sentences.append(f"... and {rest} more {kind}")
    return sentences


_INTO = frozenset({"inlined", "unfused", "merged"})


def _region_sentence(kind: str, position: Sequence[str], names: Sequence[str], most: int | None) -> str:
    """Describes what happened to computations: `f and g inlined into main`."""
    shown = list(names) if most is None or len(names) <= most + 1 else [*names[:most], f"{len(names) - most:,} more"]
    if kind in _INTO:
        return f"{_join(shown)} {kind} into {_join(position)}"
    if kind == "cloned":
        return f"{_join(position)} cloned as {_join(shown)}"
    return f"{_join(shown)} {kind} from {_join(position)}"


def count_of(number: int, noun: str) -> str:
    """Returns a number with its noun.

    >>> count_of(1, "computation"), count_of(2, "computation")
    ('1 computation', '2 computations')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _join(words: Sequence[str]) -> str:
    if len(words) > 1:
        return f"{', '.join(words[:-1])} and {words[-1]}"
    return words[0] if words else "none"
