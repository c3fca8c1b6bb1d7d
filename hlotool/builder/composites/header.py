"""Methods for the header of a module and the position of its entry computation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hlotool.builder.computations import ComputationMethods
from hlotool.builder.texts import as_module_attribute, as_stack_tables
from hlotool.errors import Violation, nearest
from hlotool.ir.model import Computation
from hlotool.opdefs.module_attributes import MODULE_ATTRIBUTES
from hlotool.shapes.values import DebugEntry, Recovery

__all__ = ["HeaderMethods"]

# Tables that may be given as rows, because their text may have names that cannot be read back.
_ROWS: dict[str, type] = {"origin_recovery_table": Recovery, "debug_attributes": DebugEntry}


class HeaderMethods(ComputationMethods):
    """Methods for the header of a module and the position of its entry computation."""

    def set_header(self, attributes: Mapping[str, Any]) -> None:
        """Sets attributes of the module header, by their names in HLO text.

        The values are numbers, booleans, HLO text or lists of rows. Raises BuilderError for unknown
        attributes and for text that cannot be read.

        >>> from hlotool.builder.builder import Builder
        >>> b = Builder("demo")
        >>> b.set_header({"is_scheduled": True, "input_output_alias": "{ {}: (0, {}, may-alias) }"})
        >>> b.build(-b.parameter(0, "f32[4]")).is_scheduled
        True
        """
        for name, value in self._attributes(attributes).items():
            if name not in MODULE_ATTRIBUTES:
                meant = nearest(name, MODULE_ATTRIBUTES)
                self._fail("M017", "attributes", f"a module has no attribute '{name}'", f"did you mean '{meant}'?" if meant else None)
            if name in _ROWS and isinstance(value, (list, tuple)):
                self._state.module.attributes[name] = self._instances(value, _ROWS[name], name)
                continue
            text: str = str(value).lower() if isinstance(value, (bool, int)) else self._instance(value, str, name)
            try:
                self._state.module.attributes[name] = as_module_attribute(name, text)
            except Violation as violation:
                self._reject(violation, name)

    def set_stack_frames(self, text: str) -> None:
        """Sets the stack frame tables, which are given as HLO text from FileNames to StackFrames.

        The metadata field `stack_frame_id` refers to these tables. Raises BuilderError for text
        that cannot be read.
        """
        try:
            self._state.module.stack_tables_text = as_stack_tables(self._instance(text, str, "text"))
        except Violation as violation:
            self._reject(violation)

    def finish_entry(self, root: Any = None) -> Computation:
        """Finishes the entry computation, so that other computations can follow it in the text.

        If this method is not called, `build` finishes the entry computation.

        >>> from hlotool.builder.builder import Builder
        >>> b = Builder("demo")
        >>> b.finish_entry(b.constant(1.0))
        <computation demo with 1 instruction>
        """
        self._require(self is self._state.entry and self._position is None, "S010", "", "this is not the builder of the entry computation")
        if root is not None:
            self.set_root(root)
        entry, state = self._finish(), self._state
        state.module.computations.append(entry)
        state.computations[entry] = None
        state.module.entry = entry
        return entry
