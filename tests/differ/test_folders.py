"""The pairing of modules in two folders, names of dumps, and predicates about differences."""

from __future__ import annotations

import random

import pytest

import hlotool
from hlotool.differ.folders.dumps import dump_name, natural_order, sequences
from hlotool.differ.folders.module_pairing import Sketch, pair_up, sketch
from hlotool.differ.folders.predicates import parse_predicate

OPCODES = "abs ceil cosine exponential floor log log-plus-one negate rsqrt sign sine sqrt tanh cbrt logistic round-nearest-even".split()


def chain(seed: int, length: int = 12, *, size: int = 8, name: str = "m") -> str:
    """Returns a module of random elementwise operations."""
    draw = random.Random(seed)
    lines = [f"x0 = f32[{size}] parameter(0)"]
    for k in range(length):
        opcode = draw.choice([*OPCODES, "add", "multiply"])
        operands = f"x{draw.randrange(k + 1)}, x{k}" if opcode in ("add", "multiply") else f"x{k}"
        lines.append(f"x{k + 1} = f32[{size}] {opcode}({operands})")
    lines[-1] = f"ROOT {lines[-1]}"
    return f"HloModule {name}\nENTRY e {{\n" + "\n".join(lines) + "\n}\n"


def sketches(texts: dict[str, str]) -> list[Sketch]:
    return [sketch(hlotool.parse(text), label) for label, text in texts.items()]


def pairs(left: dict[str, str], right: dict[str, str]) -> list[tuple[str, str]]:
    """Returns the pairs of module names, in which an empty string stands for a missing partner."""
    first, second = sketches(left), sketches(right)
    pairing = pair_up(first, second)
    found = [(first[a].label, second[b].label) for a, b in pairing.pairs]
    return found + [(first[a].label, "") for a in pairing.left_only] + [("", second[b].label) for b in pairing.right_only]


def replace_opcode(text: str, seed: int) -> str:
    """Returns the module with one opcode replaced."""
    draw = random.Random(seed)
    found = [opcode for opcode in OPCODES if f" {opcode}(" in text]
    return text.replace(f" {draw.choice(found)}(", " tan(", 1)


@pytest.mark.parametrize("seed", range(5))
def test_pairs_do_not_depend_on_names_and_order(seed):
    texts = [chain(100 * seed + k, length=8 + k) for k in range(12)]
    order = list(range(12))
    random.Random(seed).shuffle(order)
    left = {f"module_{k:04}.jit_f.txt": text for k, text in enumerate(texts)}
    # Every second module has changed.
    right = {f"module_{position:04}.jit_f.txt": replace_opcode(texts[k], k) if k % 2 else texts[k] for position, k in enumerate(order)}
    expected = [(f"module_{k:04}.jit_f.txt", f"module_{order.index(k):04}.jit_f.txt") for k in range(12)]
    assert pairs(left, right) == expected
    assert sorted(pairs(right, left)) == sorted((b, a) for a, b in expected)


def test_shapes_may_have_changed():
    left = {f"{k}.hlo": chain(k) for k in range(4)}
    right = {f"{9 - k}.hlo": chain(k, size=64) for k in range(4)}
    assert pairs(left, right) == [(f"{k}.hlo", f"{9 - k}.hlo") for k in range(4)]


def test_names_decide_between_equal_modules():
    text = chain(1)
    assert pairs({"a.hlo": text, "b.hlo": text}, {"b.hlo": text, "a.hlo": text}) == [("a.hlo", "a.hlo"), ("b.hlo", "b.hlo")]
    before = {"module_0001.f.before_optimizations.txt": text, "module_0001.f.0000.p.after_pipeline-start.before_a.txt": text}
    after = {"module_0009.f.0000.p.after_pipeline-start.before_a.txt": text, "module_0009.f.before_optimizations.txt": text}
    assert pairs(before, after) == [(first, first.replace("0001.f", "0009.f")) for first in before]
    # If one side has more equal modules, the rest stay unpaired.
    assert pairs({"a.hlo": text}, {"x.hlo": text, "y.hlo": text}) == [("a.hlo", "x.hlo"), ("", "y.hlo")]


def test_names_decide_if_nothing_else_does():
    tiny = "HloModule {}\nENTRY e {{ ROOT p = {} parameter(0) }}"
    # Only the file name or only the module name is the same.
    assert pairs({"a.hlo": chain(1)}, {"a.hlo": tiny.format("t", "s8[3]")}) == [("a.hlo", "a.hlo")]
    assert pairs({"a.hlo": chain(1, name="t")}, {"b.hlo": tiny.format("t", "s8[3]")}) == [("a.hlo", "b.hlo")]
    assert pairs({"a.hlo": chain(1, name="t")}, {"b.hlo": tiny.format("u", "s8[3]")}) == [("a.hlo", ""), ("", "b.hlo")]
    # A dump from before optimization is not the counterpart of a dump from after it.
    left, right = "module_0001.t.before_optimizations.txt", "module_0001.t.cpu_after_optimizations.txt"
    assert pairs({left: chain(1, name="t")}, {right: tiny.format("t", "s8[3]")}) == [(left, ""), ("", right)]


def test_dumps_of_passes_are_paired_by_their_pass():
    """Pairs the dumps of a module, which are all similar, after their numbers have shifted."""
    texts = [chain(7, length=40, size=8 + (k > 3)) for k in range(8)]
    left = {f"module_0001.f.{k:04}.p{k // 3}.after_s{k}.before_x.txt": text for k, text in enumerate(texts)}
    right = {f"module_0002.f.{k + 5:04}.p{k // 3}.after_s{k}.before_x.txt": replace_opcode(text, 3) for k, text in enumerate(texts)}
    assert pairs(left, right) == list(zip(left, right, strict=True))


