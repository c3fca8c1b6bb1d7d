"""Predicates on differences: `opcode=all-gather` is true if the number of all-gathers changes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import NamedTuple

from hlotool.differ.categories import CATEGORIES, PREDICATES
from hlotool.differ.difference import ModuleDifference
from hlotool.errors import nearest
from hlotool.opdefs.table import OPS

__all__ = ["Predicate", "parse_predicate"]


_WORDS: Mapping[str, Collection[str]] = {"opcode": OPS, "category": CATEGORIES}


class Predicate(NamedTuple):
    """A change to look for.

    `subject` is a key of PREDICATES, or `name` for the name of an instruction or a computation.
    """

    subject: str
    value: str

    @property
    def text(self) -> str:
        """The predicate as the user writes it."""
        return self.value if self.subject == "name" else f"{self.subject}={self.value}"

    def evidence(self, delta: ModuleDifference) -> str:
        """Returns the change in a few words, or an empty string if the predicate is false.

        >>> import hlotool
        >>> left = hlotool.parse("ENTRY e { p = f32[] parameter(0) ROOT n = f32[] negate(p) }")
        >>> right = hlotool.parse("ENTRY e { p = f32[] parameter(0) ROOT m = f32[] abs(p) }")
        >>> parse_predicate("opcode=abs").evidence(hlotool.diff(left, right))
        'abs: 0 -> 1'
        """
        return _EVIDENCE[self.subject](delta, self.value)


def parse_predicate(text: str) -> Predicate:
    """Reads a predicate. Raises ValueError if it is not valid.

    A predicate is `SUBJECT=VALUE`, a category, an opcode, or the name of an instruction or a
    computation.

    >>> parse_predicate("opcode=all-gather"), parse_predicate("layout"), parse_predicate("dot.5")
    (Predicate(subject='opcode', value='all-gather'), Predicate(subject='category', value='layout'), Predicate(subject='name', value='dot.5'))
    """
    subject, sign, value = text.partition("=")
    if not sign:
        known = "category" if text in CATEGORIES else "opcode" if text in OPS else "name"
        subject, value = known, text
    elif subject not in PREDICATES:
        meant = nearest(subject, PREDICATES)
        hint = f"did you mean '{meant}={value}'?" if meant else f"expected one of {', '.join(f'{name}=' for name in PREDICATES)}"
        raise ValueError(f"unknown predicate '{subject}='; {hint}")
    if not value:
        raise ValueError(f"'{text}' has no value; write a category, an opcode or a name, such as opcode=all-gather")
    words = _WORDS.get(subject)
    if words is not None and value not in words:
        meant = nearest(value, words)
        raise ValueError(f"there is no {subject} '{value}'" + (f"; did you mean '{meant}'?" if meant else ""))
    return Predicate(subject, value.removeprefix("%"))


# ---- evidence ----------------------------------------------------------------------------------


def _opcode(delta: ModuleDifference, opcode: str) -> str:
    graph = delta.graph
    left = sum(x.op.name == opcode for x in graph.nodes[: graph.split])
    right = sum(x.op.name == opcode for x in graph.nodes[graph.split :])
    return f"{opcode}: {left} -> {right}" if left != right else ""


def _category(delta: ModuleDifference, category: str) -> str:
    return category if category in delta.categories else ""


def _touched(delta: ModuleDifference) -> Iterator[tuple[int, str]]:
    """Yields the nodes that differ, each with a description of its changes."""
    for node, changes in delta.changed.items():
        kinds = ", ".join(change["kind"] for change in changes)
        yield node, kinds
        yield delta.pairs.partner[node], kinds
    if "deleted" not in delta.ignored:
        yield from ((node, "deleted") for node in delta.deleted)
    if "inserted" not in delta.ignored:
        yield from ((node, "inserted") for node in delta.inserted)


def _instruction(delta: ModuleDifference, name: str) -> str:
    nodes = delta.graph.nodes
    return next((f"{name}: {kinds}" for node, kinds in _touched(delta) if nodes[node].name == name), "")


def _computation(delta: ModuleDifference, name: str) -> str:
    graph = delta.graph
    homes = {number for number, computation in enumerate(graph.computations) if computation.name == name}
    # The counterpart may have another name.
    homes |= {delta.pairs.computations[number] for number in homes if number in delta.pairs.computations}
    kinds = next((kinds for node, kinds in _touched(delta) if graph.home[node] in homes), "")
    if not kinds and homes.intersection(delta.new_roots):
        kinds = "root"
    return f"{name}: {kinds}" if kinds else ""


def _name(delta: ModuleDifference, name: str) -> str:
    return _instruction(delta, name) or _computation(delta, name)


_EVIDENCE: dict[str, Callable[[ModuleDifference, str], str]] = {
    "opcode": _opcode, "category": _category, "instruction": _instruction, "computation": _computation, "name": _name,
}  # fmt: skip
