"""The state that the builders of one module share: the module, names in use and cached checks."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from hlotool.codes import CODE_NAMES
from hlotool.errors import BuilderError, Diagnostic, Violation
from hlotool.ir.edit import Rewriter
from hlotool.ir.model import AttributeSet, Computation, Module
from hlotool.ir.names import NameTable
from hlotool.memo import Memo
from hlotool.opdefs.base import OpDef
from hlotool.opdefs.constraints import ResultRules
from hlotool.opdefs.modes import VerifyModes
from hlotool.shapes.metadata import Metadata
from hlotool.shapes.shape import ProgramShape, Shape

__all__ = ["Frame", "ModuleState", "caller", "error_at"]

# The frames of builders; some of their methods are generators that contextlib resumes.
_OWN_FRAMES = (str(Path(__file__).parent), contextlib.__file__)
# Messages name the builder method that a Python operator calls, not the operator itself.
_OPERATORS = str(Path(__file__).with_name("op.py"))
# The maximum number of cached checks. Most instructions of a program repeat earlier combinations.
_MAX_CACHED = 100_000


class Frame:
    """A call to a builder method: the caller's frame and the name of the method."""

    __slots__ = ("caller", "method")

    def __init__(self, caller: FrameType, method: str) -> None:
        self.caller = caller
        self.method = method


def caller(depth: int = 1) -> Frame:
    """Returns the innermost frame outside this package, with the name of the method it called."""
    frame: FrameType | None = sys._getframe(depth)
    method = ""
    while frame is not None and frame.f_code.co_filename.startswith(_OWN_FRAMES):
        if frame.f_code.co_filename not in (_OPERATORS, contextlib.__file__) and not frame.f_code.co_name.startswith("_"):
            method = frame.f_code.co_name
        frame = frame.f_back
    return Frame(frame or sys._getframe(), method)


def error_at(frame: Frame, violation: Violation, argument: str, computation: str | None = None) -> BuilderError:
    """Returns the error for a violation, with the method, the argument and the caller's line."""
    # Iterating over an operation calls no method of a builder.
    where = "".join(f"{word}: " for word in (frame.method, argument) if word)
    filename, line = frame.caller.f_code.co_filename, frame.caller.f_lineno
    return BuilderError(
        [
            Diagnostic(
                violation.code,
                CODE_NAMES[violation.code],
                "error",
                where + violation.message,
                filename,
                line,
                1,
                line,
                2,
                violation.hint,
                violation.notes,
                computation,
                source_file=filename,
                source_line=line,
            )
        ]
    )


class ModuleState:
    """The state of a module that is being built.

    `results` maps each checked combination of opcode, attributes and operand shapes to the result
    shape and the stored attributes.
    """

    def __init__(self, module: Module, modes: VerifyModes, *, source_lines: bool, unique_names: bool = True) -> None:
        self.module = module
        # True if instruction names are unique in the whole module, not only in each computation.
        self.unique_names = unique_names
        self.modes = modes
        self.source_lines = source_lines
        # The Rewriter of a module that is being edited; None for a new module.
        self.rewriter: Rewriter | None = None
        # The builder of the entry computation; `is_built` is true once it has built the module.
        self.entry: object = None
        self.is_built = False
        self.instruction_names = NameTable()
        self.computation_names = NameTable(computation.name for computation in module.computations)
        self.results: dict[tuple[Any, ...], tuple[Shape, AttributeSet]] = {}
        self.rules: Memo[OpDef, ResultRules] = Memo(ResultRules)
        self._program_shapes: Memo[Computation, ProgramShape] = Memo(lambda computation: computation.program_shape)
        self.computations: dict[Computation, None] = dict.fromkeys(module.computations)
        # Attributes and metadata applied to every instruction built inside a `with` block.
        self.common: dict[str, Any] = {}
        self.op_name = ""
        self.op_type = ""
        self._texts: dict[tuple[Any, int, str, str], str | None] = {}

    def program_shape(self, computation: Computation) -> ProgramShape:
        """Returns the program shape of a computation, cached unless the module is being edited.

        In a new module, the shape of a finished computation does not change.
        """
        return self._program_shapes[computation] if self.rewriter is None else computation.program_shape

    def remember(self, key: tuple[Any, ...], shape: Shape, attributes: AttributeSet) -> None:
        """Caches the result of a check, after clearing the cache if it is full."""
        if len(self.results) >= _MAX_CACHED:
            self.results.clear()
        self.results[key] = (shape, attributes)

    def metadata_text(self) -> str | None:
        """Returns the metadata of a new instruction, with the caller's line if `source_lines`."""
        if not self.source_lines:
            if not (self.op_name or self.op_type):
                return None
            return self._metadata(None, 0)
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename.startswith(_OWN_FRAMES):
            frame = frame.f_back
        assert frame is not None
        return self._metadata(frame.f_code.co_filename, frame.f_lineno)

    def _metadata(self, filename: str | None, line: int) -> str | None:
        key = (filename, line, self.op_name, self.op_type)
        text = self._texts.get(key)
        if text is None:
            text = Metadata(self.op_type, self.op_name, filename or "", line).text
            self._texts[key] = text
        return text
