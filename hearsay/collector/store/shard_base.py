"""What all that can be asked of a shard stands on: its survey, its node and its keys."""

from hearsay.collector.store.keys import ShardKeys
from hearsay.collector.store.node import Node
from hearsay.collector.store.state import cells_of
from hearsay.collector.survey.survey import Survey


class ShardBase:
    """One stream of one survey. `shard` is its number."""

    def __init__(self, node: Node, prefix: str, survey: Survey, shard: int) -> None:
        self.node, self.survey, self.shard = node, survey, shard
        self.client = node.client
        self.keys = ShardKeys(prefix, survey.name, survey.tag8, shard)
        self.cells = cells_of(survey.mechanism)
