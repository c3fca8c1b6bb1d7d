"""Statistics, rewrites, and lists of passes and rules of `hlotool opt`, as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

import click

from hlotool.cli.output import counted, visible
from hlotool.optimizer.opt_options import FAST_MATH
from hlotool.optimizer.opt_report import Rewritten, WhyNot
from hlotool.optimizer.pipeline import DEFAULT_LEVEL, PASSES, PIPELINES, pass_names, pass_summary
from hlotool.optimizer.registry import Rule, all_rules
from hlotool.workspace.optimizing import ModuleRecord

__all__ = ["explanation_lines", "list_passes", "list_rules", "module_json", "reason_lines", "statistics_lines"]


def _table(rows: Sequence[Sequence[str]], left: int) -> Iterator[str]:
    """Yields rows with aligned columns; the first `left` columns are text, the others numbers."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))] if rows else []
    for row in rows:
        cells = [cell.ljust(width) if k < left else cell.rjust(width) for k, (cell, width) in enumerate(zip(row, widths, strict=True))]
        yield visible("  ".join(cells).rstrip())


# ---- --stats -----------------------------------------------------------------------------------


def statistics_lines(file: str, module: ModuleRecord, *, verbose: bool) -> Iterator[str]:
    """Yields the numbers of instructions, then a row for each pass and a row for each rule.

    The passes and rules with the most rewrites come first. Rules that never matched are shown only
    if `verbose` is True.
    """
    report = module.report
    yield visible(
        f"{file}: module '{module.name}': {counted(report.instructions_before, 'instruction')} before, "
        f"{report.instructions_after} after, {counted(report.count, 'rewrite')}"
    )
    passes = [(name, str(row.tries), str(row.hits), _time(row.seconds)) for name, row in report.sorted_passes]
    if passes:
        yield from _table([("pass", "runs", "rewrites", "time"), *passes], 1)
    rules = report.sorted_rules
    hits = [(name, row) for name, row in rules if row.hits or verbose]
    rows = [(name, str(row.tries), str(row.hits), _time(row.seconds)) for name, row in hits]
    others = [row for _, row in rules if not row.hits]
    if rows:
        yield from _table([("rule", "tries", "rewrites", "time"), *rows], 1)
    if others and not verbose:
        tries, seconds = sum(row.tries for row in others), sum(row.seconds for row in others)
        yield f"{counted(len(others), 'other rule')} never matched: {counted(tries, 'try', 'tries')}, {_time(seconds)}"


def _time(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.1f} ms"


# ---- --explain and --explain-why-not -----------------------------------------------------------


def explanation_lines(file: str, rewrites: Iterable[Rewritten], *, color: bool) -> Iterator[str]:
    """Yields the lines of each rewrite: its location and rule, the old and the new instructions."""
    paint: Callable[[str, str], str] = (lambda text, tone: click.style(text, fg=tone)) if color else (lambda text, tone: text)
    for rewrite in rewrites:
        yield f"{_location(file, rewrite.line)}: {visible(rewrite.rule)} in '{visible(rewrite.computation)}'"
        yield paint(f"  - {visible(rewrite.before)}", "red")
        yield from (paint(f"  + {visible(line)}", "green") for line in rewrite.after)


def _location(file: str, line: int) -> str:
    return visible(f"{file}:{line}" if line else file)


def reason_lines(file: str, reasons: Sequence[WhyNot], *, verbose: bool) -> Iterator[str]:
    """Yields the reasons why the instructions with the requested name are not rewritten.

    Each pass and each matching rule gets a line with the reason. Rules that do not match are only
    counted, unless `verbose` is True.
    """
    shown = [reason for reason in reasons if verbose or reason.is_match is not False]
    longest = max((len(reason.name) for reason in shown), default=0)
    for (line, instruction, computation), group in groupby(reasons, key=lambda reason: (reason.line, reason.instruction, reason.computation)):
        yield f"{_location(file, line)}: '{visible(instruction)}'" + (f" in '{visible(computation)}'" if computation else "")
        others = 0
        for reason in group:
            if reason.is_match is False and not verbose:
                others += 1
                continue
            verdict = "" if reason.is_match is None else "matches, but " if reason.is_match else "does not match: "
            yield visible(f"  {reason.name:<{longest}}  {verdict}{reason.reason}")
        if others:
            yield f"  {counted(others, 'rule')} for its opcode {'does' if others == 1 else 'do'} not match; -v shows them"


# ---- JSON --------------------------------------------------------------------------------------


def module_json(file: str, module: ModuleRecord) -> dict[str, Any]:
    """Returns the record of one module for --json."""
    return {"file": file, "module": module.name, "compared_inputs": module.compared, **module.report.as_json()}


# ---- lists -------------------------------------------------------------------------------------


def list_passes(*, as_json: bool) -> str:
    """Returns a list of all passes, groups of rewrite rules, and pipelines."""
    pipelines = {f"-O{level}": list(names) for level, names in PIPELINES.items()}
    if as_json:
        rows = [{"name": name, "is_topic": name not in PASSES, "summary": pass_summary(name)} for name in pass_names()]
        return json.dumps({"passes": rows, "pipelines": pipelines}, indent=1) + "\n"
    rows_of_text = [(name, pass_summary(name)) for name in pass_names()]
    own = [row for row in rows_of_text if row[0] in PASSES]
    topics = [row for row in rows_of_text if row[0] not in PASSES]
    lines = ["passes:", *_table([("  " + name, text) for name, text in own], 2)]
    lines += ["groups of rewrite rules, which can also be used as passes:", *_table([("  " + name, text) for name, text in topics], 2)]
    lines += ["pipelines:", *(f"  {flag}  {','.join(names) or 'no passes'}" for flag, names in pipelines.items())]
    lines[-len(pipelines) + DEFAULT_LEVEL] += "  (default)"
    return "\n".join(lines) + "\n"


def list_rules(*, as_json: bool) -> str:
    """Returns all rewrite rules with their topics, flags and summaries, followed by the flags."""
    rules = list(all_rules().values())
    if as_json:
        return json.dumps([_rule_json(entry) for entry in rules], indent=1) + "\n"
    rows = [(entry.name, entry.topic, ",".join(sorted(entry.flags)) or "exact", entry.summary) for entry in rules]
    flags = [(f"  {flag}", text) for flag, text in FAST_MATH.items()]
    return "\n".join([*_table(rows, 4), "flags of --fast-math, each required by the rules that list it:", *_table(flags, 2)]) + "\n"


def _rule_json(entry: Rule) -> dict[str, Any]:
    return {
        "name": entry.name,
        "topic": entry.topic,
        "opcodes": list(entry.opcodes),
        "flags": sorted(entry.flags),
        "is_exact": not entry.flags,
        "summary": entry.summary,
        "details": " ".join(entry.details.split()),
    }
