"""Guards of rules and passes: conditions for rewriting, which tests can break on purpose."""

from __future__ import annotations

import ast
import os
import resource
import signal
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import FunctionType

from code_changes import Swap, names_in
from code_mutations import Function, Mutation, guard_mutations, outermost_functions
from reached import tree_of

from proofs.replay import FOLDER, Subject, subjects_of

__all__ = ["Guard", "apart", "equivalents", "guards_of"]

_HELPERS: dict[str, dict[str, tuple[str, ...]]] = {
    "passes.arguments": {"hlotool.optimizer.tuple_edits": (), "hlotool.optimizer.inlining": ("has_changeable_signature",)},
    "passes.loops": {"hlotool.optimizer.tuple_edits": ("keep_elements_of_operand",)},
    "passes.inline": {"hlotool.optimizer.inlining": ()},
    "rules.arithmetic": {"hlotool.optimizer.patterns": ()},
    "rules.identities": {"hlotool.analysis.simplify": tuple(
        "same_value _by_algebra _unary_source _binary_source _ordered_source _pad_source _reverse_source _concatenate_source _select_source"
        " _element_source _tuple_source".split()
    )},
    "rules.logic": {"hlotool.optimizer.patterns": ("is_complex",)},
    "rules.pad": {"hlotool.optimizer.dimensions": ("are_plain",)},
    "rules.reshape": {"hlotool.optimizer.dimensions": ()},
}  # fmt: skip
"""For each module with rules or passes, the helper modules whose guards its programs must cover.

Each tuple lists the functions to include; an empty tuple includes all functions.
"""

_MEMORY = 6 << 30
_EQUIVALENTS = FOLDER / "equivalent.txt"


@dataclass
class Guard:
    """A guard and a change that breaks it.

    `home` is the module whose recorded programs must detect the change, `function` contains the
    guard, and `subjects` lists the rules or passes that can reach the function.
    """

    home: str
    mutation: Mutation
    classes: list[str]
    function: Function
    subjects: list[Subject]

    def break_it(self, functions: dict[str, list[FunctionType]]) -> None:
        """Breaks the guard in the functions of this process."""
        Swap(self.mutation, self.classes, self.function, functions)()


def guards_of(home: str) -> dict[str, Guard]:
    """Returns the guards of a Python module with rules or passes, and of its helpers.

    Each key consists of the function's name and a description of the change. The keys do not depend
    on line numbers.
    """
    subjects_here, helpers = subjects_of()[home], _HELPERS.get(home.removeprefix("hlotool.optimizer."), {})
    trees = {module: tree_of(module) for module in (home, *helpers)}
    nodes = _references(trees.values())
    reached = {subject: _reached(nodes, subject.function) for subject in subjects_here}
    result: dict[str, Guard] = {}
    for module, tree in trees.items():
        for owner, classes, function in outermost_functions(tree):
            subjects = [subject for subject, names in reached.items() if not names.isdisjoint({owner, *classes})]
            if not subjects or (helpers.get(module) and owner not in helpers[module]):
                continue
            for mutation in guard_mutations(module, owner, function):
                key = f"{owner}: {mutation.what}"
                number = 1 + sum(known == key or known.startswith(f"{key} #") for known in result)
                result[key if number == 1 else f"{key} #{number}"] = Guard(home, mutation, classes, function, subjects)
    return result


def _references(trees: Iterable[ast.Module]) -> dict[str, set[str]]:
    """Returns the names mentioned by each function, class and constant of the given modules."""
    names: dict[str, set[str]] = {}
    for tree in trees:
        for owner, classes, function in outermost_functions(tree):
            for name in {owner, *classes}:
                names.setdefault(name, set()).update(names_in(function))
        for statement in tree.body:
            if isinstance(statement, ast.Assign | ast.AnnAssign):
                target = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
                names.setdefault(ast.unparse(target), set()).update(names_in(statement))
    return names


def equivalents(module: str) -> set[str]:
    """Returns those guards of a module that can be broken without any effect.

    They are listed in `equivalent.txt`, where comments give the reasons.
    """
    start = f"{module.rpartition('.')[2]}: "
    return {line.removeprefix(start) for line in _EQUIVALENTS.read_text(encoding="utf-8").splitlines() if line.startswith(start)}


def _reached(nodes: dict[str, set[str]], name: str) -> set[str]:
    reached, stack = {name}, [name]
    while stack:
        fresh = nodes.get(stack.pop(), set()) & nodes.keys() - reached
        reached |= fresh
        stack += fresh
    return reached


def apart(function: Callable[[], None]) -> bool:
    """Runs a function in a separate process, and returns whether the function succeeds.

    It fails if it raises an exception, if it exceeds the memory limit, or if a timer that it has
    set itself expires.
    """
    if not (child := os.fork()):
        code = 1
        try:
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
            signal.signal(signal.SIGPROF, signal.SIG_DFL)
            function()
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) == 0
