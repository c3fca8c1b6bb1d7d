"""The state that passes share: the module, its Rewriter, the options and the report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import NamedTuple, Self

from hlotool.analysis.effects import computations_with_effects, has_effect
from hlotool.codes import severity_of
from hlotool.ir.edit import Rewriter
from hlotool.ir.model import Computation, Instruction, Module
from hlotool.ir.walk import is_fusion_computation
from hlotool.opdefs.modes import VerifyModes
from hlotool.opdefs.table import OPS
from hlotool.opdefs.traits import RUNS_COMPUTATIONS
from hlotool.optimizer.inlining import has_changeable_signature
from hlotool.optimizer.opt_options import OptimizeOptions
from hlotool.optimizer.opt_report import Report
from hlotool.shapes.shape import ProgramShape
from hlotool.verifier.engine import InstructionRules
from hlotool.verifier.facts import Facts

__all__ = ["Changes", "Context"]

_MAY_HAVE_EFFECT = frozenset(op for op in OPS.values() if op.may_have_effect)


class Changes(NamedTuple):
    """Changed instructions and their computations, each with the number of its last change.

    An instruction counts as changed if it was inserted, or if its fields or users changed.
    """

    instructions: Mapping[Instruction, int]
    computations: Mapping[Computation, int]


class _CurrentFacts(Facts):
    """Facts about a module whose program shapes follow the changes of a Rewriter."""

    def __init__(self, module: Module, modes: VerifyModes, rewriter: Rewriter) -> None:
        super().__init__(module, modes)
        self._rewriter = rewriter

    def program_shape(self, computation: Computation) -> ProgramShape:
        if not self._rewriter.change_count:
            return super().program_shape(computation)
        parameters = [x for x in self._rewriter.instructions(computation) if x.op.name == "parameter"]
        return ProgramShape(tuple(x.shape for x in sorted(parameters, key=lambda x: x.immediate)), computation.root.shape)


class Context:
    """One optimization of a module.

    All passes use the same Rewriter, whose tables are expensive to compute. In a `with` block,
    passes can be called individually; the module is made consistent at the end of the block.

    >>> import hlotool
    >>> from hlotool.optimizer.passes.dce import remove_dead_code
    >>> module = hlotool.parse("ENTRY e { p = f32[] parameter(0) a = f32[] negate(p) ROOT b = f32[] abs(p) }")
    >>> with Context(module) as context:
    ...     remove_dead_code(context)
    True
    >>> [x.name for x in module.entry.instructions]
    ['p', 'b']
    """

    def __init__(self, module: Module, options: OptimizeOptions | None = None, report: Report | None = None) -> None:
        self.module = module
        self.options = options = options or OptimizeOptions()
        self.report = report or Report(options.bisect_limit)
        self.rewriter = Rewriter(module)
        self.keeps_layouts = module.is_scheduled
        # Maps the name of a pass to the number of changes when the pass last finished.
        self._finished: dict[str, int] = {}
        self.visited: dict[str, dict[Instruction, int]] = {}
        """For each pass and instruction, the change count at the last visit without a match."""
        self._refreshed = 0
        # The numbers of rewrites and changes at the last refresh.
        self._seen = (0, 0)
        self._has_fusions = any(is_fusion_computation(self.rewriter.callers(f)) for f in module.computations)
        self._with_effects = computations_with_effects(module)
        self._started_computations = self._find_started()
        modes = VerifyModes(layout_sensitive=self.keeps_layouts, layouts_kept=self.keeps_layouts, allow_mixed_precision=True)
        self._rules = InstructionRules(_CurrentFacts(module, modes, self.rewriter))
        self._faulty = self._near_faulty()

    def _find_started(self) -> set[Computation]:
        """Returns the computations that are started asynchronously.

        Computations hidden by the syntactic sugar of asynchronous operations are included.
        """
        return {f for f in self.rewriter.computations() if any(map(_starts, self.rewriter.callers(f)))}

    def _near_faulty(self) -> set[Instruction]:
        findings = self._rules.findings()
        return self._near(finding.instruction for finding in findings if finding.instruction is not None and finding.is_error)

    def refresh(self) -> None:
        """Updates the sets of effectful and started computations, and of faulty instructions.

        Rewrites may have removed the reason why an element is in one of these sets. If any of the
        sets has changed, all passes look at everything again.
        """
        before, seen = (self._with_effects, self._started_computations, self._faulty), (self.report.count, self.rewriter.change_count)
        if not any(before) or seen == self._seen:
            return
        self._seen = seen
        self.rewriter.flush()
        if self._with_effects:
            self._with_effects = computations_with_effects(self.module)
        if self._started_computations:
            self._started_computations = self._find_started()
        if self._faulty:
            self._faulty = self._near_faulty()
        if (self._with_effects, self._started_computations, self._faulty) != before:
            self._finished.clear()
            self._refreshed += 1

    @property
    def progress(self) -> tuple[int, int]:
        """Two counters. If neither changes, a pass that changed nothing need not run again."""
        return self.report.count, self._refreshed

    def _near(self, faulty: Iterable[Instruction]) -> set[Instruction]:
        """Returns the faulty instructions and the instructions that may rely on facts about them.

        These are two levels of users, and the callers of the computations that contain the faulty
        instructions. Facts that hold for valid instructions may be false for all of these.
        """
        near: set[Instruction] = set()
        owners: dict[Computation, None] = {}
        for x in faulty:
            near.add(x)
            owners[self.rewriter.owner(x)] = None
            for user in self.rewriter.users(x):
                near.update((user, *self.rewriter.users(user)))
        # Callers read the parameters and the root of the computation.
        return near.union(*map(self.rewriter.callers, owners))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.rewriter.__exit__(kind, error, trace)

    def computations(self) -> list[Computation]:
        """Returns the computations to optimize: all, or those named in the options.

        Computations that are started asynchronously are left out. XLA writes the opcode of such a
        computation's root as part of the start's opcode, and its parser accepts neither
        `parameter-start` nor `constant-start`, which an optimized root could require.
        """
        return [computation for computation in self.rewriter.computations() if self.is_optimized(computation)]

    def is_optimized(self, computation: Computation) -> bool:
        """Returns whether `computations` includes a computation, without building the list."""
        only = self.options.only
        return computation not in self._started_computations and (not only or computation.name in only)

    def is_started(self, computation: Computation) -> bool:
        """Returns whether a computation is started on another thread. Nothing else may call it."""
        return computation in self._started_computations

    def is_owned(self, computation: Computation, caller: Instruction) -> bool:
        """Returns whether a computation may be changed together with its caller.

        The computation must have no other callers, and `computations` must include it.
        """
        return self.rewriter.is_only_caller(caller, computation) and self.is_optimized(computation)

    def instructions(self, computation: Computation) -> list[Instruction]:
        """Returns the instructions of a computation in order."""
        return self.rewriter.instructions(computation)

    def has_effect(self, x: Instruction) -> bool:
        """Returns whether an instruction does more than compute its value."""
        return x.op in _MAY_HAVE_EFFECT and has_effect(x, self._with_effects)

    def changes_since_last(self, name: str) -> Changes | None:
        """Returns the changes since `mark_finished` was last called for a pass.

        Returns None if the pass has never finished; the pass must then look at everything.
        """
        count = self._finished.get(name)
        return None if count is None else self.changes_since(count)

    def changed_computations(self, name: str, *, with_callers: bool = True) -> list[Computation]:
        """Returns the computations that changed since `mark_finished` was last called for a pass.

        These include the direct and indirect callers of changed computations, unless `with_callers`
        is False.
        """
        count, computations = self._finished.get(name), self.computations()
        if count is None:
            return computations
        changed = set(self.rewriter.changed_computations_since(count))
        stack = list(changed) if with_callers else []
        while stack:
            owners = {self.rewriter.owner(caller) for caller in self.rewriter.callers(stack.pop())}
            stack += owners - changed
            changed |= owners
        return [computation for computation in computations if computation in changed]

    def changes_since(self, count: int) -> Changes:
        """Returns the changes after the Rewriter's first `count` changes."""
        return Changes(self.rewriter.changed_since(count), self.rewriter.changed_computations_since(count))

    def mark_finished(self, name: str, count: int) -> None:
        """Records that a pass has looked at everything as of `count` changes."""
        self._finished[name] = count

    def repeat(self, step: Callable[[Context], None]) -> bool:
        """Runs a step of a pass until it makes no more rewrites. Returns whether it made any.

        Passes repeat a step if a rewrite may enable another one at an instruction that they have
        already visited.
        """
        first = last = self.report.count
        step(self)
        while self.report.count != last:
            last = self.report.count
            step(self)
        return last > first

    def allows(self, name: str, x: Instruction, after: tuple[Instruction | str, ...] = (), renamed: Instruction | None = None) -> bool:
        """Counts and records the replacement or removal of an instruction by a pass.

        Returns False if the limit on rewrites has been reached; the pass must then do nothing.
        `after` lists the instructions that replace `x`, or descriptions of what happens to `x`;
        `renamed` is the instruction that takes over the name of `x`.
        """
        if self.report.is_exhausted:
            return False
        self.report.add(name)
        if self.options.explain:
            self.report.describe(name, self.module, self.rewriter.owner(x), x, after, renamed)
        return True

    def allows_removal(self, name: str, computation: Computation) -> bool:
        """Does the same as `allows`, but for the removal of a whole computation."""
        if self.report.is_exhausted:
            return False
        self.report.add(name)
        if self.options.explain:
            self.report.describe_removal(name, self.module, computation)
        return True

    def is_movable(self, x: Instruction) -> bool:
        """Returns whether an instruction may be replaced.

        The instruction must be sound, and have no control dependencies on or from others.
        """
        return x not in self._faulty and not self.rewriter.has_control_edges(x)

    def is_sound(self, x: Instruction) -> bool:
        """Returns whether neither an instruction nor any on which its rewrites rely has errors.

        These are its operands, the operands of its operands, and the computations that it calls.
        """
        return x not in self._faulty

    def violation(self, x: Instruction) -> str | None:
        """Returns a message if a new instruction breaks a constraint of its opcode, or None."""
        violation = self._rules.judge(x)
        if violation is None or (violation.severity or severity_of(violation.code)) != "error":
            return None
        return violation.message

    def erase_if_dead(self, instructions: Iterable[Instruction]) -> list[Instruction]:
        """Erases unused instructions without side effects, and those that are dead as a result.

        Returns the instructions that have lost a user and are still alive.
        """
        rewriter = self.rewriter
        stack, alive = list(instructions), []
        while stack:
            x = stack.pop()
            if x not in rewriter:
                continue
            if rewriter.is_used(x) or x.op.name == "parameter" or self.has_effect(x):
                alive.append(x)
                continue
            stack += dict.fromkeys(x.operands)
            rewriter.erase(x)
        return alive

    def can_lose_parameter(self, parameter: Instruction, callers: Iterable[Instruction]) -> bool:
        """Returns whether an unused parameter can be erased, along with its operand in each caller.

        In a module with errors, callers may have too few operands.
        """
        return all(has_changeable_signature(x) and parameter.immediate < len(x.operands) for x in callers)

    def erase_parameters(self, parameters: Sequence[Instruction]) -> None:
        """Erases unused parameters, their operands in each call, and instructions left dead."""
        if parameters:
            callers = self.rewriter.callers(self.rewriter.owner(parameters[0]))
            lost = dict.fromkeys(caller.operands[parameter.immediate] for parameter in parameters for caller in callers)
            self.rewriter.erase_parameters(parameters)
            self.erase_if_dead(lost)

    def erase_unused_fusion_parameters(self, count: int) -> None:
        """Erases fusion parameters that became unused after the first `count` changes.

        A fusion that does not use all of its parameters is invalid, so this removal is part of the
        rewrites that removed the last uses.
        """
        rewriter = self.rewriter
        while self._has_fusions and count < rewriter.change_count:
            unused: dict[Computation, list[Instruction]] = {}
            for x in rewriter.changed_since(count):
                if x.op.name == "parameter" and not rewriter.is_used(x):
                    unused.setdefault(rewriter.owner(x), []).append(x)
            # This may leave parameters of the callers' computations unused.
            count = rewriter.change_count
            for computation, parameters in unused.items():
                callers = rewriter.callers(computation)
                if is_fusion_computation(callers):
                    self.erase_parameters([x for x in parameters if self.can_lose_parameter(x, callers)])


def _starts(caller: Instruction) -> bool:
    """Returns whether an instruction starts its computation on another thread."""
    return caller.op.is_asynchronous and RUNS_COMPUTATIONS in caller.op.traits
