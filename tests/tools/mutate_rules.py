"""Takes each single check of the verifier away and asks whether some case notices.

Run it as `python tests/tools/mutate_rules.py [--only verifier.rules.buffers]`.

A check is a `require...(...)`, a `raise Violation(...)` or a `yield Finding(...)` in op definitions and rules, or a call of a helper that
holds some. The modules are compiled with a switch around each of them, so that one process tries them all, each with the cases in which
it does anything. Checks of which no text can be guilty are the business of tests in Python, which are named here.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import pytest
from case_files import Case, read_cases

HERE = Path(__file__).parents[1]
JUDGING = ("hlotool.opdefs", "hlotool.verifier.rules")


class Switches:
    """Every check by number: where it stands, whether it is off, and which cases it has had something to say about."""

    def __init__(self) -> None:
        self.places: list[str] = []
        self.off = -1
        self.case = -1
        self.acted_in: dict[int, set[int]] = {}

    def is_on(self, number: int) -> bool:
        """Asked only where the check would act."""
        self.acted_in.setdefault(number, set()).add(self.case)
        return number != self.off

    def unchecked(self, number: int) -> Callable[..., Any]:
        """Calls a function that checks its first argument, and gives it back as it is where that is off."""

        def call(function: Callable[..., Any], first: Any, *rest: Any) -> Any:
            from hlotool.errors import Violation

            try:
                return function(first, *rest)
            except Violation:
                if self.is_on(number):
                    raise
                return first

        return call


SWITCHES = Switches()


class Switching(ast.NodeTransformer):
    """Puts a switch around each check of a module."""

    def __init__(self, module: str) -> None:
        self.module = module

    def _asked(self, line: int) -> ast.expr:
        SWITCHES.places.append(f"{self.module}:{line}")
        return ast.parse(f"_switches.is_on({len(SWITCHES.places) - 1})", mode="eval").body

    def visit_Raise(self, node: ast.Raise) -> ast.stmt:
        is_violation = isinstance(node.exc, ast.Call) and isinstance(node.exc.func, ast.Name) and node.exc.func.id == "Violation"
        return ast.If(self._asked(node.lineno), [node], []) if is_violation else node

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        value = node.value
        if isinstance(value, ast.Yield) and isinstance(value.value, ast.Call) and isinstance(value.value.func, ast.Name):
            return ast.If(self._asked(node.lineno), [node], []) if value.value.func.id == "Finding" else node
        if isinstance(value, ast.Call) and _checks(value.func):
            again = ast.If(self._asked(node.lineno), [ast.Raise(None, None)], [])
            return ast.Try([node], [ast.ExceptHandler(ast.Name("_Violation", ast.Load()), None, [again])], [], [])
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "array_operand":
            SWITCHES.places.append(f"{self.module}:{node.lineno}")
            switched = ast.parse(f"_switches.unchecked({len(SWITCHES.places) - 1})", mode="eval").body
            return ast.Call(switched, [node.func, *node.args], [])
        return node


def _checks(function: ast.expr) -> bool:
    """Whether a call that is a statement by itself can only be there to refuse something."""
    # At the top of a module, calls define ops.
    name = ast.unparse(function)
    is_check = "." not in name and name.startswith(("require", "check", "_")) and not name.startswith("_define")
    return is_check or name.endswith(".check")


class SwitchedLoader(SourceFileLoader):
    """Compiles a module with switches."""

    def get_code(self, fullname: str) -> CodeType:
        tree = Switching(fullname).visit(ast.parse(Path(self.path).read_text(encoding="utf-8")))
        return compile(ast.fix_missing_locations(tree), self.path, "exec")

    def exec_module(self, module: ModuleType) -> None:
        from hlotool.errors import Violation

        vars(module).update(_switches=SWITCHES, _Violation=Violation)
        super().exec_module(module)


class Finder(MetaPathFinder):
    """Finds the modules that judge, and leaves all others alone."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if not fullname.startswith(JUDGING):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            loader: Loader = SwitchedLoader(fullname, spec.loader.path)
            spec.loader = loader
        return spec


def all_cases() -> list[tuple[Callable[[Path, Case], None], Path, Case]]:
    """The cases of the folders that say what is wrong with a text, with the function that judges them."""
    from checks.text import rejected, rejected_like_xla
    from checks.verification import verified

    folders: list[tuple[str, Callable[[Path, Case], None]]] = [
        ("verify", verified),
        ("text/reject", rejected),
        ("text/errors", rejected_like_xla),
    ]
    texts = [(check, path, case) for folder, check in folders for path in sorted((HERE / folder).glob("*.hlo")) for case in read_cases(path)]
    return texts + list(program_cases())


def program_cases() -> Iterator[tuple[Callable[[Path, Case], None], Path, Case]]:
    """The tests in Python of what no text can get wrong, once for each of their parameters."""
    # Run by its path, the script has only its own folder on the way.
    sys.path.insert(0, str(HERE))
    import test_schedule
    import test_verify

    for test in (
        test_schedule.test_an_instruction_before_what_it_needs,
        test_schedule.test_a_missing_and_a_repeated_instruction,
        test_schedule.test_a_missing_computation,
        test_verify.test_a_shape_that_only_a_program_can_get_wrong,
        test_verify.test_a_part_that_only_a_program_can_get_wrong,
        test_verify.test_an_entry_may_have_too_many_parameters,
        test_verify.test_what_cannot_be_inferred_is_refused,
    ):
        marks = getattr(test, "pytestmark", [])
        for values in marks[0].args[1] if marks else [()]:
            yield partial(_called, test, values), Path(test.__name__), Case("", 1, None)


def _called(test: Callable[..., None], values: Sequence[Any], path: Path, case: Case) -> None:
    test(*values)


def passes(check: Callable[[Path, Case], None], path: Path, case: Case) -> bool:
    """Whether a case holds; whatever goes wrong counts as noticed."""
    try:
        check(path, case)
    except (Exception, pytest.fail.Exception):
        return False
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="a part of the modules' names")
    args = parser.parse_args()
    sys.meta_path.insert(0, Finder())
    cases: list[Any] = all_cases()
    for number, case in enumerate(cases):
        SWITCHES.case = number
        if not passes(*case):
            print(f"fails before anything is taken away: {case[1].name}")
            return 2
    acted_in = {number: sorted(found - {-1}) for number, found in SWITCHES.acted_in.items()}
    chosen = [number for number, place in enumerate(SWITCHES.places) if args.only in place]
    unused, unnoticed = [], []
    for SWITCHES.off in chosen:
        place = SWITCHES.places[SWITCHES.off].removeprefix("hlotool.")
        if not acted_in.get(SWITCHES.off):
            unused.append(place)
        elif all(passes(*cases[number]) for number in acted_in[SWITCHES.off]):
            unnoticed.append(place)
    print("no case in which it acts:", *unused, sep="\n  ")
    print("nobody notices, since something else says the same:", *unnoticed, sep="\n  ")
    print(f"{len(chosen)} checks taken away one by one, {len(unused)} act in no case, {len(unnoticed)} are not noticed")
    return 1 if unused or unnoticed else 0


if __name__ == "__main__":
    sys.exit(main())
