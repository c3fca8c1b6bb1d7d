"""Checks cases of the differ: two modules separated by `// to`, and the output of `hlotool diff`.

A comment such as `// layout: width=60 context=1 side_by_side=1` sets fields of the layout.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random

from case_files import Case
from patching import patch_faults
from schemas import check_schema

from checks.common import Mismatch, parsed, same
from hlotool.differ.compare import diff
from hlotool.differ.delta import Delta
from hlotool.differ.rendering.difference_report import report_of
from hlotool.differ.rendering.html_page import page
from hlotool.differ.rendering.markdown_report import markdown
from hlotool.differ.rendering.rows import Layout
from hlotool.differ.rendering.text_report import text_rows

__all__ = ["compared", "difference_text"]

_TO = "// to\n"
_IGNORE = re.compile(r"^// ignore: ([a-z_, ]+)$", re.MULTILINE)
_LAYOUT = re.compile(r"^// layout: (.+)$", re.MULTILINE)
_SCHEMA = json.loads(Path(diff.__code__.co_filename).with_name("diff.schema.json").read_text(encoding="utf-8"))
_MIRRORED = {"inserted": "deleted", "deleted": "inserted"}
_WIDTH = 100


def compared(path: Path, case: Case) -> None:
    delta = _delta(case)
    same((case.output or "").strip(), _text(case, delta).strip(), "the difference")
    document = delta.to_dict()
    check_schema(json.loads(json.dumps(document)), _SCHEMA)
    mirrored = sorted(_MIRRORED.get(name, name) for name in delta.categories)
    if [*_delta(case, swapped=True).categories] != mirrored:
        raise Mismatch(f"in the reverse direction, the categories are {_delta(case, swapped=True).categories}")
    if not _IGNORE.search(case.text):
        faults = [*patch_faults(delta, Random(1))]
        if faults:
            raise Mismatch("\n".join(faults))
    # If instructions changed, reports in the other formats must contain the name of at least one.
    report = report_of(delta)
    names = [position[1] for row in document["changed"] for position in (row["left"], row["right"])]
    for text in (markdown(report, "a.hlo", "b.hlo"), page(report, "a.hlo", "b.hlo")):
        if names and not any(name in text for name in names):
            raise Mismatch(f"none of {names} occurs in the report, which begins with {text[:200]}")


def difference_text(path: Path, case: Case) -> str | None:
    """Returns the difference, for `--update`."""
    return _text(case, _delta(case))


def _delta(case: Case, *, swapped: bool = False) -> Delta:
    first, separator, second = case.text.partition(_TO)
    if not separator:
        raise Mismatch("the `// to` line between the two modules is missing")
    ignored = _IGNORE.search(case.text)
    left, right = (parsed(text) for text in ((second, first) if swapped else (first, second)))
    return diff(left, right, ignore=[name.strip() for name in ignored[1].split(",")] if ignored else ())


def _text(case: Case, delta: Delta) -> str:
    chosen = _LAYOUT.search(case.text)
    fields = (field.partition("=") for field in chosen[1].split()) if chosen else ()
    layout = Layout(_WIDTH)._replace(**{name: int(value) for name, _, value in fields})
    return "".join(f"{row.text}\n" for row in text_rows(report_of(delta), layout))
