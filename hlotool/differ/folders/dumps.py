"""Parses the file names of XLA dumps, which contain the module name and the pass of each dump.

XLA first writes `module_0001.jit_f.before_optimizations.txt`. With `--xla_dump_hlo_pass_re`, it
then writes a file for the start of each pipeline and for each pass that changes the module, such as
`module_0001.jit_f.0003.simplification.after_algsimp.before_dce.txt`. Finally it writes
`module_0001.jit_f.cpu_after_optimizations.txt`. If a file name would be too long, XLA omits the
module name from it. A file name may start with a timestamp.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import NamedTuple

__all__ = ["DumpName", "DumpSequence", "dump_name", "makers", "natural_order", "sequences"]

_SUFFIXES = (".hlo", ".txt", ".gz", ".xz", ".zst")
_DUMP = re.compile(r"(?P<dump>(?:\d+\.)?module_\d+)\.(?P<rest>.+)")
# A module name may also end with a number, so only the last number counts.
_STEP = re.compile(r"(?:^|\.)(?P<number>\d{4,})\.(?=(?:.*\.)?(?:after|before)_)")
# GPU names contain a dot, as in `sm_9.0a`.
_END = re.compile(r"(?:(?P<module>.+?)\.)??(?P<stage>(?:sm_[0-9.]+[a-z]?_gpu_|[^.]*_)?(?P<end>before|after)_optimizations(?:[^.]*))")
_DIGITS = re.compile(r"(\d+)")
_BEFORE, _PASS, _OTHER, _AFTER = range(4)
_START, _END_OF_PIPELINE = "pipeline-start", "pipeline-end"


class DumpName(NamedTuple):
    """The parts of a dump's file name.

    `dump` is the prefix that all dumps of a module have in common, such as `module_0001`. `module`
    is the module name, or empty if XLA omits it. `phase` orders the dumps before, during and after
    the passes. `number`, `pipeline` and `stage` identify the pass that has finished. `following` is
    the next pass of the pipeline, or empty if the name does not contain it.
    """

    dump: str
    module: str
    phase: int
    number: int
    pipeline: str
    stage: str
    following: str = ""


class DumpSequence(NamedTuple):
    """The dumps of one module in the order in which XLA wrote them.

    `names` holds the parsed name of each file, or None if the file is not named like an XLA dump.
    """

    module: str
    dump: str
    files: list[str]
    names: list[DumpName | None]

    @property
    def title(self) -> str:
        """The name of the module and the prefix of its dumps, as in `jit_f (module_0001)`."""
        return " ".join(part for part in (self.module, f"({self.dump})" if self.dump else "") if part)


def dump_name(path: str) -> DumpName | None:
    """Parses the name of a file; returns None if it is not the name of an XLA dump.

    >>> dump_name("dumps/module_0001.jit_f.0003.simplification.after_algsimp.before_dce.txt")
    DumpName(dump='module_0001', module='jit_f', phase=1, number=3, pipeline='simplification', stage='algsimp', following='dce')
    >>> dump_name("module_0001.jit_f.sm_9.0a_gpu_after_optimizations.txt").stage
    'sm_9.0a_gpu_after_optimizations'
    >>> dump_name("softmax.hlo") is None
    True
    """
    match = _DUMP.fullmatch(_stem(path))
    if match is None:
        return None
    dump, rest = match["dump"], match["rest"]
    steps = list(_STEP.finditer(rest))
    if steps:
        return DumpName(dump, rest[: steps[-1].start()], _PASS, int(steps[-1]["number"]), *_pass_names(rest[steps[-1].end() :]))
    end = _END.fullmatch(rest)
    if end is not None:
        return DumpName(dump, end["module"] or "", _BEFORE if end["end"] == "before" else _AFTER, 0, "", end["stage"])
    module, _, stage = rest.rpartition(".")
    return DumpName(dump, module or stage, _OTHER, 0, "", stage if module else "")


def _stem(path: str) -> str:
    """Returns the name of a file without the suffixes for HLO and compression."""
    name = PurePath(path).name
    while name.endswith(_SUFFIXES):
        name = name.rpartition(".")[0]
    return name


def _pass_names(text: str) -> tuple[str, str, str]:
    """Splits `PIPELINE.after_PASS.before_PASS`; one of the two passes may be missing."""
    pipeline, found, rest = text.partition(".after_")
    if found:
        stage, _, following = rest.partition(".before_")
        return pipeline, stage, following
    pipeline, found, rest = text.partition(".before_")
    return (pipeline, f"before {rest}", "") if found else ("", text, "")


def makers(names: Sequence[DumpName | None]) -> list[DumpName | None]:
    """Returns the name of each dump with the pass that made the changes since the previous dump.

    That is the pass in the name, unless a pipeline starts inside of another pass: then that pass
    changed the module before it started the inner pipeline. The next dump of the outer pipeline
    names the pass. If there is no such dump, and the inner pipeline is the last one, later dumps
    are missing; then the pass is the one that the previous dump announced.

    >>> files = ["module_1.f.0004.spmd.after_sdy.before_split.txt", "module_1.f.0005.cleanup.after_pipeline-start.before_dce.txt"]
    >>> maker = makers([dump_name(file) for file in files])[1]
    >>> maker.pipeline, maker.stage
    ('spmd', 'split')
    """
    found = list(names)
    # The pass in the next dump of each pipeline that has started before.
    resumed: dict[str, str] = {}
    for k in range(len(names) - 1, 0, -1):
        name, earlier = names[k], names[k - 1]
        if name is None:
            continue
        if name.stage != _START:
            resumed[name.pipeline] = name.stage
            continue
        resumed.pop(name.pipeline, None)
        outer = next((other.pipeline for other in reversed(names[:k]) if other is not None and other.pipeline in resumed), "")
        if outer:
            found[k] = name._replace(pipeline=outer, stage=resumed[outer], following="")
        elif _is_last(name, names[k + 1 :]) and earlier is not None and earlier.following not in ("", _END_OF_PIPELINE):
            found[k] = name._replace(pipeline=earlier.pipeline, stage=earlier.following, following="")
    return found


def _is_last(name: DumpName, later: Sequence[DumpName | None]) -> bool:
    return all(other is not None and other.phase == _PASS and other.pipeline == name.pipeline for other in later)


def natural_order(names: Iterable[str]) -> list[str]:
    """Returns the names in natural order: numbers in them are compared by value.

    >>> natural_order(["step10.hlo", "step9.hlo"])
    ['step9.hlo', 'step10.hlo']
    """
    return sorted(names, key=lambda name: [(int(part), "") if part.isdecimal() else (-1, part) for part in _DIGITS.split(name)])


def sequences(files: Iterable[str]) -> list[DumpSequence]:
    """Returns the dumps of each module, in the order in which XLA wrote them.

    Files that are not named like XLA dumps form one sequence, in the given order.

    >>> [sequence.files for sequence in sequences(["module_1.f.0002.p.after_b.txt", "module_1.f.0001.p.after_a.txt", "x.hlo", "module_2.g.txt"])]
    [['module_1.f.0001.p.after_a.txt', 'module_1.f.0002.p.after_b.txt'], ['x.hlo'], ['module_2.g.txt']]
    """
    groups: dict[tuple[str, str], list[tuple[DumpName | None, str]]] = {}
    for file in files:
        name = dump_name(file)
        groups.setdefault(("", "") if name is None else (str(PurePath(file).parent), name.dump), []).append((name, file))
    found = []
    for (_, dump), members in groups.items():
        if dump:
            members.sort(key=lambda member: (member[0][2:4] if member[0] is not None else (), member[1]))
        module = next((name.module for name, _ in members if name is not None and name.module), "")
        found.append(DumpSequence(module, dump, [file for _, file in members], [name for name, _ in members]))
    return found
