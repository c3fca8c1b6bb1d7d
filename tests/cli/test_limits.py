"""Limits of memory, time and size, and signals, which end commands in every phase.

A command that is ended leaves nothing behind.
"""

from __future__ import annotations

import gzip
import lzma
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

import hlotool
from hlotool.errors import Violation
from hlotool.interp.engine.memory_estimate import default_limit
from hlotool.workspace.workers import map_in_order

ROOT = Path(__file__).resolve().parents[2]
# Each instruction takes several seconds, during which NumPy does not return to Python.
SLOW = """ENTRY e {
  z = f32[] constant(0)
  a = f32[6000,6000] broadcast(z), dimensions={}
  b = f32[6000,6000] sine(a)
  c = f32[6000,6000] dot(b, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  d = f32[6000,6000] dot(c, c), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT e = f32[6000,6000] dot(d, d), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
"""
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory that a process allocates")


def start(*arguments: str | Path, program: tuple[str, ...] = ("-m", "hlotool"), **options: object) -> subprocess.Popen[str]:
    command = [sys.executable, *program, *map(str, arguments)]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, start_new_session=True, **pipes, **options)  # type: ignore[call-overload,no-any-return]


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]


def descendants_of(pid: int) -> list[int]:
    """Returns all descendants of a process."""
    children = children_of(pid)
    return [*children, *(process for child in children for process in descendants_of(child))]


def until(condition: Callable[[], object], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the condition did not become true in time"
        time.sleep(0.02)


# ---- signals ----------------------------------------------------------------------------------------------------------


@on_linux
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_run_inside_an_instruction(tmp_path: Path, number: int, code: int) -> None:
    path = tmp_path / "m.hlo"
    path.write_text(SLOW)
    process = start("run", path, "--trace", "b")
    assert process.stdout is not None
    # The first matrix product begins after this line of output, and takes longer than the test
    # waits.
    process.stdout.readline()
    time.sleep(0.2)
    process.send_signal(number)
    process.communicate(timeout=20)
    assert process.returncode == code


# A module whose import takes a minute, even after Ctrl-C.
STUBBORN = """import time
end = time.monotonic() + 60
while time.monotonic() < end:
    try:
        print("waiting", flush=True)
        time.sleep(end - time.monotonic())
    except KeyboardInterrupt:
        pass
"""


def start_with_handler(folder: Path, *options: str) -> subprocess.Popen[str]:
    (folder / "stubborn.py").write_text(STUBBORN)
    path = folder / "m.hlo"
    path.write_text("ENTRY e {\n  ROOT p = f32[] parameter(0)\n}\n")
    return start("run", path, "--custom-call", "target=stubborn:handler", *options, cwd=folder)


@on_linux
def test_a_signal_ends_the_import_of_a_handler(tmp_path: Path) -> None:
    process = start_with_handler(tmp_path)
    assert process.stdout is not None
    assert process.stdout.readline() == "waiting\n"
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode == 130


@pytest.fixture
def slow_files(tmp_path: Path) -> Path:
    text = "HloModule m\nENTRY e {\n  p = f32[] parameter(0)\n" + "".join(f"  x{k}  = f32[] negate(p)\n" for k in range(60_000)) + "}\n"
    for k in range(4):
        (tmp_path / f"m{k}.hlo").write_text(text)
    return tmp_path


@on_linux
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_all_workers(slow_files: Path, number: int) -> None:
    process = start("fmt", "-j", "2", slow_files)
    until(lambda: len(children_of(process.pid)) == 2)
    workers = children_of(process.pid)
    process.send_signal(number)
    process.communicate(timeout=20)
    assert process.returncode == {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -9}[number]
    until(lambda: not any(map(is_running, workers)), 10)
    assert [path.name for path in slow_files.iterdir() if path.suffix != ".hlo"] == []


@on_linux
@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_every_start_method_of_workers(slow_files: Path, method: str) -> None:
    # A new process is needed, since the start method of a process cannot be changed.
    lines = ("import multiprocessing", f"multiprocessing.set_start_method('{method}')", "from hlotool.cli.main import main", "main()")
    program = ("-c", "\n".join(lines))
    process = start("fmt", "-j", "2", slow_files, program=program)
    # With forkserver, the fork server and the resource tracker start before the workers.
    until(lambda: len(descendants_of(process.pid)) == {"fork": 2, "forkserver": 4, "spawn": 3}[method])
    descendants = descendants_of(process.pid)
    process.kill()
    process.communicate(timeout=20)
    until(lambda: not any(map(is_running, descendants)), 10)
    for path in slow_files.iterdir():
        path.write_text("ENTRY e {\n  ROOT  p = f32[] parameter(0)\n}\n")
    process = start("fmt", "-j", "2", slow_files, program=program)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, "4 files reformatted" in errors) == (0, True), errors


