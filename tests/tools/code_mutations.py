"""Mutations: parts of a module's code that can be deleted or changed, one at a time.

This module reads and edits syntax trees; `mutate` compiles them and judges the results.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

__all__ = ["Mutation", "checks_of", "function_mutations", "guard_mutations", "outermost_functions", "table_mutations"]

Function = ast.FunctionDef | ast.AsyncFunctionDef
Edit = tuple[ast.AST, str, object]
"""A node, one of its fields, and the new value of the field."""

_DELETED = (ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Raise, ast.Continue, ast.Break, ast.Delete, ast.For)
_NOT_READ = frozenset({"annotation", "targets", "target", "optional_vars", "decorator_list", "returns"})
# Removing one of these calls changes only the type of a value.
_COPIES = frozenset({"tuple", "list", "int", "bool"})
_DISPLAYS = (ast.Tuple, ast.List, ast.Set, ast.Dict)
_NEXT_TO = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
_TRUE, _FALSE, _NONE = ast.Constant(True), ast.Constant(False), ast.Constant(None)


@dataclass
class Mutation:
    """One deleted or changed part of the code.

    `statement` is the line number of the whole statement; it serves to find the tests that reach
    the statement. `owner` is the function or constant that contains the statement.
    """

    module: str
    owner: str
    line: int
    statement: int
    what: str
    edits: list[Edit] = field(repr=False)

    @property
    def location(self) -> str:
        return f"{self.module.removeprefix('hlotool.')}:{self.line}: {self.owner}: {self.what}"

    @property
    def key(self) -> str:
        """The name of the mutation in the list of equivalents, without the line number."""
        return f"{self.module.removeprefix('hlotool.')}: {self.owner}: {self.what}"

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Mutates the tree inside the block, and restores it afterwards."""
        before = [getattr(node, name) for node, name, _ in self.edits]
        for node, name, value in self.edits:
            setattr(node, name, value)
        try:
            yield
        finally:
            for (node, name, _), value in zip(self.edits, before, strict=True):
                setattr(node, name, value)


def outermost_functions(tree: ast.Module) -> Iterator[tuple[str, list[str], Function]]:
    """Yields functions and methods with their qualified names and enclosing classes.

    Nested definitions belong to the function around them.
    """
    stack: list[tuple[list[str], ast.AST]] = [([], tree)]
    while stack:
        classes, node = stack.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, Function):
                yield ".".join([*classes, child.name]), classes, child
            elif isinstance(child, ast.ClassDef):
                stack.append(([*classes, child.name], child))
            elif isinstance(child, ast.If | ast.Try):
                stack.append((classes, child))


def function_mutations(module: str, owner: str, function: Function) -> Iterator[Mutation]:
    """Yields mutations of a function.

    The mutations delete a statement, operand, element or result, or make a condition always true or
    always false.
    """
    for holder, name, body in _bodies(function):
        for index, statement in enumerate(body):
            if isinstance(statement, ast.Assert | Function | ast.ClassDef) or _is_docstring(statement):
                continue
            for line, what, edits in _statement_edits(holder, name, body, index, statement):
                yield Mutation(module, owner, line, statement.lineno, what, edits)


def checks_of(module: str, owner: str, function: Function) -> Iterator[Mutation]:
    """Yields mutations that delete a check in a function of the verifier or of an op definition.

    Checks are `require...(...)`, `raise Violation(...)`, `yield Finding(...)` and calls to helpers
    that contain checks.
    """
    for holder, name, body in _bodies(function):
        for index, statement in enumerate(body):
            if is_check(statement):
                edits: list[Edit] = [(holder, name, _replaced(body, index, ast.Pass()))]
                yield Mutation(module, owner, statement.lineno, statement.lineno, f"deleted `{_short(statement)}`", edits)
            for node in _own_expressions(statement):
                for child_field, call in _expression_children(node):
                    if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "array_operand":
                        yield Mutation(
                            module, owner, call.lineno, call.lineno, f"`{_short(call)}` not checked", [_with_child(node, child_field, call.args[0])]
                        )


def guard_mutations(module: str, owner: str, function: Function) -> Iterator[Mutation]:
    """Yields mutations of conditions.

    A condition becomes always true or always false, loses one of its parts, is off by one, or has
    `any` and `all` exchanged.
    """
    for _, _, body in _bodies(function):
        for statement in body:
            if isinstance(statement, ast.Assert | Function | ast.ClassDef) or _is_docstring(statement):
                continue
            for node in [statement, *_own_expressions(statement)]:
                line = getattr(node, "lineno", statement.lineno)
                for child_field, child in _expression_children(node):
                    is_value = isinstance(child, ast.BinOp) or (isinstance(child, _DISPLAYS) and not isinstance(node, ast.Compare))
                    for what, edits in () if is_value else _expression_edits(node, child_field, child):
                        yield Mutation(module, owner, child.lineno, statement.lineno, what, edits)
                for what, edits in _shifted_limits(node):
                    yield Mutation(module, owner, line, statement.lineno, what, edits)


