"""Where the keys of a slot are now."""

from hearsay.collector.store.node import Node


class Place:
    """A slot, and the node that holds it now; a cluster sets `node` anew when the slot moves."""

    __slots__ = ("node",)

    def __init__(self, node: Node) -> None:
        self.node = node