def size_or_death(name: str, setting: int) -> str:
    if name == "bad":
        os.kill(os.getpid(), signal.SIGKILL)
    return f"{name} {setting}"


def test_a_worker_that_dies_affects_only_its_file() -> None:
    files = [(name, k) for k, name in enumerate(["a", "bad", "b", "bad", "c", "d"])]
    results = list(map_in_order(size_or_death, files, 2, lambda name, reason: f"{name}: {reason.partition(',')[0]}"))
    lost = "bad: its process was killed by signal 9"
    assert results == ["a 0", lost, "b 2", lost, "c 4", "d 5"]


# ---- time -------------------------------------------------------------------------------------------------------------


def rows(n: int) -> str:
    return "ENTRY e {\n  p = f32[] parameter(0)\n" + "".join(f"  x{k} = f32[] negate(p)\n" for k in range(n)) + "}\n"


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (rows(100_000), ()),
        ("ENTRY e { ROOT p = f32[300000000] parameter(0) }", ("--max-memory", "8G")),
        ("ENTRY e { ROOT p = f32[100] parameter(0) }", ("--replicas", "1000000", "--max-memory", "8G")),
        ("ENTRY e { ROOT p = s32[4000000] iota(), iota_dimension=0 }", ("--json", "--max-memory", "8G")),
    ],
    ids=["verifying", "drawing", "replicas", "output"],
)
def test_the_timeout_covers_every_phase(tmp_path: Path, text: str, options: tuple[str, ...]) -> None:
    path = tmp_path / "m.hlo"
    path.write_text(text)
    started = time.monotonic()
    process = start("run", path, "--timeout", "0.3", *options)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "the run took longer than 0.3 s" in errors
    assert time.monotonic() - started < 20


def test_the_timeout_covers_the_import_of_a_handler(tmp_path: Path) -> None:
    process = start_with_handler(tmp_path, "--timeout", "0.3")
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 2
    assert "the run took longer than 0.3 s" in errors


# ---- memory and size --------------------------------------------------------------------------------------------------


@on_linux
def test_memory_beyond_the_estimate_is_limited_too() -> None:
    # A new process is needed, since this process may hold freed memory that it can use again.
    lines = (
        "from hlotool.interp.engine.allocation import memory_limit",
        "try:",
        "    with memory_limit(100 << 20):",
        "        bytearray(50 << 20)",
        "        print('small')",
        "        bytearray(200 << 20)",
        "except MemoryError:",
        "    print('refused')",
        "bytearray(200 << 20)",
    )
    result = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True
    )
    assert result.stdout.split() == ["small", "refused"]


@on_linux
@pytest.mark.parametrize(("cached", "expected"), [(3 << 30, 0.8 * 3.5 * (1 << 30)), (0, 0.8 * (1 << 29)), (None, 0.8 * (1 << 29))])
def test_the_page_cache_of_a_container_counts_as_available(monkeypatch: pytest.MonkeyPatch, cached: int | None, expected: float) -> None:
    files = {
        "/proc/meminfo": "MemAvailable: 67108864 kB\n",
        "/sys/fs/cgroup/memory.max": str(4 << 30),
        "/sys/fs/cgroup/memory.current": str((4 << 30) - (1 << 29)),
        "/sys/fs/cgroup/memory.stat": "anon 5\n" if cached is None else f"anon 5\ninactive_file {cached}\nactive_file 7\n",
    }
    monkeypatch.setattr(Path, "read_text", lambda path, encoding: files[str(path)])
    monkeypatch.setattr(os, "sysconf", lambda name: 1 << 20)
    assert default_limit() == int(expected)


@on_linux
def test_the_default_limit_leaves_memory_for_others() -> None:
    limit = default_limit()
    assert limit is not None
    assert 0 < limit < os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * 0.81


VIEW = "ENTRY e { z = f32[] constant(0) ROOT q = f32[100000000] broadcast(z), dimensions={} }"
GREEDY = {
    "a view as the result": VIEW,
    "narrow floats": "ENTRY e { p = f8e4m3fn[100000000] parameter(0) ROOT q = f8e4m3fn[100000000] sine(p) }",
    "random numbers": "ENTRY e { z = f32[] constant(0) ROOT q = f32[40000000] rng(z, z), distribution=rng_uniform }",
    "erf": "ENTRY e { p = f32[40000000] parameter(0) ROOT q = f32[40000000] erf(p) }",
    "comparator": """less { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = pred[] compare(a, b), direction=LT }
      ENTRY e { p = f32[40000000] parameter(0) ROOT q = f32[40000000] sort(p), dimensions={0}, to_apply=less }""",
}


