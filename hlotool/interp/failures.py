"""Diagnostics of the interpreter, with the place in the source of the instruction to blame."""

from __future__ import annotations

import re

from hlotool.codes import CODE_NAMES
from hlotool.errors import Diagnostic, EvaluationError, Source
from hlotool.ir.model import Instruction, Module
from hlotool.text.source.trivia import TRIVIA

__all__ = ["diagnostic_at", "failure"]

_BEFORE_NAME = re.compile(rf"{TRIVIA}(?:ROOT\b{TRIVIA})?+")
_NAME = re.compile(r"[^\s=]++")


def diagnostic_at(
    module: Module, instruction: Instruction | None, code: str, message: str, hint: str | None = None, notes: tuple[str, ...] = ()
) -> Diagnostic:
    """The diagnostic at an instruction's name, or at the beginning of the module when there is no instruction to blame."""
    source = module.source or Source("")
    name = None if instruction is None else instruction.name
    if instruction is None or instruction.start < 0 or module.source is None:
        where = (source.first_line, 1, source.first_line, 2)
    else:
        before = _BEFORE_NAME.match(source.text, instruction.start)
        start = before.end() if before else instruction.start
        word = _NAME.match(source.text, start)
        where = (*source.line_column(start), *source.line_column(word.end() if word else start + 1))
    return Diagnostic(code, CODE_NAMES[code], "error", message, source.filename, *where, hint=hint, notes=notes, instruction=name)


def failure(
    module: Module, instruction: Instruction | None, code: str, message: str, hint: str | None = None, notes: tuple[str, ...] = ()
) -> EvaluationError:
    """The exception with one such diagnostic."""
    return EvaluationError([diagnostic_at(module, instruction, code, message, hint, notes)])
