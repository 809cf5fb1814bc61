"""Each role works with its own protocol of a mechanism and touches nothing else of it."""

from typing import Any

import numpy as np
import pytest

from hearsay.collector.store.state import fresh, unflatten
from hearsay.collector.wire.codec import codec
from hearsay.collector.wire.decode import decode
from hearsay.mechanisms import build, catalogue
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.roles import DeviceSide, EstimatorSide, WorkerSide
from hearsay.producer.fleet import frames


class Only:
    """A mechanism of which only one protocol can be seen."""

    def __init__(self, mechanism: Any, protocol: type) -> None:
        self._mechanism, self._seen = mechanism, {name for name in vars(protocol) if not name.startswith("_")}

    def __getattr__(self, name: str) -> Any:
        if name not in self._seen:
            raise AttributeError(f"{name} is not in this protocol")
        return getattr(self._mechanism, name)


@pytest.mark.parametrize("name", catalogue.names())
def test_every_role_needs_its_own_protocol_only(name: str) -> None:
    mechanism = build({"mechanism": name, **catalogue.examples(name)[0]})
    device, worker, estimator = (Only(mechanism, protocol) for protocol in (DeviceSide, WorkerSide, EstimatorSide))
    people = mechanism.domain.people(lambda size: np.arange(100) % size)
    made = list(frames(device, codec(device), people, seeded(1), 40))
    vector, state = fresh(worker)
    for payload, count in made:
        decoded = decode(worker, [{b"f": payload}], codec(worker))
        assert decoded.count == count
        worker.fold(state, decoded.reports)
    read = unflatten(estimator, vector)
    assert estimator.reports(read) == 100
    assert estimator.estimate(read).reports == 100


def test_a_protocol_hides_the_others() -> None:
    mechanism = build({"mechanism": "grr", **catalogue.examples("grr")[0]})
    for protocol, hidden in ((DeviceSide, "fold"), (WorkerSide, "perturb"), (EstimatorSide, "layout")):
        with pytest.raises(AttributeError, match=f"{hidden} is not in this protocol"):
            getattr(Only(mechanism, protocol), hidden)
