"""One run of `hlotool run`: its checks, arguments, execution, observers and output.

This module imports the interpreter, and with it NumPy, so the command imports this module
only when it runs a module.
"""

from __future__ import annotations

import json
import re
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import click

import hlotool
from hlotool.cli.inputs import Outcome
from hlotool.cli.output import complain, counted, write_out
from hlotool.cli.rendering.render import render_to_stderr, style_for
from hlotool.cli.run.memory_option import memory_limit_of
from hlotool.cli.run.run_deadline import Deadline
from hlotool.cli.run.run_progress import RunProgress, is_wanted
from hlotool.cli.run.run_request import RunRequest
from hlotool.cli.run.run_tables import comparison_lines, profile_json, profile_lines, trace_json, trace_line
from hlotool.errors import EvaluationError, HlotoolError, ParseError, Source
from hlotool.interp.arguments import argument_files as files
from hlotool.interp.arrays.random_arrays import Domain
from hlotool.interp.arrays.values import leaves
from hlotool.interp.engine.memory_estimate import memory_diagnostics
from hlotool.interp.engine.observers import Observer
from hlotool.interp.engine.placement import is_device_independent, is_whole
from hlotool.interp.engine.preparation import prepare
from hlotool.interp.kernels.libraries.handlers import load_handler
from hlotool.interp.reports import result_report as report
from hlotool.interp.reports.array_statistics import has_nan, nan_counts
from hlotool.interp.reports.comparison import Comparison, compare_values, expected_leaves
from hlotool.interp.reports.profiling import Profile
from hlotool.interp.reports.tracing import NonfiniteWatch, Tracer, TraceRow
from hlotool.shapes.shape import tuple_shape
from hlotool.workspace.modules import modules_or_error, only_module
from hlotool.workspace.reading import read_input
from hlotool.workspace.writing import replace_file

__all__ = ["Session"]

_MAX_NAMES = 8
_MAX_DEVICES = 1024


