"""Readers of graph drawings: DOT, Mermaid, and the data of HTML pages.

Any input that the readers do not expect is an error.
"""

from __future__ import annotations

import json
import re
from html import unescape
from html.parser import HTMLParser
from typing import Any, NamedTuple

__all__ = ["Graph", "GraphPage", "page_data", "read_dot", "read_mermaid"]

_DOT_STRING = r'"((?:[^"\\]|\\.)*)"'
_DOT = [
    ("start", re.compile(rf"digraph {_DOT_STRING} \{{")),
    ("defaults", re.compile(r'(?:compound=true|(?:node|edge) \[[\w=", #.]*\]);')),
    ("cluster", re.compile(r"subgraph cluster_(\d+) \{")),
    ("title", re.compile(rf'label={_DOT_STRING}; style="rounded,filled"; fillcolor="#\w{{6}}"; color="#\w{{6}}";')),
    ("box", re.compile(rf'n(\d+) \[label={_DOT_STRING}, fillcolor="#\w{{6}}"(, penwidth=3)?\];')),
    ("edge", re.compile(r"n(\d+) -> n(\d+)(?: \[(?:ltail=cluster_(\d+))?(?:, )?(?:lhead=cluster_(\d+))?(?:, )?(style=dashed)?\])?;")),
    ("end", re.compile(r"\}")),
]
_MERMAID_STRING = r'"((?:[\w .,\-:/()\[\]{}]|#\d+;|<br/>)*)"'
_MERMAID = [
    ("start", re.compile(r"flowchart TD")),
    ("cluster", re.compile(rf"subgraph n(\d+) \[{_MERMAID_STRING}\]")),
    ("box", re.compile(rf"n(\d+)\[{_MERMAID_STRING}\]")),
    ("end", re.compile(r"end")),
    ("edge", re.compile(r"n(\d+) (-->|-\.->) n(\d+)")),
    ("style", re.compile(r"classDef c\d+ fill:#\w{6},stroke:#\w{6},color:#\w{6}|class n\d+(?:,n\d+)* c\d+|style n\d+ stroke-width:4px")),
]


class Graph(NamedTuple):
    """A graph with numbered boxes: the boxes' text, the groups' titles and members, and the edges.

    Edges may be dashed.
    """

    boxes: dict[int, str]
    groups: dict[int, tuple[str, frozenset[int]]]
    edges: set[tuple[int, int, bool]]


def _lines(text: str, kinds: list[tuple[str, re.Pattern[str]]]) -> list[tuple[str, re.Match[str]]]:
    found = []
    for line in text.splitlines():
        matches = [(kind, match) for kind, pattern in kinds if (match := pattern.fullmatch(line.strip()))]
        assert len(matches) == 1, f"{line!r} is {[kind for kind, _ in matches]}"
        found += matches
    return found


def read_dot(text: str) -> Graph:
    """Returns the graph that is described in the DOT language."""
    boxes: dict[int, str] = {}
    titles, members = {}, {}
    edges = set()
    open_groups: list[int] = []
    for kind, match in _lines(text, _DOT):
        if kind == "cluster":
            number = int(match[1])
            members[number] = set()
            for group in open_groups[-1:]:
                members[group].add(number)
            open_groups.append(number)
        elif kind == "title":
            titles[open_groups[-1]] = _dot_text(match[1])
        elif kind == "box":
            boxes[int(match[1])] = _dot_text(match[2])
            for group in open_groups[-1:]:
                members[group].add(int(match[1]))
        elif kind == "edge":
            edges.add((int(match[3] or match[1]), int(match[4] or match[2]), bool(match[5])))
        elif kind == "end" and open_groups:
            open_groups.pop()
    return Graph(boxes, {group: (title, frozenset(members[group])) for group, title in titles.items()}, edges)


def _dot_text(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: "\n" if match[1] == "n" else match[1], text)


def read_mermaid(text: str) -> Graph:
    """Returns the graph of a Mermaid flowchart."""
    boxes: dict[int, str] = {}
    titles, members = {}, {}
    edges = set()
    open_groups: list[int] = []
    for kind, match in _lines(text, _MERMAID):
        if kind == "cluster":
            number = int(match[1])
            titles[number], members[number] = _mermaid_text(match[2]), set()
            for group in open_groups[-1:]:
                members[group].add(number)
            open_groups.append(number)
        elif kind == "box":
            boxes[int(match[1])] = _mermaid_text(match[2])
            for group in open_groups[-1:]:
                members[group].add(int(match[1]))
        elif kind == "edge":
            edges.add((int(match[1]), int(match[3]), match[2] == "-.->"))
        elif kind == "end":
            open_groups.pop()
    assert not open_groups
    return Graph(boxes, {group: (title, frozenset(members[group])) for group, title in titles.items()}, edges)


def _mermaid_text(text: str) -> str:
    return unescape(text.replace("<br/>", "\n").replace("#", "&#"))


class GraphPage(HTMLParser):
    """Collects the text of each element of an HTML page, and the files that the page loads.

    Checks that all tags are closed.
    """

    VOID = frozenset({"meta", "input", "br"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.loaded: list[str | None] = []
        self.scripts = 0
        self.texts: dict[str, str] = {}
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.scripts += tag == "script"
        if tag not in self.VOID:
            self.open.append(f"{tag}#{values['id']}" if "id" in values else tag)
        self.ids += [values["id"] or ""] if "id" in values else []
        self.loaded += [value for name, value in attrs if name in ("src", "href", "action")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().partition("#")[0] == tag

    def handle_data(self, data: str) -> None:
        if self.open:
            self.texts[self.open[-1]] = self.texts.get(self.open[-1], "") + data


def page_data(text: str) -> dict[str, Any]:
    """Returns the data in an HTML page written by `hlotool graph`."""
    data: dict[str, Any] = json.loads(GraphPage(text).texts["script#data"])
    return data
