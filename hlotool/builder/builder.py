"""The module builder."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

from hlotool.builder.composites.aliases import AliasMethods
from hlotool.builder.composites.annotations import AnnotationMethods
from hlotool.builder.composites.asynchronous import AsyncMethods
from hlotool.builder.composites.header import HeaderMethods
from hlotool.builder.emitter import Emitter
from hlotool.builder.generated.comparison import ComparisonMethods
from hlotool.builder.generated.direct import DirectMethods
from hlotool.builder.generated.functions import FunctionMethods
from hlotool.builder.generated.internal import InternalMethods
from hlotool.builder.op import Op
from hlotool.builder.state import ModuleState
from hlotool.errors import BuilderError, Diagnostic, EditError, nearest
from hlotool.ir.edit import Rewriter
from hlotool.ir.model import Computation, Module
from hlotool.opdefs.inference import count
from hlotool.opdefs.modes import VerifyModes
from hlotool.record import replace
from hlotool.shapes.values import AliasPair
from hlotool.text.parse.builder import alias_errors
from hlotool.verifier.engine import verify

__all__ = ["Builder"]

_MODES = VerifyModes()
_ALIAS_KINDS = ("may-alias", "must-alias")
# The maximum number of names to compare with a misspelled name.
_MAX_COMPARED = 1000


class Builder(AliasMethods, ComparisonMethods, DirectMethods, FunctionMethods, InternalMethods, AsyncMethods, AnnotationMethods, HeaderMethods):
    """A builder for a module or for one of its computations.

    Each method adds an instruction and returns an `Op`. The methods are those of XLA's operation
    semantics, with the same arguments in the same order. A name that would be a Python keyword ends
    in `_`, such as `and_`. Operands are operations of the same builder, or numbers, lists and
    arrays, which become constants. Dimension numbers may be negative. A call with wrong arguments
    raises BuilderError, which reports the argument and the line of the caller. The builder remains
    usable, but constants and computations that the failed call had already added stay in the
    module, without users.

    `name` is the name of the module, and of its entry computation unless `entry` is given.
    `replica_count` and `num_partitions` are written to the header. With `unique_names`, instruction
    names are unique in the module; otherwise, they are unique only in their computation, as in HLO
    text. With `source_lines`, the metadata of instructions contains the file and the line of the
    caller. `modes` sets the verifier's modes.

    >>> b = Builder("demo", source_lines=False)
    >>> x = b.parameter(0, "f32[2,3]", "x")
    >>> y = b.parameter(1, "f32[3]", "y")
    >>> total = b.add(x, y, broadcast_dimensions=[1])
    >>> print(str(b.build()).rstrip())
    HloModule demo, entry_computation_layout={(f32[2,3]{1,0}, f32[3]{0})->f32[2,3]{1,0}}
    <BLANKLINE>
    ENTRY %demo (x: f32[2,3], y: f32[3]) -> f32[2,3] {
      %x = f32[2,3]{1,0} parameter(0)
      %y = f32[3]{0} parameter(1)
      %broadcast = f32[2,3]{1,0} broadcast(%y), dimensions={1}
      ROOT %add = f32[2,3]{1,0} add(%x, %broadcast)
    }
    """

    def __init__(
        self,
        name: str,
        *,
        entry: str | None = None,
        replica_count: int = 1,
        num_partitions: int = 1,
        source_lines: bool = True,
        unique_names: bool = True,
        modes: VerifyModes = _MODES,
    ) -> None:
        module = Module(name)
        for attribute, value in (("replica_count", replica_count), ("num_partitions", num_partitions)):
            if value != 1:
                module.attributes[attribute] = value
        state = ModuleState(module, _fill_in_modes(modes), source_lines=source_lines, unique_names=unique_names)
        entry_name = name if entry is None else entry
        Emitter.__init__(self, state, Computation(entry_name))
        for given in (name, entry_name):
            self._check_spelling(given)
            if unique_names:
                self._check_name(given)
        state.computation_names.add(entry_name)
        state.entry = self

    @property
    def name(self) -> str:
        """The name of the computation that is being built."""
        return self._computation.name

    # ---- new modules ----------------------------------------------------------------------------

    def build(self, root: Any = None, *, check: bool = True) -> Module:
        """Finishes the module and returns it.

        The result of the entry computation is `root` if given, else the operation passed to
        `set_root`, else the last operation. With `check`, the whole module is verified. Raises
        BuilderError if the verifier finds errors or if a computation has no instructions.

        >>> b = Builder("demo")
        >>> b.build(b.constant(1.0) + 2.0)
        <module demo with 1 computation>
        """
        own = self is self._state.entry and self._position is None
        self._require(own, "S010", "", "only the builder of a new module can build it", "use finish for a called computation")
        module = self._state.module
        if root is not None or module.entry is None or self._state.is_built:
            self.finish_entry(root)
        entry, self._state.is_built = module.entry, True
        if module.attributes.get("entry_computation_layout") is None:
            module.attributes["entry_computation_layout"] = entry.program_shape
        for pair in module.attributes.get("input_output_alias", ()):
            # The verifier leaves this check to the parser, but a built module is never parsed.
            for code, message in alias_errors(pair, entry.root):
                self._fail(code, "", message)
        if check:
            self._raise_errors()
        return module

    def set_up_alias(self, output_index: Sequence[int], param_number: int, param_index: Sequence[int] = (), kind: str = "may-alias") -> None:
        """Lets an output share memory with a parameter.

        Each index is a path into nested tuples. `build` raises BuilderError if the output and the
        parameter do not match.

        >>> b = Builder("demo")
        >>> b.set_up_alias([], 0)
        >>> b.build(b.neg(b.parameter(0, "f32[4]"))).input_output_alias
        (AliasPair(output_index=(), number=0, index=(), kind='may-alias'),)
        """
        kind = self._instance(kind, str, "kind")
        self._require(kind in _ALIAS_KINDS, "M015", "kind", f"'{kind}' is not one of {', '.join(_ALIAS_KINDS)}")
        paths = self._integers(output_index, "output_index"), self._integers(param_index, "param_index")
        self._append("input_output_alias", AliasPair(paths[0], self._integer(param_number, "param_number"), paths[1], kind))

    def add_buffer_donor(self, param_number: int, param_index: Sequence[int] = ()) -> None:
        """Allows the compiler to overwrite a parameter.

        `build` raises BuilderError if there is no such parameter.

        >>> b = Builder("demo")
        >>> b.add_buffer_donor(0)
        >>> b.build(b.neg(b.parameter(0, "f32[4]"))).buffer_donor
        ((0, ()),)
        """
        self._append("buffer_donor", (self._integer(param_number, "param_number"), self._integers(param_index, "param_index")))

    def _append(self, attribute: str, value: Any) -> None:
        header = self._state.module.attributes
        header[attribute] = (*header.get(attribute, ()), value)

    # ---- existing modules -----------------------------------------------------------------------

    @classmethod
    def extend(
        cls,
        module: Module,
        computation: str | None = None,
        *,
        before: str | None = None,
        source_lines: bool = False,
        modes: VerifyModes = _MODES,
    ) -> Self:
        """Returns a builder that extends an existing module through a Rewriter.

        The builder adds new instructions to the given computation (by default, the entry
        computation), at the end or before the instruction with the name `before`. Use the builder
        in a `with` block, at the end of which the module is made consistent and verified. `op`
        returns existing instructions, and `replace` replaces them with new ones. Raises
        BuilderError for unknown names, and at the end of the block if the verifier finds errors.

        >>> from hlotool.text.parse.parser import parse
        >>> module = parse("ENTRY e { p = f32[4] parameter(0) ROOT r = f32[4] negate(p) }")
        >>> with Builder.extend(module) as b:
        ...     b.replace(b.op("r"), b.op("p") * 2.0)
        >>> [x.name for x in module.entry]
        ['p', 'constant', 'broadcast', 'multiply']
        """
        state = ModuleState(module, _fill_in_modes(modes), source_lines=source_lines)
        target = module.entry if computation is None else next((c for c in module.computations if c.name == computation), None)
        builder = object.__new__(cls)
        Emitter.__init__(builder, state, module.entry if target is None else target)
        hint = f"computations of the module: {', '.join(c.name for c in module.computations)}"[:200]
        builder._require(target is not None, "S006", "computation", f"there is no computation '{computation}'", hint)
        state.rewriter, state.entry = Rewriter(module), builder
        builder._position = (state.rewriter, None)
        builder._numbers.update({x.immediate: x for x in builder._computation.parameters})
        if before is not None:
            builder._position = (state.rewriter, builder.op(before).instruction)
        return builder

    def op(self, name: str) -> Op:
        """Returns the operation with this name in the computation.

        Raises BuilderError if there is no such operation.

        >>> b = Builder("demo")
        >>> x = b.parameter(0, "f32[4]", "x")
        >>> b.op("x")
        <op x = f32[4] parameter>
        """
        instructions = self._instructions if self._position is None else self._position[0].instructions(self._computation)
        name = self._instance(name, str, "name")
        found = next((x for x in instructions if x.name == name), None)
        if found is None:
            meant = nearest(name, [x.name for x in instructions[:_MAX_COMPARED]])
            self._fail("S002", "name", f"there is no instruction '{name}' in '{self.name}'", f"did you mean '{meant}'?" if meant else None)
        return Op(self._innermost(), found)

    def replace(self, old: Op, new: Op) -> None:
        """Replaces an operation of an existing module with a new one, and erases the old one.

        Raises BuilderError if their shapes differ. See `extend` for an example.
        """
        self._require(self._position is not None, "S002", "old", "only the builder of an existing module can replace operations")
        assert self._position is not None
        try:
            self._position[0].replace(self._existing(old, "old"), self._existing(new, "new"))
        except EditError as error:
            self._fail("T003", "new", str(error))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._position is None:
            if self is not self._state.entry:
                super().__exit__(kind, error, trace)
            return
        self._position[0].__exit__(kind, error, trace)
        self._is_open = False
        if error is None:
            self._raise_errors()

    # ---- the whole module -----------------------------------------------------------------------

    def _raise_errors(self) -> None:
        diagnostics = [_move_to_caller(d) for d in verify(self._state.module, self._state.modes) if d.severity == "error"]
        if diagnostics:
            raise BuilderError(diagnostics)

    def __repr__(self) -> str:
        return f"<builder of {self._computation.name} with {count(len(self._instructions), 'instruction')}>"


def _move_to_caller(diagnostic: Diagnostic) -> Diagnostic:
    """Returns the diagnostic, located at the call that built the instruction if it is known."""
    if diagnostic.source_file is None or diagnostic.source_line is None:
        return diagnostic
    line = diagnostic.source_line
    return dataclasses.replace(diagnostic, filename=diagnostic.source_file, line=line, column=1, end_line=line, end_column=2)


def _fill_in_modes(modes: VerifyModes) -> VerifyModes:
    """Returns the modes, with unset modes chosen for a module that is not optimized yet."""
    unset = {name: False for name in ("layout_sensitive", "layouts_kept", "allow_mixed_precision") if getattr(modes, name) is None}
    return replace(modes, **unset)
