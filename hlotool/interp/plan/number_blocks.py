"""Places operations on numbers in branches and expressions.

An operation is written in the branch that needs it, or in the expression of its only user.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from hlotool.interp.plan.numbers import NumberTemplate, NumberTemplates, wrap_statement
from hlotool.interp.plan.operations import Leaves, Operation, Variable
from hlotool.interp.plan.writer import Writer

__all__ = ["NumberBlock", "NumberStatements"]

_MAX_BRANCH_DEPTH = 6
"""Maximum depth of nested branches; Python allows 20 nested blocks."""
_MAX_EXPRESSION_LENGTH = 160
"""Maximum length in characters, since Python's parser limits the nesting of parentheses."""
_CELL = "cell[0]"
"""An element of an f32 array, used to round numbers.

Storing a number in it takes half the time that NumPy takes to create a scalar.
"""


class NumberBlock:
    """Operations in order. Those needed by only one choice of a select are in a separate block.

    `branches` maps each select to the blocks of its two choices, unless both are empty. It includes
    the selects in inner blocks.
    """

    __slots__ = ("branches", "depth", "operations", "outer")

    def __init__(self, outer: NumberBlock | None = None) -> None:
        self.outer = outer
        self.depth: int = 0 if outer is None else outer.depth + 1
        self.operations: list[Operation] = []
        self.branches: dict[Operation, tuple[NumberBlock, NumberBlock]] = {} if outer is None else outer.branches

    @classmethod
    def build(cls, operations: Sequence[Operation], results: Leaves) -> NumberBlock:
        """Returns the block of these operations, all of which the results need."""
        root = cls()
        blocks = [root]
        needing = dict.fromkeys(results, root)

        def need(variable: Variable, block: NumberBlock) -> None:
            known = needing.get(variable)
            needing[variable] = block if known is None else _common(known, block)

        for operation in reversed(operations):
            block = needing[operation.results[0]]
            block.operations.append(operation)
            readers = [block] * len(operation.reads)
            if operation.instruction.opcode == "select" and operation.reads[0].constant is None and block.depth < _MAX_BRANCH_DEPTH:
                branches = cls(block), cls(block)
                block.branches[operation] = branches
                blocks += branches
                readers[1:] = branches
            for variable, reader in zip(operation.reads, readers, strict=True):
                need(variable, reader)
        for block in blocks:
            block.operations.reverse()
        for selection in [selection for selection, branches in root.branches.items() if not any(branch.operations for branch in branches)]:
            del root.branches[selection]
        return root


def _common(one: NumberBlock, other: NumberBlock) -> NumberBlock:
    """Returns the innermost block that contains both blocks."""
    while one is not other:
        if one.depth < other.depth:
            one, other = other, one
        assert one.outer is not None, "the blocks belong to different functions"
        one = one.outer
    return one


class NumberStatements:
    """A writer for blocks of operations, given the templates of the operations.

    `results` contains the variables that are read after the last block.
    """

    def __init__(self, writer: Writer, names: NumberTemplates, templates: Mapping[Operation, NumberTemplate], results: Leaves) -> None:
        self._writer = writer
        self._names = names
        self._templates = templates
        self._expressions: dict[Variable, str] = {}
        self._readers = {variable: operation for operation in templates for variable in operation.reads}
        self._uses = Counter([variable for operation in templates for variable in operation.reads])
        self._uses.update(results)

    def text(self, variable: Variable) -> str:
        """Returns the expression for a variable, in parentheses if necessary."""
        expression = self._expressions.get(variable)
        if expression is None:
            return self._names.name(variable)
        return expression if expression == _CELL or expression.isidentifier() else f"({expression})"

    def value(self, variable: Variable) -> str:
        """Returns the expression for a variable, without parentheses, to be used on its own."""
        return self._expressions.get(variable) or self._names.name(variable)

    def write(self, block: NumberBlock) -> None:
        """Writes all operations of a block.

        Blocks are never nested more deeply than Python's blocks may be, so the method may recurse.
        """
        for k, operation in enumerate(block.operations):
            self._writer.comment(operation.instruction)
            branches = block.branches.get(operation)
            if branches is not None:
                self._write_branches(operation, branches)
            else:
                following = block.operations[k + 1] if k + 1 < len(block.operations) else None
                self._write_operation(operation, block, following)

    def _write_branches(self, selection: Operation, branches: Sequence[NumberBlock]) -> None:
        result = self.text(selection.results[0])
        pred, *choices = selection.reads
        for head, branch, choice in zip((f"if {self.value(pred)}:", "else:"), branches, choices, strict=True):
            with self._writer.block(head):
                self.write(branch)
                self._writer.line(f"{result} = {self.value(choice)}")

    def _write_operation(self, operation: Operation, block: NumberBlock, following: Operation | None) -> None:
        (result,) = operation.results
        template = self._templates[operation]
        is_copy = template.text == "{0}"
        expression = self.value(operation.reads[0]) if is_copy else template.text.format(*map(self.text, operation.reads))
        if template.rounds:
            self._writer.line(f"{_CELL} = {expression}")
            if following is not None and self._templates[following].rounds and self._is_read_once(result, following):
                # The next operation reads the cell before anything else is stored there.
                self._expressions[result] = _CELL
                return
            expression = _CELL
        elif template.wraps is None and self._uses[result] == 1 and len(expression) <= _MAX_EXPRESSION_LENGTH and self._is_read_in(result, block):
            self._expressions[result] = expression
            return
        self._writer.line(f"{self.text(result)} = {expression}")
        if template.wraps is not None:
            self._writer.line(wrap_statement(self.text(result), template.wraps))

    def _is_read_once(self, variable: Variable, reader: Operation) -> bool:
        """Returns whether a variable is read only once, in the expression of this operation."""
        if self._uses[variable] != 1 or variable not in reader.reads:
            return False
        return self._templates[reader].text.count(f"{{{reader.reads.index(variable)}}}") == 1

    def _is_read_in(self, variable: Variable, block: NumberBlock) -> bool:
        """Returns whether a variable is read in a single location.

        This location is its only user's expression or, for a result without users, the end of the
        block.
        """
        reader = self._readers.get(variable)
        # Branches read their choices and their condition once.
        return reader is None or reader in block.branches or self._is_read_once(variable, reader)
