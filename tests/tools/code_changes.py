"""Applies mutations in a running process: replaces code, constants, and facts in the op table.

The table TARGETS lists the packages and modules to mutate, with the kind of mutation for each.
"""

from __future__ import annotations

import ast
import gc
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import CodeType, FunctionType
from typing import Any

from code_mutations import Function, Mutation
from reached import tree_of

__all__ = ["RELATIONS", "CannotMutate", "Rebind", "Swap", "WithoutFact", "is_plain", "kind_of", "loaded_functions", "names_in"]

TARGETS: dict[str, str] = {
    "hlotool.analysis": "lines",
    "hlotool.ir": "lines",
    "hlotool.shapes": "lines",
    "hlotool.interp": "lines",
    "hlotool.opdefs.traits": "lines",
    "hlotool.optimizer": "lines",
    "hlotool.differ": "lines",
    "hlotool.opdefs.algebra": "lines",
    "hlotool.opdefs": "checks",
    "hlotool.verifier.rules": "checks",
    "hlotool.server": "lines",
    "hlotool.builder": "lines",
}
"""The kind of mutation for each package or module; the first matching entry applies."""

_ANNOTATIONS = vars(import_module("__future__"))["annotations"].compiler_flag


def kind_of(module: str) -> str:
    """Returns the kind of mutation for a module, or "entry" if it is not mutated."""
    return next((kind for name, kind in TARGETS.items() if module == name or module.startswith(f"{name}.")), "entry")


class CannotMutate(Exception):
    """Raised if a mutation changes nothing that can be replaced in the running process."""


class Swap:
    """Replaces the code of all functions created by a definition with mutated code."""

    def __init__(self, mutation: Mutation, classes: list[str], function: Function, functions: dict[str, list[FunctionType]]) -> None:
        self.mutation = mutation
        self.classes = classes
        self.function = function
        self.functions = functions

    def __call__(self) -> None:
        names = names_in(self.function)
        is_generator = _is_generator(self.function)
        has_cell = not names.isdisjoint({"super", "__class__"})
        before = self._compiled(is_generator=is_generator, has_cell=has_cell)
        free_names = {(inner.co_name, inner.co_firstlineno): inner.co_freevars for inner in nested_codes(before)}
        with self.mutation.applied(), self._mentioned(free_names):
            code = self._compiled(is_generator=is_generator, has_cell=has_cell)
        by_location = {(inner.co_qualname, inner.co_firstlineno): inner for inner in nested_codes(code)}
        swapped = 0
        for function in self.functions.get(self.mutation.module, ()):
            new = by_location.get((function.__code__.co_qualname, function.__code__.co_firstlineno))
            if new is not None and len(new.co_freevars) == len(function.__code__.co_freevars):
                function.__code__ = new
                swapped += 1
        if not swapped:
            raise CannotMutate

    @contextmanager
    def _mentioned(self, free_names: dict[tuple[str, int], tuple[str, ...]]) -> Iterator[None]:
        """Makes nested functions use the same variables of the enclosing function as before.

        The code of the nested functions then fits the existing closures.
        """
        inner_functions = [node for node in ast.walk(self.function) if isinstance(node, ast.FunctionDef) and node is not self.function]
        bodies = [node.body for node in inner_functions]
        for node in inner_functions:
            names = free_names.get((node.name, node.lineno), ())
            node.body = [*node.body, *ast.parse(f"if False:\n    {', '.join(names)}" if names else "pass").body]
        try:
            yield
        finally:
            for node, body in zip(inner_functions, bodies, strict=True):
                node.body = body

    def _compiled(self, *, is_generator: bool, has_cell: bool) -> CodeType:
        """Compiles only the function and its enclosing classes.

        A generator stays a generator, and a closure stays a closure, even if the mutation deletes
        the statement on which this depends.
        """
        keep = ast.parse("if False:\n    yield" if is_generator else "pass").body
        body = self.function.body
        cell = ast.parse("__class__" if has_cell else "pass").body
        self.function.body = [*body, *keep, *cell]
        node: ast.stmt = self.function
        for name in reversed(self.classes):
            node = ast.ClassDef(name, [], [], [node], [], lineno=1, col_offset=0)
        try:
            tree = ast.fix_missing_locations(ast.Module([node], []))
            return compile(tree, "<mutated>", "exec", _ANNOTATIONS, dont_inherit=True)
        finally:
            self.function.body = body


