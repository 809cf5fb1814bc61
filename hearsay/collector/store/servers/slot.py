"""A slot of keys, and the node that has it now."""

from hearsay.collector.store.node import Node


class Slot:
    """`node` has the keys of the slot now; a cluster replaces it when the slot moves."""

    __slots__ = ("node",)

    def __init__(self, node: Node) -> None:
        self.node = node
