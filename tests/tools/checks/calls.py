"""Checks calls of builder methods: the instructions that each call adds, or its error.

The file is a transcript (see `checks.transcripts`). Each section has its own builder `b` of the
module `m`. Its steps are:

* `NAME: SHAPE` adds a parameter, and assigns it to a variable.
* `builder ARGUMENTS`, as the first step, creates the builder with other arguments.
* `extend TEXT` is a builder that extends the module given by the continued lines.
* Any other step is a Python statement, whose further lines begin with `... `. The answer is the
  list of the instructions that it adds, in all computations, and the value if it is an expression
  other than an operation. If the call fails, the answer begins with the error and its position,
  unless that is the first line of the step.
* `print` answers with the whole module if it is built, and `build` with the errors of the verifier.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

from case_files import Case

import hlotool
import hlotool.builder
from checks.common import same
from checks.transcripts import Step, read_steps, transcript
from hlotool.builder.op import Op
from hlotool.errors import BuilderError
from hlotool.ir.model import Computation, Instruction
from hlotool.shapes import layout, replica_groups, sharding, values
from hlotool.text.print.instruction import InstructionWriter

__all__ = ["call_text", "called"]

_PARAMETER = re.compile(r"(?P<name>[a-z]\w*): (?P<shape>.+)\Z")
_STYLE = hlotool.PrintOptions(print_percent=False, print_program_shape=False)
_LAYOUT = re.compile(r"(?<=\])\{(?P<order>[0-9,]+)\}")
_NAMES: dict[str, Any] = {
    "hlotool": hlotool,
    "Builder": hlotool.Builder,
    "make_shape": hlotool.builder.make_shape,
    **{
        name: kind
        for home in (hlotool.builder, values, replica_groups, sharding, layout)
        for name, kind in vars(home).items()
        if isinstance(kind, type)
    },
}


def called(path: Path, case: Case) -> None:
    same(case.text, call_text(path, case), "the calls differ")


def call_text(path: Path, case: Case) -> str:
    """Returns the calls with their results."""
    section = _Section(path)
    return transcript(case.text, [section.answer(step) for step in read_steps(case.text)])


class _Section:
    """A section of a file: a builder, and the variables of its calls."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.variables = dict(_NAMES)
        self.count = 0
        self._create("")

    def _create(self, arguments: str) -> None:
        words = arguments if "source_lines" in arguments else ", ".join(filter(None, [arguments, "source_lines=False"]))
        self.variables["b"] = eval(f'Builder("m", {words})', self.variables)
        self.shown: set[Instruction] = set()
        self.shown_computations: set[Computation] = set()

    @property
    def builder(self) -> Any:
        return self.variables["b"]

    def answer(self, step: Step) -> list[str]:
        word, _, rest = step.line.partition(" ")
        parameter = _PARAMETER.match(step.line)
        if parameter is not None:
            self.variables[parameter["name"]] = self.builder.parameter(self.count, parameter["shape"], parameter["name"])
            self.count += 1
            self._new_instructions()
            return []
        if word == "builder":
            return self._guarded(lambda: self._create(rest), step)
        if word == "extend":
            module = hlotool.parse("\n".join(step.more))
            self.variables["module"] = module
            self.shown = set(module.all_instructions())
            self.shown_computations = set(module.computations)
            return self._guarded(lambda: self.variables.update(b=eval(f"Builder.extend(module{rest and f', {rest}'})", self.variables)), step)
        if step.line == "print":
            module = self.builder._state.module
            return ["not built"] if module.entry is None else str(module).rstrip().split("\n")
        if word == "build":
            return self._guarded(lambda: self.variables.update(module=eval(f"b.build({rest})", self.variables)), step)
        return self._guarded(lambda: self._run(step), step)

    def _guarded(self, action: Any, step: Step) -> list[str]:
        try:
            value = action()
        except BuilderError as error:
            # A call that fails may have added constants.
            return [*(line for d in error.diagnostics for line in self._error(d, step)), *self._new_instructions()]
        except Exception as error:
            return [f"{type(error).__name__}: {error}"]
        lines = self._new_instructions()
        if value is not None and not isinstance(value, Op):
            lines.append(f"-> {value!r}")
        return lines

    def _run(self, step: Step) -> Any:
        tree = ast.parse("\n".join([step.line, *step.more]))
        last = tree.body[-1]
        if not isinstance(last, ast.Expr):
            exec(compile(tree, str(self.path), "exec"), self.variables)
            return None
        exec(compile(ast.Module(tree.body[:-1], []), str(self.path), "exec"), self.variables)
        return eval(compile(ast.Expression(last.value), str(self.path), "eval"), self.variables)

    def _error(self, d: Any, step: Step) -> list[str]:
        is_here = d.filename == str(self.path) and d.line <= 1 + len(step.more)
        where = f" at line {d.line}" * (d.line > 1) if is_here or d.filename == "<string>" else f" at {Path(d.filename).name}:{d.line}"
        lines = [f"{d.code}{where} {d.message}"]
        lines += [f"help: {d.hint}"] * bool(d.hint)
        return [*lines, *(f"note: {note}" for note in d.notes)]

    def _new_instructions(self) -> list[str]:
        """Returns the instructions that have been added since the last call."""
        state = self.builder._state
        lines: list[str] = []
        for computation in [*state.module.computations, *state.computations]:
            if computation not in self.shown_computations:
                self.shown_computations.add(computation)
                if computation is not self.builder._computation:
                    root = computation.root
                    lines.append(f"{computation.name}:" + f" # {computation.execution_thread}" * (computation.execution_thread != "main"))
                    lines += [f"  {'ROOT ' * (x is root)}{self._written(x)}" for x in computation.instructions]
                    self.shown.update(computation.instructions)
        position = self.builder._position
        own = self.builder._instructions if position is None else position[0].instructions(self.builder._computation)
        new = [x for x in own if x not in self.shown]
        self.shown.update(new)
        return lines + [self._written(x) for x in new]

    def _written(self, x: Instruction) -> str:
        module = self.builder._state.module
        text = InstructionWriter.with_own_names(module, _STYLE).write(x, is_root=False, level=0)
        return _LAYOUT.sub(_shown_layout, text).replace(str(self.path), self.path.name)


def _shown_layout(match: re.Match[str]) -> str:
    """Leaves out the layout if it is row-major."""
    order = match["order"].split(",")
    return "" if order == [str(k) for k in reversed(range(len(order)))] else match[0]
