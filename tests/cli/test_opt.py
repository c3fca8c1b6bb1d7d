"""`hlotool opt`: passes, output, reports, checks, and rules from files."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import hlotool
from hlotool.optimizer.opt_options import FAST_MATH
from hlotool.optimizer.pipeline import PIPELINES

ROOT = Path(__file__).resolve().parents[2]
TEXT = """HloModule m

double {
  x = f32[4] parameter(0)
  ROOT y = f32[4] add(x, x)
}

ENTRY e {
  p = f32[4] parameter(0)
  n = f32[4] negate(p)
  m = f32[4] negate(n), metadata={op_name="twice"}
  a = f32[4] call(m), to_apply=double
  ROOT r = f32[4] multiply(a, p), metadata={op_name="product"}
}
"""
SMALL = "HloModule small\n\nENTRY e {\n  p = f32[2] parameter(0)\n  n = f32[2] negate(p)\n  ROOT m = f32[2] negate(n)\n}\n"
DONE = hlotool.to_text(hlotool.parse("HloModule done\n\nENTRY e {\n  ROOT p = f32[2] parameter(0)\n}\n"))
RULES = '''"""Rules of a test."""
from hlotool.optimizer.pipeline import named_pass
from hlotool.optimizer.registry import rule


@rule("abs")
def abs_of_negate_too(x, rewriter):
    """abs(negate(a)) -> abs(a)"""
    return rewriter.with_operands(x, x.operands[0].operands) if x.operands[0].opcode == "negate" else None


@rule("sine")
def wrong_value(x, rewriter):
    """sine(a) -> cosine(a)"""
    return rewriter.add("cosine", x.operands)


@named_pass("wrong-type")
def wrong_type(context):
    """Makes modules invalid."""
    changed = False
    for computation in context.computations():
        for x in context.instructions(computation):
            if x.opcode == "tanh" and context.allows("wrong-type", x):
                p = context.rewriter.insert("convert", [x.operands[0]], before=x, shape=context.module.entry.parameters[1].shape)
                context.rewriter.update(x, operands=[p])
                changed = True
    return changed
'''


@pytest.fixture
def module(tmp_path):
    path = tmp_path / "m.hlo"
    path.write_text(TEXT)
    return path


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.hlo"
    path.write_text(SMALL)
    return path


@pytest.fixture
def rules(tmp_path):
    path = tmp_path / "my_rules.py"
    path.write_text(RULES)
    return path


def optimize_text(text, passes=None, **options):
    return hlotool.to_text(hlotool.optimize(hlotool.parse(text), passes), **options)


# ---- outputs ----------------------------------------------------------------------------------------------------------


def test_the_module_goes_to_standard_output(cli, module):
    result = cli("opt", module)
    assert (result.exit_code, result.stdout, result.stderr) == (0, optimize_text(TEXT), "")
    assert cli("opt", "-", stdin=TEXT).stdout == result.stdout
    assert cli("opt", stdin=TEXT).stdout == result.stdout
    assert module.read_text() == TEXT


def test_all_modules_of_one_or_several_files(cli, module, small, tmp_path):
    both = tmp_path / "both.hlo"
    both.write_text(f"{TEXT}\n// -----\n\n{SMALL}")
    expected = f"{optimize_text(TEXT)}// -----\n\n{optimize_text(SMALL)}"
    assert cli("opt", both).stdout == expected == cli("opt", module, small).stdout
    assert [m.name for m in hlotool.parse_all(expected)] == ["m", "small"]
    packed = tmp_path / "m.hlo.gz"
    packed.write_bytes(gzip.compress(TEXT.encode()))
    assert cli("opt", packed).stdout == optimize_text(TEXT)


def test_output_to_a_file(cli, module, small, bad, tmp_path):
    out = tmp_path / "out.hlo"
    result = cli("opt", module, small, "-o", out)
    assert (result.exit_code, result.stdout) == (0, "")
    assert out.read_text() == f"{optimize_text(TEXT)}// -----\n\n{optimize_text(SMALL)}"
    assert cli("opt", module, "-o", "-").stdout == optimize_text(TEXT)
    out.unlink()
    assert cli("opt", bad, module, "-o", out).exit_code == 2
    assert not out.exists()
    assert cli("opt", module, "-o", module).exit_code == 2
    assert module.read_text() == TEXT


def test_print_options(cli, module):
    short = cli("opt", module, "--preset", "short")
    assert short.stdout == hlotool.to_text(hlotool.optimize(hlotool.parse(TEXT)), hlotool.PrintOptions.short_parsable())
    assert 'op_name="product"' in cli("opt", module).stdout
    assert "op_name" not in cli("opt", module, "--no-print-metadata").stdout


def test_a_bad_file_does_not_stop_the_others(cli, module, bad, tmp_path):
    result = cli("opt", bad, tmp_path / "missing.hlo", module)
    assert (result.exit_code, result.stdout) == (2, optimize_text(TEXT))
    assert "cannot optimize" in result.stderr
    assert "it does not parse" in result.stderr
    assert "missing.hlo" in result.stderr


def test_modules_that_are_not_valid(cli, tmp_path):
    path = tmp_path / "wrong.hlo"
    path.write_text("ENTRY e {\n  p = f32[2] parameter(0)\n  ROOT r = f32[3] negate(p)\n}\n")
    result = cli("opt", path)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "error[T003] result-shape" in result.stderr
    assert "is not valid HLO; use --no-verify to optimize it anyway" in result.stderr
    assert "f32[3]" in cli("opt", "--no-verify", path).stdout


def test_modules_inside_other_text(cli, tmp_path):
    log = tmp_path / "build.log"
    log.write_text(f"I0000 here it is:\n{SMALL}done\nHloModule broken\nENTRY e {{\n  ROOT p = f32[2] foo(0)\n}}\n")
    result = cli("opt", "--extract", log)
    assert (result.exit_code, result.stdout) == (2, optimize_text(SMALL))
    assert "unknown opcode" in result.stderr
    old = "HloModule old\n\nENTRY e {\n  p = f32[2]{0} parameter(0)\n  ROOT q = pred[2]{0} less-than(p, p)\n}\n"
    assert cli("opt", "-", stdin=old).exit_code == 2
    assert cli("opt", "--legacy", "-", stdin=old).exit_code == 0


def test_standard_input_has_a_name(cli):
    assert "edit.hlo" in cli("opt", "-", "--stdin-filename", "edit.hlo", stdin="ENTRY e { ROOT p = f32[ }").stderr


# ---- in place ---------------------------------------------------------------------------------------------------------


def test_in_place(cli, module, tmp_path):
    done = tmp_path / "done.hlo"
    done.write_text("HloModule   done // as it was\n\nENTRY e { ROOT p = f32[2] parameter(0) }\n")
    before = done.read_bytes()
    result = cli("opt", "--in-place", module, done)
    assert (result.exit_code, result.stdout) == (0, "")
    assert module.read_text() == optimize_text(TEXT)
    # No rewrite applies to this file, so its comments and spelling stay.
    assert done.read_bytes() == before
    assert result.stderr == (f"hlotool: optimized '{module}': 7 instructions before, 3 after\nhlotool: 1 file optimized, 1 file unchanged\n")
    assert cli("opt", "--in-place", "-q", module).stderr == ""


def test_comments_are_preserved(cli, module, tmp_path):
    text = TEXT.replace("n = f32[4] negate(p)", "n = f32[4] negate(/*index=0*/p) // why")
    module.write_text(text)
    result = cli("opt", "--in-place", module)
    assert (result.exit_code, module.read_text()) == (2, text)
    assert "its comments would be lost, such as '// why' on line 10; use -o FILE" in result.stderr
    both = tmp_path / "both.hlo"
    both.write_text(f"{optimize_text(SMALL, [])}// -----\n\n{SMALL.replace('small', 'other').replace('negate(p)', 'negate(/*index=0*/p)')}")
    assert cli("opt", "--in-place", both).exit_code == 0
    assert both.read_text().count("negate") == 0


def test_files_that_cannot_be_rewritten(cli, tmp_path):
    packed = tmp_path / "m.hlo.gz"
    packed.write_bytes(gzip.compress(TEXT.encode()))
    before = packed.read_bytes()
    result = cli("opt", "--in-place", packed)
    assert (result.exit_code, packed.read_bytes()) == (2, before)
    assert "it is compressed; write the result elsewhere with -o" in result.stderr


def test_folders_in_several_processes(cli, tmp_path):
    for k in range(5):
        (tmp_path / f"m{k}.hlo").write_text(TEXT)
    (tmp_path / "notes.txt").write_text("no HLO\n")
    result = cli("opt", "--in-place", "-j", "2", tmp_path)
    assert (result.exit_code, result.stdout) == (0, "")
    assert {(tmp_path / f"m{k}.hlo").read_text() for k in range(5)} == {optimize_text(TEXT)}
    assert result.stderr.endswith("hlotool: 5 files optimized, 0 files unchanged\n")
    again = cli("opt", "--in-place", "-j", "2", tmp_path)
    assert again.stderr == "hlotool: 0 files optimized, 5 files unchanged\n"


def test_standard_input_goes_to_standard_output(cli):
    assert cli("opt", "--in-place", "-", stdin=SMALL).stdout == optimize_text(SMALL)


# ---- passes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [0, 1, 2])
def test_levels(cli, module, level):
    assert cli("opt", f"-O{level}", module).stdout == optimize_text(TEXT, PIPELINES[level])


def test_passes(cli, module):
    assert cli("opt", "--passes", "algsimp{max=1},dce", module).stdout == optimize_text(TEXT, "algsimp{max=1},dce")
    assert cli("opt", "--passes", "", module).stdout == optimize_text(TEXT, [])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--passes", "fold,identitys"), "no pass is called 'identitys'; did you mean 'identities'?"),
        (("--passes", "fold{mix=3}"), "pass 'fold' has no option 'mix'; did you mean 'max'?"),
        (("--print-after", "cs"), "did you mean 'cse'?"),
        (("--fast-math=nsz,nan",), "there is no fast-math flag 'nan'; did you mean 'nnan'?"),
        (("--only", "duble"), "has no computation 'duble'; did you mean 'double'?"),
        (("--explain-why-not", "q"), "has no instruction 'q'"),
        (("--fast-math=all,bogus",), "there is no fast-math flag 'bogus'"),
        (("--fast-math=",), "a name is missing"),
        (("--print-after", ""), "a name is missing"),
        (("--print-after", "cse,,dce"), "a name is missing"),
        (("--print-after", "cse", "-O1"), "pass 'cse' does not run, so --print-after shows nothing; the passes are: "),
        (("--fast-math", "nsz,nnan"), "after an equals sign: --fast-math=nsz,nnan"),
        (("--load", ""), "is empty"),
        (("--timeout", "nan"), "NaN is not allowed"),
        (("--list-passes", "--list-rules", "--json"), "use one of --list-passes and --list-rules"),
        (("--load", "missing.py"), "cannot load 'missing.py': No such file or directory"),
        (("--passes", "dce", "-O1"), "--passes and -O both choose the passes"),
        (("--in-place", "-o", "x"), "use one of the two"),
        (("--diff", "-o", "x"), "--diff writes nothing"),
        (("--diff", "--in-place"), "--diff writes nothing"),
        (("--extract", "--in-place"), "cannot be combined with --in-place"),
        (("--json", "--diff"), "use one of the two"),
        (("--json", "-o", "-"), "use one of the two"),
        (("--max-memory", "many"), "--max-memory takes a size"),
        (("-O3",), "'3' is not one of"),
        (("--pass", "dce"), "--passes"),
        (("--fast-maths",), "--fast-math"),
    ],
)
def test_wrong_options(cli, module, options, message):
    result = cli("opt", *options, module)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert module.read_text() == TEXT


@pytest.mark.parametrize("option", ["--fast-math", "--fast-math=fast", "--fast-math=all", f"--fast-math={','.join(FAST_MATH)}"])
def test_fast_math(cli, tmp_path, option):
    path = tmp_path / "zero.hlo"
    path.write_text("ENTRY e {\n  p = f32[] parameter(0)\n  z = f32[] constant(0)\n  ROOT r = f32[] add(p, z)\n}\n")
    expected = hlotool.to_text(hlotool.optimize(hlotool.parse(path.read_text()), fast_math=True))
    # A word after the option is a file, not the option's value.
    assert cli("opt", option, path).stdout == cli("opt", path, option).stdout == expected


LOOP = """HloModule loop

