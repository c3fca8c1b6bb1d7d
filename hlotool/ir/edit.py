"""The Rewriter, which edits modules.

It updates everything that depends on a change: users, control edges, the root, callers, names,
order, the header of the module, and notes about the source. Inserting, moving or erasing an
instruction takes constant time, anywhere in a computation. `flush` writes these changes to
`Computation.instructions`; after `finish`, the module is consistent.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Self

from hlotool.errors import EditError
from hlotool.ir.clone import clone_computation
from hlotool.ir.edit_instructions import InstructionEdits
from hlotool.ir.header import header_without_parameter
from hlotool.ir.model import Computation, Instruction, set_field
from hlotool.opdefs.traits import ANY_SIGNATURE
from hlotool.record import replace

__all__ = ["Rewriter"]


class Rewriter(InstructionEdits):
    """An editor that changes a module in place.

    As a context manager, it calls `finish` at the end of the block. Until then, only the Rewriter
    may change the module. `remarks` lists the changes that the Rewriter made on its own to keep the
    module valid, such as dropping an alias. Methods raise EditError if an edit is not possible.

    >>> from hlotool.text.parse.parser import parse
    >>> from hlotool.text.print.printer import to_text
    >>> module = parse("ENTRY e { p = f32[2] parameter(0) a = f32[2] negate(p) ROOT b = f32[2] negate(a) }")
    >>> p, a, b = module.entry.instructions
    >>> with Rewriter(module) as rewriter:
    ...     rewriter.replace_all_uses(b, p)
    ...     rewriter.erase(b)
    ...     rewriter.erase(a)
    >>> module.entry.instructions
    [<p = f32[2]{0} parameter>]
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:
            self.finish()
        else:
            # Some edits are missing, but the module can still be printed.
            self.flush()

    def add_computation(self, computation: Computation | str) -> Computation:
        """Adds a computation to the module and returns it.

        `computation` is a computation that belongs to no module, or the name of a new, empty one.
        The computations that it calls must already be in the module. Names already in use get a
        number, as in `f.1`.
        """
        if isinstance(computation, str):
            computation = Computation(computation)
        if computation in self._erased:
            self.flush()
        computation.name = self._computation_names.take(computation.name)
        for x in computation.instructions:
            set_field(x, "name", self._instruction_names.take(x.name))
            set_field(x, "start", -1)
            set_field(x, "end", -1)
            self._uses.add(x, computation)
        computation.start = computation.end = -1
        self.module.computations.append(computation)
        self._mark_changed(computation)
        return computation

    def clone_computation(self, computation: Computation, suffix: str = "clone") -> Computation:
        """Adds a copy of a computation to the module and returns it.

        Appends a dot and `suffix` to the names of the copy and of its instructions.
        """
        self.flush()
        copy = clone_computation(computation, f"{computation.name}.{suffix}")
        origins = self.module.notes.origin_of
        for x, original in zip(copy.instructions, computation.instructions, strict=True):
            set_field(x, "name", f"{x.name}.{suffix}")
            origins[x] = origins.get(original, original)
        return self.add_computation(copy)

    def set_entry(self, computation: Computation) -> None:
        """Makes a computation the entry of the module. `finish` updates the header to match it."""
        self.module.entry = computation
        self._mark_changed(computation)

    def erase_computation(self, computation: Computation) -> None:
        """Removes a computation from the module.

        Raises EditError if it is the entry, or if an instruction calls it.
        """
        callers = self.callers(computation)
        if callers:
            raise EditError(f"computation '{computation.name}' cannot be erased: '{callers[0].name}' calls it")
        if computation is self.module.entry:
            raise EditError(f"computation '{computation.name}' cannot be erased: it is the entry")
        self._calls_changed = True
        self._remove_computation(computation)

    def move_body(self, body: Computation, operands: Sequence[Instruction], before: Instruction) -> None:
        """Moves the instructions of `body` to another computation, in front of `before`.

        `operands` replaces the parameters of `body`. Afterwards, `body` contains only its
        parameters and must be erased next, because its root is in the other computation.
        """
        owner = self.owner(before)
        if owner is body:
            raise EditError(f"computation '{body.name}' cannot be moved into itself")
        self._check_owners(operands, owner)
        target, names, owners = self._order(owner), self._instruction_names, self._uses.owners
        parameters: list[Instruction] = []
        for x in self.instructions(body):
            if x.op.name == "parameter":
                parameters.append(x)
                self._replace_uses(x, operands[x.immediate])
                continue
            target.insert_before(x, before)
            owners[x] = owner
            self._uses.changes.append(x)
            # An instruction in the other computation may have the same name.
            if names.count(x.name) > 1:
                names.release(x.name)
                set_field(x, "name", names.take(x.name))
        self._set_order(body, parameters)

    def erase_parameter(self, parameter: Instruction) -> None:
        """Removes an unused parameter, the operands passed to it, and its entries in the header.

        Raises EditError if the parameter is used, or if a caller is neither a call nor a fusion (a
        loop needs its parameter).
        """
        self.erase_parameters([parameter])

    def erase_parameters(self, parameters: Sequence[Instruction]) -> None:
        """Removes several parameters of one computation, like calls to `erase_parameter`.

        This takes no longer than removing a single parameter.
        """
        if not parameters:
            return
        owner = self.owner(parameters[0])
        for parameter in parameters:
            if parameter.op.name != "parameter" or self.owner(parameter) is not owner:
                raise EditError(f"'{parameter.name}' is not a parameter of '{owner.name}'")
            if parameter in self._uses.users or owner.root is parameter:
                raise EditError(f"parameter '{parameter.name}' cannot be erased: it is used")
        for caller in self.callers(owner):
            if ANY_SIGNATURE not in caller.op.traits:
                raise EditError(
                    f"parameter '{parameters[0].name}' cannot be erased: "
                    f"'{caller.name}' ({caller.op.name}) calls '{owner.name}' and needs the parameter"
                )
        erased = {parameter.immediate for parameter in parameters}
        for caller in self.callers(owner):
            self._drop_operands(caller, erased)
        for parameter in parameters:
            self._remove_instruction(parameter, owner)
        kept = sorted((x for x in self.instructions(owner) if x.op.name == "parameter"), key=lambda x: x.immediate)
        for number, x in enumerate(kept):
            self.update(x, immediate=number)
        if owner is self.module.entry:
            for number in sorted(erased, reverse=True):
                self.module.attributes = header_without_parameter(self.module.attributes, number)

    def _drop_operands(self, caller: Instruction, erased: set[int]) -> None:
        kept = [k for k in range(len(caller.operands)) if k not in erased]
        numbers = {old: new for new, old in enumerate(kept)}
        aliases = caller.attributes.get("output_to_operand_aliasing", ())
        aliases = tuple(replace(pair, number=numbers[pair.number]) for pair in aliases if pair.number in numbers)
        self.update(caller, operands=[caller.operands[k] for k in kept], attributes={"output_to_operand_aliasing": aliases or None})
