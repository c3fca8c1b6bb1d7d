"""Compares the modules of many files: sketches them to find pairs, and compares each pair.

Results can be sent between processes.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from hashlib import sha256
from typing import Any, NamedTuple

from hlotool.differ.compare import diff
from hlotool.differ.delta import Delta
from hlotool.differ.folders.module_pairing import Sketch, sketch
from hlotool.differ.folders.predicates import Predicate
from hlotool.differ.rendering.difference_report import Report, report_of
from hlotool.differ.rendering.summary import summary
from hlotool.errors import HlotoolError, ParseError, Source
from hlotool.interp.engine.allocation import memory_limit
from hlotool.ir.model import Module
from hlotool.ir.walk import shown_computations
from hlotool.workspace.findings import FileFinding
from hlotool.workspace.modules import modules_or_error, only_module
from hlotool.workspace.reading import InputForm, read_input
from hlotool.workspace.workers import map_in_order

__all__ = [
    "CompareRequest",
    "Compared",
    "Failure",
    "ModuleLocation",
    "SketchedFile",
    "compare_modules",
    "compare_pairs",
    "compare_sequence",
    "forget_modules",
    "module_of_file",
    "sketch_files",
]

# The maximum number of errors to report for a file that does not parse.
_MAX_ERRORS = 3
# The modules of the two files that were read last, so that each file of a pass-by-pass dump is
# parsed only once.
_recent: list[tuple[str, InputForm, list[Module]]] = []
# Sketches by the digest of a file, since most files in one folder equal files in the other.
_sketches: dict[tuple[str, InputForm], list[Sketch]] = {}
# Modules that could not be read, so that each is tried only once.
_unreadable: set[tuple[ModuleLocation, InputForm]] = set()


class ModuleLocation(NamedTuple):
    """A module's location: its file, and its number there, or None if it is the only module."""

    file: str
    number: int | None = None


class CompareRequest(NamedTuple):
    """The options of a comparison.

    These are the ignored categories, the form of the input, the memory limit, the predicate to look
    for, a function that converts a difference to output, and whether the sentence is brief.
    """

    ignored: frozenset[str] = frozenset()
    form: InputForm = InputForm()
    max_memory: int | None = None
    predicate: Predicate | None = None
    show: Callable[[Report, ModuleLocation, ModuleLocation], Any] | None = None
    is_brief: bool = False


class Failure(NamedTuple):
    """The reason why a file is left out: a one-line message, and the first parse errors.

    `traceback` is set for a bug in hlotool.
    """

    message: str
    exit_code: int = 2
    findings: Sequence[FileFinding] = ()
    traceback: str | None = None


class SketchedFile(NamedTuple):
    """Sketches of the modules in a file, or the reason why it cannot be read."""

    file: str
    sketches: list[Sketch]
    failure: Failure | None = None


class Compared(NamedTuple):
    """The changes from one module to another; `left` is None if there is no earlier module.

    `counts` contains the numbers of changed, inserted and deleted instructions. `shown` is the
    result of the request's function `show`.
    """

    left: ModuleLocation | None
    right: ModuleLocation
    module: str = ""
    categories: tuple[str, ...] = ()
    sentence: str = ""
    instructions: tuple[int, int] = (0, 0)
    counts: tuple[int, int, int] = (0, 0, 0)
    evidence: str = ""
    shown: Any = None
    failure: Failure | None = None


# ---- reading -----------------------------------------------------------------------------------


def _modules(file: str, form: InputForm) -> list[Module]:
    """Returns the modules of a file; raises HlotoolError."""
    return _modules_of(*read_input(file), form)


def _modules_of(name: str, text: str, form: InputForm) -> list[Module]:
    """Returns the modules of a file, given its text; raises HlotoolError."""
    for known, known_form, modules in _recent:
        if known == text and known_form == form:
            return modules
    modules, error = modules_or_error(text, name, form)
    if error is not None and not (form.extract and modules):
        raise _Unparsable(_failure_of(error, Source(text, name)))
    del _recent[:-1]
    _recent.append((text, form, modules))
    return modules


def forget_modules() -> None:
    """Clears everything that has been cached about files."""
    _recent.clear()
    _sketches.clear()
    _unreadable.clear()


def module_of_file(file: str, form: InputForm) -> Module:
    """Returns the only module of a file; raises HlotoolError. The last two files stay in memory."""
    return _module_at(ModuleLocation(file), form)


def _module_at(location: ModuleLocation, form: InputForm) -> Module:
    modules = _modules(location.file, form)
    if location.number is not None:
        return modules[location.number]
    return only_module(modules, location.file, "a dump of a pass has one module")