def _shifted_limits(node: ast.AST) -> Iterator[tuple[str, list[Edit]]]:
    if isinstance(node, ast.Compare):
        for k, relation in enumerate(node.ops):
            if type(relation) in _NEXT_TO:
                changed = ast.Compare(node.left, [*node.ops[:k], _NEXT_TO[type(relation)](), *node.ops[k + 1 :]], node.comparators)
                yield f"`{_short(node)}` is `{_short(changed)}`", [(node, "ops", changed.ops)]
        for child_field, child in _expression_children(node):
            if isinstance(child, ast.Constant) and type(child.value) is int:
                for number in (child.value - 1, child.value + 1):
                    yield f"`{_short(node)}` with {number} for {child.value}", [_with_child(node, child_field, ast.Constant(number))]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("any", "all"):
        other = "all" if node.func.id == "any" else "any"
        yield f"`{_short(node)}` with `{other}`", [(node.func, "id", other)]


def is_check(statement: ast.stmt) -> bool:
    """Returns whether the only purpose of a statement is to reject something."""
    if isinstance(statement, ast.Raise):
        return isinstance(statement.exc, ast.Call) and ast.unparse(statement.exc.func) == "Violation"
    if not isinstance(statement, ast.Expr):
        return False
    value = statement.value
    if isinstance(value, ast.Yield):
        return isinstance(value.value, ast.Call) and ast.unparse(value.value.func) == "Finding"
    return isinstance(value, ast.Call) and _is_checking_function(ast.unparse(value.func))


def _is_checking_function(name: str) -> bool:
    return ("." not in name and name.startswith(("require", "check", "_"))) or name.endswith(".check")


def table_mutations(module: str, tree: ast.Module) -> Iterator[Mutation]:
    """Yields mutations that leave out elements of the constants of a module.

    `owner` is the name of the constant.
    """
    for statement in [part for part in tree.body if isinstance(part, ast.Assign | ast.AnnAssign)]:
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        if isinstance(statement.value, ast.Subscript) or not isinstance(targets[0], ast.Name) or targets[0].id.startswith("__"):
            continue
        if targets[0].id[0].isupper() and not targets[0].id.isupper():
            # A name for a type, such as a union, which is not evaluated again.
            continue
        nodes = [statement, *(node for node in _own_expressions(statement) if not isinstance(node, ast.Lambda))]
        for node in nodes:
            for child_field, child in _expression_children(node):
                if isinstance(child, ast.Tuple | ast.List | ast.Set | ast.Dict):
                    for line, what, edits in _without_elements(child):
                        yield Mutation(module, targets[0].id, line, 0, what, edits)
                elif isinstance(child, ast.BinOp) and isinstance(child.op, ast.BitOr):
                    for kept, gone in ((child.left, child.right), (child.right, child.left)):
                        what = f"`{_short(child)}` without `{_short(gone)}`"
                        yield Mutation(module, targets[0].id, child.lineno, 0, what, [_with_child(node, child_field, kept)])


def _bodies(function: ast.AST) -> Iterator[tuple[ast.AST, str, list[ast.stmt]]]:
    """Yields every list of statements in a function, with its node and field."""
    stack = [function]
    while stack:
        node = stack.pop()
        for name in ("body", "orelse", "finalbody"):
            body = getattr(node, name, None)
            if isinstance(body, list) and body:
                yield node, name, body
                stack += [child for child in body if not isinstance(child, ast.Assert)]
        stack += getattr(node, "handlers", [])


def _statement_edits(holder: ast.AST, name: str, body: list[ast.stmt], index: int, statement: ast.stmt) -> Iterator[tuple[int, str, list[Edit]]]:
    if isinstance(statement, _DELETED) and not (isinstance(statement, ast.AnnAssign) and statement.value is None):
        yield statement.lineno, f"deleted `{_short(statement)}`", [(holder, name, _replaced(body, index, ast.Pass()))]
    if isinstance(statement, ast.Return):
        if statement.value is None:
            yield statement.lineno, "deleted `return`", [(holder, name, _replaced(body, index, ast.Pass()))]
        elif isinstance(statement.value, ast.Constant) and not statement.value.value:
            # None is false, too, like the constant, so only the return itself is deleted.
            if body[index + 1 :] or not isinstance(holder, Function):
                yield statement.lineno, f"deleted `{_short(statement)}`", [(holder, name, _replaced(body, index, ast.Pass()))]
        else:
            yield statement.lineno, f"`{_short(statement)}` gives None", [(statement, "value", _NONE)]
            call = statement.value
            is_copy = isinstance(call, ast.Call) and ast.unparse(call.func) in _COPIES
            if isinstance(call, ast.Call) and call.args and not is_copy and not isinstance(call.args[0], ast.Starred):
                what = f"`{_short(statement)}` gives `{_short(call.args[0])}`"
                yield statement.lineno, what, [(statement, "value", call.args[0])]
    for node in [statement, *_own_expressions(statement)]:
        for child_field, child in _expression_children(node):
            for what, edits in _expression_edits(node, child_field, child):
                yield child.lineno, what, edits


