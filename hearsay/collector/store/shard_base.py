"""What all that can be asked of a shard stands on: its survey, its servers and its keys."""

from operator import attrgetter

from hearsay.collector.store.keys import ShardKeys
from hearsay.collector.store.node import Node
from hearsay.collector.store.servers.servers import Servers, place_of
from hearsay.collector.store.state import cells_of
from hearsay.collector.survey.survey import Survey


class ShardBase:
    """One stream of one survey. `shard` is its number, `node` the node that holds it now."""

    node: Node = property(attrgetter("place.node"))  # type: ignore[assignment]  # asked often: no call of its own

    def __init__(self, servers: Servers, prefix: str, survey: Survey, shard: int) -> None:
        self.servers, self.survey, self.shard = servers, survey, shard
        self.keys = ShardKeys(prefix, survey.name, survey.tag8, shard)
        self.name = self.keys.base  # of this shard, for whoever remembers something of it
        self.place = place_of(servers, self.keys.stream)
        self.cells = cells_of(survey.mechanism)