class Session:
    """A run with the options of one command line."""

    def __init__(self, request: RunRequest, outcome: Outcome, deadline: Deadline) -> None:
        self.request = request
        self.outcome = outcome
        self.deadline = deadline
        self.sources: dict[str, Source] = {}
        self.seed: int = request.seed or 0
        self.handlers = _handlers(request.custom_calls)
        self.quiet: bool = request.quiet
        self.limit = memory_limit_of(request.max_memory)
        self.trace: list[TraceRow] = []
        self.has_traced = False
        self.tracer = self._tracer(request.trace)
        self.profile = Profile() if request.profile else None
        self.seconds = 0.0

    def _tracer(self, pattern: str | None) -> Tracer | None:
        if pattern is None:
            if self.request.trace_out is not None:
                raise click.UsageError("--trace-out requires --trace REGEX, which selects the arrays to write")
            return None
        try:
            return Tracer(re.compile(pattern), self._show_trace, keep=self.request.trace_out is not None)
        except (re.error, RecursionError, OverflowError) as error:
            raise click.UsageError(f"--trace '{pattern}' is not a regular expression: {error}") from None

    def _show_trace(self, row: TraceRow) -> None:
        self.has_traced = True
        if self.request.as_json:
            self.trace.append(row)
        else:
            write_out(trace_line(row) + "\n")

    # ---- the run --------------------------------------------------------------------------------

    def run(self, name: str, text: str) -> None:
        """Runs the module in `text`.

        Diagnostics go to standard error, and the outcome gets the exit code.
        """
        try:
            self._run(name, text)
        except (ParseError, EvaluationError) as error:
            # A NaN or an infinity that --check-nans or --check-infs reports is a finding, not bad
            # input.
            diagnostics = error.diagnostics
            self.outcome.at_least(1 if all(d.code == "R006" for d in diagnostics) else error.exit_code)
            source = self.sources.get(diagnostics[0].filename, Source(""))
            render_to_stderr(diagnostics, source.line_text, self.request.color)

    def _run(self, name: str, text: str) -> None:
        module = self._module(name, text)
        self._choose_devices(name, module)
        if self.request.show_plan:
            self._show_plan(module)
            return
        other_path: str | None = self.request.against
        other = None if other_path is None else self._module(*read_input(other_path))
        for checked in (module,) if other is None else (module, other):
            self._check_memory(checked)
        reference: str | None = self.request.compare
        shape = self._result_shape(module)
        expected = None if reference is None else expected_leaves(shape, files.read_npz(reference), reference, self.devices)
        values = self._values(module)
        try:
            value = self._evaluate(module, values, self._observers(module))
        except EvaluationError:
            # The profile and the trace up to the error may explain it.
            self._show_profile(module)
            self._write_trace()
            raise
        self.deadline.check()
        comparisons: dict[str, list[Comparison]] = {}
        if expected is not None and reference is not None:
            comparisons[reference] = self._compare_values(shape, value, expected)
        if other is not None and other_path is not None:
            theirs = self._evaluate(other, values, [])
            names = [path for path, _ in files.output_names(self._result_shape(other), self.devices)]
            comparisons[other_path] = self._compare_values(shape, value, list(zip(names, leaves(theirs), strict=True)))
        self.deadline.check()
        self._write(value, shape)
        if self.tracer is not None and not self.has_traced:
            self._remark(f"no computed array has a name that matches --trace '{self.tracer.pattern.pattern}'")
        self._show(module, value, comparisons)
        self._show_nans(module, values, value, shape)
        self.deadline.check()
        if any(not c.agrees for arrays in comparisons.values() for c in arrays):
            self.outcome.at_least(1)

    def _result_shape(self, module: Any) -> Any:
        """Returns the shape of the results.

        For several devices, this is a tuple with one shape per device, replica by replica.
        """
        shape = module.entry.root.shape
        return shape if self.devices == 1 else tuple_shape([shape] * self.devices)

    def _module(self, name: str, text: str) -> Any:
        self.sources[name] = Source(text, name)
        modules, error = modules_or_error(text, name, self.request.form)
        if error is not None and not (self.request.form.extract and modules):
            raise error
        module = only_module(modules, name, "run takes one at a time")
        self.deadline.check()
        if self.request.verify and (errors := [d for d in hlotool.verify(module) if d.severity == "error"]):
            complain(f"'{name}' is not valid HLO; use --no-verify to run it anyway")
            raise EvaluationError(errors)
        return module

    def _choose_devices(self, name: str, module: Any) -> None:
        """Sets the number of devices; without options, the module's header determines it."""
        request = self.request
        replicas, partitions = request.replicas or max(1, module.replica_count), request.partitions or max(1, module.num_partitions)
        if request.partitions is None and partitions > 1 and is_whole(module) and is_device_independent(module):
            self._remark(f"'{name}' is not partitioned yet: its {partitions} partitions would compute the same values, which are computed once")
            partitions = 1
        count = replicas * partitions
        is_explicit = replicas == (request.replicas or 1) and partitions == (request.partitions or 1)
        if count > _MAX_DEVICES and not is_explicit:
            raise HlotoolError(f"'{name}' is for {count} devices; use --replicas and --partitions to choose how many to run in this process")
        self.partitions, self.devices = partitions, replicas * partitions

    def _remark(self, text: str) -> None:
        if not self.quiet:
            complain(text)

    def _check_memory(self, module: Any) -> None:
        if diagnostics := memory_diagnostics(module, prepare(module, self._options()).estimate, self.limit, self.devices):
            if self.request.max_memory is None:
                complain("the default limit is 80% of the available memory; use --max-memory SIZE to change it")
            raise EvaluationError(diagnostics)
        self.deadline.check()

    def _values(self, module: Any) -> list[Any]:
        """Returns the values of all parameters for each device.

        Random values are reported on standard error, with the reasons for their ranges.
        """
        arguments, inputs = files.Arguments(module), self.request.inputs
        if inputs is not None:
            arguments.give_all(files.read_npz(inputs), inputs)
        for name, text in self.request.arguments:
            arguments.give(name, text)
        missing = arguments.missing()
        if missing and inputs is not None and self.request.seed is None:
            raise HlotoolError(f"'{inputs}' has no value for parameter '{missing[0]}'; add it with --input, or use --seed N for random values")
        if missing and not self.quiet:
            self._show_random_values(missing, arguments.assumed())
        values = []
        for device in range(self.devices):
            values.append(arguments.values_or_random(self.seed, device, self.partitions))
            self.deadline.check()
        return values

    def _show_random_values(self, missing: list[str], assumed: list[tuple[str, Domain]]) -> None:
        """Lists the parameters with random values.

        With --verbose, it also lists the assumptions about the values.
        """
        names = missing[:_MAX_NAMES]
        if len(missing) > _MAX_NAMES:
            names.append(f"{len(missing) - _MAX_NAMES} more")
        listed = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
        details = "" if self.request.verbose else " (-v for details)"
        assumptions = f"; with assumptions about {counted(len(assumed), 'array')}{details}" if assumed else ""
        complain(f"using random inputs for {listed} (seed {self.seed}){assumptions}")
        for name, domain in assumed if self.request.verbose else ():
            complain(f"  {name}: {domain.text}")

    def _observers(self, module: Any) -> list[Observer]:
        nans, infinities = self.request.check_nans, self.request.check_infs
        watch = NonfiniteWatch(module, nans=nans, infinities=infinities) if nans or infinities else None
        return [member for member in (self.tracer, self.profile, watch) if member is not None]

    def _evaluate(self, module: Any, values: Any, observers: list[Observer]) -> Any:
        request, options = self.request, self._options()
        if request.executor == "plan" and not all(observer.needs_only_reached for observer in observers):
            self._remark("ignoring --executor plan: compiled code cannot be traced, checked or profiled")
        progress = RunProgress() if is_wanted(quiet=self.quiet) else None
        watching = [*observers, progress] if progress else observers
        how: dict[str, Any] = {"executor": request.executor, "options": options, "observers": watching}
        started = time.perf_counter()
        try:
            if self.devices > 1:
                return tuple(hlotool.evaluate_replicas(module, values, **how, num_partitions=self.partitions))
            return hlotool.evaluate(module, values[0], **how)
        finally:
            self.seconds = self.seconds or time.perf_counter() - started
            if progress is not None:
                progress.clear()

    def _options(self) -> hlotool.RunOptions:
        request = self.request
        return hlotool.RunOptions(
            elided_fill=request.elided,
            seed=self.seed,
            max_iterations=request.max_iterations,
            timeout_seconds=request.timeout,
            custom_calls=self.handlers,
            threads=request.threads,
        )

    def _show_plan(self, module: Any) -> None:
        compiled = hlotool.compile(module, options=self._options())
        if compiled.source is None:
            advice = "without --show-plan, it runs instruction by instruction"
            raise HlotoolError(f"cannot show the plan, since the module cannot be compiled: {compiled.reason}; {advice}")
        write_out(compiled.source + "\n")

    def _compare_values(self, shape: Any, value: Any, expected: list[tuple[str, Any]]) -> list[Comparison]:
        return compare_values(shape, value, expected, self.request.rtol, self.request.atol, self.devices)

    # ---- the output -----------------------------------------------------------------------------

    def _write(self, value: Any, shape: Any) -> None:
        if self.request.output is not None:
            replace_file(self.request.output, files.npz_bytes(value, shape, self.devices))
        self._write_trace()

    def _write_trace(self) -> None:
        if self.tracer is not None and self.request.trace_out is not None:
            replace_file(self.request.trace_out, files.npz_of(self.tracer.arrays))

    def _show(self, module: Any, value: Any, comparisons: dict[str, list[Comparison]]) -> None:
        shape = self._result_shape(module)
        if self.request.as_json:
            write_out(self._json(module, value, comparisons))
            return
        if not self.quiet and not comparisons:
            for line in report.as_text(value, shape, style_for("never", sys.stdout).width, self.devices):
                write_out(line + "\n")
        for source, arrays in comparisons.items():
            for line in comparison_lines(arrays, source, quiet=self.quiet):
                write_out(line + "\n")
        self._show_profile(module)

    def _show_nans(self, module: Any, values: list[Any], value: Any, shape: Any) -> None:
        """Reports NaNs in the results, with their origin or the option that shows it."""
        if self.quiet or self.request.as_json:
            return
        found = nan_counts(zip(files.output_names(shape, self.devices), leaves(value), strict=True))
        if not found:
            return
        (name, count, size), *others = found
        more = f"; {counted(len(others), 'more result contains', 'more results contain')} NaNs" if others else ""
        where = f"'{name}' is NaN{'' if size == 1 else f' in {count} of {size} elements'}{more}"
        given = [p.name for p, argument in zip(module.entry.parameters, values[0], strict=True) if has_nan(argument)]
        if given:
            names = ", ".join(given[:_MAX_NAMES]) + (", ..." if len(given) > _MAX_NAMES else "")
            complain(f"{where}; {'argument that contains NaNs' if len(given) == 1 else 'arguments that contain NaNs'}: {names}")
        elif self.request.check_nans:
            complain(f"{where}; the NaNs come from constants: no instruction computes one from operands without NaNs")
        else:
            complain(f"{where}; --check-nans shows the instruction that computes the first one")

    def _show_profile(self, module: Any) -> None:
        if self.profile is not None and not self.request.as_json:
            for line in profile_lines(self.profile, self.seconds, _peak_memory(), prepare(module, self._options()).estimate.bytes):
                write_out(line + "\n")

    def _json(self, module: Any, value: Any, comparisons: dict[str, list[Comparison]]) -> str:
        """Returns the results as JSON.

        If comparisons, a trace or a profile are requested, the result is an object that contains
        them and the outputs.
        """
        outputs = report.as_rows(value, self._result_shape(module), self.devices)
        more: dict[str, Any] = {}
        if comparisons:
            more["comparisons"] = [{"with": source, "arrays": [c.as_dict() for c in arrays]} for source, arrays in comparisons.items()]
        if self.tracer is not None:
            more["trace"] = [trace_json(row) for row in self.trace]
        if self.profile is not None:
            more["profile"] = profile_json(self.profile, self.seconds, _peak_memory(), prepare(module, self._options()).estimate.bytes)
        return json.dumps({"outputs": outputs, **more}, indent=1) + "\n" if more else report.as_json(outputs)


def _handlers(texts: tuple[str, ...]) -> dict[str, Any]:
    """Returns the functions for custom calls, by target.

    Raises UsageError if an option is not of the form TARGET=MODULE:FUNCTION.
    """
    handlers = {}
    for text in texts:
        # Targets may contain "=", but names of functions do not.
        target, equals, position = text.rpartition("=")
        if not equals or not target:
            raise click.UsageError(f"--custom-call '{text}' is not of the form TARGET=MODULE:FUNCTION")
        # Modules in the working directory come first, as with `python -m`.
        sys.path.insert(0, str(Path.cwd()))
        handlers[target] = load_handler(position)
    return handlers


def _peak_memory() -> int | None:
    """Returns the peak memory of this process in bytes; None on Windows, where it is unknown."""
    if sys.platform == "win32":
        return None
    used = import_module("resource").getrusage(import_module("resource").RUSAGE_SELF).ru_maxrss
    return int(used) * (1 if sys.platform == "darwin" else 1024)
