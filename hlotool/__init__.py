"""hlotool: the toolchain for XLA's textual HLO language.

The names in `__all__` are the public API; docs/api.md lists the guarantees for them. Each name is
imported on first use, so that importing the package is cheap and parsing never imports NumPy.
"""

from __future__ import annotations

import warnings
from _thread import RLock
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hlotool.builder.builder import Builder as Builder
    from hlotool.builder.op import Op as Op
    from hlotool.builder.source.module import to_python as to_python
    from hlotool.differ.canonical import canonical_text as canonical_text
    from hlotool.differ.canonical import hash_computations as hash_computations
    from hlotool.differ.canonical import hash_module as hash_module
    from hlotool.differ.compare import diff as diff
    from hlotool.differ.delta import Delta as Delta
    from hlotool.differ.patches.apply import Patch as Patch
    from hlotool.differ.patches.apply import apply_patch as apply_patch
    from hlotool.differ.patches.patch_text import PatchError as PatchError
    from hlotool.errors import BuilderError as BuilderError
    from hlotool.errors import Diagnostic as Diagnostic
    from hlotool.errors import EditError as EditError
    from hlotool.errors import EvaluationError as EvaluationError
    from hlotool.errors import HlotoolError as HlotoolError
    from hlotool.errors import ParseError as ParseError
    from hlotool.frameworks.jax import from_jax as from_jax
    from hlotool.graph.graph_options import GraphError as GraphError
    from hlotool.graph.graph_options import GraphOptions as GraphOptions
    from hlotool.graph.to_graph import to_graph as to_graph
    from hlotool.interp import CompiledModule as CompiledModule
    from hlotool.interp import CustomCall as CustomCall
    from hlotool.interp import HostQueues as HostQueues
    from hlotool.interp import RunOptions as RunOptions
    from hlotool.interp import Token as Token
    from hlotool.interp import compile as compile  # noqa: A004
    from hlotool.interp import evaluate as evaluate
    from hlotool.interp import evaluate_replicas as evaluate_replicas
    from hlotool.ir.edit import Rewriter as Rewriter
    from hlotool.ir.model import Computation as Computation
    from hlotool.ir.model import Instruction as Instruction
    from hlotool.ir.model import Module as Module
    from hlotool.literals.literal import Literal as Literal
    from hlotool.opdefs.modes import VerifyModes as VerifyModes
    from hlotool.optimizer.opt_options import OptimizeOptions as OptimizeOptions
    from hlotool.optimizer.opt_report import OptimizedModule as OptimizedModule
    from hlotool.optimizer.optimizer import optimize as optimize
    from hlotool.shapes.layout import Layout as Layout
    from hlotool.shapes.shape import Shape as Shape
    from hlotool.syntax.html import to_html as to_html
    from hlotool.text.formatting.formatter import format_text as format_text
    from hlotool.text.formatting.style import FormatStyle as FormatStyle
    from hlotool.text.parse.extraction import extract as extract
    from hlotool.text.parse.parser import parse as parse
    from hlotool.text.parse.parser import parse_all as parse_all
    from hlotool.text.parse.parser import parse_file as parse_file
    from hlotool.text.parse.shapes import shape as shape
    from hlotool.text.print.print_options import PrintOptions as PrintOptions
    from hlotool.text.print.printer import to_text as to_text
    from hlotool.verifier.engine import verify as verify

__version__ = "0.1.0"

_HOMES = {
    "apply_patch": "hlotool.differ.patches.apply",
    "Builder": "hlotool.builder.builder",
    "BuilderError": "hlotool.errors",
    "canonical_text": "hlotool.differ.canonical",
    "compile": "hlotool.interp",
    "CompiledModule": "hlotool.interp",
    "Computation": "hlotool.ir.model",
    "CustomCall": "hlotool.interp",
    "Delta": "hlotool.differ.delta",
    "Diagnostic": "hlotool.errors",
    "diff": "hlotool.differ.compare",
    "EditError": "hlotool.errors",
    "evaluate": "hlotool.interp",
    "evaluate_replicas": "hlotool.interp",
    "EvaluationError": "hlotool.errors",
    "extract": "hlotool.text.parse.extraction",
    "format_text": "hlotool.text.formatting.formatter",
    "FormatStyle": "hlotool.text.formatting.style",
    "from_jax": "hlotool.frameworks.jax",
    "GraphError": "hlotool.graph.graph_options",
    "GraphOptions": "hlotool.graph.graph_options",
    "hash_computations": "hlotool.differ.canonical",
    "hash_module": "hlotool.differ.canonical",
    "HlotoolError": "hlotool.errors",
    "HostQueues": "hlotool.interp",
    "Instruction": "hlotool.ir.model",
    "Layout": "hlotool.shapes.layout",
    "Literal": "hlotool.literals.literal",
    "Module": "hlotool.ir.model",
    "Op": "hlotool.builder.op",
    "optimize": "hlotool.optimizer.optimizer",
    "OptimizedModule": "hlotool.optimizer.opt_report",
    "OptimizeOptions": "hlotool.optimizer.opt_options",
    "parse": "hlotool.text.parse.parser",
    "parse_all": "hlotool.text.parse.parser",
    "parse_file": "hlotool.text.parse.parser",
    "ParseError": "hlotool.errors",
    "Patch": "hlotool.differ.patches.apply",
    "PatchError": "hlotool.differ.patches.patch_text",
    "PrintOptions": "hlotool.text.print.print_options",
    "Rewriter": "hlotool.ir.edit",
    "RunOptions": "hlotool.interp",
    "Shape": "hlotool.shapes.shape",
    "shape": "hlotool.text.parse.shapes",
    "to_graph": "hlotool.graph.to_graph",
    "to_html": "hlotool.syntax.html",
    "to_python": "hlotool.builder.source.module",
    "to_text": "hlotool.text.print.printer",
    "Token": "hlotool.interp",
    "verify": "hlotool.verifier.engine",
    "VerifyModes": "hlotool.opdefs.modes",
}
_DEPRECATED = {"apply": "apply_patch"}
"""New names of renamed functions, by old name. Each old name works for one more release."""

_IMPORT_LOCK = RLock()
__all__ = ["__version__", *sorted(_HOMES)]  # noqa: PLE0604


def _public_value(name: str) -> Any:
    if name in _DEPRECATED:
        new = _DEPRECATED[name]
        warnings.warn(f"hlotool.{name} is deprecated; use hlotool.{new}", DeprecationWarning, stacklevel=2)
        return _public_value(new)
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'hlotool' has no attribute {name!r}")
    # One thread at a time: if several threads import parts of a package at once, Python lets them
    # see partially initialized modules.
    with _IMPORT_LOCK:
        value = getattr(import_module(home), name)
        if name == "parse":
            # Loads the printer together with the parser: most parsed modules are printed, and
            # printing the first module should take no longer than printing later ones.
            import_module(_HOMES["to_text"])
    globals()[name] = value
    return value


if not TYPE_CHECKING:
    # Type checkers must not see this function, or they would accept misspelled names.
    __getattr__ = _public_value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