class _Unparsable(HlotoolError):
    """Raised for a file that does not parse."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


def _failure_of(error: ParseError, source: Source) -> Failure:
    findings = [FileFinding(d, source.line_text(d.line)) for d in error.diagnostics[:_MAX_ERRORS]]
    more = len(error.diagnostics) - len(findings)
    message = f"'{source.filename}' is left out, since it does not parse" + (f" (errors not shown: {more}; see hlotool verify)" if more else "")
    return Failure(message, error.exit_code, findings)


def _failure(error: Exception, file: str) -> Failure:
    """Converts any exception to a failure, so that it does not stop the work on other files."""
    if isinstance(error, _Unparsable):
        return error.failure
    if isinstance(error, HlotoolError):
        return Failure(str(error), max(error.exit_code, 2))
    if isinstance(error, MemoryError):
        return Failure(f"not enough memory for '{file}'")
    return Failure(f"{type(error).__name__}: {error}", 3, traceback="".join(traceback.format_exception(error)))


# ---- sketches ----------------------------------------------------------------------------------


def sketch_files(files: Sequence[tuple[str, str]], request: CompareRequest, jobs: int) -> Iterator[SketchedFile]:
    """Returns the sketches of the modules in files, in order.

    `files` contains pairs of a file and the label to use for it.
    """
    return map_in_order(partial(_sketch_file, request=request), files, jobs, _lost_sketch)


def _lost_sketch(file: str, reason: str) -> SketchedFile:
    return SketchedFile(file, [], Failure(f"cannot read '{file}': {reason}"))


def _sketch_file(file: str, label: str, request: CompareRequest) -> SketchedFile:
    try:
        with memory_limit(request.max_memory):
            name, text = read_input(file)
            digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
            sketches = _sketches.get((digest, request.form))
            if sketches is None:
                modules = _modules_of(name, text, request.form)
                sketches = [sketch(module, _line(module, len(modules)))._replace(text=f"{digest}:{k}") for k, module in enumerate(modules)]
                _sketches[digest, request.form] = sketches
            return SketchedFile(file, [known._replace(label=f"{label}{known.label}") for known in sketches])
    except Exception as error:
        return SketchedFile(file, [], _failure(error, file))


def _line(module: Module, count: int) -> str:
    """Returns a suffix that distinguishes a module from others in its file."""
    return "" if count == 1 or module.source is None else f":{module.source.first_line}"


# ---- differences -------------------------------------------------------------------------------


def compare_pairs(pairs: Sequence[tuple[ModuleLocation, ModuleLocation]], request: CompareRequest, jobs: int) -> Iterator[Compared]:
    """Returns the changes in each pair, in the order of the pairs."""
    work = [(right.file, (left, right)) for left, right in pairs]
    return map_in_order(partial(_compare_pair, request=request), work, jobs, _lost_pair)


def compare_sequence(files: Sequence[str], request: CompareRequest, jobs: int) -> Iterator[Compared]:
    """Returns the changes in each file since the previous one.

    A file that cannot be read or parsed gets a failure, and the next file is compared with an
    earlier one.
    """
    work = [(file, number) for number, file in enumerate(files)]
    return map_in_order(partial(_compare_with_earlier, files=files, request=request), work, jobs, _lost_pair)


def _lost_pair(file: str, reason: str) -> Compared:
    return Compared(None, ModuleLocation(file), failure=Failure(f"cannot compare '{file}': {reason}"))


def _compare_pair(file: str, pair: tuple[ModuleLocation, ModuleLocation], request: CompareRequest) -> Compared:
    left, right = pair
    try:
        with memory_limit(request.max_memory):
            return compare_modules(_module_at(left, request.form), _module_at(right, request.form), left, right, request)
    except Exception as error:
        return Compared(left, right, failure=_failure(error, file))


def _compare_with_earlier(file: str, number: int, files: Sequence[str], request: CompareRequest) -> Compared:
    right = ModuleLocation(file)
    try:
        with memory_limit(request.max_memory):
            # Loads the earlier module first, since its file was read last and is still cached.
            location, left = _first_readable(map(ModuleLocation, reversed(files[:number])), request.form)
            module = _module_at(right, request.form)
            if left is None or location is None:
                count = _instructions(module)
                return Compared(None, right, module.name, instructions=(count, count))
            return compare_modules(left, module, location, right, request)
    except Exception as error:
        if isinstance(error, HlotoolError):
            _unreadable.add((right, request.form))
        return Compared(None, right, failure=_failure(error, file))


def _first_readable(locations: Iterator[ModuleLocation], form: InputForm) -> tuple[ModuleLocation, Module] | tuple[None, None]:
    """Returns the location of the first module that can be read, and the module.

    Returns None, None if no module can be read. A module that cannot be read is reported when its
    own changes are requested.
    """
    for location in locations:
        if (location, form) not in _unreadable:
            try:
                return location, _module_at(location, form)
            except HlotoolError:
                _unreadable.add((location, form))
    return None, None


def compare_modules(left: Module, right: Module, left_location: ModuleLocation, right_location: ModuleLocation, request: CompareRequest) -> Compared:
    """Returns the changes from one module to another.

    >>> import hlotool
    >>> left = hlotool.parse("ENTRY e { p = f32[] parameter(0) ROOT n = f32[] negate(p) }")
    >>> right = hlotool.parse("ENTRY e { p = f32[] parameter(0) ROOT n = f32[] abs(p) }")
    >>> compared = compare_modules(left, right, ModuleLocation("a.hlo"), ModuleLocation("b.hlo"), CompareRequest())
    >>> compared.sentence, compared.counts
    ('1 instruction changed (negate -> abs)', (1, 0, 0))
    """
    instructions = _instructions(left), _instructions(right)
    compared = Compared(left_location, right_location, right.name, instructions=instructions)
    if left is right and request.show is None:
        return compared
    delta = diff(left, right, ignore=request.ignored)
    evidence = request.predicate.evidence(delta) if request.predicate is not None else ""
    report = report_of(delta)
    shown = request.show(report, left_location, right_location) if request.show is not None and (evidence or request.predicate is None) else None
    return compared._replace(
        categories=delta.categories,
        sentence=summary(report, mentions_minor=False, is_brief=request.is_brief),
        counts=_counts(delta),
        evidence=evidence,
        shown=shown,
    )


def _instructions(module: Module) -> int:
    return sum(len(computation.instructions) for computation in shown_computations(module))


def _counts(delta: Delta) -> tuple[int, int, int]:
    inserted, deleted = (0 if kind in delta.ignored else len(nodes) for kind, nodes in (("inserted", delta.inserted), ("deleted", delta.deleted)))
    return len(delta.changed), inserted, deleted