class Rebind:
    """Evaluates the constants of a module again with a mutation, and replaces those that differ."""

    def __init__(self, mutation: Mutation, tree: ast.Module) -> None:
        self.mutation = mutation
        self.tree = tree

    def __call__(self) -> None:
        with self.mutation.applied():
            code = compile(ast.fix_missing_locations(self.tree), "<mutated>", "exec", dont_inherit=True)
        rebind(self.mutation.module, code)
        for module in [name for name in sorted(sys.modules) if kind_of(name) == "lines" and name != self.mutation.module]:
            rebind(module, compile(tree_of(module), "<again>", "exec", dont_inherit=True))


class WithoutFact:
    """Removes a trait or a relation of an opcode, and updates the constants derived from it."""

    def __init__(self, opcode: str, slot: str, value: object) -> None:
        self.opcode = opcode
        self.slot = slot
        self.value = value

    def __call__(self) -> None:
        from hlotool.opdefs import base

        definition = base.OPS[self.opcode]
        reverse = vars(base).get(_REVERSED.get(self.slot, ""), {})
        reverse.pop(getattr(definition, self.slot), None)
        setattr(definition, self.slot, self.value)
        for module in [name for name in sorted(sys.modules) if kind_of(name) == "lines"]:
            rebind(module, compile(tree_of(module), "<again>", "exec", dont_inherit=True))


RELATIONS = ("effect_if", "start_of", "done_of", "update_of", "returned_index", "operands_index")
_REVERSED = {"start_of": "_STARTS", "done_of": "_DONES"}


def rebind(module: str, code: CodeType) -> None:
    """Runs the code of a module again in a separate namespace, and copies results to the module.

    The plain values that differ and the rewrite rules are copied.
    """
    old = vars(sys.modules[module])
    new: dict[str, Any] = {"__name__": module, "__file__": old.get("__file__")}
    with _registered_again(module):
        exec(code, new)
    for name, value in list(old.items()):
        if name.startswith("__") or name not in new or not is_plain(value) or not is_plain(new[name]):
            continue
        if isinstance(value, dict):
            if not new[name] and len(value) > 1:
                # Other modules fill this dictionary.
                continue
            for key in [key for key in value if key not in new[name]]:
                del value[key]
            changed = {key: element for key, element in new[name].items() if is_plain(element) and value[key] != element}
            value.update(changed)
        elif value != new[name]:
            for other in [vars(known) for key, known in sys.modules.items() if key.startswith("hlotool")]:
                for alias in [alias for alias, held in other.items() if held is value and (alias == name or other is old)]:
                    if other is not old or alias == name:
                        other[alias] = new[name]


@contextmanager
def _registered_again(module: str) -> Iterator[None]:
    """Lets the rules that a module registers inside the block replace its earlier rules."""
    registry = vars(import_module("hlotool.optimizer.registry"))
    known, new = registry["_RULES"], {}
    registry["_RULES"] = new
    try:
        yield
    finally:
        registry["_RULES"] = known
    for name in [name for name, entry in known.items() if entry.rewrite.__module__ == module and name not in new]:
        del known[name]
    known.update(new)


def is_plain(value: object) -> bool:
    """Returns whether a constant consists of built-in collections, strings, numbers and types.

    Copies of such a constant are equivalent to it.
    """
    if isinstance(value, tuple | list | set | frozenset):
        return all(map(is_plain, value))
    if isinstance(value, type):
        return value.__module__ == "builtins"
    # Dictionaries of other types may be read-only.
    return isinstance(value, str | int | float | bytes | type(None)) or type(value) is dict or type(value).__name__ == "Pattern"


def nested_codes(code: CodeType) -> Iterator[CodeType]:
    """Yields a code object and all those nested in it."""
    stack = [code]
    while stack:
        code = stack.pop()
        yield code
        stack += [constant for constant in code.co_consts if isinstance(constant, CodeType)]


def loaded_functions() -> dict[str, list[FunctionType]]:
    """Returns the functions of hlotool by module, as they were defined."""
    functions: dict[str, list[FunctionType]] = defaultdict(list)
    # The garbage collector does not list frozen objects.
    gc.unfreeze()
    for thing in gc.get_objects():
        if isinstance(thing, FunctionType) and (thing.__module__ or "").startswith("hlotool."):
            functions[thing.__globals__["__name__"]].append(thing)
    gc.freeze()
    return functions


def names_in(node: ast.AST) -> set[str]:
    parts = list(ast.walk(node))
    return {part.id for part in parts if isinstance(part, ast.Name)} | {part.attr for part in parts if isinstance(part, ast.Attribute)}


def _is_generator(function: Function) -> bool:
    stack: list[ast.AST] = list(function.body)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(node, ast.FunctionDef | ast.Lambda):
            stack += ast.iter_child_nodes(node)
    return False
