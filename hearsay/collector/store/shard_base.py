"""The common base of the parts of a shard: its survey, its servers and its keys."""

from operator import attrgetter

from hearsay.collector.store.keys import ShardKeys
from hearsay.collector.store.node import Node
from hearsay.collector.store.servers.servers import Servers, slot_of
from hearsay.collector.store.state import cells_of
from hearsay.collector.survey.survey import Survey


class ShardBase:
    """One stream of one survey. `shard` is its number, `node` the node that has its keys now."""

    node: Node = property(attrgetter("slot.node"))  # type: ignore[assignment]  # read often, so not a Python function

    def __init__(self, servers: Servers, prefix: str, survey: Survey, shard: int) -> None:
        self.servers, self.survey, self.shard = servers, survey, shard
        self.keys = ShardKeys(prefix, survey.name, survey.tag8, shard)
        self.name = self.keys.base  # identifies the shard in caches
        self.slot = slot_of(servers, self.keys.stream)
        self.cells = cells_of(survey.mechanism)
