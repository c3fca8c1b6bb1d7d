"""hlotool: the toolchain for XLA's textual HLO language.

Names are resolved on first use, so that importing the package costs nothing and parsing never imports NumPy.
"""

from __future__ import annotations

from _thread import RLock
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hlotool.builder.builder import Builder as Builder
    from hlotool.builder.source.module import to_python as to_python
    from hlotool.differ.apply import apply as apply
    from hlotool.differ.differ import diff as diff
    from hlotool.errors import BuilderError as BuilderError
    from hlotool.errors import Diagnostic as Diagnostic
    from hlotool.errors import EvaluationError as EvaluationError
    from hlotool.errors import HlotoolError as HlotoolError
    from hlotool.errors import ParseError as ParseError
    from hlotool.frameworks.jax import from_jax as from_jax
    from hlotool.graph.graph import to_graph as to_graph
    from hlotool.graph.options import GraphOptions as GraphOptions
    from hlotool.interp import CustomCall as CustomCall
    from hlotool.interp import HostQueues as HostQueues
    from hlotool.interp import RunOptions as RunOptions
    from hlotool.interp import Token as Token
    from hlotool.interp import compile as compile  # noqa: A004
    from hlotool.interp import evaluate as evaluate
    from hlotool.interp import evaluate_replicas as evaluate_replicas
    from hlotool.ir.edit import Rewriter as Rewriter
    from hlotool.opdefs.modes import VerifyModes as VerifyModes
    from hlotool.optimizer.optimizer import optimize as optimize
    from hlotool.optimizer.options import OptimizeOptions as OptimizeOptions
    from hlotool.syntax.html import to_html as to_html
    from hlotool.text.formatting.formatter import format_text as format_text
    from hlotool.text.formatting.style import FormatStyle as FormatStyle
    from hlotool.text.parse.extraction import extract as extract
    from hlotool.text.parse.parser import parse as parse
    from hlotool.text.parse.parser import parse_all as parse_all
    from hlotool.text.parse.parser import parse_file as parse_file
    from hlotool.text.print.options import PrintOptions as PrintOptions
    from hlotool.text.print.printer import to_text as to_text
    from hlotool.verifier.engine import verify as verify

__version__ = "0.1.0"

_HOMES = {
    "Builder": "hlotool.builder.builder",
    "BuilderError": "hlotool.errors",
    "CustomCall": "hlotool.interp",
    "Diagnostic": "hlotool.errors",
    "EvaluationError": "hlotool.errors",
    "FormatStyle": "hlotool.text.formatting.style",
    "GraphOptions": "hlotool.graph.options",
    "HlotoolError": "hlotool.errors",
    "ParseError": "hlotool.errors",
    "PrintOptions": "hlotool.text.print.options",
    "HostQueues": "hlotool.interp",
    "OptimizeOptions": "hlotool.optimizer.options",
    "Rewriter": "hlotool.ir.edit",
    "RunOptions": "hlotool.interp",
    "Token": "hlotool.interp",
    "apply": "hlotool.differ.apply",
    "compile": "hlotool.interp",
    "diff": "hlotool.differ.differ",
    "evaluate": "hlotool.interp",
    "evaluate_replicas": "hlotool.interp",
    "optimize": "hlotool.optimizer.optimizer",
    "from_jax": "hlotool.frameworks.jax",
    "format_text": "hlotool.text.formatting.formatter",
    "extract": "hlotool.text.parse.extraction",
    "parse": "hlotool.text.parse.parser",
    "parse_all": "hlotool.text.parse.parser",
    "parse_file": "hlotool.text.parse.parser",
    "to_graph": "hlotool.graph.graph",
    "to_html": "hlotool.syntax.html",
    "to_python": "hlotool.builder.source.module",
    "to_text": "hlotool.text.print.printer",
    "VerifyModes": "hlotool.opdefs.modes",
    "verify": "hlotool.verifier.engine",
}
_IMPORTING = RLock()
__all__ = ["__version__", *sorted(_HOMES)]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'hlotool' has no attribute {name!r}")
    # One thread at a time: if several threads import parts of a package at once, Python lets them
    # see partially initialized modules.
    with _IMPORTING:
        value = getattr(import_module(home), name)
        if name == "parse":
            # Loads the printer together with the parser: most parsed modules are printed, and the
            # first print should take no longer than later ones.
            import_module(_HOMES["to_text"])
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
