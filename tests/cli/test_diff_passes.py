"""`hlotool diff --passes`: the changes of each pass, and the first change of a given kind."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from schemas import check_schema

import hlotool
from hlotool.cli.diff.diff_passes import SCHEMA as SCHEMA_NAME

DIFFER = Path(hlotool.__file__).parent / "differ"
SCHEMA, DIFF_SCHEMA = (json.loads((DIFFER / name).read_text(encoding="utf-8")) for name in ("passes.schema.json", "diff.schema.json"))

BEFORE = """HloModule jit_f, num_partitions=2

ENTRY main {
  p = f32[8] parameter(0)
  zero = f32[] constant(0)
  zeros = f32[8] broadcast(zero), dimensions={}
  sum = f32[8] add(p, zeros)
  t = f32[8] tanh(sum)
  ROOT r = f32[8] negate(t)
}
"""
SIMPLER = BEFORE.replace("tanh(sum)", "tanh(p)")
CLEAN = re.sub(r".*(zero|zeros|sum) = .*\n", "", SIMPLER)
RENAMED = CLEAN.replace("t = ", "tanh.1 = ").replace("(t)", "(tanh.1)")
GATHERED = RENAMED.replace("ROOT r = f32[8] negate(tanh.1)", "g = f32[16] all-gather(tanh.1), dimensions={0}\n  ROOT r = f32[16] negate(g)")
COLUMNS = GATHERED.replace("f32[8] tanh", "f32[8]{0:T(256)} tanh")
DUMPS = {
    "module_0007.jit_f.before_optimizations.txt": BEFORE,
    "module_0007.jit_f.0000.simplification.after_pipeline-start.before_algsimp.txt": BEFORE,
    "module_0007.jit_f.0001.simplification.after_algsimp.before_dce.txt": SIMPLER,
    "module_0007.jit_f.0002.simplification.after_dce.before_pipeline-end.txt": CLEAN,
    "module_0007.jit_f.0003.names.after_rename.before_pipeline-end.txt": RENAMED,
    "module_0007.jit_f.0010.spmd.after_partitioner.before_pipeline-end.txt": GATHERED,
    "module_0007.jit_f.cpu_after_optimizations.txt": COLUMNS,
    "module_0007.jit_f.cpu_after_optimizations-buffer-assignment.txt": "BufferAssignment:\n",
}
SHOWN = """jit_f (module_0007): 4 of 6 steps change something, 1 only names; 6 -> 4 instructions
simplification
  0001 algsimp                  6  1 instruction changed (tanh: operands)
  0002 dce                 6 -> 3  3 deleted (broadcast, add, constant)
spmd
  0010 partitioner         3 -> 4  1 shape unsharded (f32[8] -> f32[16]), 1 collective inserted (all-gather)
after all pipelines
  cpu_after_optimizations       4  equal except for layouts
