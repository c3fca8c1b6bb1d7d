"""Groups similar findings, and shows only the first of each large group."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from hlotool.workspace.findings import FileFinding

__all__ = ["collapse"]

# Groups of more findings than this are collapsed.
_MAX_SIMILAR = 3
_VARIABLE = re.compile(r"'[^']*'|\([^()]*\)|[a-z][a-z0-9]*\[[^\]]*\](?:\{[^}]*\})?|[0-9]+")


def collapse(findings: Sequence[FileFinding]) -> Iterator[FileFinding]:
    """Yields the findings of a file, but only the first of each large group of similar findings.

    Such a finding is shown with the number of the other findings in its group.

    >>> from hlotool.errors import Diagnostic
    >>> findings = [FileFinding(Diagnostic("T003", "result-shape", "error", f"'a.{k}' is wrong", computation="e"), "") for k in range(5)]
    >>> [f.similar for f in collapse(findings)]
    ["4 more like it in 'e'"]
    """
    groups: dict[tuple[str, str], list[FileFinding]] = {}
    for finding in findings:
        d = finding.diagnostic
        groups.setdefault((d.code, _VARIABLE.sub("_", d.message)), []).append(finding)
    if all(len(group) <= _MAX_SIMILAR for group in groups.values()):
        yield from findings
        return
    similar = {id(group[0]): group for group in groups.values() if len(group) > _MAX_SIMILAR}
    hidden = {id(finding) for group in similar.values() for finding in group[1:]}
    for finding in findings:
        if id(finding) in similar:
            yield finding._replace(similar=_others(similar[id(finding)][1:]))
        elif id(finding) not in hidden:
            yield finding


def _others(group: Sequence[FileFinding]) -> str:
    names = list(dict.fromkeys(f.diagnostic.computation for f in group if f.diagnostic.computation))
    shown = " and ".join(f"'{name}'" for name in names[:2]) if len(names) <= 2 else f"'{names[0]}' and {len(names) - 1} other computations"
    return f"{len(group)} more like it" + (f" in {shown}" if names else "")
