"""Every table entry and every diagnostic code occurs in a case."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

import pytest

import hlotool
import hlotool.interp.kernels.table
from hlotool.codes import CODE_NAMES
from hlotool.errors import ParseError
from hlotool.ir.model import Module
from hlotool.opdefs.common import COMMON_ATTRIBUTES
from hlotool.opdefs.module_attributes import MODULE_ATTRIBUTES
from hlotool.opdefs.table import OPS
from hlotool.text.legacy.rewrite import LEGACY_CODE
from hlotool.text.parse.parser import parse
from hlotool.verifier.registry import MODULE_RULES, SHAPE_RULES, load_rules

HERE = Path(__file__).parent
PACKAGE = Path(hlotool.__file__).parent
_CODE = re.compile(r"\"([A-Z][0-9]{3})\"")
_ANNOUNCED = re.compile(r"// error(?:@[+-][0-9]+)?: ([A-Z][0-9]{3}(?:, [A-Z][0-9]{3})*)")
# Attributes that XLA drops or renames; the test looks for them in the source text instead.
_IN_TEXT = {("custom-call", "to_apply"), ("async-update", "calls"), ("async-done", "calls")}
_IN_TEXT |= {("async-update", "async_execution_thread"), ("async-done", "async_execution_thread")}
# These codes are raised when shardings and replica groups are expanded; the parser accepts them.
_LATER = {"P024", "P026", "P030"}
# In HLO text, the order of the lines is the schedule; only a module that a program has built or
# changed can have a different schedule.
_NOT_IN_TEXT = {"A028", "A029"}
# All cases in text/legacy test this code; `// old` marks the lines on which it is reported.
_OLD_SPELLINGS = {LEGACY_CODE}
# These modules contain codes only to select and fix the findings of other modules.
_NAMED_ONLY = {"verifier/fixing.py"}


def accepted_modules() -> list[Module]:
    modules = []
    for folder in ("text/syntax", "text/accept", "ops"):
        for path in sorted((HERE / folder).glob("*.hlo")):
            for part in path.read_bytes().decode("utf-8", "surrogateescape").split("// -----\n"):
                # Other tests check that invalid cases are rejected.
                with suppress(ParseError):
                    modules.append(parse(part.partition("// output\n")[0]))
    return modules


MODULES = accepted_modules()


def used_codes(*folders: str) -> set[str]:
    paths = [path for folder in folders for path in (PACKAGE / folder).rglob("*.py") if path.relative_to(PACKAGE).as_posix() not in _NAMED_ONLY]
    return {code for path in paths if path.parent.name != "fixes" for code in _CODE.findall(path.read_text(encoding="utf-8"))}


def test_every_opcode_has_a_case() -> None:
    found = {x.opcode for module in MODULES for x in module.all_instructions()}
    assert set(OPS) <= found, f"no case for {sorted(set(OPS) - found)}"


def test_every_attribute_of_every_opcode_has_a_case() -> None:
    found = {(x.opcode, name) for module in MODULES for x in module.all_instructions() for name in x.attributes}
    wanted = {(op.name, name) for op in OPS.values() for name in op.attributes} - _IN_TEXT
    assert wanted <= found, f"no case for {sorted(wanted - found)}"


def test_attributes_that_are_read_and_dropped_have_a_case() -> None:
    text = "\n".join(module.source.text for module in MODULES if module.source is not None)
    missing = []
    for opcode, name in sorted(_IN_TEXT):
        suffix = opcode.removeprefix("async")
        if not re.search(rf"\b{re.escape(opcode)}\([^\n]*\b{name}=|{suffix}\([^\n]*\b{name}=", text):
            missing.append((opcode, name))
    assert not missing, f"no case for {missing}"


def test_every_common_attribute_has_a_case() -> None:
    found = {name for module in MODULES for x in module.all_instructions() for name in x.attributes}
    found |= {"metadata" for module in MODULES for x in module.all_instructions() if x.metadata_text is not None}
    found |= {"backend_config" for module in MODULES for x in module.all_instructions() if x.backend_config is not None}
    assert set(COMMON_ATTRIBUTES) <= found, f"no case for {sorted(set(COMMON_ATTRIBUTES) - found)}"


def test_every_module_attribute_has_a_case() -> None:
    found = {name for module in MODULES for name in module.attributes}
    assert set(MODULE_ATTRIBUTES) <= found, f"no case for {sorted(set(MODULE_ATTRIBUTES) - found)}"


def announced_codes(folder: str) -> set[str]:
    texts = (path.read_bytes().decode("utf-8", "surrogateescape") for path in (HERE / folder).glob("*.hlo"))
    return {code for text in texts for match in _ANNOUNCED.finditer(text) for code in match[1].split(", ")}


def test_every_code_has_a_case() -> None:
    wanted = used_codes("text", "literals", "opdefs", "shapes", "verifier") - _LATER - _NOT_IN_TEXT - _OLD_SPELLINGS
    missing = wanted - announced_codes("text/reject") - announced_codes("verify") - announced_codes("ops")
    assert not missing, f"no case for {sorted(missing)}"


def test_every_rule_has_its_own_case() -> None:
    load_rules()
    codes = {code for rule in (*SHAPE_RULES, *MODULE_RULES) for code in rule.codes}
    missing = codes - announced_codes("verify") - _NOT_IN_TEXT
    assert not missing, f"no case for {sorted(missing)}"


def test_every_rule_is_documented() -> None:
    load_rules()
    for rule in (*SHAPE_RULES, *MODULE_RULES):
        assert "\n    Checks: " in (rule.check.__doc__ or ""), f"{rule.check.__name__} has no `Checks:` section"


def test_every_code_has_a_name() -> None:
    assert used_codes("text", "literals", "opdefs", "shapes", "verifier", "cli") <= set(CODE_NAMES)


def test_every_error_case_is_rejected() -> None:
    # The messages may differ from XLA's, but hlotool must reject each of XLA's error files, too.
    for path in sorted((HERE / "text" / "errors").glob("*.hlo")):
        with pytest.raises(ParseError):
            parse(path.read_bytes())


# ---- kernels ----------------------------------------------------------------------------------------------------------

# The values of these opcodes exist before the first step of a run.
_NO_STEP = {"parameter", "constant"}
# The modules in opdefs whose opcodes all have kernels.
_COMPUTED = {"elementwise", "structure"}


def test_kernels_and_opcodes_match() -> None:
    """Checks that all opcodes in `_COMPUTED` have kernels, and that kernels are in their package.

    The registration of a kernel already checks that its opcode exists.
    """
    for name, op in OPS.items():
        family = op.infer.__module__.rpartition(".")[2]
        if family in _COMPUTED and name not in _NO_STEP:
            assert op.kernel is not None, f"{name} has no kernel"
        if op.kernel is not None:
            assert op.kernel.function.__module__.startswith("hlotool.interp.kernels."), name


def test_every_kernel_has_a_case() -> None:
    shown = {
        x.opcode
        for folder in ("ops", "devices")
        for path in sorted((HERE / folder).glob("*.hlo"))
        for text in path.read_text(encoding="utf-8").split("// -----\n")
        for x in parse(text).all_instructions()
    }
    missing = sorted(name for name, op in OPS.items() if op.kernel is not None and name not in shown)
    assert not missing, f"no case for {missing}"