def _expression_edits(node: ast.AST, child_field: tuple[str, int], child: ast.expr) -> Iterator[tuple[str, list[Edit]]]:
    text = _short(child)
    is_operand = isinstance(node, ast.BoolOp) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not))
    is_test = child_field[0] in ("test", "ifs")
    is_condition = is_test or (isinstance(child, ast.Compare | ast.BoolOp) and not is_operand)
    if is_condition and not isinstance(child, ast.Constant):
        if not isinstance(node, ast.While):
            yield f"`{text}` is always True", [_with_child(node, child_field, _TRUE)]
        yield f"`{text}` is always False", [_with_child(node, child_field, _FALSE)]
    if isinstance(child, ast.BoolOp):
        for k, operand in enumerate(child.values):
            rest = child.values[:k] + child.values[k + 1 :]
            less = rest[0] if len(rest) == 1 else ast.BoolOp(child.op, rest)
            yield f"`{text}` without `{_short(operand)}`", [_with_child(node, child_field, less)]
    elif isinstance(child, ast.UnaryOp) and isinstance(child.op, ast.Not):
        yield f"`{text}` without `not`", [_with_child(node, child_field, child.operand)]
    elif isinstance(child, ast.BinOp):
        yield f"`{text}` is `{_short(child.left)}`", [_with_child(node, child_field, child.left)]
        if isinstance(child.op, ast.BitOr):
            yield f"`{text}` is `{_short(child.right)}`", [_with_child(node, child_field, child.right)]
    elif isinstance(child, ast.Compare) and _compares_tuples(child):
        left, right = child.left, child.comparators[0]
        assert isinstance(left, ast.Tuple)
        assert isinstance(right, ast.Tuple)
        for k, element in enumerate(left.elts):
            edits: list[Edit] = [(side, "elts", side.elts[:k] + side.elts[k + 1 :]) for side in (left, right)]
            yield f"`{text}` without `{_short(element)}`", edits
    elif isinstance(child, ast.Tuple | ast.List | ast.Set | ast.Dict) and not (isinstance(node, ast.Compare) and _compares_tuples(node)):
        for _, what, edits in _without_elements(child):
            yield what, edits


def _without_elements(display: ast.Tuple | ast.List | ast.Set | ast.Dict) -> Iterator[tuple[int, str, list[Edit]]]:
    text = _short(display)
    fields = ("keys", "values") if isinstance(display, ast.Dict) else ("elts",)
    for k, element in enumerate(getattr(display, fields[0])):
        shown = element if element is not None else getattr(display, fields[-1])[k]
        edits: list[Edit] = [(display, name, getattr(display, name)[:k] + getattr(display, name)[k + 1 :]) for name in fields]
        yield shown.lineno, f"`{text}` without `{_short(shown)}`", edits


def _compares_tuples(node: ast.Compare) -> bool:
    sides = [node.left, *node.comparators]
    lengths = {len(side.elts) if isinstance(side, ast.Tuple) else -1 for side in sides}
    return len(sides) == 2 and len(lengths) == 1 and -1 not in lengths


def _own_expressions(statement: ast.stmt) -> Iterator[ast.AST]:
    """Yields the expressions of a statement, without annotations and nested statements."""
    stack: list[ast.AST] = [statement]
    while stack:
        node = stack.pop()
        if node is not statement:
            yield node
        for name, value in ast.iter_fields(node):
            if name not in _NOT_READ:
                children = value if isinstance(value, list) else [value]
                stack += [child for child in children if isinstance(child, ast.expr | ast.comprehension | ast.keyword | ast.withitem)]


def _expression_children(node: ast.AST) -> Iterator[tuple[tuple[str, int], ast.expr]]:
    """Yields a node's direct subexpressions that are read, each with its field and index."""
    for name, value in ast.iter_fields(node):
        if name in _NOT_READ:
            continue
        for k, child in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(child, ast.expr):
                yield (name, k if isinstance(value, list) else -1), child


def _with_child(node: ast.AST, child_field: tuple[str, int], new: ast.expr) -> Edit:
    name, k = child_field
    return (node, name, new if k < 0 else _replaced(getattr(node, name), k, new))


def _replaced(nodes: Sequence[ast.AST], index: int, new: ast.AST) -> list[ast.AST]:
    return [*nodes[:index], ast.copy_location(new, nodes[index]), *nodes[index + 1 :]]


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _short(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 100 else text[:97] + "..."
