"""Tests with the corpus: real modules, XLA's verdicts on them, and the text that XLA prints.

The corpus is not part of the repository; these tests are collected only if HLOTOOL_CORPUS names its
folder.
"""

from __future__ import annotations

import json
import lzma
import os
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from checks.building import check_rebuilt
from compare import differences

from hlotool.errors import ParseError, Source
from hlotool.text.parse.parser import parse, parse_source
from hlotool.text.print.print_options import PrintOptions
from hlotool.text.print.printer import to_text

CORPUS = Path(os.environ["HLOTOOL_CORPUS"])
XLA = PrintOptions.xla_default()
DUMPS = sorted((CORPUS / "dumps").glob("*.hlo.xz"))
# The number of parts in which the rows are tested. Each part is a test of its own, so that one
# failure does not hide the failures in other parts.
PARTS = 50


def unpacked(path: Path) -> str:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        return file.read()


@lru_cache(maxsize=1)
def rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in unpacked(CORPUS / "parse.jsonl.xz").splitlines()]


def part(number: int, *classes: str) -> list[dict[str, Any]]:
    return [row for row in rows() if row["cls"] in classes and int(row["id"], 16) % PARTS == number]


def both(text: str) -> str | None:
    """Returns the parse error or the differences between the two paths, or None if both agree."""
    try:
        fast, slow = parse_source(Source(text)), parse_source(Source(text), fast_path=False)
    except ParseError as error:
        return str(error)
    return "; ".join(differences(fast, slow)[:3]) or None


@pytest.mark.parametrize("number", range(PARTS))
def test_accepted_by_both_paths(number: int) -> None:
    wrong = {row["id"]: why for row in part(number, "module", "headerless") if (why := both(row["text"])) is not None}
    assert not wrong


@pytest.mark.parametrize("number", range(PARTS))
def test_prints_as_xla_does(number: int) -> None:
    wrong = []
    for row in part(number, "module", "headerless"):
        if not (row.get("printed") and row.get("print_reparses") and row.get("print_is_fixpoint")) or row.get("source_elided"):
            continue
        if to_text(parse(row["text"]), XLA).strip() != row["printed"].strip():
            wrong.append(row["id"])
    assert not wrong


@pytest.mark.parametrize("number", range(PARTS))
def test_printing_is_lossless(number: int) -> None:
    wrong = []
    for row in part(number, "module", "headerless"):
        text = to_text(parse(row["text"]))
        if to_text(parse(text)) != text:
            wrong.append(row["id"])
    assert not wrong


@pytest.mark.parametrize("number", range(PARTS))
def test_generated_builder_code_rebuilds_the_module(number: int) -> None:
    for row in part(number, "module", "headerless"):
        check_rebuilt(parse(row["text"], row["id"]))


@pytest.mark.parametrize("path", DUMPS, ids=lambda path: path.name)
def test_generated_builder_code_rebuilds_the_dump(path: Path) -> None:
    check_rebuilt(parse(unpacked(path)))


def test_rejected_modules() -> None:
    wrong = []
    for row in rows():
        # A row without an expectation is rejected only by the older build of XLA.
        if row["cls"] == "abort" or (row["cls"] == "negative" and "parse_error" in (row.get("test_expectation") or [])):
            try:
                parse(row["text"])
            except ParseError:
                continue
            wrong.append(row["id"])
    assert not wrong


@pytest.mark.parametrize("path", DUMPS, ids=lambda path: path.name.removesuffix(".hlo.xz"))
def test_dumps(path: Path) -> None:
    text, printed = unpacked(path), unpacked(path.with_name(path.name.replace(".hlo.xz", ".printed.xz")))
    module = parse(text)
    assert module.notes.fast_count > 0.9 * sum(len(computation.instructions) for computation in module.computations)
    assert to_text(module, XLA).strip() == printed.strip()
    lossless = to_text(module)
    assert to_text(parse(lossless)) == lossless


@pytest.mark.parametrize("path", [path for path in DUMPS if path.stat().st_size < 100_000], ids=lambda path: path.name.removesuffix(".hlo.xz"))
def test_dumps_on_both_paths(path: Path) -> None:
    assert both(unpacked(path)) is None
