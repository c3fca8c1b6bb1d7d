"""S040: origins whose structure differs from that of the result."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.opdefs.constraints import Path, path_text
from hlotool.opdefs.inference import count
from hlotool.shapes.shape import Shape
from hlotool.shapes.values import Origin
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []


@module_rule("S040", stage="calls")
def origin_structure(facts: Facts) -> Iterator[Finding]:
    """An origin has one entry for each array of the result.

    Checks: the tree of `origin={...}` is nested like the result of the instruction. Origins of
    synthetic calls are not checked.
    """
    if facts.module.source is not None and "origin=" not in facts.module.source.text:
        return
    for computation in facts.module.computations:
        for x in computation.instructions:
            origin = x.attributes.get("origin")
            if isinstance(origin, Origin) and not origin.synthetic:
                fault = _first_difference(origin.tree, x.shape)
                if fault is not None:
                    yield Finding("S040", computation, x, "origin", fault)


def _first_difference(tree: object, shape: Shape) -> str | None:
    stack: list[tuple[Path, object, Shape]] = [(None, tree, shape)]
    while stack:
        path, node, part = stack.pop()
        at = "" if path is None else f"element {path_text(path)} of "
        if isinstance(node, tuple) != part.is_tuple:
            entry = "a tuple" if isinstance(node, tuple) else "a single array"
            return f"{at}the origin is {entry}, but {at}the result is {'a tuple' if part.is_tuple else part.text_without_layout}"
        if isinstance(node, tuple):
            if len(node) != len(part.elements):
                return f"{at}the origin has {count(len(node), 'element')}, but {at}the result has {len(part.elements)}"
            stack += [((path, k), node[k], part.elements[k]) for k in range(len(node) - 1, -1, -1)]
    return None
