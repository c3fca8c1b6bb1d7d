"""Changes of single instructions: inserting, updating, replacing, moving, renaming and erasing them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hlotool.errors import EditError
from hlotool.ir.edit_state import EditState
from hlotool.ir.make import attribute_set, definition, make_instruction
from hlotool.ir.model import NO_ATTRIBUTES, Computation, Instruction, set_field
from hlotool.ir.names import is_legal_name
from hlotool.opdefs.base import OpDef
from hlotool.shapes.shape import Shape, compatible

__all__ = ["InstructionEdits"]

_UNCHANGED: Any = object()


class InstructionEdits(EditState):
    """The part of a Rewriter that changes instructions; `ir.edit` adds what changes computations."""

    # ---- new instructions ---------------------------------------------------------------------------------------------

    def insert(
        self,
        op: str | OpDef,
        operands: Sequence[Instruction] = (),
        *,
        before: Instruction | None = None,
        after: Instruction | None = None,
        into: Computation | None = None,
        name: str | None = None,
        shape: Shape | None = None,
        attributes: Mapping[str, Any] = NO_ATTRIBUTES,
        immediate: Any = None,
        metadata_text: str | None = None,
        backend_config: str | None = None,
        origin: Instruction | None = None,
    ) -> Instruction:
        """Puts a new instruction before or after another one, or at the end of a computation, and returns it.

        The shape is inferred where it is not given. The name is the next free one like `name`, which is the opcode by default. With
        `origin`, the instruction that it takes the place of, it has the metadata of that one, and messages point there. Raises EditError
        when operands, attributes or shape do not fit.
        """
        owner = self._owner_at(before, after, into)
        for operand in operands:
            if self.owner(operand) is not owner:
                raise EditError(f"operand '{operand.name}' is in computation '{self.owner(operand).name}', not in '{owner.name}'")
        op = definition(op)
        if metadata_text is None and origin is not None:
            metadata_text = origin.metadata_text
        x = make_instruction(
            name or op.name,
            op,
            operands,
            shape=shape,
            attributes=attributes,
            immediate=immediate,
            metadata_text=metadata_text,
            backend_config=backend_config,
        )
        set_field(x, "name", self._instruction_names.take(x.name))
        if origin is not None:
            self.module.notes.origin_of[x] = self.module.notes.origin_of.get(origin, origin)
        self._add_instruction(x, owner, before, after)
        return x

    def insert_copy(
        self,
        x: Instruction,
        operands: Sequence[Instruction] | None = None,
        *,
        before: Instruction | None = None,
        after: Instruction | None = None,
        into: Computation | None = None,
        name: str | None = None,
    ) -> Instruction:
        """Puts a copy of an instruction, with other operands if they are given, into the same computation or another one."""
        return self.insert(
            x.op,
            x.operands if operands is None else operands,
            before=before,
            after=after,
            into=into,
            name=name or x.name,
            shape=x.shape,
            attributes=x.attributes,
            immediate=x.immediate,
            backend_config=x.backend_config,
            origin=x,
        )

    def _owner_at(self, before: Instruction | None, after: Instruction | None, into: Computation | None) -> Computation:
        if sum(place is not None for place in (before, after, into)) != 1:
            raise EditError("say one place: before=, after= or into=")
        if into is not None:
            return into
        return self.owner(before or after)  # type: ignore[arg-type]  # one of them is given

    def _add_instruction(self, x: Instruction, owner: Computation, before: Instruction | None, after: Instruction | None) -> None:
        order = self._order(owner)
        if before is not None:
            order.insert_before(x, before)
        elif after is not None:
            order.insert_after(x, after)
        else:
            order.append(x)
        self._uses.add(x, owner)
        self._calls_changed = self._calls_changed or bool(x.called)

    # ---- changes of one instruction -----------------------------------------------------------------------------------

    def update(
        self,
        x: Instruction,
        *,
        op: str | OpDef = _UNCHANGED,
        operands: Sequence[Instruction] = _UNCHANGED,
        shape: Shape = _UNCHANGED,
        attributes: Mapping[str, Any] = _UNCHANGED,
        immediate: Any = _UNCHANGED,
        metadata_text: str | None = _UNCHANGED,
        backend_config: str | None = _UNCHANGED,
    ) -> None:
        """Gives an instruction other fields; those that are not named stay. `attributes` replaces the ones it names, None removes one.

        Neither the shape nor the users are adapted. Raises EditError for attributes that the opcode does not have, or lacks.
        """
        owner = self.owner(x)
        op = x.op if op is _UNCHANGED else definition(op)
        if operands is not _UNCHANGED:
            self._check_owners(operands, owner)
        values = x.attributes if attributes is _UNCHANGED else x.attributes.changed(attributes)
        if values is not x.attributes or op is not x.op:
            values = attribute_set(op, values)
        self._mark_changed(owner)
        self._uses.remove_uses(x)
        fields = {
            "op": op,
            "attributes": values,
            "shape": shape,
            "immediate": immediate,
            "metadata_text": metadata_text,
            "backend_config": backend_config,
        }
        for field, value in fields.items():
            if value is not _UNCHANGED:
                set_field(x, field, value)
        if operands is not _UNCHANGED:
            set_field(x, "operands", tuple(operands))
        self._uses.add_uses(x)
        self._calls_changed = self._calls_changed or bool(x.called)

    def _check_owners(self, operands: Iterable[Instruction], owner: Computation) -> None:
        for operand in operands:
            if self.owner(operand) is not owner:
                raise EditError(f"operand '{operand.name}' is in computation '{self.owner(operand).name}', not in '{owner.name}'")

    def set_operand(self, x: Instruction, number: int, operand: Instruction) -> None:
        """Replaces one operand of an instruction."""
        self.update(x, operands=(*x.operands[:number], operand, *x.operands[number + 1 :]))

    def replace_all_uses(self, old: Instruction, new: Instruction) -> None:
        """Puts `new` wherever `old` is an operand, a control predecessor or the root; `new` itself goes on using `old` if it does.

        Raises EditError when the shapes are not compatible, layouts aside.
        """
        if old is new:
            return
        if not compatible(old.shape, new.shape):
            raise EditError(f"'{new.name}' is {new.shape.text_without_layout} and cannot replace '{old.name}', {old.shape.text_without_layout}")
        owner = self.owner(old)
        if self.owner(new) is not owner:
            raise EditError(f"'{new.name}' is in computation '{self.owner(new).name}', not in '{owner.name}'")
        for user in self.users(old):
            if user is not new:
                self.update(user, operands=[new if operand is old else operand for operand in user.operands])
        for successor in self.control_successors(old):
            if successor is not new:
                self._replace_control_predecessor(successor, old, (new,))
        if owner.root is old:
            self.set_root(new)

    def replace(self, old: Instruction, new: Instruction) -> None:
        """Puts `new` wherever `old` is used and erases `old`; `new` runs after the control predecessors of `old`."""
        self.replace_all_uses(old, new)
        inherited = [y for y in old.control_predecessors if y is not new]
        if inherited:
            self._set_control_predecessors(new, (*new.control_predecessors, *inherited))
        self.erase(old)

    def _set_control_predecessors(self, x: Instruction, predecessors: Iterable[Instruction]) -> None:
        self.update(x, attributes={"control-predecessors": tuple(dict.fromkeys(predecessors)) or None})

    def _replace_control_predecessor(self, x: Instruction, old: Instruction, new: tuple[Instruction, ...]) -> None:
        predecessors: list[Instruction] = []
        for y in x.control_predecessors:
            predecessors.extend(new if y is old else (y,))
        self._set_control_predecessors(x, [y for y in predecessors if y is not x])

    def erase(self, x: Instruction) -> None:
        """Takes an instruction out of the module. What had to run before it now has to run before what had to run after it.

        Raises EditError when it is an operand or the root; parameters go with `erase_parameter`.
        """
        owner = self.owner(x)
        users = self._uses.users.get(x)
        if users:
            raise EditError(f"'{x.name}' cannot be erased: '{next(iter(users)).name}' uses it")
        if owner.root is x:
            raise EditError(f"'{x.name}' cannot be erased: it is the root of '{owner.name}'")
        if x.op.name == "parameter":
            raise EditError(f"'{x.name}' is a parameter; erase_parameter also changes callers and the header")
        self._remove_instruction(x, owner)

    def _remove_instruction(self, x: Instruction, owner: Computation) -> None:
        for successor in self.control_successors(x):
            self._replace_control_predecessor(successor, x, x.control_predecessors)
        self._calls_changed = self._calls_changed or bool(x.called)
        self._order(owner).remove(x)
        self._uses.remove(x)
        self._instruction_names.release(x.name)
        self.module.notes.origin_of.pop(x, None)

    def move(self, x: Instruction, *, before: Instruction | None = None, after: Instruction | None = None) -> None:
        """Moves an instruction to another place in its computation, as in a schedule."""
        anchor = before if before is not None else after
        owner = self._owner_at(before, after, None)
        if self.owner(x) is not owner:
            raise EditError(f"'{x.name}' is in computation '{self.owner(x).name}', not in '{owner.name}'")
        if anchor is x:
            return
        order = self._order(owner)
        order.remove(x)
        if before is not None:
            order.insert_before(x, before)
        elif after is not None:
            order.insert_after(x, after)

    def set_root(self, x: Instruction) -> None:
        """Makes an instruction the result of its computation; callers are not adapted to another shape."""
        owner = self.owner(x)
        self._mark_changed(owner)
        owner.root = x

    def rename(self, node: Instruction | Computation, name: str) -> None:
        """Gives an instruction or a computation another name. Raises EditError when it is taken, or cannot be a name."""
        if node.name == name:
            return
        if not is_legal_name(name):
            raise EditError(f"'{name}' cannot be a name")
        names = self._instruction_names if isinstance(node, Instruction) else self._names_of_computations
        if name in names:
            raise EditError(f"the name '{name}' is taken")
        names.release(node.name)
        names.add(name)
        if isinstance(node, Instruction):
            self._mark_changed(self.owner(node))
            set_field(node, "name", name)
        else:
            node.name = name
