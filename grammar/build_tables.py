"""Build hook: makes the parse tables of the grammar and puts both into the wheel.

It knows how to pack, not what tables are; `hlotool.text.parse.grammar` does.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

__all__ = ["BuildTables"]


class BuildTables(BuildHookInterface[Any]):
    """Run by hatchling before each wheel, editable ones included."""

    PLUGIN_NAME = "hlotool-tables"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        # The package itself is not installed while it is being built; of it, this imports one module that needs Lark only.
        sys.path.insert(0, self.root)
        try:
            from hlotool.text.parse.grammar import write_tables  # noqa: PLC0415
        finally:
            sys.path.remove(self.root)
        write_tables()
        if version == "standard":
            # An editable installation reads the grammar where it is.
            build_data["force_include"][str(Path(self.root, "grammar", "hlo.lark"))] = "hlotool/grammar/hlo.lark"