def test_many_similar_modules():
    prototypes = [sketch(hlotool.parse(replace_opcode(chain(k, length=6), k)), "x.hlo") for k in range(20)]
    left = [prototypes[k % 20]._replace(label=f"{k}.hlo", hash=f"left{k}") for k in range(1500)]
    right = [prototypes[k % 20]._replace(label=f"other{k}.hlo", hash=f"right{k}") for k in range(1500)]
    pairing = pair_up(left, right)
    assert len(pairing.pairs) == 1500
    assert all(a % 20 == b % 20 for a, b in pairing.pairs)


@pytest.mark.parametrize(
    ("name", "dump", "module", "number", "pipeline", "stage"),
    [
        ("module_0001.jit_f.before_optimizations.txt", "module_0001", "jit_f", 0, "", "before_optimizations"),
        ("d/module_0001.before_optimizations.txt.gz", "module_0001", "", 0, "", "before_optimizations"),
        ("1700000000.module_0001.jit_f.5.0003.opt.after_a.before_b.txt", "1700000000.module_0001", "jit_f.5", 3, "opt", "a"),
        ("module_0001.0003.opt.after_a.before_b.txt", "module_0001", "", 3, "opt", "a"),
        ("module_0001.jit.f.sm_9.0a_gpu_after_optimizations.txt", "module_0001", "jit.f", 0, "", "sm_9.0a_gpu_after_optimizations"),
        ("module_0001.f.0042.tiling.before_z.txt", "module_0001", "f", 42, "tiling", "before z"),
        ("module_0001.f.0004.After_X,_before_optimizations.after_pipeline-start.before_cse.txt",
         "module_0001", "f", 4, "After_X,_before_optimizations", "pipeline-start"),
        ("module_0001.f.10000.p.after_q.txt", "module_0001", "f", 10000, "p", "q"),
        ("module_0002.f.after_spmd.hlo", "module_0002", "f", 0, "", "after_spmd"),
        ("module_0002.jit_f.hlo", "module_0002", "jit_f", 0, "", ""),
    ],
)  # fmt: skip
def test_names_of_dumps(name, dump, module, number, pipeline, stage):
    parsed = dump_name(name)
    assert parsed is not None
    assert (parsed.dump, parsed.module, parsed.number, parsed.pipeline, parsed.stage) == (dump, module, number, pipeline, stage)


@pytest.mark.parametrize("name", ["a.hlo", "module.hlo", "module_x.f.txt", "module_1", "", ".txt", "model_0001.f.txt"])
def test_other_names(name):
    assert dump_name(name) is None


def test_the_order_of_dumps():
    prefix = "module_0001.jit_f"
    ordered = [
        f"{prefix}.before_optimizations.txt",
        f"{prefix}.0002.a.after_x.before_y.txt",
        f"{prefix}.0010.a.after_y.before_z.txt",
        f"{prefix}.10000.a.after_z.txt",
        f"{prefix}.middle.txt",
        f"{prefix}.cpu_after_optimizations.txt",
    ]
    (sequence,) = sequences(sorted(ordered))
    assert (sequence.files, sequence.module, sequence.dump) == (ordered, "jit_f", "module_0001")
    # The same number in another folder belongs to another module.
    assert len(sequences([f"a/{ordered[0]}", f"b/{ordered[0]}"])) == 2
    assert natural_order(["b10", "b9", "a", "10", "9", "²"]) == ["9", "10", "a", "b9", "b10", "²"]


LEFT = """
f {
  x = f32[8] parameter(0)
  ROOT t = f32[8] tanh(x)
}

g {
  y = f32[8] parameter(0)
  ROOT u = f32[8] abs(y)
}

ENTRY e {
  p = f32[8] parameter(0)
  c = f32[8] call(p), to_apply=f
  d = f32[8] call(c), to_apply=g
  ROOT r = f32[8] add(c, d)
}
"""


@pytest.mark.parametrize(
    ("right", "holds", "fails"),
    [
        (LEFT.replace("tanh", "sine"),
         ["opcode=tanh", "opcode=sine", "sine", "opcode", "instruction=t", "t", "computation=f", "f"], ["abs", "g", "e"]),
        (LEFT.replace("ROOT u = f32[8] abs(y)", "v = f32[8] abs(y)\n  ROOT u = f32[8] abs(v)"),
         ["opcode=abs", "inserted", "computation=g"], ["tanh", "f", "deleted", "instruction=p"]),
        (LEFT.replace("ROOT u = f32[8] abs(y)", "ROOT u = f32[8] abs(y)\n  w = f32[8] negate(y)").replace("g {", "g.1 {").replace("=g", "=g.1"),
         ["instruction=w", "computation=g", "computation=g.1", "negate", "names"], ["abs", "shape"]),
    ],
)  # fmt: skip
def test_predicates(right, holds, fails):
    delta = hlotool.diff(hlotool.parse(LEFT), hlotool.parse(right))
    assert [text for text in holds if not parse_predicate(text).evidence(delta)] == []
    assert [text for text in fails if parse_predicate(text).evidence(delta)] == []


def test_ignored_changes_are_not_evidence():
    right = hlotool.parse(LEFT.replace("ROOT u = f32[8] abs(y)", "v = f32[8] abs(y)\n  ROOT u = f32[8] abs(v)"))
    delta = hlotool.diff(hlotool.parse(LEFT), right, ignore=["inserted", "operands", "root"])
    assert parse_predicate("computation=g").evidence(delta) == ""
    assert parse_predicate("inserted").evidence(delta) == ""
