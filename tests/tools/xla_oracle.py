"""Runs XLA in a separate process.

XLA aborts the process on some inputs and runs forever on others; a test run must survive both. The
environment variable HLOTOOL_XLA_PYTHON contains the path of an interpreter with jax and jaxlib;
hlotool itself never needs these packages.

    with Xla() as xla:
        xla.parse(text)          # the text that XLA prints after parsing and shape inference
        xla.compiled(text)       # the module after the verifier and the passes of XLA:CPU
        xla.verified(text)       # the complaint of XLA's verifier about the text; empty if valid
        xla.run(text, arrays)    # the leaves of the result; an array per leaf of the parameters

Runs go from HLO text via StableHLO to the client, which compiles it. StableHLO has no fusions,
bitcasts, layouts of parameters or schedules: fusions run as equivalent calls, bitcasts between
row-major shapes as the equivalent operation, and values are logical arrays. XLA:CPU flushes
subnormals.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from multiprocessing.connection import Connection, Pipe
from typing import Any, Self

__all__ = ["Xla", "XlaError", "available"]

VARIABLE = "HLOTOOL_XLA_PYTHON"
# Level 0 keeps the written instructions, if the backend can compile them.
_FLAGS = "--xla_allow_excess_precision=false --xla_cpu_multi_thread_eigen=false"
_UNOPTIMIZED = " --xla_backend_optimization_level=0"
_LINE = re.compile(r"^(?P<head> *(?:ROOT )?%?(?P<name>[\w.\-]+) = (?P<shape>\(.*?\)|\S+)) (?P<opcode>[\w\-]+)\((?P<rest>.*)$")
_ARRAY = re.compile(r"(?P<type>\w+)\[(?P<sizes>[^\]]*)\](?:\{(?P<order>[\d,]*)\})?")
_NESTED = r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}"
# These attributes have no meaning for a call: the kind of a fusion, its aliasing, and the backend
# configuration.
_OF_FUSIONS = re.compile(rf", kind=k\w+|, output_to_operand_aliasing={_NESTED}|, backend_config=.*$")
_SHARDING = re.compile(rf", sharding={_NESTED}")


class XlaError(Exception):
    """Raised if XLA gives no answer.

    `kind` is "refused" for XLA's own errors, "died" if the process ended, and "slow" if it had to
    be stopped.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def available() -> str | None:
    """Returns the path of the interpreter with XLA, or None if the variable is not set."""
    return os.environ.get(VARIABLE)


class Xla:
    """XLA in a worker process.

    The process starts at the first request, and again after each request that killed it.
    """

    def __init__(self, python: str | None = None, *, timeout: float = 60, optimize: bool = False) -> None:
        python = python or available()
        if not python:
            raise XlaError("refused", f"{VARIABLE} does not name a Python interpreter with jaxlib")
        self.python = python
        self.timeout = timeout
        self.optimize = optimize
        self._worker: tuple[subprocess.Popen[bytes], Connection, Any] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def parse(self, text: str) -> str:
        return self._ask("parse", text)

    def compiled(self, text: str) -> str:
        return self._ask("compiled", text)

    def verified(self, text: str, *switches: str) -> str:
        """Returns the complaint of XLA's verifier with some of `xla_verifier.SWITCHES` enabled.

        Modules that XLA's parser rejects do not reach the verifier.
        """
        return str(self._ask("verified", text, switches))

    def run(self, text: str, arrays: Sequence[Any]) -> list[Any]:
        """Returns the leaves of the result; integers, pred and floats have their exact types."""
        return [_unpacked(x) for x in self._ask("run", text, [_packed(x) for x in arrays])]

    def close(self) -> str:
        """Stops the worker, and returns the end of its standard error."""
        if self._worker is None:
            return ""
        process, connection, log = self._worker
        self._worker = None
        process.kill()
        process.wait()
        connection.close()
        log.seek(0)
        said = log.read().decode(errors="replace")[-2000:]
        log.close()
        return said

    def _ask(self, *question: Any) -> Any:
        connection = self._connection()
        try:
            connection.send(question)
            if not connection.poll(self.timeout):
                self.close()
                raise XlaError("slow", f"no answer within {self.timeout:g} seconds")
            accepted, answer = connection.recv()
        except (EOFError, OSError):
            raise XlaError("died", self.close()) from None
        if not accepted:
            raise XlaError("refused", answer)
        return answer

    def _connection(self) -> Connection:
        if self._worker is not None and self._worker[0].poll() is not None:
            # The worker died between two requests, so the next request is not the cause.
            self.close()
        if self._worker is None:
            ours, theirs = Pipe()
            flags = _FLAGS if self.optimize else _FLAGS + _UNOPTIMIZED
            environment = {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3"}
            environment.pop("PYTHONPATH", None)
            log = tempfile.TemporaryFile()  # noqa: SIM115  (lives as long as the worker)
            command = [self.python, "-B", __file__, str(theirs.fileno())]
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, pass_fds=[theirs.fileno()])
            theirs.close()
            self._worker = (process, ours, log)
        return self._worker[1]