below {
  s = (s32[], f32[]) parameter(0)
  k = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT l = pred[] compare(k, n), direction=LT
}

step {
  t = (s32[], f32[]) parameter(0)
  i = s32[] get-tuple-element(t), index=0
  one = s32[] constant(1)
  j = s32[] add(i, one)
  x = f32[] get-tuple-element(t), index=1
  y = f32[] sine(x)
  ROOT u = (s32[], f32[]) tuple(j, y)
}

ENTRY e {
  p = f32[] parameter(0)
  z = s32[] constant(0)
  v = (s32[], f32[]) tuple(z, p)
  w = (s32[], f32[]) while(v), condition=below, body=step
  ROOT r = f32[] get-tuple-element(w), index=1
}
"""


@pytest.mark.parametrize(("limit", "loops"), [("2", 1), ("3", 0)])
def test_the_limit_of_unrolling(cli, tmp_path, limit, loops):
    path = tmp_path / "loop.hlo"
    path.write_text(LOOP)
    result = cli("opt", "--passes", "unroll,dce", "--max-unrolled-iterations", limit, "--check", "2", path)
    assert result.exit_code == 0
    assert (result.stdout.count(" while("), result.stdout.count(" sine(")) == (loops, 1 if loops else 3)


@pytest.mark.parametrize(("size", "opcode"), [("400", "constant"), ("399", "add")])
def test_the_limit_of_constants(cli, size, opcode):
    numbers = ",".join(map(str, range(100)))
    text = f"ENTRY e {{\n  a = f32[100] constant({{{numbers}}})\n  ROOT r = f32[100] add(a, a)\n}}\n"
    result = cli("opt", "--passes", "fold", "--max-constant-size", size, "-", stdin=text)
    assert re.findall(r"ROOT %\S+ = f32\[100\]\{0\} ([a-z]+)", result.stdout) == [opcode]


def test_rewrites_without_a_printed_module(cli, tmp_path):
    path = tmp_path / "loop.hlo"
    path.write_text(LOOP)
    options = ("--passes", "annotate", "--no-print-backend-config", path)
    assert json.loads(cli("opt", "--json", *options).stdout)[0]["rewrites"] == 1
    result = cli("opt", "--diff", *options)
    assert (result.exit_code, result.stdout) == (0, "")
    assert cli("opt", "--in-place", *options).stderr == "hlotool: 0 files optimized, 1 file unchanged\n"
    assert path.read_text() == LOOP
    assert cli("opt", "--diff", *options[:2], path).exit_code == 1


def test_only_and_limit(cli, module):
    assert cli("opt", "--only", "%double", module).stdout == optimize_text(TEXT, [])
    assert cli("opt", "--bisect-limit", "0", module).stdout == optimize_text(TEXT, [])
    assert 'rewrites": 1,' in cli("opt", "--bisect-limit", "1", "--json", module).stdout


def test_names_that_only_one_of_several_modules_has(cli, tmp_path):
    both = tmp_path / "both.hlo"
    both.write_text(f"{TEXT}\n// -----\n\n{SMALL}")
    assert cli("opt", "--only", "double", both).stdout == f"{optimize_text(TEXT, [])}// -----\n\n{optimize_text(SMALL, [])}"
    result = cli("opt", "--explain-why-not", "r", both)
    assert (result.exit_code, result.stdout) == (0, f"{optimize_text(TEXT)}// -----\n\n{optimize_text(SMALL)}")
    assert "'r' in 'e'" in result.stderr
    for option in ("--only", "--explain-why-not"):
        assert "has no " in cli("opt", option, "nobody", both).stderr


# ---- reports ----------------------------------------------------------------------------------------------------------


def test_diff(cli, module, tmp_path):
    result = cli("opt", "--diff", module)
    assert result.exit_code == 1
    assert result.stdout.startswith(f"--- {module}\n+++ {module}\n@@ ")
    assert '\n-  %m = f32[4]{0} negate(%n), metadata={op_name="twice"}\n' in result.stdout
    assert module.read_text() == TEXT
    # The diff is a patch for the losslessly printed module.
    (tmp_path / "patched.hlo").write_text(optimize_text(TEXT, []))
    subprocess.run(["patch", "-s", str(tmp_path / "patched.hlo")], input=result.stdout, text=True, check=True)
    assert (tmp_path / "patched.hlo").read_text() == optimize_text(TEXT)
    assert "\x1b[" in cli("opt", "--diff", "--color", "always", module).stdout
    unchanged = cli("opt", "--diff", "-", stdin=DONE)
    assert (unchanged.exit_code, unchanged.stdout) == (0, "")


def test_explain(cli, module):
    result = cli("opt", "--explain", module)
    assert result.stdout == optimize_text(TEXT)
    lines = result.stderr.splitlines()
    at = lines.index(f"{module}:11: two-inversions in 'e'")
    assert lines[at + 1 : at + 3] == ["  - m = f32[4] negate(n)", "  + p = f32[4] parameter(0)"]
    assert f"{module}:12: inline in 'e'" in lines
    assert "  + the instructions of double" in lines
    assert "\x1b[32m" in cli("opt", "--explain", "--color", "always", module).stderr


def test_explain_why_not(cli, module):
    result = cli("opt", "--explain-why-not", "r", module, "-v")
    lines = result.stderr.splitlines()
    assert lines[0] == f"{module}:13: 'r' in 'e'"
    assert re.fullmatch(r"  dce +the instruction is the root of its computation", lines[-3])
    assert any(re.match(r"  neutral-operand +does not match: ", line) for line in lines)
    count = sum("does not match: " in line for line in lines)
    short = cli("opt", "--explain-why-not", "r", module).stderr.splitlines()
    assert [line.split() for line in short[:-1]] == [line.split() for line in lines if "does not match: " not in line]
    assert short[-1] == f"  {count} rules for its opcode do not match; -v shows them"
    assert "replaced m = f32[4] negate(n) -> p = f32[4] parameter(0)" in cli("opt", "--explain-why-not", "%m", module).stderr


def test_statistics(cli, module):
    result = cli("opt", "--stats", module)
    assert result.stdout == optimize_text(TEXT)
    assert result.stderr.startswith(f"{module}: module 'm': 7 instructions before, 3 after, ")
    assert re.search(r"^two-inversions +\d+ +1 +\d+\.\d ms$", result.stderr, re.MULTILINE)
    assert re.search(r"^inline +\d +1 +\d+\.\d ms$", result.stderr, re.MULTILINE)
    assert re.search(r"^\d+ other rules? never matched: \d+ tries, ", result.stderr, re.MULTILINE)
    verbose = cli("opt", "--stats", "-v", module).stderr
    assert "never matched" not in verbose
    assert re.search(r"^neutral-operand +\d+ +0 ", verbose, re.MULTILINE)


def test_json(cli, module, small, tmp_path):
    out = tmp_path / "out.hlo"
    result = cli("opt", "--json", "--stats", "--explain", "--explain-why-not", "m", "--check", "2", module, small, "-o", out)
    first, second = json.loads(result.stdout)
    assert (first["file"], first["module"], second["module"]) == (str(module), "m", "small")
    assert (first["instructions_before"], first["instructions_after"], first["compared_inputs"]) == (7, 3, 2)
    assert first["rewrites"] == len(first["explanations"]) == sum(row["rewrites"] for row in first["passes"])
    assert first["rules"][0].keys() == {"name", "tries", "rewrites", "seconds"}
    assert first["explanations"][0].keys() == {"rule", "computation", "instruction", "line", "before", "after"}
    assert first["reasons"][0]["name"] == "two-inversions"
    assert json.loads(cli("opt", "--json", small).stdout)[0].keys() == first.keys()
    assert all(row["seconds"] > 0 for row in json.loads(cli("opt", "--json", small).stdout)[0]["rules"])
    assert out.read_text() == f"{optimize_text(TEXT)}// -----\n\n{optimize_text(SMALL)}"
    assert json.loads(cli("opt", "--json", "-", stdin=DONE).stdout)[0]["rewrites"] == 0


def test_intermediate_modules(cli, module):
    result = cli("opt", "--print-changed", "--passes", "algsimp,dce,inline", module)
    headings = re.findall(r"^// after (\S+), round (\d+), (\d+) rewrites?: .*$", result.stderr, re.MULTILINE)
    assert headings[:2] == [("algsimp", "1", "1"), ("inline", "1", "1")]
    parts = re.split(r"^// after .*\n", result.stderr, flags=re.MULTILINE)
    assert parts[1] == optimize_text(TEXT, "algsimp")
    # Each part is a module.
    assert all(hlotool.parse(part) for part in parts[1:])
    only = cli("opt", "--print-after", "inline,dce", "--passes", "algsimp,dce,inline", module).stderr
    assert re.findall(r"^// after (\S+),", only, re.MULTILINE) == ["inline"]
    assert result.stdout == optimize_text(TEXT, "algsimp,dce,inline")


# ---- checks -----------------------------------------------------------------------------------------------------------


def test_checks_of_correct_rewrites(cli, module):
    result = cli("opt", "--check", "4", "--verify-each", module)
    assert (result.exit_code, result.stdout) == (0, optimize_text(TEXT))
    assert result.stderr == f"hlotool: '{module}': results agree on 4 random inputs\n"


def test_checks_with_fast_math_allow_for_rounding(cli, tmp_path):
    path = tmp_path / "third.hlo"
    lines = ["p = f32[100] parameter(0)", "c = f32[] constant(3)", "b = f32[100] broadcast(c), dimensions={}", "ROOT r = f32[100] divide(p, b)"]
    path.write_text("ENTRY e {\n" + "".join(f"  {line}\n" for line in lines) + "}\n")
    result = cli("opt", "--fast-math=arcp", "--check", "4", path)
    assert result.exit_code == 0
    assert "divide" not in result.stdout
    assert result.stderr == f"hlotool: '{path}': results agree up to rounding on 4 random inputs\n"


def test_a_wrong_value_is_found(process, rules, tmp_path):
    path = tmp_path / "sine.hlo"
    path.write_text("ENTRY e {\n  p = f32[4] parameter(0)\n  n = f32[4] negate(p)\n  a = f32[4] abs(n)\n  ROOT s = f32[4] sine(a)\n}\n")
    out = tmp_path / "out.hlo"
    result = process("opt", "--load", rules, "--check", "3", path, "-o", out)
    assert (result.returncode, result.stdout) == (3, "")
    assert f"the results of '{path}' on random inputs differ after the optimization: input 0: element" in result.stderr
    assert "the first wrong rewrite is rewrite 2 of 2: 'wrong-value' at 's' in computation 'e' (line 5): s = f32[4] sine(a) -> " in result.stderr
    assert not out.exists()
    good = process("opt", "--load", rules, "--check", "3", "--bisect-limit", "1", path)
    assert (good.returncode, good.stdout.count("negate")) == (0, 0)


def test_an_invalid_module_is_found(process, rules, tmp_path):
    path = tmp_path / "tanh.hlo"
    path.write_text(
        "ENTRY e {\n  p = f32[4] parameter(0)\n  q = f16[4] parameter(1)\n  t = f32[4] tanh(p)\n  ROOT s = (f32[4], f16[4]) tuple(t, q)\n}\n"
    )
    result = process("opt", "--load", rules, "--passes", "dce,wrong-type", "--verify-each", path)
    assert (result.returncode, result.stdout) == (3, "")
    assert f"pass 'wrong-type' makes '{path}' invalid in round 1: " in result.stderr
    assert "the first wrong rewrite is rewrite 1 of " in result.stderr
    assert "'wrong-type' at 't' in computation 'e' (line 4)" in result.stderr
    # Without the check, the command prints the pass's wrong result.
    assert process("opt", "--load", rules, "--passes", "wrong-type", "--bisect-limit", "1", path).returncode == 0


def test_modules_that_cannot_be_run(cli, tmp_path):
    path = tmp_path / "call.hlo"
    path.write_text('ENTRY e {\n  p = f32[4] parameter(0)\n  ROOT c = f32[4] custom-call(p), custom_call_target="nobody_knows"\n}\n')
    result = cli("opt", "--check", "2", path)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "the module fails on all random inputs" in result.stderr
    assert "nobody_knows" in result.stderr
    assert "devices" not in result.stderr


def test_checks_run_one_device(cli, tmp_path):
    path = tmp_path / "sum.hlo"
    path.write_text(
        "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}\n"
        "ENTRY e {\n  p = f32[4] parameter(0)\n  ROOT r = f32[4] all-reduce(p), replica_groups={{0,1}}, to_apply=add\n}\n"
    )
    result = cli("opt", "--check", "2", path)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--check runs one device: for several devices, write the result with -o B and run hlotool run A --against B" in result.stderr


def test_time_limit(tmp_path):
    path = tmp_path / "endless.hlo"
    path.write_text(
        "c {\n  x = s32[] parameter(0)\n  ROOT t = pred[] constant(true)\n}\n\nb {\n  ROOT y = s32[] parameter(0)\n}\n\n"
        "ENTRY e {\n  p = s32[] parameter(0)\n  ROOT w = s32[] while(p), condition=c, body=b\n}\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "hlotool", "opt", "--passes", "dce", "--check", "1000000", "--timeout", "1", str(path)]
    result = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=False)
    assert result.returncode == 2
    assert "took longer than" in result.stderr or "fails on all random inputs" in result.stderr
    assert "Traceback" not in result.stderr


# ---- rules from users -------------------------------------------------------------------------------------------------


def test_rules_from_a_file(process, rules, tmp_path):
    path = tmp_path / "abs.hlo"
    path.write_text("ENTRY e {\n  p = f32[4] parameter(0)\n  n = f32[4] negate(p)\n  ROOT a = f32[4] abs(n)\n}\n")
    result = process("opt", "--load", rules, "--passes", "my_rules", "--explain", path)
    assert result.returncode == 0
    assert "negate" not in result.stdout
    assert result.stderr.splitlines() == [f"{path}:4: abs-of-negate-too in 'e'", "  - a = f32[4] abs(n)", "  + a = f32[4] abs(p)"]
    listed = process("opt", "--load", rules, "--list-rules")
    assert "abs-of-negate-too" in listed.stdout
    assert "  my_rules    Rules of a test.\n" in re.sub(" +my_rules +", "  my_rules    ", process("opt", "--load", rules, "--list-passes").stdout)
    several = process("opt", "--load", rules, "--passes", "my_rules", "-j", "2", path, path)
    assert several.stdout.count("abs(%p)") == 2


def test_output_of_rules_is_not_part_of_the_module(process, rules, module):
    text = rules.read_text().replace('sine(a) -> cosine(a)"""\n', 'sine(a) -> cosine(a)"""\n    print("trying")\n')
    rules.write_text(text + 'print("loading")\n')
    path = module.with_name("sine.hlo")
    path.write_text("ENTRY e {\n  p = f32[4] parameter(0)\n  ROOT s = f32[4] sine(p)\n}\n")
    result = process("opt", "--load", rules, "--passes", "my_rules", path)
    assert hlotool.parse(result.stdout).entry.root.opcode == "cosine"
    assert result.stderr == "loading\ntrying\n"


@pytest.mark.parametrize("start", ["spawn", "forkserver"])
def test_rules_in_other_processes(rules, tmp_path, start):
    """Checks that each process loads the rule file, even if it is not forked."""
    path = tmp_path / "abs.hlo"
    path.write_text("ENTRY e {\n  p = f32[4] parameter(0)\n  n = f32[4] negate(p)\n  ROOT a = f32[4] abs(n)\n}\n")
    script = tmp_path / "start.py"
    script.write_text(
        "import multiprocessing, sys\nfrom hlotool.cli.main import run\n"
        f"if __name__ == '__main__':\n    multiprocessing.set_start_method('{start}')\n    sys.exit(run(sys.argv[1:]))\n"
    )
    command = [sys.executable, str(script), "opt", "--load", str(rules), "--passes", "my_rules", "-j", "2", str(path), str(path)]
    result = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, timeout=60, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.count("abs(%p)") == 2


def test_help_says_that_load_runs_code(cli):
    text = " ".join(cli("opt", "--help").stdout.split())
    assert "--load FILE.py runs a Python file, which can do anything that you can." in text
