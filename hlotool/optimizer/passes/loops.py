"""Simplifies the state of while loops: removes unneeded elements, equal elements and constants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from math import prod
from typing import Any

from hlotool.ir.model import Computation, Instruction
from hlotool.literals.literal import Literal
from hlotool.opdefs.traits import CHEAP, COMMUNICATES, IDENTITY, NONDETERMINISTIC
from hlotool.optimizer.context import Changes, Context
from hlotool.optimizer.tuple_edits import (
    is_only_unpacked,
    is_removable_root,
    keep_elements_of_operand,
    keep_elements_of_result,
    keep_elements_of_tuple,
    taken_elements,
)
from hlotool.shapes.dtype import ELEMENT_TYPES
from hlotool.shapes.shape import tuple_shape

__all__ = ["hoist_invariants", "simplify_loops"]

# Constants with more elements are moved into a loop, but not copied.
_MAX_COPY_SIZE = 64
# Equal elements are usually found in two steps; each step looks at the whole body.
_MAX_STEPS = 8


def simplify_loops(context: Context) -> bool:
    """while(tuple(a, b, c)) -> while(tuple(a)), if b is not needed, and c is constant or equal to a

    Constants that the loop does not change are copied to their users. Equal elements start with the
    same value and change in the same way. Loops that share a computation with another caller, or
    whose configuration refers to elements by number, are left alone.
    """
    # After an inner loop loses elements, outer loops may no longer need them either.
    return context.repeat(_simplify_changed_loops)


def _simplify_changed_loops(context: Context) -> None:
    """Simplifies each loop once, if anything relevant to it has changed since the last call."""
    start, changes = context.rewriter.change_count, context.changes_since_last("loops")
    for loop in _loops(context):
        if changes is not None and not loop.is_affected(changes):
            continue
        loop.use_constants()
        if loop.is_narrowable():
            loop.merge_equal_elements()
            loop.remove_unneeded_elements()
    context.mark_finished("loops", start)


def hoist_invariants(context: Context) -> bool:
    """while(tuple(i, a)) -> while(tuple(i, cosine(a))), if only a cosine in the body needs a

    The loop must not change a. The module does not get larger, but loops that were equal may differ
    afterwards, so this pass runs only if it is requested by name.
    """
    before = context.report.count
    for loop in _loops(context):
        if loop.is_narrowable():
            loop.hoist_invariants()
    return context.report.count > before


def _loops(context: Context) -> Iterator[_Loop]:
    """Yields the loops that have the usual form.

    Outer loops come first, since they determine which results of inner loops are needed.
    """
    for computation in reversed(context.computations()):
        for x in context.instructions(computation):
            if x.op.name != "while" or not all(context.is_owned(called, x) for called in x.called):
                continue
            loop = _Loop(context, x)
            if loop.has_usual_form():
                yield loop


class _Loop:
    """A while loop: its initial state, the parameters of both computations, and the body's root."""

    def __init__(self, context: Context, x: Instruction) -> None:
        self.context = context
        self.rewriter = context.rewriter
        self.x = x
        self.start = x.operands[0]
        self.body: Computation = x.attributes["body"]
        self.condition: Computation = x.attributes["condition"]
        self.root = self.body.root
        self.parameter = _parameter(context.instructions(self.body))
        self.tested = _parameter(context.instructions(self.condition))

    def has_usual_form(self) -> bool:
        """Returns whether the state is a tuple whose elements can be removed inside the loop."""
        rewriter, x = self.rewriter, self.x
        if self.start.op.name != "tuple" or "tuple_ind" in (x.backend_config or ""):
            return False
        return is_removable_root(rewriter, self.root) and all(is_only_unpacked(rewriter, p) for p in (self.parameter, self.tested))

    def is_affected(self, changes: Changes) -> bool:
        """Returns whether any of the changes is relevant to the loop."""
        if not changes.computations.keys().isdisjoint((self.body, self.condition)):
            return True
        return not changes.instructions.keys().isdisjoint((self.x, self.start, *self.start.operands))

    def is_narrowable(self) -> bool:
        return is_only_unpacked(self.rewriter, self.x)

    def use_constants(self) -> None:
        """Copies constant elements of the state into the condition and the body.

        The loop must return these elements unchanged. They are copied into the body only if that
        makes the state smaller.
        """
        parameters = (self.tested, self.parameter) if self.is_narrowable() else (self.tested,)
        readers: dict[int, list[Instruction]] = {}
        for user in (user for p in parameters for user in self.rewriter.users(p)):
            readers.setdefault(user.attributes["index"], []).append(user)
        for k, element in enumerate(self.start.operands):
            if k not in readers or not self._is_copied(k, element):
                continue
            uses = [user for user in readers[k] if self._is_read(user)]
            if uses and self.context.allows("loop-constant", self.x):
                for user in uses:
                    self._replace(user, element)

    def _is_copied(self, index: int, element: Instruction) -> bool:
        literal = element.literal
        if literal is None or not _is_returned(self.root.operands[index], index, self.parameter):
            return False
        if element.control_predecessors:
            return False
        return self.rewriter.use_count(element) == 1 or literal.element_count <= _MAX_COPY_SIZE

    def _is_read(self, element: Instruction) -> bool:
        """Returns whether anything but the body's root uses a get-tuple-element."""
        return any(user is not self.root for user in self.rewriter.users(element)) or self.rewriter.is_root(element)

    def _replace(self, element: Instruction, constant: Instruction) -> None:
        rewriter = self.rewriter
        copy = rewriter.insert_copy(constant, before=element)
        for user in rewriter.users(element):
            if user is not self.root:
                rewriter.update(user, operands=[copy if operand is element else operand for operand in user.operands])
        if rewriter.is_root(element):
            rewriter.set_root(copy)
        self.context.erase_if_dead([element])

    def merge_equal_elements(self) -> None:
        """Merges elements that start with the same value and change in the same way."""
        first = self._classes()
        for p in (self.parameter, self.tested, self.x):
            for user in self.rewriter.users(p):
                index = user.attributes["index"]
                if first[index] == index:
                    continue
                if not self.context.allows("equal-loop-elements", user):
                    return
                self.rewriter.update(user, attributes={"index": first[index]})

    def _classes(self) -> list[int]:
        """Returns, for each element of the state, the index of the first element that equals it."""
        separate = list(range(len(self.start.operands)))
        first = _first_of_equal((start, start.shape, _outline(new)) for start, new in zip(self.start.operands, self.root.operands, strict=True))
        for _ in range(_MAX_STEPS):
            if first == separate:
                return separate
            numbers = self._numbers(first)
            refined = _first_of_equal((k, numbers[new]) for k, new in zip(first, self.root.operands, strict=True))
            if refined == first:
                return first
            first = refined
        return separate

    def _numbers(self, first: list[int]) -> dict[Instruction, int]:
        """Numbers the instructions of the body; equal numbers mean equal values.

        Elements of the state with the same entry in `first` are assumed to be equal.
        """
        numbers: dict[Instruction, int] = {}
        known: dict[Any, int] = {}
        for x in self.context.instructions(self.body):
            if x.op.name == "get-tuple-element" and x.operands[0] is self.parameter:
                key: Any = first[x.attributes["index"]]
            elif self.context.has_effect(x):
                key = x
            else:
                immediate = x if isinstance(x.immediate, Literal) and x.immediate.elided else x.immediate
                attributes = tuple([(name, tuple(value.items()) if isinstance(value, dict) else value) for name, value in x.attributes.items()])
                key = (x.op.name, x.shape, tuple([numbers[y] for y in x.operands]), immediate, attributes, x.backend_config)
            numbers[x] = known.setdefault(key, len(known))
        return numbers

    def remove_unneeded_elements(self) -> None:
        needed = self._needed()
        rewriter, count = self.rewriter, len(self.start.operands)
        kept = [k for k in range(count) if k in needed]
        if len(kept) == count or not self.context.allows("unneeded-loop-elements", self.x):
            return
        # Readers of the other elements have no users that are needed, so they are dead.
        self.context.erase_if_dead(keep_elements_of_tuple(rewriter, self.root, kept))
        lost = keep_elements_of_operand(rewriter, self.x, 0, kept)
        for p in (self.parameter, self.tested, self.x):
            keep_elements_of_result(rewriter, p, kept)
        self.context.erase_if_dead(lost)

    def _needed(self) -> set[int]:
        """Returns the elements needed by the condition, effects in the body, or later users."""
        rewriter = self.rewriter
        stack = [x for x in self.context.instructions(self.body) if self._stays(x)]
        needed: set[int] = set()
        queue = [*taken_elements(rewriter, self.tested), *taken_elements(rewriter, self.x)]
        visited = set(stack)
        while stack or queue:
            if queue:
                index = queue.pop()
                needed.add(index)
                reached: Iterable[Instruction] = (self.root.operands[index],)
            else:
                x = stack.pop()
                if x.op.name == "get-tuple-element" and x.operands[0] is self.parameter:
                    queue.append(x.attributes["index"])
                    continue
                reached = x.operands + x.attributes.get("control-predecessors", ())
            new = [y for y in reached if y not in visited]
            visited.update(new)
            stack += new
        return needed

    def hoist_invariants(self) -> None:
        """Moves operations on loop-invariant elements out of the loop.

        The result of an operation must replace an element that nothing else needs.
        """
        rewriter = self.rewriter
        tuples = (self.x, self.start, self.parameter, self.tested, self.root)
        if rewriter.use_count(self.start) > 1 or rewriter.is_root(self.start) or any("sharding" in y.attributes for y in tuples):
            return
        # The elements that are needed outside the body, or taken more than once in the body.
        visible = taken_elements(rewriter, self.tested) | taken_elements(rewriter, self.x)
        counts = Counter(user.attributes["index"] for user in rewriter.users(self.parameter))
        visible |= {index for index, count in counts.items() if count > 1}
        for y in self.context.instructions(self.body):
            replaced = self._replaced_by(y, visible)
            if replaced is not None and self.context.allows("hoist", y):
                self._hoist(y, replaced, tuples)

    def _replaced_by(self, y: Instruction, visible: set[int]) -> Instruction | None:
        """Returns an operand of `y` whose element of the state can be replaced with `y`.

        Returns None if `y` must stay in the loop.
        """
        rewriter = self.rewriter
        if y.called or not y.shape.is_array or not self.context.is_movable(y) or self.context.has_effect(y):
            return None
        if not y.op.traits.isdisjoint({CHEAP, COMMUNICATES, IDENTITY, NONDETERMINISTIC}) or not all(map(self._is_kept, y.operands)):
            return None
        for operand in y.operands:
            is_only = operand.attributes["index"] not in visible and set(rewriter.users(operand)) == {y, self.root}
            if is_only and _size(y) <= _size(operand):
                return operand
        return None

    def _is_kept(self, x: Instruction) -> bool:
        if x.op.name != "get-tuple-element" or x.operands[0] is not self.parameter or not x.shape.is_array:
            return False
        index = x.attributes["index"]
        return _is_returned(self.root.operands[index], index, self.parameter)

    def _hoist(self, y: Instruction, replaced: Instruction, tuples: Iterable[Instruction]) -> None:
        rewriter, index = self.rewriter, replaced.attributes["index"]
        outside = [self.start.operands[operand.attributes["index"]] for operand in y.operands]
        new = rewriter.insert_copy(y, outside, before=self.start)
        rewriter.set_operand(self.start, index, new)
        shape = tuple_shape([*self.x.shape.elements[:index], y.shape, *self.x.shape.elements[index + 1 :]])
        for group in tuples:
            rewriter.update(group, shape=shape)
        rewriter.update(replaced, shape=y.shape)
        rewriter.replace_all_uses(y, replaced)
        rewriter.erase(y)

    def _stays(self, x: Instruction) -> bool:
        """Returns whether an instruction of the body stays even if the root does not need it."""
        if x is self.root:
            return False
        return self.context.has_effect(x) or bool(self.rewriter.control_successors(x)) or not self.rewriter.user_count(x)


def _parameter(instructions: list[Instruction]) -> Instruction:
    return next(x for x in instructions if x.op.name == "parameter")


def _size(x: Instruction) -> int:
    return prod(x.shape.dimensions) * ELEMENT_TYPES[x.shape.element_type].bits


def _is_returned(x: Instruction, index: int, parameter: Instruction) -> bool:
    return x.op.name == "get-tuple-element" and x.operands[0] is parameter and x.attributes["index"] == index


def _outline(x: Instruction) -> Any:
    """Returns a key that is cheap to compute, and the same for equal elements."""
    return (x.op.name, x.shape, len(x.operands))


def _first_of_equal(keys: Iterable[Any]) -> list[int]:
    """Returns, for each key, the position of the first equal key."""
    known: dict[Any, int] = {}
    return [known.setdefault(key, k) for k, key in enumerate(keys)]
