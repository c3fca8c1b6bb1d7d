"""Writes the Python function of a region.

Operations appear in order, loops and branches become loops and branches in Python, and values are
freed after their last use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from hlotool.analysis.loops import exact_trip_count
from hlotool.interp.arrays.memory_order import arrange
from hlotool.interp.kernels.control_flow import is_pure
from hlotool.interp.plan.forms import Form, Reduction, form_of, reduction_of
from hlotool.interp.plan.fusing import Cluster, schedule
from hlotool.interp.plan.loop_layouts import required_orders
from hlotool.interp.plan.lowering import Lowering
from hlotool.interp.plan.native.clusters import write_cluster
from hlotool.interp.plan.native.loops import NativeLoop, native_loop
from hlotool.interp.plan.number_loops import NumberLoop, number_loop
from hlotool.interp.plan.operations import Branches, Call, Loop, Operation, Region, Variable
from hlotool.interp.plan.runtime import first_check
from hlotool.interp.plan.statement_writer import implicit_operands, value_expression, write_operation, write_unpacked
from hlotool.interp.plan.writer import Writer
from hlotool.interp.run_options import RunOptions

__all__ = ["FunctionWriter"]

Item = Operation | Cluster


class FunctionWriter:
    """A writer for the function of a region, including nested regions.

    Regions are never nested more deeply than Python's blocks may be, so the methods may recurse.
    """

    def __init__(self, lowering: Lowering, options: RunOptions, *, is_watched: bool) -> None:
        self.writer = Writer()
        self.lowering = lowering
        self.options = options
        self.is_timed = options.timeout_seconds is not None
        self._is_watched = is_watched
        self.number_loops: list[NumberLoop] = []
        self._watched_loop: Item | None = None
        self._sources: dict[Item, list[Variable]] = {}
        # The parameters of the function; its callers hold references to their values, too.
        self._arguments: set[Variable] = set()

    def write(self, region: Region, *, waits: bool) -> None:
        """Writes `def plan(run, ...)`, which takes and returns the leaves of values.

        If `waits` is true, the function is a generator that yields Wait requests.
        """
        writer = self.writer
        writer.waits = waits
        self._arguments.update(region.parameters)
        names = [writer.name(parameter) for parameter in region.parameters]
        with writer.block(f"def plan({', '.join(['run', *names])}):"):
            for parameter in region.parameters:
                if parameter.is_scalar:
                    writer.line(f"{writer.name(parameter)} = {writer.name(parameter)}[()]")
            if waits:
                # Makes this a generator even if everything that might wait has been left out.
                writer.line("yield from ()")
            self._write_region(region, region.parameters)
            writer.line(f"return ({''.join(f'{writer.name(result)}, ' for result in region.results)})")

    # ---- regions --------------------------------------------------------------------------------

    def _form_of(self, operation: Operation) -> Form | Reduction | None:
        if isinstance(operation, (Loop, Branches, Call)):
            return None
        return form_of(operation) or reduction_of(operation)

    def _write_region(self, region: Region, owned: Iterable[Variable]) -> None:
        """Writes the operations of a region.

        The region frees the variables that it owns and the values that it computes, except for its
        results.
        """
        items, reads, needed = self._needed_items(region)
        local = {*owned, *(result for item in items for result in item.results)}
        later = set(region.results)
        dying: list[list[Variable]] = []
        for item, variables in zip(reversed(items), reversed(reads), strict=True):
            last = [variable for variable in dict.fromkeys((*variables, *item.results)) if variable in local and variable not in later]
            later.update(last)
            dying.append(last)
        self._delete([variable for variable in owned if variable not in later])
        reusable: set[Variable] = set()
        # Nested regions do not report the instructions that they reach.
        is_watched, self._is_watched = self._is_watched, False
        for item, last in zip(items, reversed(dying), strict=True):
            if is_watched and (isinstance(item, Loop) or not all(result.is_scalar for result in item.results)):
                self._write_reached(item)
            self._watched_loop = item if is_watched and isinstance(item, Loop) else None
            self._write_item(item, last, needed, reusable)
            reusable.difference_update(last)

    def _needed_items(self, region: Region) -> tuple[list[Item], list[list[Variable]], set[Variable]]:
        """Returns the items to run, each item's variables, and the set of all these variables.

        Items are operations and clusters, in the order in which they run. Items whose results
        nothing reads are left out, unless they must run. An item's variables are those that it
        reads. The set also includes the results of the region.
        """
        needed = set(region.results)
        items: list[Item] = []
        reads: list[list[Variable]] = []
        for item in reversed(schedule(region, self._form_of)):
            if needed.isdisjoint(item.results) and not _must_run(item):
                continue
            variables = self._reads(item)
            needed.update(variables)
            items.append(item)
            reads.append(variables)
        return items[::-1], reads[::-1], needed

    def _reads(self, item: Item) -> list[Variable]:
        """Returns the variables that appear in the statements of an item."""
        sources = implicit_operands(item) if type(item) is Operation else None
        if sources is None:
            return list(item.reads)
        self._sources[item] = sources
        return sources

    def _delete(self, variables: Iterable[Variable]) -> None:
        names = [self.writer.name(variable) for variable in variables if variable.constant is None and not variable.is_scalar]
        if names:
            self.writer.line(f"del {', '.join(dict.fromkeys(names))}")

    def _write_reached(self, item: Item) -> None:
        instruction = item.operations[-1].instruction if isinstance(item, Cluster) else item.instruction
        self.writer.line(f"run.reached({self.writer.bind(instruction)})")

    def _write_item(self, item: Item, dying: list[Variable], needed: set[Variable], reusable: set[Variable]) -> None:
        if isinstance(item, Cluster):
            self.writer.current = item.operations[-1].instruction
            write_cluster(self.writer, item, needed, [variable for variable in dying if variable not in self._arguments], self.options.threads)
            reusable.update(result for result in item.results if result in needed)
            self._delete(variable for variable in dying if variable not in item.results)
            return
        self.writer.comment(item.instruction)
        write = _WRITERS.get(type(item))
        if write is not None:
            reusable.difference_update(item.reads)
            write(self, item, dying)
            return
        binding = self.lowering.bindings[item.instruction]
        passed = write_operation(self.writer, item, binding, self._sources.get(item), dying, reusable)
        self._delete(variable for variable in dying if variable is not passed)
        if self.is_timed and not all(result.is_scalar for result in item.results):
            self.writer.line("run.check_time()")

    # ---- control flow ---------------------------------------------------------------------------

    def _assign(self, targets: Iterable[Variable], values: Iterable[Variable]) -> None:
        pairs = [(self.writer.name(target), self.writer.name(value)) for target, value in zip(targets, values, strict=True)]
        pairs = [(target, value) for target, value in pairs if target != value]
        if pairs:
            self.writer.line(f"{', '.join(target for target, _ in pairs)} = {', '.join(value for _, value in pairs)}")

    def _write_loop(self, loop: Loop, dying: list[Variable]) -> None:
        writer = self.writer
        numbers = number_loop(loop, self.lowering.bindings)
        if numbers is not None:
            self._write_number_loop(loop, numbers)
            self._delete(dying)
            return
        self._assign(loop.state, loop.operands[0])
        initial = set(loop.operands[0])
        inside = {variable for region in loop.regions for variable in region.free_variables()}
        self._delete(variable for variable in dying if variable in initial and variable not in inside)
        for variable, order in required_orders(loop).items():
            writer.line(f"{writer.name(variable)} = {writer.bind(arrange)}({writer.name(variable)}, {writer.bind(order)})")
        is_finite = exact_trip_count(loop.instruction) is not None
        native = native_loop(loop, self.lowering.bindings)
        check = first_check(self.options, is_finite and native is None)
        is_compared = not is_finite and all(map(is_pure, loop.instruction.called))
        count, limit, held = (writer.local(prefix) for prefix in ("n", "c", "h"))
        if check is not None:
            first = check if native is None else f"{writer.bind(native)}.enter({check})"
            writer.line(f"{count} = 0; {limit} = {first}; {held} = None")
        is_watched = loop is self._watched_loop
        state = "".join(f"{value_expression(writer, variable.shape, (variable,))}, " for variable in loop.state)
        with writer.block("while True:"):
            if self.is_timed:
                writer.line("run.check_time()")
            self._write_region(loop.condition, ())
            (continues,) = loop.condition.results
            writer.current = loop.instruction
            writer.line(f"if not {writer.name(continues)}: break")
            if check is not None:
                writer.line(f"{count} += 1")
                with writer.block(f"if {count} == {limit}:"):
                    if native is not None:
                        self._write_native(loop, native, f"{count} - 1")
                    writer.line(f"{limit} = next_check({count}, run.options)")
                    if is_compared:
                        writer.line(f"{held} = ({state})")
            if is_watched:
                self._write_reached(loop)
            self._write_region(loop.body, loop.state)
            writer.current = loop.instruction
            self._assign(loop.state, loop.body.results)
            self._delete(self._local_results(loop.body, loop.state))
            if check is not None and is_compared:
                with writer.block(f"if {held} is not None:"):
                    writer.line(f"if is_same({held}, ({state})): break")
                    writer.line(f"{held} = None")
        self._delete(variable for variable in dying if not (variable in initial and variable not in inside) and variable not in loop.results)
        self._delete(variable for variable in dying if variable in loop.results)

    def _write_native(self, loop: Loop, native: NativeLoop, iterations: str) -> None:
        """Writes code that runs the rest of a loop as machine code, and then leaves the loop.

        The machine code returns the final state. The code has no effect until the loop is compiled.
        """
        writer = self.writer
        arguments = ", ".join(map(writer.name, (*loop.state, *native.outside)))
        writer.line(f"r = {writer.bind(native)}(run, {iterations}, {arguments})")
        with writer.block("if r is not None:"):
            writer.line(f"{''.join(f'{writer.name(variable)}, ' for variable in loop.state)}= r; r = None")
            writer.line("break")

    def _write_number_loop(self, loop: Loop, numbers: NumberLoop) -> None:
        self.number_loops.append(numbers)
        arguments = ", ".join(map(self.writer.name, (*loop.operands[0], *numbers.outside)))
        targets = "".join(f"{self.writer.name(variable)}, " for variable in loop.state)
        self.writer.line(f"{targets}= {self.writer.bind(numbers)}(run, {arguments})")

    def _local_results(self, region: Region, targets: Iterable[Variable]) -> list[Variable]:
        """Returns the results that a region computes itself, except those among the targets.

        Results among the targets need no further assignment.
        """
        local = {result for operation in region.operations for result in operation.results}
        kept = set(targets)
        return [result for result in region.results if result in local and result not in kept]

    def _write_branches(self, branches: Branches, dying: list[Variable]) -> None:
        writer = self.writer
        ((selector,), *_) = branches.operands
        writer.line(f"k = int(branch_of(asarray({writer.name(selector)}), {len(branches.regions)}))")
        owned = [variable for variable in dying if variable not in branches.results and not variable.is_scalar and variable.constant is None]
        for number, region in enumerate(branches.regions):
            # Python limits the depth of nested blocks, but not the number of branches in a row.
            last = number == len(branches.regions) - 1
            head = "if True:" if last and not number else "else:" if last else f"{'elif' if number else 'if'} k == {number}:"
            with writer.block(head):
                returned = [variable for variable in owned if variable in region.results]
                self._write_region(region, [variable for variable in owned if variable not in returned])
                writer.current = branches.instruction
                self._assign(branches.results, region.results)
                self._delete([*self._local_results(region, ()), *returned])
        self._delete(variable for variable in dying if variable in branches.results)

    def _write_call(self, call: Call, dying: list[Variable]) -> None:
        writer = self.writer
        arguments = [value_expression(writer, y.shape, leaves) for y, leaves in zip(call.instruction.operands, call.operands, strict=True)]
        computation = writer.bind(call.computation)
        request = f"Invoke({computation}, ({''.join(f'{argument}, ' for argument in arguments)}))"
        writer.line(f"r = {writer.finish(f'run.invoke({request})')}")
        if call.instruction.shape.is_tuple:
            write_unpacked(writer, call.instruction.shape, call.results, "r")
        else:
            (result,) = call.results
            writer.line(f"{writer.name(result)} = r{'[()]' if result.is_scalar else ''}; r = None")
        self._delete(dying)


def _must_run(item: Item) -> bool:
    """Returns whether an item must run even if unused, because it has effects or may fail."""
    if isinstance(item, Cluster):
        return False
    return not item.is_removable


_WRITERS: dict[type, Callable[[Any, Any, list[Variable]], None]] = {
    Loop: FunctionWriter._write_loop,
    Branches: FunctionWriter._write_branches,
    Call: FunctionWriter._write_call,
}