@pytest.mark.parametrize("name", GREEDY)
def test_the_memory_limit_counts(tmp_path: Path, name: str) -> None:
    path = tmp_path / "m.hlo"
    path.write_text(GREEDY[name])
    process = start("run", path, "--max-memory", "200M")
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 2, errors
    assert "memory" in errors
    assert "internal error" not in errors


def test_memory_of_both_compared_modules_counts(tmp_path: Path, cli: Callable[..., object]) -> None:
    path = tmp_path / "m.hlo"
    path.write_text("ENTRY e { ROOT c = s8[1000000] constant(1) }")
    result = cli("diff", "--semantic", "--max-memory", "5M", path, path)
    assert (result.exit_code, "in addition to 3.8 MiB for the other module" in result.stderr) == (2, True)  # type: ignore[attr-defined]
    assert cli("diff", "--semantic", "--max-memory", "8M", path, path).exit_code == 0  # type: ignore[attr-defined]


COMPRESSED: dict[str, Callable[[bytes], bytes]] = {"": bytes, ".gz": gzip.compress, ".xz": partial(lzma.compress, preset=0)}


@pytest.mark.parametrize("ending", COMPRESSED)
@pytest.mark.parametrize("command", ["verify", "fmt", "print", "run", "opt"])
def test_inputs_are_limited_after_decompression(tmp_path: Path, cli: Callable[..., object], command: str, ending: str) -> None:
    path = tmp_path / f"m.hlo{ending}"
    path.write_bytes(COMPRESSED[ending](b"HloModule m\nENTRY e {\n  ROOT p = f32[] parameter(0)\n}\n" + b" " * 3_000_000))
    result = cli(command, "--max-input-size", "2M", path)
    assert (result.exit_code, "more than 2,097,152 bytes" in result.stderr) == (2, True)  # type: ignore[attr-defined]
    assert "bytes of text" not in cli(command, path).stderr  # type: ignore[attr-defined]


# ---- the environment --------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not Path("/usr/bin/git").exists(), reason="git is not installed")
def test_reading_a_folder_runs_no_program_of_its_repository(tmp_path: Path, cli: Callable[..., object]) -> None:
    folder, mark = tmp_path / "repository", tmp_path / "mark"
    folder.mkdir()
    (folder / "m.hlo").write_text("HloModule m\n\nENTRY e {\n  ROOT p = f32[] parameter(0)\n}\n")
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {mark}\n")
    program.chmod(0o755)
    subprocess.run(["git", "init", "-q", folder], check=True)
    subprocess.run(["git", "-C", folder, "add", "m.hlo"], check=True)
    subprocess.run(["git", "-C", folder, "config", "core.fsmonitor", program], check=True)
    assert cli("verify", folder).exit_code == 0  # type: ignore[attr-defined]
    assert not mark.exists()


@pytest.fixture
def nowhere(tmp_path: Path) -> Iterator[None]:
    """Deletes the working directory."""
    before, folder = Path.cwd(), tmp_path / "gone"
    folder.mkdir()
    os.chdir(folder)
    folder.rmdir()
    yield
    os.chdir(before)


@pytest.mark.usefixtures("nowhere")
@pytest.mark.parametrize(
    "arguments",
    [
        ("verify", "."),
        ("fmt", "."),
        ("opt", "."),
        ("opt", "m.hlo", "--load", "a.py"),
        ("run", "m.hlo", "--custom-call", "a=b:c"),
        ("verify", "m.hlo"),
    ],
    ids=" ".join,
)
def test_a_deleted_working_directory(process: Callable[..., subprocess.CompletedProcess[str]], arguments: tuple[str, ...]) -> None:
    result = process(*arguments)
    assert result.returncode == 2
    assert "internal error" not in result.stderr


@on_linux
@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("verify", "--help"), ("explain", "T003")], ids=" ".join)
def test_a_full_disk(process: Callable[..., subprocess.CompletedProcess[str]], arguments: tuple[str, ...]) -> None:
    with Path("/dev/full").open("wb") as full:
        result = process(*arguments, stdout=full)
    assert (result.returncode, "No space left on device" in result.stderr) == (2, True)


NUMBER = "9" * 5000
ABSURD = {
    "range": ("fmt", "--range", f"1:{NUMBER}"),
    "width": ("fmt", "--width", NUMBER),
    "jobs": ("verify", "-j", NUMBER),
    "seed": ("run", "--seed", NUMBER),
    "replicas": ("run", "--replicas", "999999999999", "--max-memory", "1G", "--timeout", "5"),
    "memory": ("run", "--max-memory", "1e400G"),
    "trace": ("run", "--trace", "(" * 3000),
    "rounds": ("opt", "--passes", f"dce{{max={NUMBER}}}"),
    "passes": ("opt", "--passes", "{" * 5000),
    "rewrites": ("opt", "--bisect-limit", NUMBER),
    "inputs": ("opt", "--check", NUMBER),
    "constants": ("opt", "--max-constant-size", "1e999"),
    "input size": ("print", "--max-input-size", "1e999"),
}


