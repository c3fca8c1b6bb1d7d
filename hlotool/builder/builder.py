"""The builder of modules."""

from __future__ import annotations

from typing import Any

from hlotool.builder.composites.annotations import AnnotationMethods
from hlotool.builder.composites.historic import HistoricMethods
from hlotool.builder.emitter import Emitter
from hlotool.builder.generated.comparison import ComparisonMethods
from hlotool.builder.generated.direct import DirectMethods
from hlotool.builder.generated.functions import FunctionMethods
from hlotool.builder.generated.internal import InternalMethods
from hlotool.builder.state import ModuleState
from hlotool.errors import BuilderError
from hlotool.ir.model import Computation, Module
from hlotool.opdefs.modes import VerifyModes
from hlotool.record import replace
from hlotool.verifier.engine import verify

__all__ = ["Builder"]

_MODES = VerifyModes()


class Builder(HistoricMethods, ComparisonMethods, DirectMethods, FunctionMethods, InternalMethods, AnnotationMethods):
    """Builds a module, or a computation of one: each method adds an instruction and returns an `Op`.

    The methods are those that the operation semantics of XLA describe, with the same arguments in the same order; names that are words of
    Python end in `_`. Operands are operations of the same builder, or numbers, lists and arrays, which become constants. Dimension numbers may
    be negative. A call with wrong arguments raises BuilderError, which names the argument and the line of the caller.

    `name` is the name of the module and of its entry computation. `replica_count` and `num_partitions` are written to the header. With
    `source_lines`, instructions have the file and the line of the caller in their metadata. `modes` are those of the verification.

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

    def __init__(self, name: str, *, replica_count: int = 1, num_partitions: int = 1, source_lines: bool = True, modes: VerifyModes = _MODES) -> None:
        module = Module(name)
        for attribute, value in (("replica_count", replica_count), ("num_partitions", num_partitions)):
            if value != 1:
                module.attributes[attribute] = value
        state = ModuleState(module, _decided(modes), source_lines=source_lines)
        Emitter.__init__(self, state, Computation(name))
        self._check_name(name)
        state.computation_names.add(name)

    @property
    def name(self) -> str:
        """The name of the computation that is being built."""
        return self._computation.name

    def build(self, root: Any = None, *, check: bool = True) -> Module:
        """Finishes the module and returns it. The result is `root`, or what `set_root` has named, or the last operation.

        With `check`, the whole module is verified. Raises BuilderError for its errors, and if a computation has no instructions.

        >>> b = Builder("demo")
        >>> b.build(b.constant(1.0) + 2.0)
        <module demo with 1 computation>
        """
        if root is not None:
            self.set_root(root)
        entry, module = self._finish(), self._state.module
        module.computations.append(entry)
        module.entry = entry
        module.attributes["entry_computation_layout"] = entry.program_shape
        if check:
            self._raise_errors()
        return module

    def _raise_errors(self) -> None:
        diagnostics = [d for d in verify(self._state.module, self._state.modes) if d.severity == "error"]
        if diagnostics:
            raise BuilderError(diagnostics)

    def __repr__(self) -> str:
        return f"<builder of {self._computation.name} with {len(self._instructions)} instructions>"


def _decided(modes: VerifyModes) -> VerifyModes:
    """The modes with values for those that follow from a whole module: a module that is being built is not optimized."""
    unset = {name: False for name in ("layout_sensitive", "layouts_kept", "allow_mixed_precision") if getattr(modes, name) is None}
    return replace(modes, **unset)