"""


@pytest.fixture
def dumps(tmp_path, monkeypatch):
    """Returns a function that fills the folder `dumps` in the working directory."""
    monkeypatch.chdir(tmp_path)

    def make(texts: dict[str, str]) -> str:
        for name, text in texts.items():
            (tmp_path / "dumps" / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "dumps" / name).write_text(text)
        return "dumps"

    return make


def test_one_line_per_pass(cli, dumps):
    result = cli("diff", "--passes", dumps(DUMPS), "--width", "0")
    assert (result.exit_code, result.stdout, result.stderr) == (1, SHOWN, "")


def test_files_are_sorted_by_their_numbers(cli, dumps):
    folder = dumps(DUMPS)
    files = [f"{folder}/{name}" for name in DUMPS if "buffer" not in name]
    assert cli("diff", "--passes", *reversed(files), "--width", "0").stdout == SHOWN


def test_all_changes_are_shown_on_request(cli, dumps):
    lines = cli("diff", "--passes", dumps(DUMPS), "--show-all").stdout.splitlines()
    assert ["0000", "pipeline-start", "6", "-"] in map(str.split, lines)
    assert ["0003", "rename", "3", "equal", "except", "for", "names"] in map(str.split, lines)
    assert cli("diff", "--passes", "dumps", "--name-only").stdout.splitlines()[1:3] == ["~ 0001 simplification/algsimp", "~ 0002 simplification/dce"]
    assert " 0002 simplification/dce     |     3 ---\n" in cli("diff", "--passes", "dumps", "--stat").stdout
    details = cli("diff", "--passes", "dumps", "--details").stdout
    assert "      - t = f32[8] tanh(sum)\n      + t = f32[8] tanh(p)\n" in details


def test_long_summaries_are_truncated(cli, dumps):
    narrow = cli("diff", "--passes", dumps(DUMPS), "--width", "70").stdout
    assert max(map(len, narrow.splitlines()[1:])) == 70
    assert cli("diff", "--passes", "dumps", "--width", "0").stdout == SHOWN


@pytest.mark.parametrize(
    ("what", "step"),
    [
        ("opcode=all-gather", "opcode=all-gather first changes in step 5 of 6, 0010 spmd/partitioner (all-gather: 0 -> 1)"),
        ("all-gather", "opcode=all-gather first changes in step 5 of 6, 0010 spmd/partitioner (all-gather: 0 -> 1)"),
        ("opcode=add", "opcode=add first changes in step 3 of 6, 0002 simplification/dce (add: 1 -> 0)"),
        ("layout", "category=layout first changes in step 6 of 6, cpu_after_optimizations (layout)"),
        ("category=names", "category=names first changes in step 4 of 6, 0003 names/rename (names)"),
        ("instruction=t", "instruction=t first changes in step 2 of 6, 0001 simplification/algsimp (t: operands)"),
        ("%zeros", "zeros first changes in step 3 of 6, 0002 simplification/dce (zeros: deleted)"),
        ("computation=main", "computation=main first changes in step 2 of 6, 0001 simplification/algsimp (main: operands)"),
    ],
)
def test_until(cli, dumps, what, step):
    result = cli("diff", "--passes", dumps(DUMPS), "--until", what)
    assert result.exit_code == 1
    assert result.stdout.startswith(f"jit_f (module_0007): {step}\n- dumps/module_0007.")


def test_until_shows_the_difference(cli, dumps):
    shown = cli("diff", "--passes", dumps(DUMPS), "--until", "opcode=add").stdout
    assert (
        shown
        == (
            "jit_f (module_0007): opcode=add first changes in step 3 of 6, 0002 simplification/dce (add: 1 -> 0)\n"
            "- dumps/module_0007.jit_f.0001.simplification.after_algsimp.before_dce.txt\n"
            "+ dumps/module_0007.jit_f.0002.simplification.after_dce.before_pipeline-end.txt\n"
            "\n"
            "3 deleted (broadcast, add, constant)\n"
            "\n"
            "main (ENTRY)\n"
            "  - zero = f32[] constant(0)\n"
            "      unused\n"
            "  - zeros = f32[8] broadcast(zero), dimensions={}\n"
            "      unused\n"
            "  - sum = f32[8] add(p, zeros)\n"
            "      unused\n"
        )
        or "  - sum = f32[8] add(p, zeros)\n" in shown
    )


def test_until_a_change_that_does_not_occur(cli, dumps):
    result = cli("diff", "--passes", dumps(DUMPS), "--until", "opcode=dot")
    assert (result.exit_code, result.stdout) == (0, "jit_f (module_0007): opcode=dot does not change in 6 steps\n")
    # Ignored changes do not count.
    assert cli("diff", "--passes", "dumps", "--until", "layout", "--ignore", "layout").exit_code == 0


def test_several_modules(cli, dumps):
    first = {name: text for name, text in DUMPS.items() if "optimizations.txt" in name}
    second = {name.replace("0007.jit_f", "0012.jit_g"): text for name, text in first.items()}
    single = {"module_0013.jit_h.before_optimizations.txt": BEFORE}
    folder = dumps({**second, **first, **single})
    result = cli("diff", "--passes", folder)
    assert [line for line in result.stdout.splitlines() if line.startswith("jit")] == [
        "jit_f (module_0007): 1 of 1 step changes something; 6 -> 4 instructions",
        "jit_g (module_0012): 1 of 1 step changes something; 6 -> 4 instructions",
    ]
    assert "left out 1 module with only one dump" in result.stderr
    for name in ("jit_g", "module_0012"):
        assert cli("diff", "--passes", folder, "--module", name).stdout.startswith("jit_g (module_0012)")
    unknown = cli("diff", "--passes", folder, "--module", "jit_k")
    assert (unknown.exit_code, unknown.stdout) == (2, "")
    assert "no dump contains a module named 'jit_k'; did you mean 'jit_" in unknown.stderr


def test_files_with_other_naming_schemes(cli, dumps):
    folder = dumps({"step9.hlo": BEFORE, "step10.hlo": SIMPLER, "step11.hlo": SIMPLER})
    assert cli("diff", "--passes", folder).stdout == (
        "1 of 2 steps changes something; 6 instructions\n  step10.hlo  6  1 instruction changed (tanh: operands)\n"
    )
    # Files that are listed one by one keep their order.
    backwards = cli("diff", "--passes", "dumps/step10.hlo", "dumps/step9.hlo").stdout
    assert "  step9.hlo  6  1 instruction changed (tanh: operands)\n" in backwards


def test_no_pass_changes_anything(cli, dumps):
    result = cli("diff", "--passes", dumps({"a.hlo": CLEAN, "b.hlo": CLEAN}))
    assert (result.exit_code, result.stdout) == (0, "nothing changes in 1 step; 3 instructions\n")
    assert cli("diff", "--passes", "dumps", "--quiet").stdout == ""
    names = cli("diff", "--passes", dumps({"b.hlo": RENAMED}))
    assert names.stdout == "1 of 1 step changes only names; 3 instructions\n"


def test_files_that_do_not_parse(cli, dumps):
    bad = "module_0007.jit_f.0001.simplification.after_algsimp.before_dce.txt"
    folder = dumps({**DUMPS, bad: SIMPLER.replace("tanh(p)", "tanh(q)")})
    result = cli("diff", "--passes", folder)
    assert result.exit_code == 2
    assert result.stderr.count("does not parse") == 1
    assert f"dumps/{bad}:8:" in result.stderr
    # The next dump is compared with the last one that parses.
    assert "  0002 dce                 6 -> 3  1 instruction changed (tanh: operands), 3 deleted (broadcast, add, constant)\n" in result.stdout


def test_no_file_parses(cli, dumps):
    result = cli("diff", "--passes", dumps({f"{k}.hlo": "HloModule" for k in range(6)}))
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.count("does not parse") == 6


def test_many_damaged_dumps_in_a_row(cli, dumps):
    texts = {f"{k}.hlo": "HloModule" if 0 < k < 9 else BEFORE if k < 9 else SIMPLER for k in range(11)}
    result = cli("diff", "--passes", dumps(texts))
    assert result.exit_code == 2
    assert result.stdout == "1 of 2 steps changes something; 6 instructions\n  9.hlo  6  1 instruction changed (tanh: operands)\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "--passes takes a folder, or the files of a pass-by-pass dump"),
        (("-",), "standard input has no name that identifies the pass"),
        (("dumps", "--until", "opcode=all-gathr"), "there is no opcode 'all-gathr'; did you mean 'all-gather'?"),
        (("dumps", "--until", "category=layouts"), "there is no category 'layouts'; did you mean 'layout'?"),
        (("dumps", "--until", "opcodes=add"), "did you mean 'opcode=add'?"),
        (("dumps", "--until", "opcode="), "'opcode=' has no value"),
        (("dumps", "--until", "banana"), "no dump has an instruction or a computation named 'banana'; write a category, an opcode or a name"),
        (("dumps", "--until", "all-gathr"), "no dump has an instruction or a computation named 'all-gathr'; did you mean 'all-gather'?"),
        (("dumps", "--until", "computation=mainn"), "no dump has an instruction or a computation named 'mainn'; did you mean 'main'?"),
        (("dumps", "--output-format", "html"), "html applies to two modules"),
        (("missing",), "missing"),
    ],
)
def test_usage(cli, dumps, arguments, message):
    dumps(DUMPS)
    result = cli("diff", "--passes", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


def test_one_dump_is_not_a_sequence(cli, dumps):
    result = cli("diff", "--passes", dumps({"module_0001.jit_f.before_optimizations.txt": BEFORE}))
    assert (result.exit_code, result.stdout) == (2, "")
    assert "XLA writes one for each pass with XLA_FLAGS='--xla_dump_to=DIR --xla_dump_hlo_pass_re=.*'" in result.stderr


def test_json(cli, dumps):
    document = json.loads(cli("diff", "--passes", dumps(DUMPS), "--output-format", "json").stdout)
    check_schema(document, SCHEMA)
    assert (document["schema"], document["differs"], document["until"]) == (SCHEMA_NAME, True, None)
    (module,) = document["modules"]
    assert (module["module"], module["dump"], len(module["passes"])) == ("jit_f", "module_0007", 6)
    dce = module["passes"][2]
    assert (dce["number"], dce["pipeline"], dce["pass"], dce["deleted"], dce["diff"]) == (2, "simplification", "dce", 3, None)
    assert (dce["left"]["instructions"], dce["right"]["instructions"], dce["categories"]) == (6, 3, ["deleted"])
    until = json.loads(cli("diff", "--passes", "dumps", "--output-format", "json", "--until", "opcode=add").stdout)
    check_schema(until, SCHEMA)
    (module,) = until["modules"]
    assert (until["until"], module["first"], len(module["passes"])) == ("opcode=add", 2, 3)
    check_schema(module["passes"][2]["diff"], DIFF_SCHEMA)


def test_markdown(cli, dumps):
    text = cli("diff", "--passes", dumps(DUMPS), "--output-format", "markdown").stdout
    assert text.startswith("### jit\\_f (module\\_0007)\n\n4 of 6 steps change something")
    assert "| 0002 simplification/dce | 6 -\\> 3 | 3 deleted (broadcast, add, constant) |\n" in text
    until = cli("diff", "--passes", "dumps", "--output-format", "markdown", "--until", "opcode=add").stdout
    assert "<details><summary>0002 simplification/dce</summary>" in until


def test_results_do_not_depend_on_jobs(process, dumps, tmp_path):
    folder = dumps(DUMPS)
    for until in ((), ("--until", "opcode=add")):
        results = [process("diff", "--passes", folder, "-j", jobs, *until, cwd=tmp_path) for jobs in ("1", "3")]
        assert results[0].stdout == results[1].stdout != ""


def test_completion(process):
    words = "hlotool diff --passes d --until "
    for typed, expected in (("lay", "plain,layout,"), ("opcode=all-g", "plain,opcode=all-gather,"), ("ins", "plain,instruction=,")):
        result = process(env={"_HLOTOOL_COMPLETE": "zsh_complete", "COMP_WORDS": words + typed, "COMP_CWORD": "5"})
        assert expected.split(",")[1] in result.stdout, typed
