"""Explains why rules and passes leave an instruction alone.

All rules, including those that did not run, are tried once more on a copy of the optimized module.
This way, the answer distinguishes rules that would match from rules that would not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy

from hlotool.analysis.value_numbers import ComputationClasses
from hlotool.errors import HlotoolError, nearest
from hlotool.ir.model import Computation, Instruction, Module
from hlotool.opdefs.inference import count as counted
from hlotool.opdefs.traits import NONDETERMINISTIC
from hlotool.optimizer.constants import CannotBuildError
from hlotool.optimizer.context import Context
from hlotool.optimizer.opt_options import OptimizeOptions
from hlotool.optimizer.opt_report import Report, Rewritten, WhyNot, line_of
from hlotool.optimizer.pass_list import PassSpec
from hlotool.optimizer.pattern_rewriter import PatternRewriter
from hlotool.optimizer.pipeline import PASSES, topics_of
from hlotool.optimizer.registry import FAILURES, Rule, all_rules
from hlotool.optimizer.simplify import rejection_reason
from hlotool.record import replace

__all__ = ["UnknownInstructionError", "explain_why_not"]

# Longer lists of names end with the number of omitted names.
_MAX_NAMES = 3


class UnknownInstructionError(HlotoolError):
    """Raised if the module has no instruction with the requested name."""

    exit_code = 2


def explain_why_not(name: str, before: Module, after: Module, specs: Sequence[PassSpec], options: OptimizeOptions, report: Report) -> list[WhyNot]:
    """Explains why rules and passes leave the instructions called `name` alone.

    There is one answer per rule for the opcode, and one per pass that applies no rules. For an
    instruction that no longer exists, the answer is its replacement. Raises UnknownInstructionError
    if `before` has no such instruction either.
    """
    name = name.strip().removeprefix("%")
    gone = [_replaced(rewrite) for rewrite in report.rewrites if rewrite.instruction == name]
    module = copy(after)
    with Context(module, replace(options, explain=False, bisect_limit=None)) as context:
        # Each trial of a rule inserts its replacement, which is then erased again.
        remaining = [(c, x) for c in module.computations for x in context.instructions(c) if x.name == name]
        trial = _Trial(context, before, specs, options, report)
        answers = [answer for computation, x in remaining for answer in trial.answers(computation, x)]
    if not answers and not gone:
        names = [x.name for x in before.all_instructions()]
        if name not in names:
            meant = nearest(name, names)
            hint = f"; did you mean '{meant}'?" if meant else ""
            raise UnknownInstructionError(f"module '{before.name}' has no instruction '{name}'{hint}")
        return [WhyNot("", name, 0, "", None, "was removed along with an instruction that used it")]
    return answers or gone


def _unapplied_reason(report: Report) -> str:
    """Returns the reason why a rule that matches was not applied."""
    if report.is_stopped:
        return "the passes were stopped, since a rule did not stop firing"
    return "the limit on rewrites was reached" if report.is_exhausted else "the passes ended before this rule was tried"


def _replaced(rewrite: Rewritten) -> WhyNot:
    result = "; ".join(rewrite.after) or "nothing"
    return WhyNot(rewrite.computation, rewrite.instruction, rewrite.line, rewrite.rule, None, f"replaced {rewrite.before} -> {result}")


class _Trial:
    """A trial of rules and passes on instructions of an optimized module, which stays unchanged."""

    def __init__(self, context: Context, before: Module, specs: Sequence[PassSpec], options: OptimizeOptions, report: Report) -> None:
        self.context = context
        self.options = options
        self.report = report
        self.named = {spec.name for spec in specs}
        self.topics = frozenset[str]().union(*(topics_of(spec.name) for spec in specs))

    def answers(self, computation: Computation, x: Instruction) -> Iterator[WhyNot]:
        context = self.context
        line = line_of(context.module, x)
        general = list(self._obstacles(computation, x))
        for entry in all_rules().values():
            if x.op.name in entry.opcodes:
                is_match, reason = self._answer(entry, x, general)
                yield WhyNot(computation.name, x.name, line, entry.name, is_match, reason)
        for name, reason in self._pass_answers(computation, x):
            yield WhyNot(computation.name, x.name, line, name, None, reason)

    def _obstacles(self, computation: Computation, x: Instruction) -> Iterator[str]:
        """Yields the reasons why no rule may rewrite an instruction."""
        rewriter = self.context.rewriter
        if self.options.only and computation.name not in self.options.only:
            yield f"computation '{computation.name}' is not among those to optimize"
        elif not self.context.is_optimized(computation):
            yield f"computation '{computation.name}' belongs to an asynchronous operation"
        if not self.context.is_sound(x):
            yield "the instruction, one of its operands, an operand of those, or a called computation is invalid"
        others = (*x.control_predecessors, *rewriter.control_successors(x))
        if others:
            yield f"the instruction has control dependencies with {_names(others)}"

    def _answer(self, entry: Rule, x: Instruction, general: list[str]) -> tuple[bool | None, str]:
        if not self.context.is_sound(x):
            # Rules may rely on facts that hold only for valid instructions.
            return None, "; ".join(general)
        matches, reason = self._attempt(entry, x)
        if not matches:
            return False, ". ".join(part for part in (entry.summary, entry.details.replace("\n", " ")) if part)
        obstacles = [*general]
        if entry.topic not in self.topics:
            obstacles.append("no pass in the pipeline applies this rule")
        if missing := sorted(entry.flags - self.options.fast_math):
            obstacles.append(f"the rule needs --fast-math={','.join(missing)}")
        if reason is not None:
            obstacles.append(reason)
        if not obstacles:
            obstacles.append(_unapplied_reason(self.report))
        return True, "; ".join(obstacles)

    def _attempt(self, entry: Rule, x: Instruction) -> tuple[bool, str | None]:
        """Returns whether a rule matches, and the reason for rejecting its result, if any."""
        if not entry.is_called_for(x):
            return False, None
        rewriter = PatternRewriter(self.context.rewriter, x)
        try:
            new = entry.checked(x, rewriter)
        except CannotBuildError as error:
            rewriter.undo()
            return True, str(error)
        except MemoryError:
            raise
        except FAILURES as error:
            raise entry.failure(x, error) from error
        if new is None:
            return False, None
        reason = rejection_reason(self.context, entry, x, new, rewriter.inserted)
        rewriter.undo()
        return True, reason

    def _pass_answers(self, computation: Computation, x: Instruction) -> Iterator[tuple[str, str]]:
        """Yields dce, cse and fold, each with the reason why the pass leaves `x` alone."""
        answers = {"dce": self._why_not_removed(x), "cse": self._why_not_merged(computation, x), "fold": _why_not_folded(x)}
        for name, reason in answers.items():
            if name in self.named:
                yield name, reason
            elif name in PASSES:
                yield name, f"not among the passes; {reason}"

    def _why_not_removed(self, x: Instruction) -> str:
        rewriter = self.context.rewriter
        if x.op.name == "parameter":
            return "parameters of the entry, of loops, and of other computations whose callers need them are kept"
        if rewriter.is_root(x):
            return "the instruction is the root of its computation"
        if users := rewriter.users(x):
            return f"the instruction is used by {_names(users)}"
        if self.context.has_effect(x):
            return "the instruction has an effect"
        return "control dependencies order the instruction" if rewriter.is_used(x) else "the instruction would be removed"

    def _why_not_merged(self, computation: Computation, x: Instruction) -> str:
        if x.op.name == "parameter":
            return "parameters are not merged"
        if self.context.has_effect(x):
            return "the instruction has an effect"
        if NONDETERMINISTIC in x.op.traits:
            return "two runs may produce different results"
        freeze = ComputationClasses(self.context.module).freeze
        key = (x.op, x.shape, x.operands, x.immediate, freeze(x.attributes))
        similar = [
            y
            for y in self.context.instructions(computation)
            if y is not x and (y.op, y.shape, y.operands, y.immediate) == key[:4] and freeze(y.attributes) == key[4]
        ]
        if not similar:
            return "no other instruction of the computation has the same opcode, operands, shape and attributes"
        return f"{_names(similar)} may compute the same value"


def _why_not_folded(x: Instruction) -> str:
    if x.op.name == "constant":
        return "the instruction is a constant"
    others = list(dict.fromkeys(operand for operand in x.operands if operand.literal is None))
    if others:
        return f"{_names(others)} {'is' if len(others) == 1 else 'are'} not constant"
    return "the instruction has no operands" if not x.operands else "the result is too large, has an effect, or cannot be computed ahead of time"


def _names(instructions: Sequence[Instruction]) -> str:
    names = [f"'{x.name}'" for x in dict.fromkeys(instructions)]
    shown, more = ", ".join(names[:_MAX_NAMES]), len(names) - _MAX_NAMES
    return shown if more <= 0 else f"{shown} and {counted(more, 'other')}"
