"""Build hook that generates the parse tables and adds them and the grammar to the wheel."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

__all__ = ["BuildTables"]


class BuildTables(BuildHookInterface[Any]):
    """The hook, which Hatchling runs before it builds a wheel, even for an editable installation."""

    PLUGIN_NAME = "hlotool-tables"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        # The package is not installed while it is being built. The module imported here needs only Lark.
        sys.path.insert(0, self.root)
        try:
            from hlotool.text.parse.grammar import write_tables  # noqa: PLC0415
        finally:
            sys.path.remove(self.root)
        write_tables()
        if version == "standard":
            # An editable installation reads the grammar from the checkout.
            build_data["force_include"][str(Path(self.root, "grammar", "hlo.lark"))] = "hlotool/grammar/hlo.lark"
