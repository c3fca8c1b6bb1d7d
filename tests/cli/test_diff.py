"""`hlotool diff`: exit codes, output, formats and errors.

The cases in tests/differ test the reported changes.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import pty
import re
import subprocess
import sys
import threading
from html.parser import HTMLParser
from pathlib import Path

import pytest
from schemas import check_schema

import hlotool
from hlotool.differ.categories import CATEGORIES

LEFT = """HloModule m

f {
  x = f32[8] parameter(0)
  t = f32[8] tanh(x)
  ROOT a = f32[8] add(t, x)
}

ENTRY e {
  p = f32[8] parameter(0)
  q = f32[8] parameter(1)
  c = f32[8] call(p), to_apply=f
  d = f32[8] divide(c, q)
  ROOT r = f32[8] sine(d)
}
"""
RIGHT = LEFT.replace("t = f32[8] tanh", "t = f32[8] logistic").replace("divide(c, q)", "divide(q, c)")
RENAMED = re.sub(r"\b([cdrt])\b(?= =|[,)])", r"\1.7", LEFT)
SCHEMA = json.loads((Path(hlotool.__file__).parent / "differ" / "diff.schema.json").read_text(encoding="utf-8"))


@pytest.fixture
def pair(file_of):
    return file_of("left.hlo", LEFT), file_of("right.hlo", RIGHT)


def test_exit_codes(cli, pair, file_of):
    left, right = pair
    renamed = file_of("renamed.hlo", RENAMED)
    same = cli("diff", left, left)
    assert (same.exit_code, same.stdout, same.stderr) == (0, "", "")
    assert cli("diff", left, right).exit_code == 1
    names = cli("diff", left, renamed)
    assert (names.exit_code, names.stdout) == (1, "equal except for names\n")
    assert cli("diff", left, renamed, "--ignore", "names").exit_code == 0
    quiet = cli("diff", left, right, "--quiet")
    assert (quiet.exit_code, quiet.stdout, quiet.stderr) == (1, "", "")


def test_which_differences_count(cli, pair):
    assert cli("diff", *pair, "--ignore", "opcode,operands").exit_code == 0
    assert cli("diff", *pair, "--ignore", "opcode", "--ignore", "operands").stdout == ""
    opcodes = cli("diff", *pair, "--only", "opcode")
    assert (opcodes.exit_code, "tanh -> logistic" in opcodes.stdout, "divide" in opcodes.stdout) == (1, True, False)
    assert cli("diff", *pair, "--only", "opcode,operands", "--ignore", "opcode").stdout.count("  + ") == 1
    assert cli("diff", *pair, "--only", "shape").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--ignore", "opcod"), "--ignore: there is no category 'opcod'; did you mean 'opcode'?"),
        (("--only", "colour"), "--only: there is no category 'colour'"),
        (("--output-format", "htm"), "Did you mean 'html'?"),
        (("--stat", "--name-only"), "use one of the two"),
        (("--stat", "--output-format", "json"), "--stat applies to text only"),
        (("-U", "x"), "'x' is not a valid integer"),
        (("-y", "--stat"), "--side-by-side cannot be combined with --stat, which shows no instructions"),
        (("-y", "--output-format", "json"), "--side-by-side applies to text only"),
    ],
)
def test_usage(cli, pair, arguments, message):
    result = cli("diff", *pair, *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


def test_files_that_cannot_be_compared(cli, pair, bad, tmp_path, file_of):
    left, _ = pair
    broken = cli("diff", left, bad)
    assert (broken.exit_code, broken.stdout) == (2, "")
    assert "bad.hlo:5:26" in broken.stderr
    both = cli("diff", bad, tmp_path / "missing.hlo")
    assert both.exit_code == 2
    assert "bad.hlo:5:26" in both.stderr
    assert "missing.hlo" in both.stderr
    assert cli("diff", left, file_of("empty.hlo", "")).exit_code == 2
    two = cli("diff", left, file_of("two.hlo", f"{LEFT}// -----\n{RIGHT}"))
    assert two.exit_code == 2
    assert "contains 2 modules, which begin on lines 1, 17; diff takes one module on each side" in two.stderr
    assert cli("diff", left).exit_code == 2
    assert "standard input can be read only once" in cli("diff", "-", "-", stdin=LEFT).stderr


def test_inputs(cli, pair, tmp_path, file_of):
    left, right = pair
    expected = cli("diff", left, right).stdout
    assert cli("diff", left, "-", stdin=RIGHT).stdout == expected
    assert cli("diff", "-", right, stdin=LEFT).stdout == expected
    packed = tmp_path / "right.hlo.gz"
    packed.write_bytes(gzip.compress(RIGHT.encode()))
    assert cli("diff", left, packed).stdout == expected
    log = file_of("build.log", f"compiling\n{RIGHT}\ndone\n")
    assert cli("diff", "--extract", left, log).stdout == expected
    assert "m.hlo" in cli("diff", left, "-", "--output-format", "json", "--stdin-filename", "m.hlo", stdin=RIGHT).stdout


def test_outputs(cli, pair, tmp_path):
    left, right = pair
    out = tmp_path / "out.txt"
    result = cli("diff", left, right, "-o", out)
    assert (result.exit_code, result.stdout) == (1, "")
    assert out.read_text() == cli("diff", left, right, "-o", "-").stdout == cli("diff", left, right).stdout
    assert cli("diff", left, right, "-o", left).exit_code == 2
    assert left.read_text() == LEFT


def test_text(cli, pair):
    assert cli("diff", *pair).stdout == (
        "2 instructions changed (tanh -> logistic, divide: operands)\n"
        "\n"
        "f\n"
        "  - t = f32[8] tanh(x)\n"
        "  + t = f32[8] logistic(x)\n"
        "      opcode: tanh -> logistic\n"
        "\n"
        "e (ENTRY)\n"
        "  - d = f32[8] divide(c, q)\n"
        "  + d = f32[8] divide(q, c)\n"
        "      operand 0: c -> q; operand 1: q -> c\n"
    )


def test_context(cli, pair):
    lines = cli("diff", *pair, "-U", "1").stdout.splitlines()
    assert lines[3:7] == ["    x = f32[8] parameter(0)", "  - t = f32[8] tanh(x)", "  + t = f32[8] logistic(x)", "      opcode: tanh -> logistic"]
    assert lines[7] == "    ROOT a = f32[8] add(t, x)"
    # The context ends where the computation ends.
    assert cli("diff", *pair, "-U", "9").stdout.count("parameter(0)") == 2


def layers(opcode: str, count: int) -> str:
    lines = [f"  t{k} = f32[8] {opcode}({f'a{k - 1}' if k else 'p'})\n  a{k} = f32[8] add(t{k}, p)\n" for k in range(count)]
    return f"ENTRY e {{\n  p = f32[8] parameter(0)\n{''.join(lines)}  ROOT r = f32[8] negate(a{count - 1})\n}}\n"


def test_equal_changes_are_grouped(cli, file_of):
    left, right = file_of("a.hlo", layers("tanh", 48)), file_of("b.hlo", layers("logistic", 48))
    short = cli("diff", left, right).stdout
    assert short.startswith("48 instructions changed (tanh -> logistic in e)\n")
    assert "... and 46 more like this: t2, t3, t4, t5, t6, t7, ...\n" in short
    assert short.count("opcode: tanh -> logistic") == 2
    assert cli("diff", left, right, "--show-all").stdout.count("opcode: tanh -> logistic") == 48


UNARY = ("abs", "cbrt", "ceil", "cosine", "exponential", "floor", "log", "logistic", "negate", "sign", "sine", "sqrt", "tan", "tanh", "rsqrt", "erf")


def make_differing_modules(count: int) -> tuple[str, str]:
    """Returns two modules that differ in about `count` instructions, each in a different way.

    One module has a fusion instead of a custom call.
    """
    kinds = [(a, b) for a in UNARY for b in UNARY if a != b][:count]
    result = f"  ROOT r = ({', '.join(f'f32[{k + 8}]' for k in range(count))}) tuple(d, {', '.join(f'x{k}' for k in range(1, count))})\n"
    texts = []
    for side in (0, 1):
        lines = [f"  p{k} = f32[{k + 8}] parameter({k}), metadata={{source_line={k + side + 1}}}\n" for k in range(count)]
        lines.append('  d = f32[8] custom-call(p0), custom_call_target="gemm"\n')
        lines += [f"  x{k} = f32[{k + 8}] {kind[side]}(p{k})\n" for k, kind in enumerate(kinds)]
        texts.append(f"HloModule m\n\nENTRY e {{\n{''.join(lines)}{result}}}\n")
    fused = "f {\n  x = f32[8] parameter(0)\n  y = f32[8] multiply(x, x)\n  ROOT z = f32[8] maximum(y, x)\n}\n\nENTRY"
    call = "  d = f32[8] fusion(p0), kind=kLoop, calls=f\n"
    target = '  d = f32[8] custom-call(p0), custom_call_target="gemm"\n'
    return texts[0], texts[1].replace("ENTRY", fused).replace(target, call)


def test_large_differences_begin_with_a_summary(cli, file_of):
    left, right = (file_of(name, text) for name, text in zip(("a.hlo", "b.hlo"), make_differing_modules(120), strict=True))
    shown = cli("diff", left, right).stdout
    sentence, _, body = shown.partition("\n\n")
    assert sentence.startswith("121 instructions changed (custom-call -> fusion, ")
    assert "\n" not in sentence
    assert body.startswith("numbers\n  instructions: 242 -> 245 (+3)\n  computations: 1 -> 2 (+1)\n")
    assert "  only before: custom-call gemm\n" in body
    assert "  only after: 8x erf, " in body
    assert "  fewer: abs 15 -> 7, " in body
    # The report fits on two screens, since all metadata changes share one line.
    assert len(body.splitlines()) < 60
    assert re.search(r"  ~ metadata of \d+ instructions in 1 computation \(--only metadata\)\n", body)
    assert "source_line" not in body
    assert re.search(r"    \.\.\. and \d+ more differences \(--show-all\)\n", body)
    everything = cli("diff", left, right, "--show-all").stdout
    assert everything.count("source_line") == 120
    # The Markdown output, for pull requests, has the same summary.
    assert "<summary>numbers</summary>" in cli("diff", left, right, "--output-format", "markdown").stdout


def test_width(cli, file_of):
    operands = ", ".join(f"p{k}" for k in range(40))
    shapes = ", ".join(["f32[]"] * 40)
    parameters = "".join(f"  p{k} = f32[] parameter({k})\n" for k in range(40))
    text = f"ENTRY e {{\n{parameters}  ROOT r = ({shapes}) tuple({operands})\n}}\n"
    left, right = file_of("a.hlo", text), file_of("b.hlo", text.replace("p37, p38", "p38, p38"))
    narrow = cli("diff", left, right, "--width", "60").stdout
    assert max(map(len, narrow.splitlines())) <= 60
    # The truncated part contains no difference.
    assert "p37, p38" in narrow
    assert "p38, p38" in narrow
    assert f"tuple({operands})" in cli("diff", left, right, "--width", "0").stdout


def test_colors(cli, pair):
    for arguments in ((), ("-y",), ("-y", "-U", "2"), ("--stat",)):
        plain = cli("diff", *pair, *arguments).stdout
        colored = cli("diff", *pair, *arguments, "--color", "always").stdout
        assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == plain
        assert colored != plain


def test_differences_are_highlighted(cli, pair, file_of):
    reset, strong = "\x1b[0m", "\x1b[1m\x1b[7m"
    colored = cli("diff", *pair, "--color", "always").stdout
    assert f"\x1b[31m  - t = f32[8] {reset}\x1b[31m{strong}tanh{reset}\x1b[31m(x){reset}\n" in colored
    assert f"\x1b[32m  + t = f32[8] {reset}\x1b[32m{strong}logistic{reset}\x1b[32m(x){reset}\n" in colored
    columns = cli("diff", *pair, "--color", "always", "-y").stdout
    assert f"{strong}tanh{reset}\x1b[31m(x){reset}" in columns
    assert f"{strong}logistic{reset}\x1b[32m(x){reset}\n" in columns
    # A renamed instruction is not highlighted.
    renamed = file_of("renamed.hlo", RENAMED.replace("tanh", "logistic"))
    assert f"\x1b[32m  + t.7 = f32[8] {reset}\x1b[32m{strong}logistic" in cli("diff", pair[0], renamed, "--color", "always").stdout
    # Lines with little in common are not highlighted.
    other = file_of("other.hlo", LEFT.replace("divide(c, q)", 'custom-call(c, q), custom_call_target="something_else_altogether"'))
    assert strong not in cli("diff", pair[0], other, "--color", "always").stdout.partition("e (ENTRY)")[2].partition("custom-call(")[0]


def run_on_terminal(*arguments: str | Path, env: dict[str, str]) -> tuple[int, str]:
    """Returns the exit code of a command that runs on a terminal, and its output."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(Path(hlotool.__file__).parents[1]), "NO_COLOR": "1", **env}
    with subprocess.Popen(
        [sys.executable, "-m", "hlotool", *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, env=environment
    ) as command:
        os.close(theirs)
        shown = b""
        # Linux reports the end of a terminal's output as an error.
        with contextlib.suppress(OSError):
            while piece := os.read(ours, 4096):
                shown += piece
    os.close(ours)
    return command.returncode, shown.decode().replace("\r\n", "\n")


def test_pager(pair, cli, tmp_path):
    plain = cli("diff", *pair).stdout
    paged = "".join(f"| {line}\n" for line in plain.splitlines())
    mark = "sed 's/^/| /'"
    assert run_on_terminal("diff", *pair, env={"PAGER": mark}) == (1, paged)
    assert run_on_terminal("diff", *pair, env={"HLOTOOL_PAGER": mark, "PAGER": "false"}) == (1, paged)
    assert run_on_terminal("diff", *pair, env={"PAGER": f"MARK=1 {mark} | cat"}) == (1, paged)
    # No pager is used with --no-pager, if the pager does not exist, or if PAGER has a value that
    # git treats as "no pager".
    assert run_on_terminal("diff", *pair, "--no-pager", env={"PAGER": mark}) == (1, plain)
    for pager in ("", "cat", "there-is-no-such-pager", "'"):
        assert run_on_terminal("diff", *pair, env={"PAGER": pager}) == (1, plain)
    # The user may close the pager before the end.
    assert run_on_terminal("diff", *pair, env={"PAGER": "head -n 1"}) == (1, plain.partition("\n")[0] + "\n")
    assert run_on_terminal("diff", *pair, env={"PAGER": "true"}) == (1, "")
    # JSON output and output to a file do not go through the pager.
    assert run_on_terminal("diff", *pair, "--output-format", "json", env={"PAGER": mark})[1].startswith("{")
    assert run_on_terminal("diff", *pair, "-o", tmp_path / "out", env={"PAGER": mark}) == (1, "")
    assert (tmp_path / "out").read_text() == plain
    assert run_on_terminal("diff", pair[0], pair[0], env={"PAGER": "echo nothing; cat"}) == (0, "")


def test_reading_in_a_pager_does_not_count_towards_the_timeout(pair, cli, monkeypatch):
    timers = []

    def show(pieces):
        timers.append([thread for thread in threading.enumerate() if isinstance(thread, threading.Timer) and not thread.finished.is_set()])
        return True

    monkeypatch.setattr("hlotool.cli.diff.diff_output.show_in_pager", show)
    assert cli("diff", *pair, "--timeout", "300").exit_code == 1
    assert timers == [[]]


def test_no_pager_in_pipes(process, pair, cli):
    assert process("diff", *pair, env={"PAGER": "sed 's/^/| /'"}).stdout == cli("diff", *pair).stdout


def test_control_characters_are_escaped(cli, file_of):
    text = 'ENTRY e {{ ROOT p = f32[] parameter(0), metadata={{op_name="{}"}} }}'
    left, right = file_of("a.hlo", text.format("a")), file_of("b.hlo", text.format("\x1b[31mb"))
    assert "\x1b" not in cli("diff", left, right).stdout


def test_statistics_and_names(cli, pair):
    assert cli("diff", *pair, "--stat").stdout == (
        " f         |     1 ~\n"
        " e (ENTRY) |     1 ~\n"
        "2 instructions changed (tanh -> logistic, divide: operands)\n"
        " logistic  0 -> 1 (+1)\n"
        " tanh      1 -> 0 (-1)\n"
    )
    assert cli("diff", *pair, "--name-only").stdout == "~ f/t\n~ e/d\n"
    assert cli("diff", pair[0], pair[0], "--stat").stdout == ""


def test_bytes_are_counted(cli, file_of):
    text = "HloModule m, is_scheduled=true, replica_count=2\nENTRY e {{ p = f32[64] parameter(0) ROOT r = f32[128] {}(p), dimensions={{0}} }}"
    gathered = file_of("a.hlo", text.format("all-gather"))
    doubled = file_of("b.hlo", text.format("concatenate").replace("(p)", "(p, p)"))
    shown = cli("diff", gathered, doubled, "--stat").stdout
    assert " collectives          1 -> 0 (-1)\n" in shown
    assert " data in collectives  256 B -> 0 B (-256 B)\n" in shown


def test_json(cli, pair):
    left, right = pair
    result = cli("diff", left, right, "--output-format", "json")
    document = json.loads(result.stdout)
    check_schema(document, SCHEMA)
    assert result.exit_code == 1
    assert (document["left"].pop("file"), document["right"].pop("file")) == (str(left), str(right))
    assert document == hlotool.diff(hlotool.parse(LEFT), hlotool.parse(RIGHT)).to_dict()
    same = cli("diff", left, left, "--output-format", "json")
    assert (same.exit_code, json.loads(same.stdout)["differs"]) == (0, False)


def test_schema_names_all_categories():
    assert SCHEMA["$defs"]["category"]["enum"] == sorted(CATEGORIES)
    assert SCHEMA["properties"]["schema"]["const"] == hlotool.diff(hlotool.parse(LEFT), hlotool.parse(LEFT)).to_dict()["schema"]


def test_markdown(cli, pair, file_of):
    text = cli("diff", *pair, "--output-format", "markdown").stdout
    assert "2 instructions changed (tanh -\\> logistic, divide: operands)" in text
    assert "| `opcode` | 1 | the opcode |" in text
    assert "<details><summary>e (ENTRY)</summary>\n\n```diff\n-   d = f32[8] divide(c, q)\n+   d = f32[8] divide(q, c)\n" in text
    assert "No differences." in cli("diff", pair[0], pair[0], "--output-format", "markdown").stdout
    # Comments on GitHub have at most 65,536 characters.
    large = [file_of(f"{opcode}.hlo", "HloModule m\n" + many_computations(opcode)) for opcode in ("tanh", "sine")]
    long = cli("diff", *large, "--output-format", "markdown").stdout
    assert len(long) < 65_536


def many_computations(opcode: str) -> str:
    computations = "".join(
        f"f{k} {{\n  x = f32[{k + 1}] parameter(0)\n  y = f32[{k + 1}] {opcode}(x)\n  ROOT z = f32[{k + 1}] abs(y)\n}}\n" for k in range(600)
    )
    calls = "".join(f"  c{k} = f32[{k + 1}] call(p{k}), to_apply=f{k}\n" for k in range(600))
    parameters = "".join(f"  p{k} = f32[{k + 1}] parameter({k})\n" for k in range(600))
    shapes = ", ".join(f"f32[{k + 1}]" for k in range(600))
    return f"{computations}ENTRY e {{\n{parameters}{calls}  ROOT r = ({shapes}) tuple({', '.join(f'c{k}' for k in range(600))})\n}}\n"


class Page(HTMLParser):
    """A parser for the HTML output of `hlotool diff`.

    It checks that all tags are closed, and records the resources that the page loads, its visible
    text, and the data in its script.
    """

    VOID = frozenset({"meta", "input", "br"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.loaded: list[str] = []
        self.texts: dict[str, str] = {}
        self.feed(text)
        assert not self.open
        self.data = json.loads(self.texts["script#data"])

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if tag not in self.VOID:
            self.open.append(f"{tag}#{values['id']}" if "id" in values else tag)
        self.ids += [values["id"]] if "id" in values else []
        self.loaded += [value for name, value in attrs if name in ("src", "href", "action")]

    def handle_endtag(self, tag):
        assert self.open.pop().partition("#")[0] == tag

    def handle_data(self, data):
        if self.open:
            self.texts[self.open[-1]] = self.texts.get(self.open[-1], "") + data

    @property
    def entries(self) -> list[list]:
        return [entry for section in self.data["sections"] for group in section["groups"] for entry in group]


def test_page(cli, pair):
    page = Page(cli("diff", *pair, "--output-format", "html").stdout)
    assert page.loaded == []
    assert page.texts["p"].startswith("2 instructions changed (tanh -> logistic, divide: operands)")
    data = page.data
    assert [[data["kinds"][kind] for kind in entry[2]] for entry in page.entries] == [["opcode"], ["operands"]]
    assert data["counts"] == {"opcode": 1, "operands": 1}
    assert [section["title"] for section in data["sections"]] == ["f", "e (ENTRY)"]
    # The page contains both modules, and each instruction links to its counterpart.
    assert len(data["lines"]) == len(data["partner"]) == len(data["state"]) == 16
    assert all(data["partner"][other] == node for node, other in enumerate(data["partner"]))
    assert [computation[0] for side in data["computations"] for computation in side] == ["f", "e", "f", "e"]
    # The differences are marked.
    left, right, _, notes, *_, old_parts, new_parts = page.entries[0]
    assert [data["lines"][left][slice(*part)] for part in old_parts] == ["tanh"]
    assert [data["lines"][right][slice(*part)] for part in new_parts] == ["logistic"]
    assert notes == ["opcode: tanh -> logistic"]


def test_script_of_the_page_finds_its_elements(cli, pair):
    """Checks that the script refers only to elements and data that the page has."""
    text = cli("diff", *pair, "--output-format", "html").stdout
    page, script = Page(text), text.rpartition("<script>")[2]
    assert set(re.findall(r'byId\("(\w+)"\)', script)) <= set(page.ids)
    keys = set(re.findall(r"\bdata\.(\w+)", script))
    assert keys == page.data.keys()


def test_page_of_large_differences(cli, file_of):
    """Checks that equal differences are shown once, and that no line is too long to read."""
    count = 8
    computations = "".join(f"f{k} {{\n  x = f32[8] parameter(0)\n  ROOT y = f32[8] tanh(x)\n}}\n" for k in range(count))
    calls = "".join(f"  c{k} = f32[8] call({f'c{k - 1}' if k else 'p'}), to_apply=f{k}\n" for k in range(count))
    shapes, operands = (", ".join([word] * 300) for word in ("f32[8]", f"c{count - 1}"))
    text = f"{computations}ENTRY e {{\n  p = f32[8] parameter(0)\n{calls}  ROOT r = ({shapes}) tuple({operands})\n}}\n"
    changed = text.replace("tanh", "sine").replace(f"c{count - 1})", "p)")
    page = Page(cli("diff", file_of("a.hlo", text), file_of("b.hlo", changed), "--output-format", "html").stdout)
    similar = [section for section in page.data["sections"] if section["isSimilar"]]
    assert len(similar) == count - 1
    (first,) = (section for section in page.data["sections"] if section["similar"])
    assert [page.data["sections"][number] for number in first["similar"]] == similar
    assert max(map(len, page.data["lines"])) <= 1_000
    *_, old, new, old_parts, new_parts = next(entry for entry in page.entries if page.data["lines"][entry[0]].startswith("ROOT r"))
    assert [(old[slice(*a)], new[slice(*b)]) for a, b in zip(old_parts, new_parts, strict=True)] == [(f"c{count - 1}", "p")]


def test_page_escapes_text_from_modules(cli, file_of):
    text = 'ENTRY e {{ ROOT p = f32[] parameter(0), metadata={{op_name="{}"}} }}'
    evil = "</main></script><script>alert(1)</script>$title<!--"
    left, right = file_of("a.hlo", text.format("a")), file_of("b.hlo", text.format(evil))
    page = cli("diff", left, right, "--output-format", "html").stdout
    assert "<script>alert" not in page
    assert page.count("<!--") == 0
    assert evil in Page(page).entries[0][3][0]
    named = cli("diff", left, "-", "--output-format", "html", "--stdin-filename", evil, stdin=text.format("b")).stdout
    assert "<script>alert" not in named
    Page(named)


def test_completion(process):
    words = "hlotool diff a.hlo b.hlo --ignore names,me"
    result = process(env={"_HLOTOOL_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)})
    assert "plain,names,metadata" in result.stdout


def test_semantic(cli, pair):
    left, right = pair
    result = cli("diff", *pair, "--semantic", "--n", "2")
    assert result.exit_code == 1
    assert result.stdout.splitlines()[:6] == [
        "the results differ on random input 0",
        "structural diff: 2 instructions changed (tanh -> logistic, divide: operands)",
        "",
        "first difference: 't' (tanh, logistic) in 'f'",
        "  - t = f32[8] tanh(x)",
        "  + t = f32[8] logistic(x)",
    ]
    result = cli("diff", *pair, "--semantic", "--output-format", "json")
    document = json.loads(result.stdout)
    check_schema(document, SCHEMA)
    assert (result.exit_code, document["semantic"]["agrees"], document["semantic"]["first"]["left"]) == (1, False, ["f", "t"])
    quiet = cli("diff", left, right, "--semantic", "--quiet")
    assert (quiet.exit_code, quiet.stdout) == (1, "")


def test_semantic_of_equal_results(cli, file_of):
    right = file_of("right.hlo", LEFT.replace("add(t, x)", "add(x, t)"))
    result = cli("diff", file_of("left.hlo", LEFT), right, "--semantic", "--n", "3")
    assert (result.exit_code, result.stdout) == (
        0,
        "the results agree on 3 random inputs\nstructural diff: 1 instruction changed (add: operands exchanged)\n",
    )
    # Changing a constant has no effect if the other operand of the maximum is always larger.
    bound = "ENTRY e { p = f32[] parameter(0) c = f32[] constant(%s) m = f32[] maximum(p, c) a = f32[] abs(p) ROOT r = f32[] maximum(m, a) }"
    result = cli("diff", file_of("low.hlo", bound % "-2"), file_of("lower.hlo", bound % "-3"), "--semantic")
    assert (result.exit_code, result.stdout.splitlines()[3]) == (
        0,
        "first difference, without effect on the results: 'c' (constant) in 'e'",
    )
    # Adding and subtracting a value changes the result only by rounding.
    other = file_of(
        "other.hlo", LEFT.replace("ROOT r = f32[8] sine(d)", "k = f32[8] add(d, q)\n  l = f32[8] subtract(k, q)\n  ROOT r = f32[8] sine(l)")
    )
    assert cli("diff", right, other, "--semantic", "--rtol", "0", "--atol", "0").exit_code == 1
    assert cli("diff", right, other, "--semantic", "--rtol", "0.01", "--atol", "0.01").exit_code == 0


def test_semantic_of_modules_that_cannot_run(cli, pair, file_of):
    left, _ = pair
    unknown = file_of("unknown.hlo", LEFT.replace("sine(d)", 'custom-call(d), custom_call_target="nobody_knows"'))
    result = cli("diff", unknown, left, "--semantic")
    assert result.exit_code == 2
    assert "the left module cannot be run: " in result.stdout
    assert "nobody_knows" in result.stdout
    invalid = file_of("invalid.hlo", LEFT.replace("c = f32[8] call", "c = f32[9] call"))
    result = cli("diff", invalid, left, "--semantic")
    assert result.exit_code == 2
    assert "the left module is not valid HLO, so it is not run" in result.stderr
    many = file_of("many.hlo", LEFT.replace("HloModule m", "HloModule m, replica_count=100000"))
    result = cli("diff", many, left, "--semantic")
    assert (result.exit_code, "at most 1024" in result.stderr) == (2, True)


def test_options_of_semantic(cli, pair):
    for options, message in (
        (("--n", "2"), "--n requires --semantic"),
        (("--semantic", "--stat"), "--semantic shows values; it cannot be combined with --stat"),
        (("--semantic", "--output-format", "html"), "--semantic shows values; it cannot be combined with --output-format html"),
    ):
        result = cli("diff", *pair, *options)
        assert (result.exit_code, message in result.stderr) == (2, True), result.stderr


def test_flops_and_bytes_are_counted(cli, file_of):
    text = "ENTRY e {{ p = f32[1000,500] parameter(0) {} }}"
    product = file_of("a.hlo", text.format("ROOT r = f32[500,500] dot(p, p), lhs_contracting_dims={0}, rhs_contracting_dims={0}"))
    added = file_of("b.hlo", text.format("ROOT r = f32[1000,500] add(p, p)"))
    rows = [line.split() for line in cli("diff", product, added, "--stat").stdout.splitlines()]
    assert "FLOPs 500 M -> 500 k (-500 M)".split() in rows
    assert "bytes accessed 4.8 MiB -> 5.7 MiB (+976.6 KiB)".split() in rows
    library = file_of("c.hlo", text.format('ROOT r = f32[500,500] custom-call(p), custom_call_target="gemm"'))
    rows = [line.split() for line in cli("diff", product, library, "--stat").stdout.splitlines()]
    assert "FLOPs outside of custom calls 500 M -> 0 (-500 M)".split() in rows


def test_rounding_is_not_reported_as_a_difference_of_values(cli, file_of):
    """Compares modules that differ in `q` only by rounding, which the subtraction amplifies."""
    left = """ENTRY e {
      p = f32[64] parameter(0)
      c = f32[64] broadcast(f32[] constant(3)), dimensions={}
      q = f32[64] divide(p, c)
      z = f32[64] multiply(q, c)
      d = f32[64] subtract(z, p)
      k = f32[64] broadcast(f32[] constant(1e6)), dimensions={}
      ROOT r = f32[64] multiply(d, k)
    }"""
    right = left.replace("divide(p, c)", "multiply(p, third)").replace(
        "  q =", "  third = f32[64] broadcast(f32[] constant(0.333333343)), dimensions={}\n  q ="
    )
    arguments = ("diff", "--semantic", file_of("left.hlo", left), file_of("right.hlo", right))
    text = cli(*arguments).stdout
    assert "first difference, by rounding: 'q' (divide, multiply) in 'e'; later instructions amplify it\n" in text
    assert "first difference:" not in text
    first = json.loads(cli(*arguments, "--output-format", "json").stdout)["semantic"]["first"]
    assert (first["left"], first["is_rounding"]) == (["e", "q"], True)
