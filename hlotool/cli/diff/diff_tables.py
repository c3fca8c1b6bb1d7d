"""Line-by-line summaries of differences between two folders, or between the dumps of passes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from hlotool.cli.output import counted
from hlotool.differ.folders.dumps import DumpName
from hlotool.differ.folders.module_pairing import Sketch
from hlotool.differ.rendering.highlight import cut
from hlotool.differ.rendering.rows import Row
from hlotool.workspace.comparing import Compared

__all__ = [
    "MAX_PAIRS",
    "FolderComparison",
    "PairRow",
    "PassRow",
    "headline",
    "only_rows",
    "pair_groups",
    "pass_headline",
    "pass_rows",
    "similar_line",
]

_MAX_SIMILAR = 6
_MAX_ONLY = 20
MAX_PAIRS = 40
"""The maximum number of differing pairs to show, unless all are requested."""
_MAX_STAGE_LENGTH = 34
_MIN_WIDTH = 30


class PairRow(NamedTuple):
    """A pair of modules and their differences.

    `is_minor` is True if only names and metadata differ.
    """

    left: Sketch
    right: Sketch
    compared: Compared
    is_minor: bool

    @property
    def label(self) -> str:
        """The names of both files, or a single name if the names are equal."""
        return " -> ".join(dict.fromkeys((self.left.label, self.right.label)))

    @property
    def differs(self) -> bool:
        return bool(self.compared.categories)


class FolderComparison(NamedTuple):
    """The differences between folder A and folder B."""

    names: tuple[str, str]
    pairs: list[PairRow]
    left_only: list[Sketch]
    right_only: list[Sketch]

    @property
    def differs(self) -> bool:
        return bool(self.left_only or self.right_only) or any(row.differs for row in self.pairs)


def headline(result: FolderComparison) -> str:
    """Returns a sentence with the numbers of modules that differ, are equal, or are unmatched.

    The sentence is empty if the folders do not differ.
    """
    if not result.differs:
        return ""
    total = len(result.pairs)
    changed = sum(row.differs and not row.is_minor for row in result.pairs)
    minor = [row for row in result.pairs if row.is_minor and row.differs]
    kinds = " and ".join(sorted({kind for row in minor for kind in row.compared.categories}, reverse=True))
    parts = []
    if changed:
        parts.append(f"{changed} of {counted(total, 'module')} {'differs' if changed == 1 else 'differ'}")
        parts += [f"{len(minor)} {'is' if len(minor) == 1 else 'are'} equal except for {kinds}"] if minor else []
    elif minor:
        of = f"{len(minor)} of {counted(total, 'module')}" if len(minor) < total else counted(total, "module")
        parts.append(f"{of} {'is' if len(minor) == 1 else 'are'} equal except for {kinds}")
    elif total:
        parts.append(f"{counted(total, 'module')} {'is' if total == 1 else 'are'} equal")
    for sketches, name, other, verb in ((result.left_only, *result.names, "deleted"), (result.right_only, *result.names[::-1], "added")):
        if sketches:
            where = verb if other == os.devnull else f"only in {name}"
            parts.append(f"{len(sketches) if parts else counted(len(sketches), 'module')} {where}")
    return ", ".join(parts)


def pair_groups(pairs: Iterable[PairRow], *, show_all: bool) -> list[list[PairRow]]:
    """Returns the pairs that differ, grouped by the sentences that summarize the differences.

    Leaves out pairs that differ only in names and metadata. With `show_all`, includes these pairs,
    and groups all pairs by their labels instead.
    """
    groups: dict[object, list[PairRow]] = {}
    for row in pairs:
        if row.differs and (show_all or not row.is_minor):
            groups.setdefault(row.label if show_all else row.compared.sentence, []).append(row)
    return list(groups.values())


def similar_line(group: Sequence[PairRow], width: int) -> Iterator[Row]:
    """Yields one line for all pairs of a group after the first, if there are any.

    The line has at most `width` characters; 0 means no limit.
    """
    if len(group) > 1:
        names = ", ".join(row.right.label for row in group[1 : _MAX_SIMILAR + 1])
        rest = ", ..." if len(group) > _MAX_SIMILAR + 1 else ""
        yield Row(".", cut(f"    ... and the same in {counted(len(group) - 1, 'other module')}: {names}{rest}", width))


def only_rows(result: FolderComparison, *, show_all: bool) -> Iterator[Row]:
    """Yields a line for each unmatched module; long lists are cut unless `show_all` is set."""
    for mark, sketches in (("-", result.left_only), ("+", result.right_only)):
        number = len(sketches) if show_all or len(sketches) <= _MAX_ONLY + 1 else _MAX_ONLY
        for sketch in sketches[:number]:
            yield Row(mark, f"{mark} {sketch.label}: {counted(sketch.instructions, 'instruction')}")
        if len(sketches) > number:
            yield Row(".", f"  ... and {len(sketches) - number} more (--show-all)")


# ---- passes ------------------------------------------------------------------------------------


class PassRow(NamedTuple):
    """A dump and its changes since the previous dump.

    `is_minor` is True if only names and metadata changed.
    """

    name: DumpName | None
    file: str
    compared: Compared
    is_minor: bool

    @property
    def differs(self) -> bool:
        return bool(self.compared.categories)

    @property
    def pipeline(self) -> str:
        return "" if self.name is None else self.name.pipeline

    @property
    def stage(self) -> str:
        """The number of the dump and the name of the pass, if the file name contains them."""
        if self.name is None:
            return self.file.replace("\\", "/").rpartition("/")[2]
        return f"{self.name.number:04} {self.name.stage}" if self.name.pipeline else self.name.stage or self.name.module

    @property
    def label(self) -> str:
        """The number of the dump, its pipeline and its pass, as in `0003 simplification/dce`."""
        name = self.name
        return f"{name.number:04} {name.pipeline}/{name.stage}" if name is not None and name.pipeline else self.stage

    @property
    def instructions(self) -> str:
        """The number of instructions, or the numbers before and after if they differ."""
        return " -> ".join(dict.fromkeys(map(str, self.compared.instructions)))


def pass_headline(rows: Sequence[PassRow]) -> str:
    """Returns a sentence with the number of dumps that differ from the previous dump."""
    differing = sum(row.differs and not row.is_minor for row in rows)
    minor = [row for row in rows if row.differs and row.is_minor]
    total = len(rows) - 1
    sentence = f"{differing} of {counted(total, 'step')} {'changes' if differing == 1 else 'change'} something"
    if not differing and not minor:
        sentence = f"nothing changes in {counted(total, 'step')}"
    if minor:
        kinds = " and ".join(sorted({kind for row in minor for kind in row.compared.categories}, reverse=True))
        alone = f"{len(minor)} of {counted(total, 'step')} {'changes' if len(minor) == 1 else 'change'} only {kinds}"
        sentence = f"{sentence}, {len(minor)} only {kinds}" if differing else alone
    counts = [count for row in rows if row.compared.failure is None for count in row.compared.instructions]
    if counts:
        ends = " -> ".join(dict.fromkeys(map(str, (counts[0], counts[-1]))))
        sentence += f"; {ends} {'instruction' if ends == '1' else 'instructions'}"
    return sentence


def pass_rows(rows: Sequence[PassRow], width: int) -> Iterator[tuple[PassRow, list[Row]]]:
    """Yields each dump with its lines; the first dump of each pipeline has a heading."""
    stage_width = min(_MAX_STAGE_LENGTH, max((len(row.stage) for row in rows), default=0))
    count_width = max((len(row.instructions) for row in rows), default=0)
    pipeline = ""
    for row in rows:
        lines = []
        if row.pipeline != pipeline:
            lines.append(Row("@", row.pipeline or "after all pipelines"))
        pipeline = row.pipeline
        stage = cut(row.stage, stage_width)
        beginning = f"  {stage:<{stage_width}}  {row.instructions:>{count_width}}  "
        available = max(_MIN_WIDTH, width - len(beginning)) if width else 0
        sentence = row.compared.sentence if row.differs else "-"
        lines.append(Row("." if row.is_minor or not row.differs else " ", f"{beginning}{cut(sentence, available)}"))
        yield row, lines
