"""Checks that the manifest of the extension for Visual Studio Code agrees with the package.

The tests of the extension itself run with `npm test` in `editors/vscode`.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import hlotool
from hlotool.server.session import ClientOptions
from hlotool.syntax.filetypes import ALIASES, FILE_NAMES, FIRST_LINE, LANGUAGE, NAME, suffixes
from hlotool.workspace.presets import PRESETS

ROOT = Path(__file__).resolve().parents[2]
MANIFEST = json.loads((ROOT / "editors/vscode/package.json").read_text(encoding="utf-8"))
SETTINGS = MANIFEST["contributes"]["configuration"]["properties"]


def test_version_and_license() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert (MANIFEST["version"], MANIFEST["license"]) == (hlotool.__version__, project["license"])


def test_files_of_the_language() -> None:
    (language,) = MANIFEST["contributes"]["languages"]
    extensions = [f".{suffix}" for suffix in suffixes()]
    assert language["id"] == LANGUAGE
    assert language["aliases"] == [NAME, *(alias for alias in ALIASES if alias != LANGUAGE)]
    assert language["extensions"] == extensions
    assert [f"*{extension}" for extension in extensions] + language["filenamePatterns"] == list(FILE_NAMES)
    assert language["firstLine"] == f"^{FIRST_LINE}"


def test_presets() -> None:
    values = SETTINGS["hlotool.preset"]["enum"]
    assert values == [None, *PRESETS]
    for preset in values:
        assert ClientOptions.of({"preset": preset}).choice.preset == preset


def test_no_registry_is_named() -> None:
    """Checks that packages come from the registry in the machine's configuration."""
    lock = json.loads((ROOT / "editors/vscode/package-lock.json").read_text(encoding="utf-8"))
    assert not [name for name, package in lock["packages"].items() if "resolved" in package]
    for name, package in lock["packages"].items():
        assert not name or package["integrity"], name
