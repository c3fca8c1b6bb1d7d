"""`hlotool.extract`: modules inside other text, and positions in that text."""

from __future__ import annotations

import json

import pytest
from scaling import slowdown

import hlotool
from hlotool.errors import Source
from hlotool.text.extract.excerpts import excerpts
from hlotool.text.parse.extraction import excerpts_of
from hlotool.text.parse.parser import parse_source

MODULE = """HloModule m, entry_computation_layout={(f32[2]{0})->f32[2]{0}}

%double (x: f32[2]{0}) -> f32[2]{0} {
  %x = f32[2]{0} parameter(0), metadata={op_name="a{b" source_file="it's.py"}
  ROOT %y = f32[2]{0} add(%x, %x), backend_config={"a":"}"}
}, execution_thread="main"

ENTRY %e (p: f32[2]{0}) -> f32[2]{0} {
  %p = f32[2]{0} parameter(0)
  ROOT %r = f32[2]{0} call(%p), to_apply=%double
}"""
LINES = MODULE.split("\n")
GLOG = "I0000 00:00:1786848746.938112 3845513 hlo_pass_pipeline.cc:181] "
TENSORFLOW = "2020-05-04 09:05:40.721128: E    1578 tensorflow/compiler/xla/xla_util.cc:76] "
WORKER = "[rank0]: 2026-01-02T03:04:05.678Z worker-3 | "


def add_prefix(prefix: str) -> str:
    return "".join(f"{prefix}{line}".rstrip() + "\n" for line in LINES)


AROUND = {
    "itself": MODULE,
    "markdown": f"# Title\n\nBefore `HloModule m` there is:\n\n```hlo\n{MODULE}\n```\n\nand {{ after }} it.\n",
    "inline code": f"The module `{MODULE}` is wrong.\n",
    "indented": "".join(f"    {line}\n" for line in ["Text:", *LINES, "end"]),
    "glog": f"{GLOG}Running pass\n{add_prefix(GLOG)}{GLOG}done\n",
    "tensorflow": f"start\n{add_prefix(TENSORFLOW)}{TENSORFLOW}done\n",
    "worker": f"{add_prefix(WORKER)}{WORKER}done\n",
    "interleaved": "".join(f"{GLOG}{line}\nW1231 23:59:59.999999 7 other.cc:3] noise {{\n" for line in LINES),
    "quoted mail": f"On Monday, X wrote:\n{add_prefix('> ')}\nThanks",
    "comment": f"import x\n{add_prefix('# ')}\nx.y()\n",
    "docstring": "".join(f"  {line or '<BLANKLINE>'}\n" for line in ["Example:", ">>> print(f())", *LINES, "", "Text after it."]),
    "raw string": f'auto module = Parse(R"(\n{MODULE}\n)");\n  EXPECT_TRUE(x) {{ }}\n',
    "triple quotes": f'hlo = """{MODULE}"""\nprint(hlo)\n',
    "repr": f"text = {MODULE!r} + other\n",
    "repr after text": f"text = {('Text: it' + chr(10) + MODULE + chr(10) + 'end')!r}\n",
    "bytes": f"{MODULE.encode()!r}\n",
    "adjacent literals": "x = (\n" + "".join(f"    {json.dumps(line + chr(10))}\n" for line in LINES) + ")\n",
    "notebook": json.dumps({"cells": [{"source": ["!python x.py\n"], "outputs": [{"text": [line + "\n" for line in LINES]}]}]}, indent=1),
    "notebook on one line": json.dumps({"outputs": [{"text": [line + "\n" for line in LINES]}], "n": 1}),
    "json": json.dumps({"hlo": MODULE, "other": "{"}),
    "windows": MODULE.replace("\n", "\r\n") + "\r\nend\r\n",
}


@pytest.mark.parametrize("name", AROUND)
def test_a_module_is_found(name: str) -> None:
    texts = hlotool.extract(AROUND[name])
    assert len(texts) == 1
    assert hlotool.to_text(hlotool.parse(texts[0])) == hlotool.to_text(hlotool.parse(MODULE))


@pytest.mark.parametrize(
    ("escaped", "character"),
    [
        (r"\ud83d\ude00", "\U0001f600"),
        (r"\uD83D\uDE00", "\U0001f600"),
        (r"\U0001F600", "\U0001f600"),
        (r"\u00e9", "é"),
        (r"\xe9", "é"),
        (r"\ud83d", "\ufffd"),
        (r"\ude00\ud83d", "\ufffd\ufffd"),
        (r"\ud83d\u00e9", "\ufffdé"),
        (r"\UFFFFFFFF", "\ufffd"),
        (r"\U0000D83D", "\ufffd"),
        ("\\\n", ""),
        ("\\\r\n", ""),
        ("\\\r", ""),
    ],
)
def test_escapes(escaped: str, character: str) -> None:
    module = 'HloModule m\nENTRY e {\n  ROOT p = f32[] parameter(0), metadata={op_name="a@b"}\n}\n'
    text = json.dumps({"hlo": module}).replace("@", escaped)
    assert hlotool.extract(text) == [module.rstrip().replace("@", character)]


def test_characters_outside_the_basic_plane_in_a_notebook() -> None:
    module = MODULE.replace("it's.py", "\U0001f600.py")
    (text,) = hlotool.extract(json.dumps({"a": module}))
    assert text == module
    assert hlotool.to_text(hlotool.parse(text)) == hlotool.to_text(hlotool.parse(module))


@pytest.mark.parametrize("name", AROUND)
def test_messages_have_the_positions_of_the_whole_text(name: str) -> None:
    text = AROUND[name].replace("call(%p)", "call(%q)")
    (excerpt,) = excerpts_of(text, "log")
    with pytest.raises(hlotool.ParseError) as caught:
        parse_source(excerpt.source)
    (error,) = caught.value.diagnostics
    before = text[: text.index("%q")]
    assert (error.line, error.column, error.filename) == (before.count("\n") + 1, len(before) - before.rfind("\n"), "log")


