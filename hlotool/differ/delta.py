"""The result of `hlotool.diff`: a difference, with its reports and its patch."""

from __future__ import annotations

from importlib import import_module

from hlotool.differ.difference import ModuleDifference

__all__ = ["Delta"]


class Delta(ModuleDifference):
    """The difference between two modules; false if there is none.

    >>> import hlotool
    >>> left = hlotool.parse("ENTRY e { p = f32[] parameter(0) ROOT n = f32[] negate(p) }")
    >>> right = hlotool.parse("ENTRY e { q = f32[] parameter(0) ROOT m = f32[] abs(q) }")
    >>> delta = hlotool.diff(left, right)
    >>> bool(delta), delta.categories
    (True, ('names', 'opcode'))
    """

    # Reports and patches are imported on use, because most differences need only one of them.

    def __str__(self) -> str:
        """Returns the report that `hlotool diff` prints, without colors."""
        text: str = import_module("hlotool.differ.rendering.notebook").text_of(self)
        return text

    def _repr_html_(self) -> str:
        """Returns the report for notebooks, with removed and added parts in color."""
        html: str = import_module("hlotool.differ.rendering.notebook").html_of(self)
        return html

    def __repr__(self) -> str:
        return f"<delta of {self.left.name} and {self.right.name}: {', '.join(self.categories) or 'nothing differs'}>"

    def to_patch(self, left_name: str = "a", right_name: str = "b") -> str:
        """Returns the difference as a patch for `hlotool.apply_patch`, or "" if nothing differs.

        `left_name` and `right_name` are the file names in the first lines of the patch.
        """
        text: str = import_module("hlotool.differ.patches.patch").patch_of(self, left_name, right_name)
        return text
