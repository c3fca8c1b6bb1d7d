"""Hostile input, which parses or raises ParseError in linear time, without a RecursionError."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest
from scaling import processor_seconds, slowdown

from hlotool.errors import HlotoolError, ParseError
from hlotool.ir.model import Module
from hlotool.text.parse.parser import parse
from hlotool.text.print.print_options import PrintOptions
from hlotool.text.print.printer import to_text

pytestmark = pytest.mark.usefixtures("frozen")
# The maximum factor by which the time may grow if a text becomes four times as long. It is above 4,
# since times vary.
MAX_RATIO = 6.5


def attempt(text: str | bytes) -> Module | None:
    """Parses a text and, if it is a module, prints it, and compares and hashes its root shapes."""
    try:
        module = parse(text)
    except ParseError as error:
        repr(error)
        str(error.diagnostics[0])
        return None
    assert to_text(module)
    assert to_text(module, PrintOptions.xla_default())
    repr(module)
    for computation in module.computations:
        repr(computation)
        root = computation.root
        repr(root)
        assert root.shape == root.shape
        hash(root.shape)
    return module


def entry(line: str, before: str = "") -> str:
    return f"HloModule m\n{before}ENTRY e {{\n  p = f32[] parameter(0)\n  {line}\n}}\n"


def chain(n: int) -> str:
    lines = "\n".join(f"  x{k + 1} = f32[] negate(x{k})" for k in range(n))
    return f"ENTRY e {{\n  x0 = f32[] parameter(0)\n{lines}\n}}\n"


def percent_chain(n: int) -> str:
    lines = "\n".join(f"  %x.{k + 1} = f32[] negate(%x.{k})" for k in range(n))
    return f"HloModule m\n\nENTRY %e (x.0: f32[]) -> f32[] {{\n  %x.0 = f32[] parameter(0)\n{lines}\n}}\n\n"


def nested_shape(n: int) -> str:
    return entry("q = " + "(" * n + "f32[2]{0}" + ")" * n + " parameter(1)")


def signature_shape(n: int) -> str:
    deep = "(" * n + "f32[]" + ")" * n
    return f"HloModule m, entry_computation_layout={{({deep})->{deep}}}\nENTRY e (q: {deep}) -> {deep} {{\n  q = {deep} parameter(0)\n}}\n"


def origin_of_depth(n: int) -> str:
    return entry("q = f32[] negate(p), origin={" + "(" * n + '{"a"}' + ")" * n + "}")


def misspelled_chain(n: int) -> str:
    return percent_chain(n).replace("negate", "negat", 1)


def computations(n: int) -> str:
    bodies = "\n".join(f"body{k} {{\n  ROOT a = f32[] parameter(0)\n}}" for k in range(n))
    return f"HloModule m\n{bodies}\nENTRY e {{\n  ROOT a = f32[] parameter(0)\n}}\n"


def calls(n: int) -> str:
    bodies = "\n".join(f"body{k + 1} {{\n  a = f32[] parameter(0)\n  ROOT b = f32[] call(a), to_apply=body{k}\n}}" for k in range(n))
    return f"HloModule m\nbody0 {{\n  ROOT a = f32[] parameter(0)\n}}\n{bodies}\n"


def table_rows(n: int) -> str:
    rows = '1 "a"\n' * n
    return f"HloModule m\nFileNames\n{rows}FunctionNames\nFileLocations\nStackFrames\nENTRY e {{ p = f32[] parameter(0) }}"


# Functions that return a text of size n, and the size to test. An invalid text is nested as deeply
# as possible before the error.
GROWING: dict[str, tuple[Callable[[int], str], int]] = {
    "braces": (lambda n: "{" * n, 50_000),
    "parentheses": (lambda n: "(" * n, 25_000),
    "braces of a computation": (lambda n: "HloModule m\nENTRY e " + "{" * n, 50_000),
    "open tuple shape": (lambda n: entry("q = " + "(" * n), 10_000),
    "nested tuple shape": (nested_shape, 2_500),
    "nested shapes everywhere": (signature_shape, 500),
    "nested buffers": (lambda n: entry("q = " + "b(" * n + "f32[]" + ")" * n + " parameter(1)"), 2_000),
    "open operands": (lambda n: entry("q = f32[] add" + "(" * n), 20_000),
    "nested operations": (lambda n: entry("q = f32[] " + "negate(" * n + "p" + ")" * n), 2_000),
    "nested operations with shapes": (lambda n: entry("q = f32[] " + "add(f32[] p, f32[] " * n + "negate(p)" + ")" * n), 600),
    "open operations": (lambda n: entry("q = f32[] " + "add(" * n), 5_000),
    "open literal": (lambda n: entry("q = f32[] constant(" + "{" * n), 15_000),
    "nested literal": (lambda n: entry("q = f32[2] constant(" + "{" * n + "1" + "}" * n + ")"), 50_000),
    "open tuple literal": (lambda n: entry("q = () constant(" + "(" * n), 15_000),
    "literal with many dimensions": (lambda n: entry(f"q = f32[{','.join(['1'] * n)}] constant({'{' * n}7{'}' * n})"), 2_000),
    "numbers": (lambda n: entry(f"q = f32[{n}] constant({{{', '.join(map(str, range(n)))}}})"), 100_000),
    "numbers without commas": (lambda n: entry(f"q = f32[{n}] constant({{{' '.join(['1.5'] * n)}}})"), 50_000),
    "many empty rows": (lambda n: entry(f"q = f32[{n},0] constant({{{','.join(['{}'] * n)}}})"), 20_000),
    "dimensions": (lambda n: entry(f"q = f32[{','.join(['1'] * n)}] parameter(1)"), 20_000),
    "list attribute": (lambda n: entry(f"q = f32[] transpose(p), dimensions={{{','.join(['1'] * n)}}}"), 50_000),
    "open list attribute": (lambda n: entry("q = f32[] transpose(p), dimensions=" + "{" * n), 50_000),
    "raw dictionary": (lambda n: entry("q = f32[] negate(p), backend_config=" + "{" * n + "}" * n), 50_000),
    "open raw dictionary": (lambda n: entry("q = f32[] negate(p), backend_config=" + "{" * n), 50_000),
    "raw dictionary of quotes": (lambda n: entry("q = f32[] negate(p), backend_config={" + '"' * n), 50_000),
    "unknown attribute": (lambda n: entry("q = f32[] negate(p), what=" + "{" * n), 50_000),
    "origin": (origin_of_depth, 10_000),
    "open origin": (lambda n: entry("q = f32[] negate(p), origin={" + "(" * n), 10_000),
    "open strings in a line": (lambda n: entry('q = f32[] negate(p), metadata={op_name="' + '\\"' * n), 50_000),
    "inline bodies": (lambda n: entry("q = f32[] " + "call(p), to_apply={ p = f32[] parameter(0) q = f32[] " * n), 300),
    "sharding": (lambda n: entry("q = f32[] negate(p), sharding=" + "{" * n), 50_000),
    "devices": (lambda n: entry(f"q = f32[4] parameter(1), sharding={{devices=[{n}]{','.join(map(str, range(n)))}}}"), 8_000),
    "replica groups": (lambda n: entry(f"q = f32[] all-to-all(p), replica_groups={{{','.join(f'{{{k}}}' for k in range(n))}}}"), 4_000),
    "attributes": (lambda n: entry("q = f32[] negate(p)" + "".join(f", a{k}=1" for k in range(n))), 2_000),
    "the same attribute": (lambda n: entry("q = f32[] negate(p)" + ", metadata={}" * n), 1_500),
    "metadata fields": (lambda n: entry("q = f32[] negate(p), metadata={" + 'op_name="x" ' * n + "}"), 5_000),
    "string": (lambda n: entry('q = f32[] negate(p), metadata={op_name="' + "x" * n + '"}'), 500_000),
    "open string": (lambda n: entry('q = f32[] negate(p), metadata={op_name="' + "\\n" * n), 200_000),
    "quotes": (lambda n: entry("q = f32[] negate(p), metadata={op_name=" + '"' * n), 50_000),
    "escapes": (lambda n: entry('q = f32[] negate(p), metadata={op_name="' + "\\303\\251" * n + '"}'), 25_000),
    "comment": (lambda n: "/*" + "*" * n + "/ HloModule m", 200_000),
    "open comment": (lambda n: entry("/*" + "/*" * n), 150_000),
    "open comments in a line": (lambda n: entry("q = f32[] negate(p) " + "/* " * n), 50_000),
    "slashes": (lambda n: entry("/" * n), 200_000),
    "stars": (lambda n: entry("q = f32[2]{0:T(" + "*," * n), 8_000),
    "line comments": (lambda n: entry("// x\n" * n), 50_000),
    "spaces": (lambda n: " \t\n" * n, 150_000),
    "spaces in a line": (lambda n: entry("q = f32[]" + " " * n + "negate(p)"), 200_000),
    "line ends without instructions": (lambda n: entry("\n" * n), 200_000),
    "word": (lambda n: "a" * n, 200_000),
    "digits": (lambda n: entry("q = f32[" + "1" * n + "] parameter(1)"), 100_000),
    "zeros": (lambda n: entry("q = s32[] constant(" + "0" * n + ")"), 100_000),
    "dim labels": (lambda n: entry("q = f32[] convolution(p, p), dim_labels=" + "0" * n), 100_000),
    "padding": (lambda n: entry("q = f32[] pad(p, p), padding=" + "x".join(["0_0"] * n)), 20_000),
    "window": (lambda n: entry("q = f32[] reduce-window(p, p), window={size=" + "x".join(["1"] * n) + "}"), 20_000),
    "operands": (lambda n: entry("q = () tuple(" + ", ".join(["p"] * n) + ")"), 4_000),
    "empty operands": (lambda n: entry("q = () tuple(" + "," * n + ")"), 15_000),
    "tuple elements": (lambda n: entry("q = tuple(" + ", ".join(["p"] * n) + ")"), 10_000),
    "paths": (lambda n: entry("q = f32[] negate(p" + "#0" * n + ")"), 10_000),
    "headers": (lambda n: "HloModule m\n" * n, 6_000),
    "module attributes": (lambda n: "HloModule m" + ", replica_count=1" * n, 10_000),
    "aliases": (lambda n: f"HloModule m, input_output_alias={{{', '.join(['{}: (0, {})'] * n)}}}\nENTRY e {{ p = f32[] parameter(0) }}", 2_000),
    "table rows": (table_rows, 6_000),
    "closing braces": (lambda n: entry("}\n" * n), 20_000),
    "computation headers": (lambda n: "HloModule m\n" + "ENTRY e {\n" * n, 5_000),
    "broken lines": (lambda n: entry("\n".join(f"q{k} = f32[] negat(p)" for k in range(n))), 500),
    "broken syntax": (lambda n: entry("\n".join(f"q{k} = f32[ negate(p)" for k in range(n))), 2_000),
    "chain": (chain, 5_000),
    "chain in one line": (lambda n: chain(n).replace("\n", " "), 400),
    "computations in one line": (lambda n: computations(n).replace("\n", " "), 500),
    "chain as printed": (percent_chain, 6_000),
    "computations": (computations, 4_000),
    "calls": (calls, 1_500),
    "undefined operands": (lambda n: entry("q = () tuple(" + ", ".join(f"z{k}" for k in range(n)) + ")"), 5_000),
    "unknown words": (lambda n: entry("\n".join(f"q{k} = f32[] negate(z{k})" for k in range(n))), 300),
    "form feeds": (lambda n: "\f" * n, 50_000),
    "zero bytes": (lambda n: "\0" * n, 50_000),
    "zero bytes in a body": (lambda n: entry("\0" * n), 50_000),
}


VALID = ("nested tuple shape", "nested shapes everywhere", "nested operations", "numbers", "chain", "chain as printed", "computations", "calls")


@pytest.mark.parametrize("name", VALID)
def test_growing_texts_are_valid(name: str) -> None:
    assert attempt(GROWING[name][0](100)) is not None


@pytest.mark.parametrize("name", GROWING)
def test_time_is_linear(name: str) -> None:
    make, size = GROWING[name]
    assert slowdown(attempt, make(size // 2), make(2 * size), MAX_RATIO) <= MAX_RATIO


# ---- large and strange ------------------------------------------------------------------------------------------------

LARGE: dict[str, Callable[[], str | bytes]] = {
    "100,000 braces": lambda: "{" * 100_000,
    "100,000 braces in an attribute": lambda: entry("q = f32[] transpose(p), dimensions=" + "{" * 100_000),
    "100,000 braces in a literal": lambda: entry("q = f32[] constant(" + "{" * 100_000),
    "100,000 parentheses of operands": lambda: entry("q = f32[] add" + "(" * 100_000),
    "100,000 parentheses of a shape": lambda: entry("q = " + "(" * 100_000),
    "tuple shape 50,000 deep": lambda: nested_shape(50_000),
    "chain of 30,000 operands": lambda: percent_chain(30_000),
    "100,000 instructions that need a broken one": lambda: misspelled_chain(100_000),
    "20,000 nested instructions": lambda: entry("q = f32[] " + "add(p, " * 20_000 + "p" + ")" * 20_000),
    "30,000 computations": lambda: computations(30_000),
    "line of 20 MB": lambda: entry('q = f32[] negate(p), metadata={op_name="' + "x" * 20_000_000 + '"}'),
    "line of 20 MB that does not end": lambda: entry('q = f32[] negate(p), metadata={op_name="' + "x" * 20_000_000),
    "line of 20 MB of spaces": lambda: entry("q = f32[]" + " " * 20_000_000 + "negate(p)"),
    "empty layouts after a long word": lambda: "x = " + "a" * 2_000_000 + "[" + "]{}," * 70,
    "literal with a million numbers": lambda: entry(f"q = f32[1000,1000] constant({{{', '.join(['{' + ', '.join(['1.25'] * 1000) + '}'] * 1000)}}})"),
    "literal with a million numbers too many": lambda: entry(f"q = f32[10] constant({{{','.join(['1'] * 1_000_000)}}})"),
}


@pytest.mark.parametrize("name", LARGE)
def test_large_texts(name: str) -> None:
    text = LARGE[name]()
    assert processor_seconds(attempt, text) < 10


def test_an_error_costs_less_than_the_text() -> None:
    """Checks that hints are searched for only near the error."""
    lines = [f'  %x.{k} = f32[8]{{0}} negate(%p), metadata={{op_name="a/{k}" source_file="x.py"}}\n' for k in range(60_000)]
    whole = "HloModule m\n\nENTRY %e (p: f32[8]) -> f32[8] {\n  %p = f32[8]{0} parameter(0)\n" + "".join(lines) + "}\n"
    wrong = whole.replace("%x.30000 = f32[8]{0} negate", "%x.30000 = f32[8]{0} negat")

    def parse_or_fail(text: str) -> None:
        with suppress(ParseError):
            parse(text)

    assert slowdown(parse_or_fail, whole, wrong, 2) <= 2


STRANGE: dict[str, str | bytes] = {
    "empty": "",
    "empty bytes": b"",
    "zero byte": "\0",
    "zero byte in a name": entry("q\0 = f32[] negate(p)"),
    "zero byte in a string": entry('q = f32[] negate(p), metadata={op_name="a\0b"}'),
    "zero byte in a comment": entry("// \0"),
    "form feed": entry("q = f32[]\fnegate(p)"),
    "vertical tab": entry("q = f32[]\vnegate(p)"),
    "no-break space": entry("q = f32[]\u00a0negate(p)"),
    "letter outside ASCII": entry("é = f32[] negate(p)"),
    "digit outside ASCII": entry("q = f32[٣] parameter(1)"),
    "lone surrogate": entry("q = f32[] negate(p) \ud800"),
    "lone surrogate in a string": entry('q = f32[] negate(p), metadata={op_name="\ud800"}'),
    "lone surrogate in a comment": entry("// \ud800"),
    "bytes that are not UTF-8": b"\xff\xfe\x00\x01",
    "bytes that are not UTF-8 in a string": b'ENTRY e { p = f32[] parameter(0), metadata={op_name="\xff\xfe"} }',
    "bytes that are not UTF-8 in a dictionary": b"ENTRY e { p = f32[] parameter(0), backend_config={\xff\xfe} }",
    "byte-order mark": "\ufeffENTRY e { p = f32[] parameter(0) }",
    "byte-order mark alone": b"\xef\xbb\xbf",
    "UTF-16": "ENTRY e { p = f32[] parameter(0) }".encode("utf-16"),
    "carriage returns only": "HloModule m\r\rENTRY e {\r  p = f32[] parameter(0) // c\r  ROOT q = f32[] negate(p)\r}\r",
    "line separator": "ENTRY e {\u2028 p = f32[] parameter(0) }",
    "string that never ends": 'ENTRY e { p = f32[] parameter(0), metadata={op_name="x',
    "single quote that never ends": "ENTRY e { p = f32[] parameter(0), metadata={op_name='x",
    "backslash at the end": 'ENTRY e { p = f32[] parameter(0), metadata={op_name="x\\',
    "comment that never ends": "ENTRY e { p = f32[] parameter(0) } /* x",
    "slash at the end": "ENTRY e { p = f32[] parameter(0) } /",
    "percent at the end": "ENTRY %",
    "huge parameter number": entry("q = f32[] parameter(18446744073709551616)"),
    "large parameter number": entry("q = f32[] parameter(9223372036854775807)"),
    "huge tuple index": entry("q = f32[] get-tuple-element(p), index=99999999999999999999999"),
    "huge dimension": entry("q = f32[9223372036854775807,9223372036854775807] parameter(1)"),
    "huge iota sharding": entry("q = f32[4] parameter(1), sharding={devices=[4611686018427387904,4]<=[4611686018427387904,4]}"),
    "huge replica groups": entry("q = f32[] all-to-all(p), replica_groups=[9223372036854775807,9223372036854775807]<=[9223372036854775807]"),
    "huge escape": entry('q = f32[] negate(p), metadata={op_name="\\x' + "f" * 10_000 + '"}'),
    "many digits": entry("q = s32[] constant(" + "9" * 10_000 + ")"),
    "many digits of a float": entry("q = f64[] constant(1." + "9" * 10_000 + "e-5000)"),
    "huge exponent": entry("q = f64[] constant(1e" + "9" * 10_000 + ")"),
    "huge payload": entry("q = f64[] constant(nan(0x" + "f" * 10_000 + "))"),
    "huge window": entry("q = f32[] reduce-window(p, p), window={size=" + "9" * 5_000 + "x1}"),
    "huge padding": entry("q = f32[] pad(p, p), padding=" + "9" * 5_000 + "_0"),
    "huge statistics": entry("q = f32[] negate(p), statistics={visualizing_index=1,x=" + "9" * 5_000 + "}"),
    "huge epsilon": entry("q = f32[] batch-norm-training(p, p, p), epsilon=1e999999, feature_index=0"),
    "huge tolerance": entry("q = f32[] tanh(p), result_accuracy={tolerance={ulps=" + "9" * 5_000 + "}}"),
    "tolerance without a number": entry("q = f32[] tanh(p), result_accuracy={tolerance={ulps=nan}}"),
    "endless tolerance": entry("q = f32[] tanh(p), result_accuracy={tolerance={ulps=inf}}"),
    "huge sparsity": entry("q = f32[] convolution(p, p), dim_labels=bf_io->bf, sparsity_config={lhs={sparsity=" + "9" * 5_000 + "x1}}"),
    "sparse shape without commas": entry("q = f32[2 3]sparse{1} constant({[0]: 5})"),
    "sparse literal without an index": entry("q = f32[2,3]sparse{1} constant({[,]: 5})"),
    "sparse literal without commas": entry("q = f32[2,3]sparse{1} constant({[1 0]: 5})"),
    "sparse literal with half an index": entry("q = f32[2,3]sparse{1} constant({[0,]: 5})"),
    "sparse literal with a huge index": entry("q = f32[2]sparse{1} constant({" + "9" * 5_000 + ": 5})"),
    "sparse literal with a huge index in a list": entry("q = f32[2,3]sparse{1} constant({[0," + "9" * 5_000 + "]: 5})"),
    "sparse shape with a huge dimension": entry("q = f32[" + "9" * 5_000 + "]sparse{1} constant({})"),
    "sparse shape with a large and an empty dimension": entry("q = f32[999999999999,0]sparse{1} constant({})"),
}


@pytest.mark.parametrize("name", STRANGE)
def test_strange_texts(name: str) -> None:
    attempt(STRANGE[name])


def test_carriage_returns_alone_end_lines() -> None:
    module = parse(STRANGE["carriage returns only"])
    assert [x.name for x in module.entry.instructions] == ["p", "q"]


@pytest.mark.parametrize("end", range(0, 400, 7))
def test_half_a_file(end: int) -> None:
    text = percent_chain(3) + computations(2) + entry('q = f32[2] constant({1, 2}), metadata={op_name="x" source_line=3}, backend_config={"a":[1]}')
    attempt(text[:end])


def tuple_literal_of_depth(n: int) -> str:
    return entry("q = " + "(" * n + "f32[]" + ")" * n + " constant(" + "(" * n + "1" + ")" * n + ")")


DEEP = {"shape": nested_shape(20_000), "origin": origin_of_depth(20_000), "literal": tuple_literal_of_depth(5_000)}


@pytest.mark.parametrize("name", DEEP)
def test_deep_values_are_ordinary_values(name: str) -> None:
    first, second = (parse(DEEP[name]).entry.root for _ in range(2))
    for a, b in ((first.shape, second.shape), (first.immediate, second.immediate), (first.attributes.get("origin"), second.attributes.get("origin"))):
        assert a == b
        assert hash(a) == hash(b)
        assert repr(a) == repr(b)


PRESETS = {
    "lossless": PrintOptions(),
    "XLA's own": PrintOptions.xla_default(),
    "short": PrintOptions.short_parsable(),
    "canonical": PrintOptions.canonical(),
    "fingerprint": PrintOptions.fingerprint(),
}


@pytest.mark.parametrize("name", PRESETS)
def test_deep_calls_print(name: str) -> None:
    module, options = parse(calls(2_000)), PRESETS[name]
    if options.print_subcomputation_mode != "full":
        assert to_text(module, options)
        return
    with pytest.raises(HlotoolError, match="nested too deeply"):
        to_text(module, options)
