"""The layouts of groups, each made once."""

from __future__ import annotations

from hlotool.graph.groups import Group
from hlotool.graph.layout import Arrangement, arrange
from hlotool.graph.ordering import edges_between

__all__ = ["Arrangements"]


class Arrangements:
    """The arrangement of each group, made when it is asked for."""

    def __init__(self) -> None:
        self._known: dict[Group, Arrangement] = {}

    def of(self, group: Group) -> Arrangement:
        """The arrangement of the items of a group. Raises GraphError if igraph is not installed."""
        if group not in self._known:
            self._known[group] = arrange(len(group.items), edges_between(group.items))
        return self._known[group]
