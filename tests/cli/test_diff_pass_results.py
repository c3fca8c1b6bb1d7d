"""`hlotool diff --passes --semantic`: the pass that changed the results, and the instruction."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from schemas import check_schema

import hlotool
from hlotool.cli.diff.diff_pass_results import SCHEMA as SCHEMA_NAME

SCHEMA = json.loads((Path(hlotool.__file__).parent / "differ" / "pass_results.schema.json").read_text(encoding="utf-8"))

WHOLE = """HloModule jit_f, num_partitions=4

sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }

ENTRY main {
  x = f32[8,6] parameter(0), sharding={devices=[2,1,2]<=[4] last_tile_dim_replicate}
  w = f32[6,4] parameter(1), sharding={devices=[1,2,2]<=[2,2]T(1,0) last_tile_dim_replicate}
  n = f32[8,6] negate(x)
  one = f32[] constant(1)
  ones = f32[8,6] broadcast(one), dimensions={}
  s = f32[8,6] subtract(n, ones), metadata={op_name="f/sub" source_file="model.py" source_line=21}
  d = f32[8,4] dot(s, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  zero = f32[] constant(0)
  r = f32[] reduce(d, zero), dimensions={0,1}, to_apply=sum
  ROOT t = (f32[8,4], f32[]) tuple(d, r)
}
"""
SPREAD = WHOLE.replace("tuple(d, r)", "tuple(d, r), sharding={{devices=[2,2]<=[4]}, {replicated}}")
PARTS = """HloModule jit_f, num_partitions=4

sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }

