"""`hlotool diff --passes --semantic`: finds the pass that changed the results of a module.

This module imports the interpreter, and with it NumPy, so the command imports this module only to
run dumps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple

import hlotool
from hlotool.cli.diff.diff_many import ManyRequest, write_document, write_rows
from hlotool.cli.diff.diff_pass_files import chosen_sequences, files_of_passes
from hlotool.cli.diff.diff_runs import RunChoice
from hlotool.cli.inputs import Outcome
from hlotool.cli.output import counted
from hlotool.cli.progress import progress
from hlotool.cli.run.run_deadline import Deadline
from hlotool.differ.compare import diff
from hlotool.differ.folders.culprits import Culprit, ResultSearch, SearchOutcome
from hlotool.differ.folders.dumps import DumpName, DumpSequence, makers
from hlotool.differ.rendering.body import entry_rows
from hlotool.differ.rendering.difference_report import Entry, report_of
from hlotool.differ.rendering.highlight import cut
from hlotool.differ.rendering.rows import EMPTY, Layout, Row
from hlotool.differ.rendering.run_report import mismatch_rows
from hlotool.differ.values.array_comparison import Tolerances
from hlotool.differ.values.causes import DEFAULT_OPTIONS, cause_of_difference
from hlotool.differ.values.mismatches import Mismatch
from hlotool.differ.values.runs import ResultDifference
from hlotool.errors import EvaluationError
from hlotool.interp.engine.allocation import memory_limit
from hlotool.ir.model import Module
from hlotool.record import replace
from hlotool.workspace.comparing import forget_modules, module_of_file
from hlotool.workspace.writing import check_outputs

__all__ = ["SCHEMA", "compare_pass_results"]

SCHEMA = "hlotool.diff-pass-results/1"
"""The name and version of the format of `--output-format json`."""


# One random input may hide a fault, for example in a branch that is not taken.
_INPUTS = 3


class _Finding(NamedTuple):
    """The outcome for the dumps of one module.

    `search` is the outcome for the last inputs that were tried. With a culprit, `mismatch` is the
    first pair of instructions that makes the results differ, `origin` the computation and the
    instruction that makes this pair differ, and `rows` shows them.
    """

    sequence: DumpSequence
    search: SearchOutcome
    mismatch: Mismatch | None = None
    origin: tuple[str, str] | None = None
    rows: Sequence[Row] = ()

    @property
    def culprit(self) -> Culprit | None:
        return self.search.culprit

    @property
    def maker(self) -> DumpName | None:
        """The name of the dump of the culprit, with the pass that made it."""
        return None if self.culprit is None else makers(self.sequence.names)[self.culprit.bad]


def compare_pass_results(files: Sequence[str], request: ManyRequest, outcome: Outcome, deadline: Deadline) -> None:
    """Runs the dumps of each module, and sets the exit code.

    The exit code is 1 if the results of some module changed, and 2 if nothing could be compared.
    """
    names = files_of_passes(files, request, outcome)
    check_outputs([request.base.output], names)
    found: list[_Finding] = []
    try:
        for sequence in chosen_sequences(names, request, outcome):
            with memory_limit(request.base.max_memory):
                found.append(_search(sequence, request, deadline))
    finally:
        forget_modules()
    deadline.stop()
    for finding in found:
        if finding.culprit is not None:
            outcome.at_least(1)
        elif len(finding.search.compared) < 2:
            reason = finding.search.left_out[0].reason if finding.search.left_out else "there is only one"
            outcome.failed(f"{finding.sequence.title or 'passes'}: no two dumps can be compared: {reason}")
    if request.base.quiet or not found:
        return
    if request.base.output_format == "json":
        write_document({"schema": SCHEMA, "modules": [_document(finding) for finding in found]}, request)
    else:
        write_rows(_rows(found, request), request)


def _search(sequence: DumpSequence, request: ManyRequest, deadline: Deadline) -> _Finding:
    """Searches the dumps of a module, with one random input after another."""
    choice = RunChoice(**{"n": _INPUTS, **(request.base.semantic or {})})
    options = replace(
        DEFAULT_OPTIONS, elided_fill=choice.elided, seed=choice.seed, max_memory=request.base.max_memory, timeout_seconds=deadline.seconds
    )

    def module_of(number: int) -> Module:
        module = module_of_file(sequence.files[number], request.base.form)
        errors = [diagnostic for diagnostic in hlotool.verify(module) if diagnostic.severity == "error"]
        if errors:
            raise EvaluationError(errors)
        return module

    with progress(len(sequence.files), sequence.module or "Running", quiet=request.base.quiet) as show:

        def advance(number: int) -> None:
            # A run that takes too long must end the command, not leave out the dump.
            deadline.check()
            show(sequence.files[number])

        search = ResultSearch(len(sequence.files), module_of, tolerances=Tolerances(choice.rtol, choice.atol), options=options, advance=advance)
        for k in range(choice.n):
            finding = _Finding(sequence, search.run(choice.seed + k, all_steps=request.choice.all_steps))
            deadline.check()
            if finding.culprit is not None:
                return _explained(finding, search, request)
    return finding


def _explained(finding: _Finding, search: ResultSearch, request: ManyRequest) -> _Finding:
    """Returns the finding with the first pair of instructions that makes the results differ."""
    assert finding.culprit is not None
    left, right = search.module_of(finding.culprit.good), search.module_of(finding.culprit.bad)
    delta = diff(left, right)
    try:
        cause = cause_of_difference(delta, search.inputs, search.tolerances, search.options, search.expected.absolute)
    except EvaluationError:
        return finding
    if cause is None:
        return finding
    graph, report, layout = delta.graph, report_of(delta), Layout(request.style.width)
    rows = [*mismatch_rows(cause.mismatch, report, layout)]
    origin = None
    if cause.origin is not None:
        node = graph.nodes.index(cause.origin)
        origin = graph.computations[graph.home[node]].name, cause.origin.name
        rows += [Row(" ", f"    because of '{origin[1]}' in '{origin[0]}':"), *entry_rows(report, Entry(-1, node, (), node), layout.width)]
    return finding._replace(mismatch=cause.mismatch, origin=origin, rows=rows)


# ---- formats -----------------------------------------------------------------------------------


def _label(name: DumpName | None, file: str) -> str:
    """Returns the pipeline and the pass, or the name of the file."""
    if name is None:
        return PurePath(file).name
    return "/".join(part for part in (name.pipeline, name.stage) if part)


def _rows(found: Sequence[_Finding], request: ManyRequest) -> Iterator[Row]:
    for k, finding in enumerate(found):
        if k:
            yield EMPTY
        yield from _finding_rows(finding, request)


def _finding_rows(finding: _Finding, request: ManyRequest) -> Iterator[Row]:
    files, search = finding.sequence.files, finding.search
    title = f"{finding.sequence.title}: " if finding.sequence.title else ""
    if finding.culprit is None:
        yield Row("=", f"{title}{_agreement(finding)}")
    else:
        good, bad = finding.culprit.good, finding.culprit.bad
        yield Row("=", f"{title}{_label(finding.maker, files[bad])} changed the results, in step {bad} of {len(files) - 1}")
        yield Row("-", f"- {files[good]}")
        yield Row("+", f"+ {files[bad]}")
        yield Row(" ", cut(f"  {_result_text(finding.culprit.difference)}", request.style.width))
        if bad - good > 1:
            yield Row(" ", f"  the {counted(bad - good - 1, 'dump')} between them could not be compared")
    if request.choice.all_steps:
        for number in search.compared:
            yield Row(".", f"  {files[number]}: {'differs' if finding.culprit is not None and number == finding.culprit.bad else 'compared'}")
    for rounding in search.roundings:
        label = _label(makers(finding.sequence.names)[rounding.number], files[rounding.number])
        yield Row(".", cut(f"  {label} computes with other float types: {_result_text(rounding.difference)}", request.style.width))
    reasons: dict[str, int] = {}
    for left_out in search.left_out:
        reasons[left_out.reason] = reasons.get(left_out.reason, 0) + 1
    for reason, count in reasons.items():
        yield Row(".", cut(f"  left out: {counted(count, 'dump')}: {reason}", request.style.width))
    if finding.rows:
        yield EMPTY
        yield from finding.rows
    elif finding.culprit is not None:
        yield Row(" ", "  all paired instructions agree: the difference comes from instructions that only one dump has")


def _agreement(finding: _Finding) -> str:
    count = len(finding.search.compared)
    if count < 2:
        return "no two dumps can be compared"
    last = finding.sequence.files[max(finding.search.compared)]
    where = f"all {count} dumps" if count == len(finding.sequence.files) else f"the first dump and {PurePath(last).name}"
    return f"no pass changed the results: {where} agree"


def _result_text(difference: ResultDifference) -> str:
    worst = difference.comparison.worst[0] if difference.comparison.worst else None
    device = f" on device {difference.device}" if difference.device is not None else ""
    if worst is None:
        return f"result {difference.leaf}{device}: {difference.comparison.reason}"
    at = f" at [{','.join(map(str, worst.index))}]" if worst.index else ""
    of = (
        f"; {difference.comparison.mismatches} of {counted(difference.comparison.elements, 'element')} differ"
        if difference.comparison.elements > 1
        else ""
    )
    return f"result {difference.leaf}{device}{at}: {worst.ours:.9g} before, {worst.theirs:.9g} after it{of}"


def _document(finding: _Finding) -> dict[str, Any]:
    files, search = finding.sequence.files, finding.search
    return {
        "module": finding.sequence.module,
        "dump": finding.sequence.dump,
        "files": files,
        "culprit": None if finding.culprit is None else _culprit_document(finding, finding.culprit),
        "roundings": [{"file": files[rounding.number], **_result(rounding.difference)} for rounding in search.roundings],
        "compared": search.compared,
        "left_out": [{"file": files[left_out.number], "reason": left_out.reason} for left_out in search.left_out],
    }


def _result(difference: ResultDifference) -> dict[str, Any]:
    return {"leaf": difference.leaf, "device": difference.device, **difference.comparison.as_dict()}


def _culprit_document(finding: _Finding, culprit: Culprit) -> dict[str, Any]:
    maker, mismatch = finding.maker, finding.mismatch
    document: dict[str, Any] = {
        "step": culprit.bad,
        "number": None if maker is None or not maker.pipeline else maker.number,
        "pipeline": "" if maker is None else maker.pipeline,
        "pass": "" if maker is None else maker.stage,
        "previous": finding.sequence.files[culprit.good],
        "file": finding.sequence.files[culprit.bad],
        "result": _result(culprit.difference),
        "left": None,
        "right": None,
        "mismatch": None,
    }
    if mismatch is not None:
        for side, (computation, instruction) in (("left", mismatch.left), ("right", finding.origin or mismatch.right)):
            document[side] = {"computation": computation, "instruction": instruction}
        document["mismatch"] = mismatch.to_dict()
    return document
