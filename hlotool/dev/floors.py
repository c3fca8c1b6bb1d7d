"""A comparison of the report of a conformance check with floors: pass rates of earlier reports."""

from __future__ import annotations

import json
import re
from pathlib import Path

from hlotool.opdefs.inference import count

__all__ = ["check_floors", "compare", "read_tallies"]

_TALLY = re.compile(r"^(?P<kind>\S+) +(?P<good>\d+) of (?P<all>\d+) +[\d.]+ %", re.MULTILINE)
Tally = tuple[int, int]


def read_tallies(report: str) -> dict[str, Tally]:
    """Returns the numbers of passing cases and of all cases, for each kind of check in a report.

    >>> read_tallies("accept      5370 of 5375    99.91 %")
    {'accept': (5370, 5375)}
    """
    return {m["kind"]: (int(m["good"]), int(m["all"])) for m in _TALLY.finditer(report)}


def compare(tallies: dict[str, Tally], floors: dict[str, Tally]) -> list[str]:
    """Returns messages about the checks that have fallen below their floors.

    Pass rates are compared, since the number of cases may differ.

    >>> compare({"accept": (9, 10)}, {"accept": (10, 10), "print": (1, 2)})
    ['accept: 9 of 10, the floor is 10 of 10', 'print: not in the report']
    """
    fallen = []
    for kind, (least, of) in floors.items():
        if kind not in tallies:
            fallen.append(f"{kind}: not in the report")
            continue
        good, total = tallies[kind]
        if good * of < least * total:
            fallen.append(f"{kind}: {good} of {total}, the floor is {least} of {of}")
    return fallen


def check_floors(path: Path, report: str, *, update: bool) -> int:
    """Prints the checks that have fallen below the floors in a file; returns 1 if there are any.

    If there are none, returns 0 and, if `update` is set, writes the numbers of the report as the
    new floors.
    """
    floors = {kind: (least, of) for kind, (least, of) in json.loads(path.read_text(encoding="utf-8")).items()}
    tallies = read_tallies(report)
    fallen = compare(tallies, floors)
    for line in fallen:
        print(line)
    if update and not fallen:
        # The file determines the kinds to check, so no other kinds are added.
        rows = ",\n".join(f"  {json.dumps(kind)}: {json.dumps(list(tallies[kind]))}" for kind in sorted(floors))
        path.write_text(f"{{\n{rows}\n}}\n", encoding="utf-8")
    print(f"at or above the floor: {len(floors) - len(fallen)} of {count(len(floors), 'kind')} of checks")
    return 1 if fallen else 0