ENTRY main_spmd {
  x = f32[4,6] parameter(0), sharding={devices=[2,1,2]<=[4] last_tile_dim_replicate}
  w = f32[6,2] parameter(1), sharding={devices=[1,2,2]<=[2,2]T(1,0) last_tile_dim_replicate}
  n = f32[4,6] negate(x), sharding={devices=[2,1,2]<=[4] last_tile_dim_replicate}
  one = f32[] constant(1)
  ones = f32[4,6] broadcast(one), dimensions={}
  s = f32[4,6] subtract(n, ones), metadata={op_name="f/sub" source_file="model.py" source_line=21}
  d = f32[4,2] dot(s, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  zero = f32[] constant(0)
  p = f32[] reduce(d, zero), dimensions={0,1}, to_apply=sum
  r = f32[] all-reduce(p), channel_id=1, replica_groups={{0,1,2,3}}, use_global_device_ids=true, to_apply=sum
  ROOT t = (f32[4,2], f32[]) tuple(d, r)
}
"""
SIMPLER = PARTS.replace(
    "  n = f32[4,6] negate(x), sharding={devices=[2,1,2]<=[4] last_tile_dim_replicate}\n",
    "  minus = f32[] constant(-1)\n  less = f32[4,6] broadcast(minus), dimensions={}\n",
).replace("subtract(n, ones)", "subtract(less, x)")
STEPS = {
    "before_optimizations": WHOLE,
    "0000.spmd-partitioner.after_pipeline-start.before_shardy-xla": WHOLE,
    "0001.spmd-partitioner.after_shardy-xla.before_spmd-partitioning": SPREAD,
    "0002.spmd-cleanup.after_pipeline-start.before_dce": PARTS,
    "0003.spmd-partitioner.after_spmd-partitioning.before_collective-fixer": PARTS,
    "0004.simplification.after_pipeline-start.before_algsimp": PARTS,
    "0005.simplification.after_algsimp.before_dce": SIMPLER,
    "0006.simplification.after_dce.before_pipeline-end": SIMPLER,
    "cpu_after_optimizations": SIMPLER,
}
DROPPED = ("all-reduce(p), channel_id=1, replica_groups={{0,1,2,3}}, use_global_device_ids=true, to_apply=sum", "copy(p)")
PARTITIONER, SIMPLIFICATION = (3, "spmd-partitioner", "spmd-partitioning"), (6, "simplification", "dce")
ROWS = "f32[6,2] parameter(1), sharding={devices=[1,2,2]<=[2,2]T(1,0)", "f32[6,2] parameter(1), sharding={devices=[1,2,2]<=[4]"
# The first wrong dump, the replacement, the number, pipeline and pass to be named, and the instruction.
FAULTS = {
    "operands": (2, ("subtract(n, ones)", "subtract(ones, n)"), (1, "spmd-partitioner", "shardy-xla"), "s"),
    "parameter-tile": (4, ROWS, PARTITIONER, "d"),
    "inside-the-partitioner": (3, ("negate(x)", "abs(x)"), (2, "spmd-partitioner", "spmd-partitioning"), "n"),
    "collective": (4, DROPPED, PARTITIONER, "r"),
    "between-new-instructions": (6, ("subtract(less, x)", "add(less, x)"), (5, "simplification", "algsimp"), "s"),
    "constant": (7, ("zero = f32[] constant(0)", "zero = f32[] constant(3)"), SIMPLIFICATION, "zero"),
    "called-computation": (7, ("c = f32[] add(a, b)", "c = f32[] subtract(a, b)"), SIMPLIFICATION, "c"),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Returns a function that writes the dumps with a fault, and returns the folder's name."""
    monkeypatch.chdir(tmp_path)

    def make(steps: dict[str, str]) -> str:
        dumps = tmp_path / "dumps"
        dumps.mkdir()
        for name, text in steps.items():
            (dumps / f"module_0001.jit_f.{name}.txt").write_text(text, encoding="utf-8")
        return "dumps"

    return make


def planted(first: int, replacement: tuple[str, str]) -> dict[str, str]:
    """Returns the steps with a fault from number `first` on, up to the last dump that can have it."""
    steps = {}
    for k, (name, text) in enumerate(STEPS.items()):
        steps[name] = text.replace(*replacement) if k >= first else text
        if k >= first and steps[name] == text:
            assert k > first
            del steps[name]
            break
    return steps


def document_of(cli, *arguments: str, exit_code: int) -> dict:
    result = cli("diff", "--passes", "--semantic", "--output-format", "json", *arguments)
    assert result.exit_code == exit_code, result.output
    document = json.loads(result.stdout)
    check_schema(document, SCHEMA)
    assert document["schema"] == SCHEMA_NAME
    return document


def test_no_pass_is_accused_across_partitioning(cli, folder):
    [module] = document_of(cli, folder(STEPS), "--all", exit_code=0)["modules"]
    assert module["culprit"] is None
    assert module["compared"] == list(range(len(STEPS)))


@pytest.mark.parametrize("fault", FAULTS)
def test_the_pass_and_the_instruction_are_named(cli, folder, fault):
    first, replacement, names, instruction = FAULTS[fault]
    [module] = document_of(cli, folder(planted(first, replacement)), exit_code=1)["modules"]
    culprit = module["culprit"]
    assert (culprit["number"], culprit["pipeline"], culprit["pass"]) == names
    assert culprit["right"]["instruction"] == instruction
    assert culprit["step"] == first
    # Bisection runs the last dump, and a few others.
    assert len(module["compared"]) <= 5


def test_the_text_names_the_pass_the_line_and_the_values(cli, folder):
    first, replacement, *_ = FAULTS["operands"]
    result = cli("diff", "--passes", "--semantic", "--width", "0", folder(planted(first, replacement)))
    assert result.exit_code == 1
    lines = result.output.splitlines()
    assert lines[0] == "jit_f (module_0001): spmd-partitioner/shardy-xla changed the results, in step 2 of 5"
    assert lines[1:3] == [f"{mark} dumps/module_0001.jit_f.{name}.txt" for mark, name in zip("-+", list(STEPS)[first - 1 : first + 1], strict=True)]
    assert "first difference: 's' (subtract) in 'main'" in lines
    assert any("model.py:21" in line for line in lines)


@pytest.mark.parametrize("swapped", [False, True])
def test_a_module_agrees_with_its_partition(cli, file_of, swapped):
    files = file_of("whole.hlo", SPREAD), file_of("parts.hlo", PARTS)
    assert cli("diff", "--semantic", *(files[::-1] if swapped else files)).exit_code == 0
    wrong = file_of("wrong.hlo", PARTS.replace(*DROPPED))
    result = cli("diff", "--semantic", files[0], wrong)
    assert result.exit_code == 1
    assert "the results differ on random input 0" in result.output


def test_dumps_that_cannot_run_are_left_out(cli, folder):
    first, replacement, names, instruction = FAULTS["constant"]
    steps = planted(first, replacement)
    broken = "0004.simplification.after_pipeline-start.before_algsimp"
    dot = "dot(s, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}"
    steps[broken] = steps[broken].replace(dot, 'custom-call(s, w), custom_call_target="secret"')
    [module] = document_of(cli, folder(steps), "--all", exit_code=1)["modules"]
    culprit = module["culprit"]
    assert (culprit["number"], culprit["pipeline"], culprit["pass"], culprit["right"]["instruction"]) == (*names, instruction)
    [left_out] = module["left_out"]
    assert broken in left_out["file"]
    assert "secret" in left_out["reason"]


def test_a_dump_with_another_number_of_parameters_is_left_out(cli, folder):
    steps = {"before_optimizations": WHOLE, "0001.p.after_a.before_b": WHOLE.replace("one = f32[] constant(1)", "one = f32[] parameter(2)")}
    result = cli("diff", "--passes", "--semantic", folder(steps))
    assert result.exit_code == 2
    assert "no two dumps can be compared: it has 3 parameters, the first module has 2" in result.output


def test_a_timeout_is_not_agreement(cli, folder):
    state = "(s32[], f32[200000])"
    loop = f"""HloModule jit_f
body {{ s = {state} parameter(0) i = s32[] get-tuple-element(s), index=0 x = f32[200000] get-tuple-element(s), index=1
  one = s32[] constant(1) n = s32[] add(i, one) y = f32[200000] sine(x) ROOT t = {state} tuple(n, y) }}
cond {{ s = {state} parameter(0) i = s32[] get-tuple-element(s), index=0 end = s32[] constant(1) ROOT l = pred[] compare(i, end), direction=LT }}
ENTRY main {{ x = f32[200000] parameter(0) z = s32[] constant(0) t = {state} tuple(z, x) ROOT w = {state} while(t), condition=cond, body=body }}
"""
    steps = dict.fromkeys(["before_optimizations", "0001.p.after_a.before_b"], loop)
    steps["0002.p.after_b.before_c"] = loop.replace("constant(1) ROOT", "constant(90000) ROOT")
    result = cli("diff", "--passes", "--semantic", "--timeout", "0.5", folder(steps))
    assert result.exit_code == 2
    assert "took longer than 0.5 s" in result.output


def test_results_without_a_sharding_are_not_called_different(cli, folder):
    steps = {"before_optimizations": WHOLE, "0003.spmd-partitioner.after_spmd-partitioning.before_x": PARTS}
    assert cli("diff", "--passes", "--semantic", folder(steps)).exit_code == 0
    wrong = {name: text.replace("f32[4,6] negate(x)", "f32[4,6] abs(x)") for name, text in steps.items()}
    for name, text in wrong.items():
        Path("dumps", f"module_0001.jit_f.{name}.txt").write_text(text, encoding="utf-8")
    result = cli("diff", "--passes", "--semantic", "dumps")
    assert result.exit_code == 2
    assert "result 0 is f32[8,4] in one module, and f32[4,2] on each device of the other; no sharding says which part" in result.output


def test_a_pass_that_computes_in_bf16_is_not_accused(cli, folder):
    text = """HloModule jit_f
sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
ENTRY main {
  x = f32[16] parameter(0)
  b = bf16[16] convert(x)
  e = bf16[16] exponential(b)
  m = bf16[16] multiply(e, b)
  f = f32[16] convert(m)
  zero = f32[] constant(0)
  ROOT r = f32[] reduce(f, zero), dimensions={0}, to_apply=sum
}
"""
    wide = text.replace("bf16[16] exponential(b)", "f32[16] exponential(w)").replace("bf16[16] multiply(e, b)", "f32[16] multiply(e, w)")
    wide = wide.replace("  e = ", "  w = f32[16] convert(b)\n  e = ").replace("  f = f32[16] convert(m)\n", "").replace("reduce(f", "reduce(m")
    steps = {"before_optimizations": wide, "0000.simplification.after_change-op-data-type.before_dce": text}
    [module] = document_of(cli, folder(steps), exit_code=0)["modules"]
    assert ["change-op-data-type" in rounding["file"] for rounding in module["roundings"]] == [True]
    assert "simplification/change-op-data-type computes with other float types: result 0" in cli("diff", "--passes", "--semantic", "dumps").output
    wrong = text.replace("multiply(e, b)", "multiply(e, e)")
    Path("dumps", "module_0001.jit_f.0001.simplification.after_dce.before_cse.txt").write_text(wrong, encoding="utf-8")
    [module] = document_of(cli, "dumps", exit_code=1)["modules"]
    assert module["culprit"]["pass"] == "dce"
    assert module["culprit"]["right"]["instruction"] == "m"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--semantic", "--until", "opcode=add"), "--until shows changes of the text, and --semantic runs the modules; use one of the two"),
        (("--semantic", "--details"), "--details shows changes of the text, and --semantic runs the modules; use one of the two"),
        (("--all",), "--all requires --passes --semantic"),
    ],
)
def test_options_that_exclude_each_other(cli, folder, arguments, message):
    result = cli("diff", "--passes", folder(STEPS), *arguments)
    assert result.exit_code == 2
    assert message in result.output
