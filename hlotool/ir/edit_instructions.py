"""Edits of single instructions: insert, update, replace, move, rename and erase."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hlotool.errors import EditError
from hlotool.ir.edit_state import EditState
from hlotool.ir.make import as_shape, attribute_set, check_parts, definition, make_instruction
from hlotool.ir.model import NO_ATTRIBUTES, Computation, Instruction, set_field
from hlotool.ir.names import is_legal_name
from hlotool.opdefs.base import OpDef
from hlotool.shapes.shape import Shape, compatible

__all__ = ["InstructionEdits"]

_UNCHANGED: Any = object()
# An instruction with at least this many operands is often a tuple whose operands are replaced one
# by one.
_WIDE = 100


class InstructionEdits(EditState):
    """A Rewriter's methods that edit instructions; `ir.edit` adds those that edit computations."""

    # ---- new instructions -----------------------------------------------------------------------

    def insert(
        self,
        op: str | OpDef,
        operands: Sequence[Instruction] = (),
        *,
        before: Instruction | None = None,
        after: Instruction | None = None,
        into: Computation | None = None,
        name: str | None = None,
        shape: Shape | str | None = None,
        attributes: Mapping[str, Any] = NO_ATTRIBUTES,
        immediate: Any = None,
        metadata_text: str | None = None,
        backend_config: str | None = None,
        origin: Instruction | None = None,
    ) -> Instruction:
        """Inserts a new instruction and returns it.

        The instruction goes before or after another one, or to the end of a computation. `shape` is
        a shape or its text, such as `bf16[2]`; without it, the shape is inferred. The name is
        `name`, or else the opcode, with a number if that name is in use. `origin` is the
        instruction that the new one is derived from: its metadata is copied, and messages about the
        new instruction point to the original. Raises EditError if the operands, attributes or shape
        do not fit the opcode.
        """
        owner = self._owner_at(before, after, into)
        self._check_owners(operands, owner)
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
            origins = self.module.notes.origin_of
            origins[x] = origins.get(origin, origin)
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
        """Inserts a copy of an instruction into its own or another computation, and returns it.

        `operands`, if given, replaces the operands of the original.
        """
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
        if (before is not None) + (after is not None) + (into is not None) != 1:
            raise EditError("give exactly one of before=, after= and into=")
        if into is not None:
            if into in self._erased or into not in self.module.computations:
                raise EditError(f"computation '{into.name}' is not in the module; use add_computation")
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
        if x.op.calls:
            self._calls_changed = True

    # ---- changes of existing instructions -------------------------------------------------------

    def update(
        self,
        x: Instruction,
        *,
        op: str | OpDef = _UNCHANGED,
        operands: Sequence[Instruction] = _UNCHANGED,
        shape: Shape | str = _UNCHANGED,
        attributes: Mapping[str, Any] = _UNCHANGED,
        immediate: Any = _UNCHANGED,
        metadata_text: str | None = _UNCHANGED,
        backend_config: str | None = _UNCHANGED,
    ) -> None:
        """Changes fields of an instruction.

        Attributes that are not in `attributes` stay unchanged; the value None removes an attribute.
        The shape is not inferred again. Raises EditError if a required attribute is missing, if the
        opcode does not have one of the attributes, if an operand belongs to another computation, if
        the number of operands is wrong, or if a literal has a different shape.
        """
        owner = self.owner(x)
        op = x.op if op is _UNCHANGED else definition(op)
        shape = shape if shape is _UNCHANGED else as_shape(shape)
        if operands is not _UNCHANGED:
            self._check_owners(operands, owner)
        values = x.attributes if attributes is _UNCHANGED else x.attributes.changed(attributes)
        if values is not x.attributes or op is not x.op:
            values = attribute_set(op, values)
        check_parts(
            op,
            x.operands if operands is _UNCHANGED else operands,
            x.shape if shape is _UNCHANGED else shape,
            x.immediate if immediate is _UNCHANGED else immediate,
        )
        self._mark_changed(owner)
        # An instruction that no longer calls anything may leave a computation without callers.
        self._calls_changed = self._calls_changed or bool(x.op.calls or op.calls)
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

    def _check_owners(self, operands: Iterable[Instruction], owner: Computation) -> None:
        owners = self._uses.owners
        for operand in operands:
            if owners.get(operand) is not owner:
                raise EditError(f"operand '{operand.name}' is in computation '{self.owner(operand).name}', not in '{owner.name}'")

    def set_operand(self, x: Instruction, number: int, operand: Instruction) -> None:
        """Replaces one operand of an instruction."""
        self.update(x, operands=(*x.operands[:number], operand, *x.operands[number + 1 :]))

    def replace_all_uses(self, old: Instruction, new: Instruction) -> None:
        """Replaces `old` with `new` as an operand, as a control predecessor and as the root.

        Uses by `new` itself are unchanged. Raises EditError if the shapes differ in more than their
        layouts.
        """
        if not compatible(old.shape, new.shape):
            shapes = f"{new.shape.text_without_layout}, not {old.shape.text_without_layout}"
            raise EditError(f"'{new.name}' cannot replace '{old.name}': its shape is {shapes}")
        owner, owners = self.owner(old), self._uses.owners
        if owners.get(new) is not owner:
            raise EditError(f"'{new.name}' is in computation '{self.owner(new).name}', not in '{owner.name}'")
        self._mark_changed(owner)
        self._replace_uses(old, new)
        if owner.root is old:
            self.set_root(new)

    def _replace_uses(self, old: Instruction, new: Instruction) -> None:
        for user in self.users(old):
            if user is not new:
                operands = user.operands
                if len(operands) < _WIDE:
                    operands = tuple([new if operand is old else operand for operand in operands])
                else:
                    operands = self._operand_editor.replaced(operands, old, new)
                set_field(user, "operands", operands)
                self._uses.move_uses(user, old, new)
        if old in self._uses.successors:
            for successor in self.control_successors(old):
                if successor is not new:
                    self._replace_control_predecessor(successor, old, (new,))

    def replace(self, old: Instruction, new: Instruction) -> None:
        """Replaces all uses of `old` with `new` and erases `old`.

        `new` inherits the control predecessors of `old`.
        """
        self.replace_all_uses(old, new)
        inherited = [y for y in old.control_predecessors if y is not new]
        if inherited:
            predecessors = dict.fromkeys((*new.control_predecessors, *inherited))
            self.update(new, attributes={"control-predecessors": tuple(predecessors)})
        self.erase(old)

    def _replace_control_predecessor(self, x: Instruction, old: Instruction, new: tuple[Instruction, ...]) -> None:
        before = x.control_predecessors
        at = before.index(old)
        # An instruction with thousands of control predecessors may lose them one by one, so its
        # other uses are not counted again.
        added = self._uses.replace_predecessor(x, old, new)
        after = (*before[:at], *added, *[y for y in before[at:] if y is not old])
        set_field(x, "attributes", x.attributes.changed({"control-predecessors": after or None}))

    def erase(self, x: Instruction) -> None:
        """Removes an instruction from the module.

        Its control successors inherit its control predecessors. Raises EditError if it has users,
        is the root, or is a parameter (see `erase_parameter`).
        """
        owner = self.owner(x)
        users = self._uses.users.get(x)
        if users:
            raise EditError(f"'{x.name}' cannot be erased: '{next(iter(users)).name}' uses it")
        if owner.root is x:
            raise EditError(f"'{x.name}' cannot be erased: it is the root of '{owner.name}'")
        if x.op.name == "parameter":
            raise EditError(f"'{x.name}' is a parameter; use erase_parameter, which also updates callers and the header")
        self._remove_instruction(x, owner)

    def _remove_instruction(self, x: Instruction, owner: Computation) -> None:
        for successor in self.control_successors(x):
            self._replace_control_predecessor(successor, x, x.control_predecessors)
        if x.op.calls:
            self._calls_changed = True
        self._order(owner).remove(x)
        self._uses.remove(x)
        self._instruction_names.release(x.name)
        self.module.notes.origin_of.pop(x, None)

    def move(self, x: Instruction, *, before: Instruction | None = None, after: Instruction | None = None) -> None:
        """Moves an instruction to a position before or after another one in its computation."""
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
        """Makes an instruction the root of its computation; does not update the callers' shapes."""
        owner = self.owner(x)
        self._mark_changed(owner)
        self._uses.changes += (owner.root, x)
        owner.root = x

    def rename(self, node: Instruction | Computation, name: str) -> None:
        """Renames an instruction or a computation.

        Raises EditError if the name is in use or not valid.
        """
        if node.name == name:
            return
        if not is_legal_name(name):
            raise EditError(f"'{name}' is not a valid name")
        if isinstance(node, Instruction):
            self._mark_changed(self.owner(node))
        names = self._instruction_names if isinstance(node, Instruction) else self._computation_names
        if name in names:
            raise EditError(f"the name '{name}' is already in use")
        names.release(node.name)
        names.add(name)
        set_field(node, "name", name)

    def is_name_used(self, name: str) -> bool:
        """Returns whether an instruction of the module has this name."""
        return name in self._instruction_names

    def take_name(self, x: Instruction, erased: Instruction) -> None:
        """Gives an instruction the name of one that has just been erased from its computation."""
        # Instructions of other computations may have the same name.
        self._instruction_names.release(x.name)
        self._instruction_names.add(erased.name)
        set_field(x, "name", erased.name)
