"""Tests of the public functions in unusual processes.

The processes run several threads, fork, optimize Python code (`-O`), turn warnings into errors, or
have no standard streams.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hlotool.collection import no_garbage_collection

ROOT = Path(__file__).resolve().parents[1]

# This code uses each public name for its purpose; a public name without a use here is an error.
USES = r'''
import os, sys, tempfile
import hlotool

# Large enough to be computed with several threads.
LARGE = """ENTRY e { p = f32[] parameter(0) x = f32[2048,2048] broadcast(p), dimensions={} s = f32[2048,2048] sqrt(x)
  y = f32[2048,2048] multiply(s, s) z = f32[2048,2048] subtract(y, x) o = f32[] constant(1) n = f32[2048,2048] broadcast(o), dimensions={}
  u = f32[2048,2048] add(x, n) ROOT r = f32[2048,2048] add(u, z) }"""

TEXT = """HloModule m

body {
  p = (s32[], f32[4]) parameter(0)
  k = s32[] get-tuple-element(p), index=0
  one = s32[] constant(1)
  n = s32[] add(k, one)
  x = f32[4] get-tuple-element(p), index=1
  y = f32[4] sine(x)
  ROOT r = (s32[], f32[4]) tuple(n, y)
}

condition {
  p = (s32[], f32[4]) parameter(0)
  k = s32[] get-tuple-element(p), index=0
  ten = s32[] constant(10)
  ROOT c = pred[] compare(k, ten), direction=LT
}

ENTRY e {
  zero = s32[] constant(0)
  p = f32[4] parameter(0)
  t = (s32[], f32[4]) tuple(zero, p)
  w = (s32[], f32[4]) while(t), condition=condition, body=body
  ROOT r = f32[4] get-tuple-element(w), index=1
}
"""
REDUCE = """add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }
ENTRY e { p = f32[4] parameter(0) ROOT r = f32[4] all-reduce(p), replica_groups={}, to_apply=add }"""
CUSTOM = 'ENTRY e { p = f32[4] parameter(0) ROOT r = f32[4] custom-call(p), custom_call_target="mine" }'
OUTFEED = "ENTRY e { p = f32[4] parameter(0) t = token[] after-all() ROOT o = token[] outfeed(p, t) }"
WRONG = "ENTRY e { p = f32[4] parameter(0) ROOT c = f32[5] negate(p) }"
VALUES = [1.0, 2.0, 3.0, 4.0]


def fails(error, function, *arguments):
    try:
        function(*arguments)
    except error as caught:
        return str(caught) != ""
    return False


def parse_file():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.hlo")
        with open(path, "w", encoding="utf-8") as file:
            file.write(TEXT)
        return hlotool.parse_file(path).name == "m"


def custom_call():
    options = hlotool.RunOptions(custom_calls={"mine": lambda x, call: 2 * x})
    return hlotool.evaluate(hlotool.parse(CUSTOM), [VALUES], options=options).tolist() == [2.0, 4.0, 6.0, 8.0]


def queues():
    queues = hlotool.HostQueues()
    value = hlotool.evaluate(hlotool.parse(OUTFEED), [VALUES], options=hlotool.RunOptions(queues=queues))
    return value == hlotool.Token() and queues.outfeed[0].tolist() == VALUES


def threads():
    x = hlotool.evaluate(hlotool.parse(LARGE), [2.0], options=hlotool.RunOptions(threads=2))
    return x.shape == (2048, 2048) and x[0, 0] == x[-1, -1] > 2.9


def rewritten():
    module = hlotool.parse("ENTRY e { p = f32[4] parameter(0) a = f32[4] negate(p) ROOT b = f32[4] negate(a) }")
    p, a, b = module.entry.instructions
    with hlotool.Rewriter(module) as rewriter:
        rewriter.replace_all_uses(b, p)
        rewriter.erase(b)
        rewriter.erase(a)
    return module.entry.instructions == [p]


def replicas():
    first, second = hlotool.evaluate_replicas(hlotool.parse(REDUCE), [[VALUES], [VALUES]])
    return first.tolist() == second.tolist() == [2.0, 4.0, 6.0, 8.0]


class Staged:
    """The part of jax.jit's result that `from_jax` uses."""

    def lower(self, *arguments):
        return self

    def compile(self):
        return self

    def as_text(self, dialect="hlo", debug_info=False):
        return TEXT


def diagnostics():
    return [d.code for d in hlotool.verify(hlotool.parse(WRONG)) if isinstance(d, hlotool.Diagnostic)] == ["T003"]


def built():
    b = hlotool.Builder("m")
    x = b.parameter(0, "f32[4]", "x")
    return hlotool.evaluate(b.build(b.reduce(2 * x, 0.0, lambda a, b: a + b, [0])), [VALUES]) == 20.0