# ---- arrays between processes, whose versions of NumPy may differ -----------------------------------------------------


def _packed(array: Any) -> tuple[str, tuple[int, ...], bytes]:
    return array.dtype.name, array.shape, array.tobytes()


def _unpacked(packed: tuple[str, tuple[int, ...], bytes]) -> Any:
    import ml_dtypes
    import numpy as np

    name, sizes, data = packed
    return np.frombuffer(data, np.dtype(getattr(ml_dtypes, name, name))).reshape(sizes)


# ---- the worker -------------------------------------------------------------------------------------------------------


def _importable(printed: str) -> str:
    """Rewrites the text that XLA printed for a module, so that StableHLO can import the module."""
    lines = printed.split("\n")
    # The rest of the first line contains only layouts, aliases and devices.
    lines[0] = lines[0].partition(",")[0]
    shapes = {match["name"]: match["shape"] for match in map(_LINE.match, lines) if match}
    for k, line in enumerate(lines):
        match = _LINE.match(line)
        if match is not None:
            lines[k] = _SHARDING.sub("", _importable_line(line, match, shapes))
    return "\n".join(lines)


def _importable_line(line: str, match: re.Match[str], shapes: dict[str, str]) -> str:
    if match["opcode"] == "fusion":
        return f"{match['head']} call({_OF_FUSIONS.sub('', match['rest']).replace('calls=', 'to_apply=')}"
    if match["opcode"] == "bitcast":
        operand = re.match(r"%?([\w.\-]+)", match["rest"])
        there, here = (_ARRAY.fullmatch(shapes.get(name, "")) for name in (operand[1] if operand else "", match["name"]))
        if there and here and all(_row_major(x["order"]) for x in (there, here)):
            return f"{match['head']} {'reshape' if there['type'] == here['type'] else 'bitcast-convert'}({match['rest']}"
    return line


def _row_major(order: str | None) -> bool:
    numbers = [int(x) for x in (order or "").split(",") if x]
    return numbers == sorted(numbers, reverse=True)


def _serve(connection: Connection) -> None:
    import jax
    import numpy as np
    from jax.extend import backend
    from jaxlib import _hlo, _jax, xla_client
    from xla_verifier import XlaVerifier

    jax.config.update("jax_enable_x64", True)
    client = backend.get_backend("cpu")
    device = client.local_devices()[0]
    verifier = cache(XlaVerifier)

    def parse(text: str) -> str:
        options = _hlo.HloPrintOptions()
        options.print_large_constants = True
        return _hlo.hlo_module_from_text(text).to_string(options)

    def executable(text: str) -> Any:
        module = _hlo.hlo_module_from_text(_importable(parse(text)))
        computation = xla_client.XlaComputation(module.as_serialized_hlo_module_proto())
        stable = _jax.mlir.xla_computation_to_mlir_module(computation)
        return client.compile_and_load(stable, _jax.DeviceList((device,)), xla_client.CompileOptions())

    def verified(text: str, switches: tuple[str, ...]) -> str:
        return verifier().complaint(_hlo.hlo_module_from_text(text), switches)

    def compiled(text: str) -> str:
        return executable(text).hlo_modules()[0].to_string()

    def run(text: str, arrays: list[Any]) -> list[Any]:
        found = executable(text).execute([jax.device_put(_unpacked(x), device) for x in arrays])
        return [_packed(np.asarray(x)) for x in found]

    answers = {"parse": parse, "compiled": compiled, "verified": verified, "run": run}
    while True:
        try:
            name, *question = connection.recv()
        except EOFError:
            return
        try:
            answer = (True, answers[name](*question))
        except Exception as error:
            answer = (False, str(error) or repr(error))
        connection.send(answer)


if __name__ == "__main__":
    _serve(Connection(int(sys.argv[1])))
