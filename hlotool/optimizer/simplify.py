"""Applies the rewrite rules to a fixed point.

Each instruction is visited in order, so that its operands are already simplified. After a rewrite, its neighbors are visited again.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence

from hlotool.ir.model import Computation, Instruction
from hlotool.opdefs.base import OpDef
from hlotool.optimizer.constants import CannotBuildError
from hlotool.optimizer.context import Context
from hlotool.optimizer.registry import Rule
from hlotool.optimizer.site import Site
from hlotool.shapes.shape import compatible

__all__ = ["refusal", "simplify"]

# Rewrites for each instruction of a computation, before its rules are stopped, and for each computation. Long chains need about ten.
_MOST_REWRITES = 20
_MOST_IN_ANY_CASE = 100


def simplify(context: Context, name: str, table: Mapping[OpDef, Sequence[Rule]]) -> bool:
    """Applies the rules of a table (`registry.rules_by_op`) to all computations; returns whether anything has changed.

    `name` is that of the pass: when it runs again, it only looks at what has changed since.
    """
    simplifier, before = _Simplifier(context, table), context.report.count
    known = context.simplified.get(name)
    if known is None:
        for computation in context.computations():
            simplifier.run(computation, context.instructions(computation))
    else:
        for computation, instructions in _changed_by_computation(context, known).items():
            simplifier.run(computation, instructions)
    context.simplified[name] = context.rewriter.change_count
    return context.report.count > before


def _changed_by_computation(context: Context, count: int) -> dict[Computation, list[Instruction]]:
    """What rules have to look at again after changes: instructions, their users, and the users of those.

    Rules of loops, branches and calls look at the computation, so the callers of changed computations count as changed.
    """
    rewriter, computations = context.rewriter, set(context.computations())
    again: dict[Instruction, None] = {}
    changed = list(rewriter.changed_since(count))
    owners = dict.fromkeys(rewriter.owner(x) for x in changed)
    changed += dict.fromkeys(caller for owner in owners for caller in rewriter.callers(owner))
    for x in changed:
        again[x] = None
        for user in rewriter.users(x):
            again[user] = None
            again.update(dict.fromkeys(rewriter.users(user)))
    result: dict[Computation, list[Instruction]] = {}
    for x in again:
        owner = rewriter.owner(x)
        if owner in computations:
            result.setdefault(owner, []).append(x)
    return result


def refusal(context: Context, x: Instruction, new: Instruction, inserted: Sequence[Instruction]) -> str | None:
    """Why `new` may not stand for `x`; None if it may: it has the same shape, layout and sharding, or is new and takes them over."""
    if new is x:
        return "the result is the instruction itself"
    if not compatible(new.shape, x.shape):
        return f"the result has the shape {new.shape.text_without_layout}"
    if new not in inserted:
        sharding = x.attributes.get("sharding")
        if new.shape != x.shape:
            return f"the layout of '{new.name}' differs: {new.shape}"
        return None if sharding is None or new.attributes.get("sharding") == sharding else f"'{new.name}' has another sharding"
    if new.shape.dynamic != x.shape.dynamic:
        return f"the dynamic dimensions of the result differ: {new.shape.text_without_layout}"
    if new.shape != x.shape and context.keeps_layouts:
        return f"the layout of the result would be {new.shape}, and those of a scheduled module do not change"
    return next((f"the new '{y.op.name}' would not be valid: {message}" for y in inserted if (message := context.violation(y))), None)


class _Simplifier:
    """The queue of instructions of the computation that is being simplified."""

    def __init__(self, context: Context, table: Mapping[OpDef, Sequence[Rule]]) -> None:
        self.context = context
        self.rewriter = context.rewriter
        self.report = context.report
        # With the statistics of each rule, which are looked up once. Only rules of users are checked, which takes time.
        self.table = {
            op: [(entry, entry.rewrite if entry.is_built_in else entry.checked, context.report.of(entry.name)) for entry in entries]
            for op, entries in table.items()
        }
        self.queue: deque[Instruction] = deque()
        self.waiting: set[Instruction] = set()
        self.fired: Counter[str] = Counter()

    def run(self, computation: Computation, instructions: Sequence[Instruction]) -> None:
        self.fired.clear()
        most = self.report.count + _MOST_IN_ANY_CASE + _MOST_REWRITES * len(instructions)
        self.queue.extend(instructions)
        self.waiting.update(instructions)
        while self.queue:
            x = self.queue.popleft()
            self.waiting.discard(x)
            if x in self.rewriter and x.op in self.table:
                self._visit(x)
            if self.report.is_exhausted:
                break
            if self.report.count > most:
                name, _ = self.fired.most_common(1)[0]
                self.report.remark(f"rule '{name}' does not stop firing in computation '{computation.name}'; its rules have been stopped")
                self.report.is_stopped = True
                break
        self.queue.clear()
        self.waiting.clear()

    def _visit(self, x: Instruction) -> None:
        if not self.context.is_movable(x):
            return
        site = Site(self.rewriter, x)
        measures_time = self.context.options.measures_time
        operands = [y.op for y in x.operands]
        for entry, rewrite, statistics in self.table[x.op]:
            if entry.operands and entry.operands.isdisjoint(operands):
                continue
            statistics.tries += 1
            try:
                if measures_time:
                    start = time.perf_counter()
                    new = rewrite(x, site)
                    statistics.seconds += time.perf_counter() - start
                else:
                    new = rewrite(x, site)
            except CannotBuildError:
                site.undo()
                continue
            except MemoryError:
                raise
            except Exception as error:
                raise entry.failure(x, error) from error
            if new is None:
                continue
            if self._accept(entry, x, new, site.inserted):
                return
            site.undo()

    def _accept(self, entry: Rule, x: Instruction, new: Instruction, inserted: list[Instruction]) -> bool:
        """Replaces `x`, unless the new instructions are not valid in this module."""
        rewriter = self.rewriter
        if refusal(self.context, x, new, inserted) is not None:
            return False
        self._adapt(x, new, inserted)
        self.fired[entry.name] += 1
        keeps_name = new in inserted and new.op is x.op
        self.context.allows(entry.name, x, tuple(inserted) or (new,), renamed=new if keeps_name else None)
        rewriter.replace_all_uses(x, new)
        lost = dict.fromkeys(x.operands)
        rewriter.erase(x)
        if keeps_name:
            rewriter.take_name(new, x)
        self._enqueue(self.context.erase_if_dead(lost), inserted, new)
        return True

    def _adapt(self, x: Instruction, new: Instruction, inserted: list[Instruction]) -> None:
        """Gives a new instruction the layout and the sharding of the one that it replaces."""
        if new not in inserted:
            return
        if new.shape != x.shape:
            self.rewriter.update(new, shape=x.shape)
        sharding = x.attributes.get("sharding")
        if sharding is not None:
            self.rewriter.update(new, attributes={"sharding": sharding})

    def _enqueue(self, lost: Iterable[Instruction], inserted: Iterable[Instruction], new: Instruction) -> None:
        """Visits the new instructions next, then all whose rules may look at what has changed: two levels of users."""
        later: dict[Instruction, None] = {}
        for y in (new, *lost):
            for user in self.rewriter.users(y):
                later[user] = None
                later.update(dict.fromkeys(self.rewriter.users(user)))
        for x in later:
            if x not in self.waiting:
                self.waiting.add(x)
                self.queue.append(x)
        for x in reversed([*inserted, new]):
            if x in self.rewriter and x not in self.waiting:
                self.waiting.add(x)
                self.queue.appendleft(x)