def code():
    namespace = {}
    exec(hlotool.to_python(hlotool.parse(TEXT)), namespace)
    return hlotool.to_text(namespace["module"]) == hlotool.to_text(hlotool.parse(TEXT))


def types():
    module = hlotool.parse(TEXT)
    literal = next(x.literal for x in module.all_instructions() if x.literal is not None)
    made = (module, module.entry, module.entry.root, hlotool.shape("f32[2]{0}").layout, literal, hlotool.diff(module, module))
    kinds = (hlotool.Module, hlotool.Computation, hlotool.Instruction, hlotool.Layout, hlotool.Literal, hlotool.Delta)
    built = hlotool.Builder("m").parameter(0, "f32[4]", "x")
    return all(map(isinstance, made, kinds)) and isinstance(built, hlotool.Op) and isinstance(built.shape, hlotool.Shape) and (
        isinstance(hlotool.compile(module), hlotool.CompiledModule) and isinstance(hlotool.optimize(module), hlotool.OptimizedModule)
    )


def rewritten_badly():
    module = hlotool.parse(TEXT)
    with hlotool.Rewriter(module) as rewriter:
        rewriter.insert("negate", [module.entry.root], shape="nonsense", into=module.entry)


USES = {
    "Builder": built,
    "BuilderError": lambda: fails(hlotool.BuilderError, hlotool.Builder("m").add, 1.0, [True]),
    "__version__": lambda: hlotool.__version__.count(".") == 2,
    "CustomCall": custom_call,
    "Diagnostic": diagnostics,
    "EvaluationError": lambda: fails(hlotool.EvaluationError, hlotool.evaluate, hlotool.parse(CUSTOM), [VALUES]),
    "FormatStyle": lambda: "\n" in hlotool.format_text(WRONG, hlotool.FormatStyle(width=40)),
    "HlotoolError": lambda: fails(hlotool.HlotoolError, hlotool.parse, "ENTRY"),
    "HostQueues": queues,
    "ParseError": lambda: fails(hlotool.ParseError, hlotool.parse, "ENTRY e { ROOT x = f32[] nonsense() }"),
    "PrintOptions": lambda: "%" not in hlotool.to_text(hlotool.parse(TEXT), hlotool.PrintOptions.short_parsable()),
    "Rewriter": rewritten,
    "RunOptions": threads,
    "Token": queues,
    "OptimizeOptions": lambda: hlotool.to_text(hlotool.optimize(hlotool.parse(TEXT), options=hlotool.OptimizeOptions(bisect_limit=0))) != "",
    "apply_patch": lambda: not hlotool.diff(hlotool.apply_patch(hlotool.parse(TEXT), ""), hlotool.parse(TEXT)),
    "diff": lambda: not hlotool.diff(hlotool.parse(TEXT), hlotool.parse(TEXT)),
    "optimize": lambda: hlotool.optimize(hlotool.parse(TEXT)).entry is not None,
    **dict.fromkeys("Module Computation Instruction Shape Layout Literal CompiledModule OptimizedModule Op Delta".split(), types),
    "EditError": lambda: fails(hlotool.EditError, rewritten_badly),
    "GraphError": lambda: fails(hlotool.GraphError, hlotool.to_graph, hlotool.parse(TEXT), "dot", hlotool.GraphOptions(around="missing")),
    "Patch": lambda: not hlotool.Patch(""),
    "PatchError": lambda: fails(hlotool.PatchError, hlotool.Patch, "no patch"),
    "canonical_text": lambda: hlotool.canonical_text(hlotool.parse(TEXT)).startswith("HloModule m"),
    "hash_module": lambda: hlotool.hash_module(hlotool.parse(TEXT)).startswith("hlo1:"),
    "hash_computations": lambda: len(hlotool.hash_computations(hlotool.parse(TEXT))) == 3,
    "shape": lambda: hlotool.shape("(s32[], bf16[2,3]{0,1})").elements[1].dimensions == (2, 3),
    "VerifyModes": lambda: hlotool.verify(hlotool.parse(TEXT), hlotool.VerifyModes(layout_sensitive=True)) == [],
    "compile": lambda: hlotool.compile(hlotool.parse(TEXT))(VALUES).shape == (4,),
    "evaluate": lambda: hlotool.evaluate(hlotool.parse(TEXT), [VALUES]).shape == (4,),
    "evaluate_replicas": replicas,
    "extract": lambda: hlotool.extract("I0101 a log\nHloModule m\n\n" + TEXT.strip() + "\n") != [],
    "from_jax": lambda: hlotool.from_jax(Staged(), VALUES).name == hlotool.from_jax(Staged(), VALUES, optimized=True).name == "m",
    "format_text": lambda: hlotool.format_text(TEXT) == hlotool.format_text(hlotool.format_text(TEXT)),
    "parse": lambda: len(hlotool.parse(TEXT).computations) == 3,
    "parse_all": lambda: len(hlotool.parse_all(TEXT + "\n// -----\n" + TEXT)) == 2,
    "parse_file": parse_file,
    "GraphOptions": lambda: hlotool.to_graph(hlotool.parse(TEXT), "dot", hlotool.GraphOptions(around="r", expand="none")).count("label=") == 3,
    "to_graph": lambda: hlotool.to_graph(hlotool.parse(TEXT), "dot").startswith("digraph"),
    "to_html": lambda: hlotool.to_html(hlotool.parse(TEXT)).startswith("<pre") and ">sine<" in hlotool.parse(TEXT)._repr_html_(),
    "to_python": code,
    "to_text": lambda: hlotool.to_text(hlotool.parse(hlotool.to_text(hlotool.parse(TEXT)))) == hlotool.to_text(hlotool.parse(TEXT)),
    "verify": lambda: hlotool.verify(hlotool.parse(TEXT)) == [],
}


