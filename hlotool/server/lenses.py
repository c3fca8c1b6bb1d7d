"""Code lenses above computations: numbers of calls, the cost of a module, and commands."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lsprotocol import types

from hlotool.analysis.cost import module_cost
from hlotool.differ.folders.dumps import dump_name, sequences
from hlotool.ir.model import Computation
from hlotool.opdefs.inference import count
from hlotool.server.documents import Document, ModuleText
from hlotool.server.parts import name_span
from hlotool.shapes.memory import format_bytes

__all__ = ["DIFF", "GRAPH", "RUN", "SHOW_GRAPH", "lenses", "previous_dump", "resolve"]

RUN, DIFF = "hlotool.run", "hlotool.diff"
"""Commands whose argument is the URI of a document."""

GRAPH, SHOW_GRAPH = "hlotool.graph", "hlotool.showGraph"
"""Commands with a position as a second argument.

The command GRAPH returns an HTML page as its response, and SHOW_GRAPH has the editor open the page.
"""

# Editors show a lens without a command as text.
_NO_COMMAND = ""


def lenses(document: Document) -> list[types.CodeLens]:
    """Returns the lenses of all computations.

    >>> text = "f { ROOT x = f32[] parameter(0) }\\nENTRY e { p = f32[] parameter(0) ROOT c = f32[] call(p), to_apply=f }"
    >>> [lens.command.title if lens.command else lens.data for lens in lenses(Document("file:///m.hlo", text))]
    ['called once', 'graph', {'uri': 'file:///m.hlo', 'module': 0}, 'graph', 'run']
    """
    found = []
    for number, module in enumerate(document.modules):
        for computation in module.module.computations:
            span = name_span(module, computation)
            if span is None:
                continue
            area = document.range(module, *span)
            picture = types.CodeLens(area, types.Command("graph", SHOW_GRAPH, arguments=[document.uri, area.start]))
            if computation is not module.module.entry:
                found += [types.CodeLens(area, types.Command(_call_count(module, computation), _NO_COMMAND)), picture]
                continue
            # Costs are computed only for lenses that are on the screen.
            found += [types.CodeLens(area, data={"uri": document.uri, "module": number}), picture]
            if len(document.modules) == 1:
                found += [types.CodeLens(area, command) for command in _commands(document)]
    return found


def _call_count(module: ModuleText, computation: Computation) -> str:
    calls = len(module.callers.get(computation, ()))
    return "never called" if not calls else "called once" if calls == 1 else f"called {calls:,} times"


def _commands(document: Document) -> Iterator[types.Command]:
    yield types.Command("run", RUN, arguments=[document.uri])
    if previous_dump(document.name) is not None:
        yield types.Command("diff with the previous dump", DIFF, arguments=[document.uri])


def previous_dump(name: str) -> str | None:
    """Returns XLA's dump of the same module before the dump `name`; None if the folder has none."""
    dump = dump_name(name)
    if dump is None:
        return None
    path = Path(name)
    try:
        neighbors = [str(other) for other in path.parent.iterdir() if other.name.startswith(f"{dump.dump}.") and dump_name(other.name) is not None]
    except (OSError, ValueError):
        return None
    for sequence in sequences(neighbors):
        if str(path) in sequence.files:
            position = sequence.files.index(str(path))
            return sequence.files[position - 1] if position else None
    return None


def resolve(document: Document | None, lens: types.CodeLens) -> types.CodeLens:
    """Returns a lens with a title that shows the cost of running its module."""
    data = lens.data if isinstance(lens.data, dict) else {}
    number = data.get("module")
    if document is None or not isinstance(number, int) or not 0 <= number < len(document.modules):
        return types.CodeLens(lens.range, types.Command("", _NO_COMMAND))
    module = document.modules[number].module
    cost = module_cost(module)
    instructions = count(sum(len(c.instructions) for c in module.computations), "instruction")
    title = f"{instructions}, {count(cost.flops, 'operation')}, {format_bytes(cost.bytes_accessed)} read and written"
    return types.CodeLens(lens.range, types.Command(title, _NO_COMMAND))