@pytest.mark.parametrize("name", ABSURD)
def test_absurd_options(process: Callable[..., subprocess.CompletedProcess[str]], good: Path, name: str) -> None:
    result = process(*ABSURD[name], good)
    assert result.returncode == 2
    assert "internal error" not in result.stderr


@pytest.mark.parametrize("settings", ["a = " + "[" * 5000, "a = " + "{a=" * 5000, "a." * 5000 + "b = 1"], ids=["lists", "tables", "keys"])
def test_deeply_nested_settings(cli: Callable[..., object], good: Path, settings: str) -> None:
    good.with_name("hlotool.toml").write_text(settings)
    assert cli("verify", good).exit_code == 2  # type: ignore[attr-defined]


def error_of(function: Callable[[], object]) -> hlotool.HlotoolError:
    with pytest.raises(hlotool.HlotoolError) as caught:
        function()
    return caught.value


@pytest.mark.parametrize(
    "function",
    [
        lambda: hlotool.parse("ENTRY e { p = f32[ }"),
        lambda: hlotool.evaluate(hlotool.parse("ENTRY e { p = f32[] parameter(0) }"), []),
        lambda: hlotool.parse_file("/nowhere"),
        lambda: hlotool.verify(hlotool.parse("ENTRY e { p = f32[] parameter(0) }"), select=["nothing"]),
    ],
    ids=["parse", "evaluate", "read", "select"],
)
def test_exceptions_are_pickled(function: Callable[[], object]) -> None:
    error = error_of(function)
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), copy.diagnostics) == (type(error), str(error), error.diagnostics)


def test_violations_are_pickled() -> None:
    copy = pickle.loads(pickle.dumps(Violation("T003", "shape", "wrong", "write it", ("a note",))))
    assert (str(copy), copy.code, copy.at, copy.hint, copy.notes) == ("wrong", "T003", "shape", "write it", ("a note",))


GROUPS = ("[2,3]<=[5]", "[1,1000000000]<=[1000000000]", "[1000000000,1]<=[1000000000]", "[0,0]<=[0]", "{{0,1,2},{3}}", "{{999999999999}}", "{{-1}}")
TEXTS = {
    **{f"groups {g}": f"ENTRY e {{ p = f32[4] parameter(0) ROOT q = f32[4] all-to-all(p), replica_groups={g}, dimensions={{0}} }}" for g in GROUPS},
    "a constant of 2^63 elements": "ENTRY e { ROOT c = f32[9223372036854775807] constant({...}) }",
    "a constant of 2^64 elements": "ENTRY e { ROOT c = s8[4294967296,4294967296] constant(1) }",
    "a constant with few numbers": "ENTRY e { ROOT c = s32[1000000,1000000] constant(1) }",
    "a dimension out of range": "ENTRY e { p = f32[4] parameter(0) ROOT q = f32[4] transpose(p), dimensions={5} }",
    "a window out of range": "ENTRY e { p = f32[4] parameter(0) ROOT q = f32[4] slice(p), slice={[3:90]} }",
    "attributes that are unknown": "ENTRY e { p = f32[4] parameter(0) ROOT q = f32[4] strange(p), a={b={c}}, d=[1,[2]], d2={{}} }",
}


@pytest.mark.parametrize("name", TEXTS)
def test_hostile_texts(cli: Callable[..., object], name: str) -> None:
    for arguments in (
        ("verify", "--select", "ALL"),
        ("run", "--max-memory", "400M"),
        ("run", "--no-verify", "--max-memory", "400M"),
        ("opt", "--explain", "--explain-why-not", "q", "--verify-each", "--stats"),
        ("opt", "--no-verify", "--max-memory", "400M"),
        ("print",),
        ("fmt",),
    ):
        result = cli(*arguments, "-", stdin=TEXTS[name])
        assert result.exit_code in (0, 1, 2), (arguments, result.stderr)  # type: ignore[attr-defined]
        assert "internal error" not in result.stderr  # type: ignore[attr-defined]


@pytest.mark.parametrize("depth", [300, 600, 900, 20_000])
def test_deep_configurations_are_compared(cli: Callable[..., object], tmp_path: Path, depth: int) -> None:
    for name in ("a", "b"):
        config = '{"k":' * depth + f'"{name}"' + "}" * depth
        (tmp_path / f"{name}.hlo").write_text(f"ENTRY e {{ p = f32[] parameter(0) ROOT r = f32[] negate(p), backend_config={config} }}")
    for output_format in ("text", "json", "markdown", "html", "patch"):
        result = cli("diff", "--output-format", output_format, tmp_path / "a.hlo", tmp_path / "b.hlo")
        assert result.exit_code == 1, result.stderr  # type: ignore[attr-defined]