def check():
    """Returns the public names that fail."""
    return [name for name in hlotool.__all__ if not USES[name]()]
'''

SERIAL = USES + "\nfailed = check()\n"
THREADS = (
    USES
    + r"""

import threading

# Threads switch often enough that race conditions would show.
sys.setswitchinterval(1e-5)
names = sorted(hlotool.__all__) * 2
failed = []
start = threading.Barrier(8)


def work(k):
    start.wait()
    # Each thread begins with a different name, so that imports happen and tables are built at the
    # same time.
    for name in names[k * 5 :] + names[: k * 5]:
        try:
            if not USES[name]():
                failed.append(name)
        except BaseException as error:
            failed.append(f"{name}: {error!r}")


threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
import gc

if not gc.isenabled():
    failed.append("the garbage collector is off")
"""
)
FORKED = (
    USES
    + r"""
import gc, threading, warnings

# Python warns about forking while other threads run, which is exactly what this script tests.
warnings.simplefilter("ignore", DeprecationWarning)
failed = []
children = []


def fork():
    child = os.fork()
    if child == 0:
        # A child process that hangs counts as a failure.
        import signal

        signal.alarm(100)
        os._exit(1 if check() or not gc.isenabled() else 0)
    children.append(child)


# The process forks before anything is loaded, and again while other threads run. Python itself
# hangs if a thread imports a module while another thread forks, so everything is loaded by then.
fork()
failed += check()
stop = threading.Event()
module = hlotool.parse(TEXT)


def work():
    while not stop.is_set():
        hlotool.verify(hlotool.parse(TEXT))
        hlotool.to_text(module)


threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads:
    thread.start()
for _ in range(10):
    fork()
failed += [status for child in children if (status := os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))]
stop.set()
for thread in threads:
    thread.join()
"""
)
WITHOUT_STREAMS = "import sys\nsys.stdin = sys.stdout = sys.stderr = None\n" + SERIAL


def run(script: str, *options: str) -> None:
    ending = "\nimport os\nif failed:\n    os.write(2, repr(failed).encode())\nos._exit(len(failed) > 0)\n"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.run(
        [sys.executable, *options, "-c", script + ending], env=environment, stderr=subprocess.PIPE, text=True, timeout=240, check=False
    )
    assert process.returncode == 0, process.stderr


@pytest.mark.parametrize("options", [(), ("-O",), ("-OO",), ("-W", "error"), ("-X", "dev", "-W", "error")], ids=" ".join)
def test_every_public_name(options: tuple[str, ...]) -> None:
    run(SERIAL, *options)


def test_without_streams() -> None:
    run(WITHOUT_STREAMS)


@pytest.mark.parametrize("attempt", range(3))
def test_in_threads(attempt: int) -> None:
    run(THREADS)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_after_fork() -> None:
    run(FORKED)


def test_overlapping_pauses_of_the_garbage_collector() -> None:
    """Checks that the garbage collector is turned on only when the last thread ends its pause."""
    assert gc.isenabled()
    inner = no_garbage_collection()
    with ThreadPoolExecutor(1) as pool:
        with no_garbage_collection():
            pool.submit(inner.__enter__).result()
        assert not gc.isenabled()
        pool.submit(inner.__exit__, None, None, None).result()
    assert gc.isenabled()


def test_pauses_of_the_garbage_collector_in_many_threads() -> None:
    def work() -> bool:
        for _ in range(300):
            with no_garbage_collection():
                if gc.isenabled():
                    return False
        return True

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            results = list(pool.map(lambda _: work(), range(8)))
    finally:
        sys.setswitchinterval(interval)
    assert results == [True] * 8
    assert gc.isenabled()
