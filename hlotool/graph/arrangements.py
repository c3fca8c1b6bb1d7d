"""A cache of the layouts of groups."""

from __future__ import annotations

from hlotool.graph.groups import Group
from hlotool.graph.layout import Arrangement, arrange
from hlotool.graph.ordering import edges_between

__all__ = ["Arrangements"]


class Arrangements:
    """The arrangements of groups, each computed on first use."""

    def __init__(self) -> None:
        self._known: dict[Group, Arrangement] = {}

    def get(self, group: Group) -> Arrangement:
        """Returns the arrangement of a group's items.

        Raises GraphError if igraph is not installed.
        """
        if group not in self._known:
            self._known[group] = arrange(len(group.items), edges_between(group.items))
        return self._known[group]
