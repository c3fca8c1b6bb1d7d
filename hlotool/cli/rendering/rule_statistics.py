"""`--statistics`: counts the findings of each rule."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any

from hlotool.cli.output import visible
from hlotool.errors import Diagnostic
from hlotool.workspace.findings import FileFinding

__all__ = ["statistics"]


def statistics(findings: Iterable[FileFinding], *, as_json: bool) -> Iterator[str]:
    """Yields a row for each code, the most frequent first.

    A row has the location of the first finding, and a mark if `--fix` can fix some of the findings.
    """
    firsts: dict[str, Diagnostic] = {}
    counts: dict[str, int] = {}
    fixable: dict[str, int] = {}
    for finding in findings:
        d = finding.diagnostic
        firsts.setdefault(d.code, d)
        counts[d.code] = counts.get(d.code, 0) + 1
        fixable[d.code] = fixable.get(d.code, 0) + (d.fix is not None)
    order = sorted(counts, key=lambda code: (-counts[code], code))
    if as_json:
        rows = [_row(firsts[code], counts[code], fixable[code]) for code in order]
        yield import_module("json").dumps(rows, indent=1) + "\n"
        return
    width = max((len(str(count)) for count in counts.values()), default=1)
    longest = max((len(firsts[code].name) for code in order), default=0)
    for code in order:
        d = firsts[code]
        mark = "[*]" if fixable[code] else "[ ]"
        yield f"{counts[code]:>{width}}  {code} {d.name:<{longest}}  {mark} {d.severity:<7}  {visible(d.filename)}:{d.line}:{d.column}\n"
    if any(fixable.values()):
        yield "[*] can be fixed with --fix\n"


def _row(first: Diagnostic, count: int, fixable: int) -> dict[str, Any]:
    location = {"filename": first.filename, "line": first.line, "column": first.column}
    return {"code": first.code, "name": first.name, "severity": first.severity, "count": count, "fixable": fixable, "first": location}
