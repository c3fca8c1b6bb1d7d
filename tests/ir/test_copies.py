"""Copies and pickles of modules, which equal the originals and have the same text and results.

A pickle can also be read in another process.
"""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import hlotool
from hlotool.ir.equal import differences
from hlotool.ir.model import Module
from hlotool.opdefs.table import OPS

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = sorted((ROOT / "samples").glob("*.hlo"))
COPIERS: dict[str, Callable[[Module], Module]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda module: pickle.loads(pickle.dumps(module)),
}
PROGRAM = "ENTRY e { p = f32[3] parameter(0) a = f32[3] abs(p), control-predecessors={p} c = f32[3] constant({1, 2, 3}) ROOT r = f32[3] add(a, c) }"


@pytest.mark.parametrize("copier", COPIERS)
@pytest.mark.parametrize("path", SAMPLES, ids=[path.name for path in SAMPLES])
def test_a_copy_is_an_equal_module(path: Path, copier: str) -> None:
    module = hlotool.parse_file(path)
    same = COPIERS[copier](module)
    assert list(differences(module, same)) == []
    assert hlotool.to_text(same) == hlotool.to_text(module)
    assert set(same.all_instructions()).isdisjoint(module.all_instructions())
    assert all(x.op is OPS[x.opcode] for x in same.all_instructions())


@pytest.mark.parametrize("copier", COPIERS)
def test_a_copy_runs_and_is_edited_independently(copier: str) -> None:
    module = hlotool.parse(PROGRAM)
    same = COPIERS[copier](module)
    assert hlotool.evaluate(same, [[-1.0, -2.0, 3.0]]).tolist() == [2.0, 4.0, 6.0]
    assert hlotool.verify(same) == []
    with hlotool.Rewriter(same) as rewriter:
        rewriter.update(same.entry["a"], op="negate")
    same.attributes["is_scheduled"] = True
    assert hlotool.evaluate(same, [[-1.0, -2.0, 3.0]]).tolist() == [2.0, 4.0, 0.0]
    assert hlotool.evaluate(module, [[-1.0, -2.0, 3.0]]).tolist() == [2.0, 4.0, 6.0]
    assert not module.is_scheduled


@pytest.mark.parametrize("copier", COPIERS)
def test_annotations_of_the_text_are_copied(copier: str) -> None:
    # XLA replaces the root's annotations; the printer keeps the annotations in the source.
    text = (
        'f { x = f32[4] parameter(0) ROOT n = f32[4] negate(x), metadata={op_name="inner"} }\n'
        'ENTRY e { p = f32[4] parameter(0) s = ((f32[4]), f32[4]) async-start(p), calls=f, metadata={op_name="outer"} ROOT d = f32[4] async-done(s) }'
    )
    module = hlotool.parse(text)
    assert 'op_name="inner"' in hlotool.to_text(module)
    assert hlotool.to_text(COPIERS[copier](module)) == hlotool.to_text(module)


@pytest.mark.parametrize("copier", COPIERS)
def test_unknown_opcodes_and_attributes_are_copied(copier: str) -> None:
    module = hlotool.parse("ENTRY e { p = f32[] parameter(0) ROOT z = f32[] zork(p), color=blue }", strict=False)
    same = COPIERS[copier](module)
    assert hlotool.to_text(same) == hlotool.to_text(module)
    assert [str(d) for d in same.diagnostics] == [str(d) for d in module.diagnostics]


def test_a_deep_chain_is_copied_without_recursion() -> None:
    lines = "".join(f"  n{k + 1} = f32[] negate(n{k})\n" for k in range(20_000))
    module = hlotool.parse(f"ENTRY e {{\n  n0 = f32[] parameter(0)\n{lines}}}")
    for copier in COPIERS.values():
        assert len(copier(module).entry) == 20_001


def test_another_process_reads_a_pickle(tmp_path: Path) -> None:
    path = tmp_path / "module.pickle"
    path.write_bytes(pickle.dumps(hlotool.parse(PROGRAM)))
    script = f"import pickle, hlotool; m = pickle.load(open({str(path)!r}, 'rb')); print(m, hlotool.evaluate(m, [[1.0, 2.0, 3.0]]).tolist())"
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    assert process.stdout == f"{hlotool.parse(PROGRAM)} [2.0, 4.0, 6.0]\n"


def test_computations_and_instructions_are_copied() -> None:
    entry = hlotool.parse(PROGRAM).entry
    clone = copy.deepcopy(entry)
    assert [repr(x) for x in clone] == [repr(x) for x in entry]
    assert clone.root is clone.instructions[-1]
    assert clone["a"].control_predecessors == (clone["p"],)
    assert copy.copy(entry["r"]).operands == entry["r"].operands
    for part in (entry, entry.root):
        with pytest.raises(TypeError, match="pickle its module"):
            pickle.dumps(part)


def test_attributes_cannot_be_changed() -> None:
    attributes = hlotool.parse("ENTRY e { t = (f32[]) parameter(0) ROOT g = f32[] get-tuple-element(t), index=0 }").entry.root.attributes
    for change in ("attributes['index'] = 1", "del attributes['index']", "attributes.update(index=1)", "attributes.pop('index')", "attributes |= {}"):
        with pytest.raises(TypeError, match="attributes are immutable"):
            exec(change, {"attributes": attributes})
    assert dict(attributes) == {"index": 0}
