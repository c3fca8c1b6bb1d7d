"""Optimizes the modules of a file: the work of `hlotool opt`, apart from input and output."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from hlotool.errors import Diagnostic, EvaluationError, HlotoolError, InternalError, ParseError
from hlotool.interp.run_options import RunOptions
from hlotool.ir.model import Module
from hlotool.opdefs.inference import count
from hlotool.opdefs.traits import COLLECTIVE
from hlotool.optimizer.bisection import first_wrong_rewrite
from hlotool.optimizer.checking import trials
from hlotool.optimizer.context import Context
from hlotool.optimizer.opt_options import OptimizeOptions
from hlotool.optimizer.opt_report import OptimizedModule, Report
from hlotool.optimizer.optimizer import run_specs
from hlotool.optimizer.pass_list import PassSpec
from hlotool.optimizer.pipeline import PassRun
from hlotool.record import replace
from hlotool.text.print.print_options import PrintOptions
from hlotool.text.print.printer import to_text
from hlotool.text.source.files import InputError
from hlotool.verifier.engine import verify
from hlotool.workspace.modules import modules_or_error
from hlotool.workspace.reading import InputForm

__all__ = ["CheckFailure", "ModuleRecord", "OptimizeRequest", "Optimized", "optimized_text"]

# Loops with more iterations than this are too slow for a check.
_MAX_ITERATIONS = 100_000
_DEVICES_HINT = "; --check runs one device: for several devices, write the result with -o B and run hlotool run A --against B --replicas N"


class CheckFailure(HlotoolError):
    """Raised if a self-check of the optimization fails. In that case, nothing is written."""

    exit_code = 3


class InvalidModuleError(HlotoolError):
    """Raised if a pass cannot handle a module that is not valid."""

    exit_code = 2


class OptimizeRequest(NamedTuple):
    """The options of an optimization, with its checks and its intermediate output.

    The module is shown after each pass in `print_after` that changed it, or, with `print_changed`,
    after every pass that changed it. With `verify_each`, it must be valid after each pass. With
    `check`, its results on that many random inputs must be the same before and after the
    optimization.
    """

    passes: tuple[PassSpec, ...]
    options: OptimizeOptions = OptimizeOptions()
    print_options: PrintOptions = PrintOptions()
    form: InputForm = InputForm()
    verify: bool = True
    verify_each: bool = False
    check: int = 0
    seed: int = 0
    timeout: float | None = None
    max_memory: int | None = None
    print_after: frozenset[str] = frozenset()
    print_changed: bool = False


class ModuleRecord(NamedTuple):
    """The name of a module, and the report on its optimization.

    `compared` is the number of random inputs on which the results agree.
    """

    name: str
    report: Report
    compared: int = 0


class Optimized(NamedTuple):
    """The printed modules of a file before and after the optimization, and any parse errors."""

    before: list[str]
    after: list[str]
    modules: list[ModuleRecord]
    error: ParseError | None = None

    @property
    def is_changed(self) -> bool:
        """True if the optimized modules are printed differently from the original ones."""
        return self.before != self.after


def optimized_text(text: str, name: str, request: OptimizeRequest, show: Callable[[str], None] = lambda part: None) -> Optimized:
    """Optimizes the modules in `text`, and calls `show` with the intermediate output.

    Raises ParseError if the text does not parse, EvaluationError if a module is not valid or cannot
    be run for a check, and CheckFailure if a check finds a wrong rewrite.

    >>> from hlotool.optimizer.pass_list import parse_passes
    >>> text = "ENTRY e { p = f32[2] parameter(0) a = f32[2] negate(p) ROOT b = f32[2] negate(a) }"
    >>> result = optimized_text(text, "m.hlo", OptimizeRequest(parse_passes("algsimp")))
    >>> result.is_changed, result.modules[0].report.count, "negate" in result.after[0]
    (True, 1, False)
    """
    modules, error = modules_or_error(text, name, request.form)
    if error is not None and not (request.form.extract and modules):
        raise error
    before, after, done = [], [], []
    for module, own in zip(modules, _requests(modules, request), strict=True):
        result, record = _Optimization(module, name, own, show).run()
        before.append(_print_module(module, request.print_options))
        after.append(_print_module(result, request.print_options))
        done.append(record)
    return Optimized(before, after, done, error)


def _requests(modules: Sequence[Module], request: OptimizeRequest) -> Iterator[OptimizeRequest]:
    """Yields the request for each module of a file.

    The computations and the instruction named in the options may exist in only some of the modules.
    """
    options = request.options
    name = (options.explain_why_not or "").strip().removeprefix("%")
    known = [{computation.name for computation in module.computations} for module in modules]
    has_name = [any(x.name == name for x in module.all_instructions()) if name else False for module in modules]
    for names, has_it in zip(known, has_name, strict=True):
        only = frozenset(word for word in options.only if word in names or not any(word in others for others in known))
        own = replace(options, only=only, explain_why_not=options.explain_why_not if has_it or not any(has_name) else None)
        yield request._replace(options=own, passes=() if options.only and not only else request.passes)


def _print_module(module: Module, options: PrintOptions) -> str:
    text = to_text(module, options)
    return text if text.endswith("\n") else f"{text}\n"


class _Optimization:
    """The optimization of one module, with its checks."""

    def __init__(self, module: Module, name: str, request: OptimizeRequest, show: Callable[[str], None]) -> None:
        self.module = module
        self.name = name
        self.request = request
        self.show = show
        self.known: Counter[str] = Counter()

    def run(self) -> tuple[Module, ModuleRecord]:
        request, module = self.request, self.module
        errors = _errors(module) if request.verify or request.verify_each else []
        if errors and request.verify:
            raise EvaluationError(errors)
        self.known.update(d.code for d in errors)
        observes = request.verify_each or request.print_changed or request.print_after
        try:
            result = run_specs(module, request.passes, request.options, self._after_pass if observes else None)
        except MemoryError:
            raise
        except Exception as error:
            # Rules may rely on what the verifier checks.
            invalid = _errors(module) if not request.verify and not isinstance(error, CheckFailure) else []
            if not invalid:
                raise
            raise InvalidModuleError(f"cannot optimize '{self.name}', which is not valid: {invalid[0]}; {type(error).__name__}: {error}") from error
        compared = self._check(result) if request.check else 0
        return result, ModuleRecord(module.name, result.report, compared)

    def _after_pass(self, run: PassRun, context: Context) -> None:
        if not run.rewrites:
            return
        request = self.request
        context.rewriter.finish()
        if request.print_changed or run.name in request.print_after:
            heading = f"// after {run.name}, round {run.round}, {count(run.rewrites, 'rewrite')}: {self.name}"
            self.show(f"{heading}\n{_print_module(context.module, request.print_options)}")
        if request.verify_each and (errors := self._new_errors(context.module)):
            raise self._failure(
                f"pass '{run.name}' makes '{self.name}' invalid in round {run.round}: {errors[0]}",
                lambda module: bool(self._new_errors(module)),
            )

    def _new_errors(self, module: Module) -> list[Diagnostic]:
        """Returns the errors with codes that did not occur before the optimization."""
        return [d for d in _errors(module) if not self.known[d.code]]

    def _check(self, result: OptimizedModule) -> int:
        """Compares the results before and after on random inputs.

        Returns the number of inputs that could be compared.
        """
        request = self.request
        options = RunOptions(elided_fill="iota", max_iterations=_MAX_ITERATIONS, timeout_seconds=request.timeout, max_memory=request.max_memory)
        rounds = bool(request.options.fast_math)
        outcome = trials(self.module, result, request.check, request.seed, options, within_rounding=rounds)
        if outcome.difference is not None:
            raise self._failure(
                f"the results of '{self.name}' on random inputs differ after the optimization: {outcome.difference}",
                lambda module: trials(self.module, module, request.check, request.seed, options, within_rounding=rounds).difference is not None,
            )
        if not outcome.compared:
            hint = _DEVICES_HINT if _has_collectives(self.module) else ""
            raise InputError(f"cannot check '{self.name}': the module fails on all random inputs: {outcome.failure}{hint}")
        if outcome.failure is not None:
            failed = request.check - outcome.compared
            left_out = f"{failed} of {request.check} random inputs skipped, since the module fails: {outcome.failure}"
            result.report.remark(left_out)
        return outcome.compared

    def _failure(self, message: str, is_wrong: Callable[[Module], bool]) -> CheckFailure:
        """Returns the exception for a failed check, with the rewrite that is to blame."""
        try:
            culprit = first_wrong_rewrite(self.module, self.request.passes, self.request.options, is_wrong)
        except InternalError as error:
            return CheckFailure(f"{message}; {error}")
        return CheckFailure(message if culprit is None else f"{message}; the first wrong rewrite is {culprit.text}")


def _has_collectives(module: Module) -> bool:
    return module.replica_count > 1 or module.num_partitions > 1 or any(COLLECTIVE in x.op.traits for x in module.all_instructions())


def _errors(module: Module) -> list[Diagnostic]:
    return [d for d in verify(module) if d.severity == "error"]