def test_a_module_need_not_have_a_header() -> None:
    add = "add {\n  x = f32[] parameter(0)\n  ROOT y = f32[] negate(x)\n}\n\n"
    body = f"{add}ENTRY e {{\n  p = f32[] parameter(0)\n  ROOT c = f32[] call(p), to_apply=add\n}}"
    (text,) = hlotool.extract(f"See:\n```\n{body}\n```\n")
    assert text == body
    assert not hlotool.extract("int main {\n  x = y(0)\n}\nHloModule is a word.\n")


def test_modules_follow_each_other() -> None:
    text = f"{MODULE}\n\n{MODULE.replace('HloModule m', 'HloModule n')}\n// -----\n{MODULE}\nHloModule is a word\n"
    assert [hlotool.parse(part).name for part in hlotool.extract(text)] == ["m", "n", "m"]


def test_old_spellings_and_gaps() -> None:
    old = MODULE.replace("add(%x, %x)", "copy(f32[2]invalid{} %x)")
    hole = MODULE.replace("  %p =", "  ...\n  %p =")
    assert hlotool.extract(f"{old}\n{hole}\n") == [old]


def test_a_truncated_module_ends_where_the_next_begins() -> None:
    cut = MODULE[: MODULE.index("ROOT %r")]
    found = excerpts(Source(f"{cut}\nHloModule n\n{MODULE}\n```\n{cut}\n```\ntext"))
    assert [(excerpt.is_cut, excerpt.source.text.split()[1].rstrip(",")) for excerpt in found] == [(True, "m"), (False, "m"), (True, "m")]


def test_positions_outside_of_an_excerpt() -> None:
    whole = Source(f"{GLOG}HloModule m\n{GLOG}ENTRY e {{\nother 1\nother 2\n{GLOG}  ROOT p = f32[] parameter(0)\n{GLOG}}}\nend\n")
    (excerpt,) = excerpts(whole)
    source = excerpt.source
    assert source.text == "HloModule m\n ENTRY e {\n   ROOT p = f32[] parameter(0)\n }"
    root = source.text.index("   ROOT")
    assert [source.line_start(line) for line in range(1, 8)] == [0, 12, root, root, root, source.text.index(" }"), len(source.text)]
    assert source.offset(3, 5) == source.offset(4, 1) == source.offset(5, len(GLOG)) == root
    assert source.offset(5, len(GLOG) + 3) == root + 3


def test_hlo_text_is_one_module_for_each_part() -> None:
    assert hlotool.extract("a { ROOT p = f32[] parameter(0) }\n// -----\nb { ROOT p = f32[] parameter(0) }") == [
        "a { ROOT p = f32[] parameter(0) }\n",
        "b { ROOT p = f32[] parameter(0) }",
    ]
    assert hlotool.extract("") == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"Log:\n{MODULE}\n", "the text contains a module inside other text (lines 2-12); read it with --extract"),
        (f"x\n{MODULE}\n{MODULE}\n", "contains 2 modules inside other text (lines 2-12, lines 13-23)"),
        (f"{MODULE}\n{MODULE}\n", "contains 2 modules (lines 1-11, lines 12-22); separate them with `// -----` lines"),
        (f"{MODULE}\nThe end.\n", "a module is on lines 1-11; if the rest does not belong to it"),
        ('"HloModule m\\n\\nENTRY e {\\n  ROOT p = f32[] parameter(0)\\n}\\n"\n', "the text contains a module inside other text (line 1)"),
        (MODULE[:-1], "the text is cut off here, inside computation 'e'"),
        (MODULE[: MODULE.index("call(")], "the text is cut off here, inside computation 'e'"),
        ("HloModule m, is_scheduled=", "the text is cut off here"),
        ("p = f32[] parameter(0)\nq = f32[] negate(p)\n", "instructions belong in a computation"),
        ("ENTRY e { p = f32[] parameter(0**) }", "Markdown emphasis"),
        ("ENTRY e { ROOT n = f32[] negate(p) }", "define it above; if this is an excerpt, complete it"),
        ("ENTRY e { a = f32[] negate(pq) ROOT n = f32[] add(rst, uvw) }", "2 names are not defined"),
        (
            "HloModule m, input_output_alias={ {1}: (0, {}) }\nadd {\n  ROOT x = f32[] parameter(0)\n}\n",
            "no computation is marked ENTRY, so the last one was used; the text may be cut off",
        ),
    ],
)
def test_hints_about_the_whole_text(text: str, words: str) -> None:
    with pytest.raises(hlotool.ParseError) as caught:
        hlotool.parse(text)
    assert words in (caught.value.diagnostics[0].hint or "")


def search(text: str) -> None:
    excerpts(Source(text))


@pytest.mark.parametrize(
    "piece",
    [
        MODULE + "\n",
        "HloModule m\n",
        "HloModule m\nENTRY e {\n",
        repr(MODULE),
        GLOG + "HloModule m\n" + GLOG + "ENTRY e {\nnoise\n",
        "ENTRY e {\n  p = f32[] parameter(0)\n",
        '"HloModule m\\n" ',
        "{" * 100 + "HloModule m ",
        "'" * 30,
        "HloModule m, entry_computation_layout={(f32[2]{0})\n",
        "HloModule a,\n",
        "HloModule a {\n",
        "HloModule a {\n{\n" + "a,\n" * 300,
    ],
)
def test_the_search_is_linear(piece: str) -> None:
    count = 20_000 // len(piece)
    assert slowdown(search, piece * count, piece * count * 8, 32, negligible=0.2) <= 32
