"""The public names: their types, the recorded API, and deprecated names that still work."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import hlotool
from hlotool.dev import api
from hlotool.errors import Source
from hlotool.graph.graph_options import COLORINGS, EXPANSIONS, FORMATS
from hlotool.opdefs.base import OpDef

HERE = Path(__file__).parent
TYPES = (
    "BuilderError CompiledModule Computation CustomCall Delta Diagnostic EditError EvaluationError FormatStyle GraphError GraphOptions HlotoolError "
    "HostQueues Instruction Layout Literal Module Op OptimizeOptions OptimizedModule ParseError Patch PatchError PrintOptions RunOptions Shape Token "
    "VerifyModes"
).split()


def test_the_public_api_changes_only_with_the_changelog():
    recorded = (HERE / "public_api.txt").read_text(encoding="utf-8").splitlines()[1:]
    message = "describe the change in CHANGELOG.md, then run `python -m hlotool.dev api`"
    assert api.surface() == recorded, message


def test_an_api_change_requires_a_changelog_entry(tmp_path, monkeypatch):
    monkeypatch.setattr(api, "_RECORD", tmp_path / "public_api.txt")
    monkeypatch.setattr(api, "_CHANGELOG", tmp_path / "CHANGELOG.md")
    (tmp_path / "CHANGELOG.md").write_text("* A parser.\n")
    monkeypatch.setattr(api, "surface", lambda: ["hlotool.parse(text)"])
    first = api.write().read_text()
    assert api.write().read_text() == first
    monkeypatch.setattr(api, "surface", lambda: ["hlotool.parse(text, filename)"])
    with pytest.raises(hlotool.HlotoolError, match=r"describe the change in CHANGELOG\.md first"):
        api.write()
    (tmp_path / "CHANGELOG.md").write_text("* A parser, which knows names of files.\n")
    assert api.write().read_text().splitlines()[1:] == ["hlotool.parse(text, filename)"]


@pytest.mark.parametrize("name", TYPES)
def test_every_public_type_can_be_imported(name):
    assert isinstance(getattr(hlotool, name), type)
    assert name in hlotool.__all__


@pytest.mark.parametrize("cls", [OpDef, Source])
def test_attributes_of_public_types_are_annotated(cls):
    """Type checkers may infer different types for attributes without annotations."""
    assert set(cls.__annotations__) == set(cls.__slots__)


def test_old_names_warn_and_work():
    with pytest.warns(DeprecationWarning, match=r"hlotool\.apply is deprecated; use hlotool\.apply_patch"):
        assert hlotool.apply is hlotool.apply_patch
    assert "apply" not in dir(hlotool)


def test_importing_the_package_imports_nothing_else():
    code = "import sys, hlotool; print(sorted(name for name in sys.modules if name.startswith(('hlotool.', 'numpy', 'lark'))))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.parametrize(("described", "names"), [(hlotool.to_graph, FORMATS), (hlotool.GraphOptions, COLORINGS), (hlotool.GraphOptions, EXPANSIONS)])
def test_help_lists_the_values_of_options_of_pictures(described, names):
    assert all(f'"{name}"' in described.__doc__ for name in names)


# ---- shapes as text ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f32[]", "f32[]"),
        ("bf16[2,3]{0,1}", "bf16[2,3]{0,1}"),
        ("(s32[], f32[2])", "(s32[], f32[2]{0})"),
        ("f32[?,<=3]", "f32[?,<=3]{1,0}"),
        ("token[]", "token[]"),
    ],
)
def test_shapes(text, expected):
    assert hlotool.shape(text).text == expected
    assert hlotool.shape(hlotool.shape(text)) == hlotool.shape(text)


@pytest.mark.parametrize("text", ["", "x", "f32[-1]", "f32[2", "f32[2] parameter(0) q = f32[2]", "f32[2] parameter(0) } f { ROOT q = f32[3]"])
def test_strings_that_are_not_shapes(text):
    with pytest.raises(hlotool.ParseError, match="is not a shape") as raised:
        hlotool.shape(text)
    assert "write a shape such as" in raised.value.diagnostics[0].hint


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("bfloat16[2,3]", "did you mean 'bf16'?"),
        ("(s32[], float32[2])", "did you mean 'f32'?"),
        ("F32[2]", "element types are lower case: f32"),
    ],
)
def test_a_misspelled_element_type_has_a_suggestion(text, hint):
    with pytest.raises(hlotool.ParseError, match="is not a shape") as raised:
        hlotool.shape(text)
    assert raised.value.diagnostics[0].hint == hint


def test_shapes_are_not_created_from_other_objects():
    with pytest.raises(TypeError, match="expected a shape or its text, got list"):
        hlotool.shape([2, 3])


def test_a_rewriter_takes_shapes_as_text():
    module = hlotool.parse("ENTRY e { ROOT p = f32[2] parameter(0) }")
    with hlotool.Rewriter(module) as rewriter:
        narrow = rewriter.insert("convert", [module.entry.root], shape="bf16[2]", into=module.entry)
        with pytest.raises(hlotool.EditError, match=r"^'bf16' is not a shape"):
            rewriter.insert("convert", [narrow], shape="bf16", into=module.entry)
        with pytest.raises(hlotool.EditError, match=r"^expected a shape or its text, got int"):
            rewriter.insert("convert", [narrow], shape=3, into=module.entry)
        rewriter.update(narrow, shape="f16[2]")
    assert narrow.shape == hlotool.shape("f16[2]")


# ---- differences and patches --------------------------------------------------------------------

LEFT = "HloModule m\nENTRY e { p = f32[2] parameter(0) ROOT n = f32[2] negate(p) }"
RIGHT = LEFT.replace("negate", "abs")


def test_differences_print_themselves():
    delta = hlotool.diff(hlotool.parse(LEFT), hlotool.parse(RIGHT))
    assert str(delta).splitlines()[0] == "1 instruction changed (negate -> abs)"
    html = delta._repr_html_()
    assert html.startswith("<pre")
    assert "<b>negate</b>" in html
    same = hlotool.diff(hlotool.parse(LEFT), hlotool.parse(LEFT))
    assert str(same) == "no differences"
    assert "no differences" in same._repr_html_()


def test_names_are_escaped_in_notebooks():
    left = LEFT.replace("negate(p)", 'custom-call(p), custom_call_target="<script>\\033[31m"')
    html = hlotool.diff(hlotool.parse(left), hlotool.parse(left.replace("<script>", "<style>")))._repr_html_()
    assert "<script>" not in html
    assert "\033" not in html


def test_long_differences_are_cut_in_notebooks():
    lines = "".join(f"x{k} = f32[2] negate(p)\n" for k in range(2000))
    text = f"HloModule m\nENTRY e {{ p = f32[2] parameter(0)\n{lines}ROOT r = f32[2] abs(p) }}"
    delta = hlotool.diff(hlotool.parse(text), hlotool.parse(LEFT))
    assert len(delta._repr_html_().splitlines()) <= 1001


def test_patches_are_values():
    left, right = hlotool.parse(LEFT), hlotool.parse(RIGHT)
    patch = hlotool.Patch(hlotool.diff(left, right).to_patch())
    assert (bool(patch), patch.computations, repr(patch)) == (True, ("e",), "<patch of e>")
    assert hlotool.to_text(hlotool.apply_patch(left, patch)) == hlotool.to_text(right)
    assert hlotool.to_text(hlotool.apply_patch(right, patch, reverse=True)) == hlotool.to_text(left)
    assert str(patch) == hlotool.diff(left, right).to_patch()
    assert not hlotool.Patch("")
    with pytest.raises(hlotool.PatchError, match=r"bad\.patch"):
        hlotool.Patch("no patch", filename="bad.patch")


def command_line(*arguments):
    return subprocess.run([sys.executable, "-m", "hlotool", *arguments], capture_output=True, text=True, check=True).stdout


def test_hashes_and_canonical_texts_match_the_command_line(tmp_path):
    path = tmp_path / "m.hlo"
    path.write_text(LEFT)
    module = hlotool.parse(LEFT)
    lines = command_line("hash", "--computations", str(path)).splitlines()
    assert [line.split()[0] for line in lines] == [hlotool.hash_module(module), *hlotool.hash_computations(module).values()]
    assert command_line("canon", str(path)) == hlotool.canonical_text(module)


def test_passes_are_a_list_or_a_string():
    module = hlotool.parse("ENTRY e { p = f32[2] parameter(0) a = f32[2] negate(p) ROOT b = f32[2] negate(a) }")
    sizes = {len(hlotool.optimize(module, passes).entry.instructions) for passes in ("algsimp,dce", ["algsimp", "dce"], None)}
    assert sizes == {1}


def test_metadata_is_decoded_once():
    module = hlotool.parse('ENTRY e { ROOT p = f32[] parameter(0), metadata={op_name="x" source_line=3} }')
    assert module.entry.root.metadata is module.entry.root.metadata
