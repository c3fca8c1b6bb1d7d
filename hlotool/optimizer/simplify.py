"""Applies rewrite rules until a fixed point is reached.

Instructions are visited in order, so that their operands are already simplified. After a rewrite,
the neighbors are visited again.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter

from hlotool.ir.edit import Rewriter
from hlotool.ir.model import Computation, Instruction
from hlotool.opdefs.base import OpDef
from hlotool.optimizer.constants import CannotBuildError
from hlotool.optimizer.context import Changes, Context
from hlotool.optimizer.inlining import can_take_sharding
from hlotool.optimizer.opt_report import RuleStatistics
from hlotool.optimizer.pattern_rewriter import PatternRewriter
from hlotool.optimizer.registry import FAILURES, Rule, depends_on_constants
from hlotool.shapes.shape import compatible

__all__ = ["adapt", "rejection_reason", "simplify"]

# The maximum number of rewrites in one run over a computation is _BASE_REWRITES plus _MAX_REWRITES
# per instruction. Long chains need about ten per instruction.
_MAX_REWRITES = 20
_BASE_REWRITES = 100
_FEW_USERS = 16
# The candidate rules for instructions with more operands are not cached.
_MAX_OPERANDS = 3

_op_of = attrgetter("op")
_Candidate = tuple[Rule, Callable[[Instruction, PatternRewriter], Instruction | None], RuleStatistics]


def simplify(context: Context, name: str, table: Mapping[OpDef, Sequence[Rule]]) -> bool:
    """Applies the rules of a table (`registry.rules_by_op`) to all computations.

    Returns whether anything has changed. `name` is the name of the pass; when the pass runs again,
    it visits only instructions affected by changes since its last run. After a rewrite, some
    neighbors are visited at once; the next run visits all other affected instructions.
    """
    start, before, changes = context.rewriter.change_count, context.report.count, context.changes_since_last(name)
    visited = context.visited.setdefault(name, {})
    if changes is None:
        visited.clear()
        waiting = {computation: dict.fromkeys(context.instructions(computation)) for computation in context.computations()}
    else:
        waiting = _affected(context, changes, visited)
    _simplify(context, _Simplifier(context, table, visited), waiting)
    context.mark_finished(name, start)
    return context.report.count > before


def _simplify(context: Context, simplifier: _Simplifier, waiting: dict[Computation, dict[Instruction, None]]) -> None:
    """Visits the waiting instructions, and the neighbors of those that are rewritten."""
    while waiting:
        # Callees come before their callers.
        for computation in context.computations():
            instructions = waiting.pop(computation, None)
            if instructions is None:
                continue
            count = context.report.count
            simplifier.run(computation, list(instructions))
            if context.report.count > count:
                for owner, callers in _affected(context, Changes({}, {computation: context.rewriter.change_count}), {}).items():
                    waiting.setdefault(owner, {}).update(callers)
        present = set(context.computations())
        waiting = {computation: instructions for computation, instructions in waiting.items() if computation in present}


def _affected(context: Context, changes: Changes, visited: Mapping[Instruction, int]) -> dict[Computation, dict[Instruction, None]]:
    """Returns the instructions that rules have to look at again after changes, by computation.

    These are the changed instructions and two levels of their users, except instructions that were
    `visited` after the change. Rules for loops, branches and calls look at the called computations,
    so the callers of changed computations count as changed.
    """
    rewriter = context.rewriter
    # Each instruction with the number of the last change that affects it.
    again = dict(changes.instructions)
    for computation, number in changes.computations.items():
        for caller in rewriter.callers(computation):
            again[caller] = max(number, again.get(caller, number))
    reached = dict(again)
    for _ in range(2):
        users: dict[Instruction, int] = {}
        for x, number in reached.items():
            for user in rewriter.users(x):
                if again.get(user, -1) < number:
                    again[user] = users[user] = number
        reached = users
    result: dict[Computation, dict[Instruction, None]] = {}
    for x, number in again.items():
        if visited.get(x, 0) <= number and context.is_optimized(owner := rewriter.owner(x)):
            result.setdefault(owner, {})[x] = None
    return result


def rejection_reason(context: Context, entry: Rule, x: Instruction, new: Instruction, inserted: Sequence[Instruction]) -> str | None:
    """Returns the reason why the result `new` of a rule may not replace `x`, or None if it may.

    The result must have the shape of `x`. An existing instruction must also have the same layout
    and sharding, whereas a new instruction takes them over. Instructions that users' rules insert
    must be valid. Instructions that hlotool's own rules insert are always valid, except possibly in
    scheduled modules.
    """
    if new is x:
        return "the result is the instruction itself"
    if not compatible(new.shape, x.shape):
        return f"the shape of the result would be {new.shape.text_without_layout}"
    if new not in inserted:
        if new.shape != x.shape:
            return f"the layout of '{new.name}' differs: {new.shape}"
        return None if can_take_sharding(context.rewriter, x, new) else f"'{new.name}' has a different sharding"
    if new.shape.dynamic != x.shape.dynamic:
        return f"the dynamic dimensions of the result would differ: {new.shape.text_without_layout}"
    if new.shape != x.shape and context.keeps_layouts:
        return f"the layout of the result would be {new.shape}, but the layouts of a scheduled module are not changed"
    if entry.is_built_in and not context.keeps_layouts:
        return None
    return next((f"the new '{y.op.name}' would not be valid: {message}" for y in inserted if (message := context.violation(y))), None)


def adapt(rewriter: Rewriter, x: Instruction, new: Instruction) -> None:
    """Gives an instruction the layout and the sharding of the instruction it replaces.

    An existing instruction already has both, since `rejection_reason` compares them.
    """
    if new.shape != x.shape:
        rewriter.update(new, shape=x.shape)
    sharding = x.attributes.get("sharding")
    if sharding is not None:
        rewriter.update(new, attributes={"sharding": sharding})


class _Simplifier:
    """The worklist of the computation that is being simplified."""

    def __init__(self, context: Context, table: Mapping[OpDef, Sequence[Rule]], visited: dict[Instruction, int]) -> None:
        self.context = context
        self.rewriter = context.rewriter
        self.report = context.report
        # The table includes the statistics of each rule, so that they are looked up only once.
        # Checks take time, so only users' rules are checked.
        self.table = {op: [self._candidate(entry) for entry in entries] for op, entries in table.items()}
        # The rules for the opcodes of an instruction and its operands, and those of them that do
        # not depend on constants.
        self.candidates: dict[tuple[OpDef, ...], tuple[list[_Candidate], list[_Candidate]]] = {}
        self.queue: deque[Instruction] = deque()
        self.waiting: set[Instruction] = set()
        self.visited = visited
        self.change_count = 0
        self.fired: Counter[str] = Counter()

    def run(self, computation: Computation, instructions: Sequence[Instruction]) -> None:
        self.fired.clear()
        if self.report.is_exhausted:
            return
        limit = self.report.count + _BASE_REWRITES + _MAX_REWRITES * len(instructions)
        self.queue.extend(instructions)
        self.waiting.update(instructions)
        queue, waiting, rewriter, table, visited = self.queue, self.waiting, self.rewriter, self.table, self.visited
        self.change_count, pattern_rewriter = rewriter.change_count, PatternRewriter(rewriter, computation.root)
        while queue:
            x = queue.popleft()
            waiting.discard(x)
            if x.op not in table or x not in rewriter:
                continue
            pattern_rewriter.x = x
            if not self._visit(x, pattern_rewriter):
                visited[x] = self.change_count
                continue
            self.change_count = rewriter.change_count
            if self.report.is_exhausted:
                break
            if self.report.count > limit:
                name, _ = self.fired.most_common(1)[0]
                self.report.remark(f"rule '{name}' does not stop firing in computation '{computation.name}'; the passes were stopped")
                self.report.is_stopped = True
                break

    def _candidate(self, entry: Rule) -> _Candidate:
        rewrite, statistics = entry.rewrite if entry.is_built_in else entry.checked, self.report.statistics_of(entry.name)

        def measured(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
            start = time.perf_counter()
            try:
                return rewrite(x, rewriter)
            finally:
                statistics.seconds += time.perf_counter() - start

        return entry, measured if self.context.options.measures_time else rewrite, statistics

    def _visit(self, x: Instruction, rewriter: PatternRewriter) -> bool:
        """Applies the first rule whose result is accepted. Returns whether there is one."""
        ops = (x.op, *map(_op_of, x.operands))
        groups = self.candidates.get(ops)
        if groups is None:
            candidates = [row for row in self.table[x.op] if row[0].fits(ops[1:])]
            groups = candidates, [row for row in candidates if not row[0].constant]
            if len(x.operands) <= _MAX_OPERANDS:
                self.candidates[ops] = groups
        candidates, others = groups
        if len(candidates) > len(others) and not depends_on_constants(x):
            candidates = others
        if not candidates or not self.context.is_movable(x):
            return False
        for entry, rewrite, statistics in candidates:
            statistics.tries += 1
            try:
                new = rewrite(x, rewriter)
            except CannotBuildError:
                self._undo(rewriter)
                continue
            except MemoryError:
                raise
            except FAILURES as error:
                raise entry.failure(x, error) from error
            if new is None:
                continue
            if self._accept(entry, x, new, rewriter.inserted):
                rewriter.inserted = []
                return True
            self._undo(rewriter)
        return False

    def _undo(self, rewriter: PatternRewriter) -> None:
        rewriter.undo()
        self.change_count = self.rewriter.change_count

    def _accept(self, entry: Rule, x: Instruction, new: Instruction, inserted: list[Instruction]) -> bool:
        """Replaces `x`, unless `new` is rejected. Returns whether `x` was replaced."""
        rewriter = self.rewriter
        if rejection_reason(self.context, entry, x, new, inserted) is not None:
            return False
        adapt(rewriter, x, new)
        self.fired[entry.name] += 1
        keeps_name = new in inserted and new.op is x.op
        self.context.allows(entry.name, x, tuple(inserted) or (new,), renamed=new if keeps_name else None)
        users = rewriter.users(x)
        rewriter.replace_all_uses(x, new)
        lost = dict.fromkeys(x.operands)
        rewriter.erase(x)
        if keeps_name:
            rewriter.take_name(new, x)
        self._enqueue(users, self.context.erase_if_dead(lost), inserted, new)
        return True

    def _enqueue(self, users: Sequence[Instruction], lost: Iterable[Instruction], inserted: Sequence[Instruction], new: Instruction) -> None:
        """Enqueues all instructions that rules may match as a result of a rewrite.

        The new instructions are visited next, then two levels of users. `users` lists the users of
        the instruction that `new` replaced. `lost` contains instructions that have lost a user; if
        they still have many users, the loss makes no difference to rules.
        """
        rewriter, users_of = self.rewriter, self.rewriter.users
        later: list[Instruction] = []
        for user in users:
            later.append(user)
            later += users_of(user)
        for y in lost:
            close = users_of(y)
            if len(close) <= _FEW_USERS:
                for user in close:
                    later.append(user)
                    further = users_of(user)
                    if len(further) <= _FEW_USERS:
                        later += further
        waiting = self.waiting
        for x in later:
            if x not in waiting:
                waiting.add(x)
                self.queue.append(x)
        for x in (new, *reversed(inserted)):
            if x in rewriter and x not in waiting:
                waiting.add(x)
                self.queue.appendleft(x)
