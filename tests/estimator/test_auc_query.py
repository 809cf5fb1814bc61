"""`auc` through the pipeline: published frames, folded ranges, live states, the interface, snapshots and metrics."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from hearsay.collector.store.registry import Registered, Registry
from hearsay.collector.survey.survey import Survey, parse
from hearsay.collector.wire.codec import codec
from hearsay.estimator.materialise import Materialiser
from hearsay.estimator.readings import live
from hearsay.mechanisms import build
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.queries.answer import Answer
from hearsay.mechanisms.questions import answer, headline, parse_text
from tests.estimator.exact import exact
from tests.estimator.running import estimator
from tests.estimator.snapshots.test_files import VALIDATOR
from tests.mechanisms.queries.test_auc import labelled, true_area
from tests.pipeline import fold_all

HOUR_MS = 3_600_000
ONE = 1_738_328_400_000  # 2025-01-31 13:00 UTC
SCORES, PEOPLE, WINDOWS = 16, 3_000, 150
AUC = parse_text("auc")


def scores(mechanism: str = "hierarchical", name: str = "label", **changes: object) -> Survey:
    axes = [{"name": name, "categories": ["no", "yes"]}, {"name": "score", "size": SCORES}]
    table = {"name": "scores", "mechanism": mechanism, "epsilon": 3.0, "domain": {"kind": "grid", "axes": axes}}
    return parse(table | changes)


def deliver(registered: Registered, cells: NDArray[np.int64], seed: int, at_ms: int) -> None:
    mechanism, store = registered.survey.mechanism, registered.shards[0]
    frame = codec(mechanism).encode_frame(mechanism.perturb(cells, seeded(seed)))
    store.node.client.xadd(store.keys.stream, {"f": frame}, id=f"{at_ms}-*")
    fold_all(store)


@pytest.fixture
def asked_every_hour(registry: Registry) -> Registered:
    """The same people, drawn anew in every window."""
    registered = registry.add(scores(window={"every": "1h"}))
    for hour in range(WINDOWS):
        deliver(registered, labelled(PEOPLE, SCORES), hour, ONE + hour * HOUR_MS)
    return registered


def area(registered: Registered, window: str) -> Answer:
    (found,) = answer(AUC, live(registered, window).estimate(), minimum_reports=100)
    return found


def test_intervals_hold_the_population_s_area(asked_every_hour: Registered) -> None:
    truth = true_area(labelled(PEOPLE, SCORES))
    found = [area(asked_every_hour, window.name) for window in asked_every_hour.look().windows]
    low, high = (np.array([getattr(each, end) for each in found]) for end in ("low", "high"))
    assert len(found) == WINDOWS
    assert ((low <= truth) & (truth <= high)).mean() > 0.86  # of 150, fewer than 129 in less than a millionth
    error = np.array([each.value for each in found]) - truth
    stderr = np.array([each.stderr for each in found])
    assert abs(error.mean()) < 5 * stderr.mean() / np.sqrt(WINDOWS)
    assert 0.55 < (error**2).mean() / (stderr**2).mean() < 1.6  # the mean of 150 squares varies by an eighth
    together = area(asked_every_hour, "all")
    assert together.stderr == pytest.approx(stderr.mean() / np.sqrt(WINDOWS), rel=0.1), "states are added"
    assert together.low <= truth <= together.high  # type: ignore[operator]


def test_interface_snapshot_and_metrics_say_the_same(registry: Registry, tmp_path: Path) -> None:
    registered = registry.add(scores())
    deliver(registered, labelled(PEOPLE, SCORES), 1, ONE)
    expected = area(registered, "all").table()
    assert set(expected) == {"query", "value", "stderr", "low", "high"}
    with estimator(registry, tmp_path) as http:
        Materialiser(registry, tmp_path).run_once()
        assert http.get("/api/surveys/scores/query?q=auc").json()["answers"] == [expected]
        refused = http.get("/api/surveys/scores/query?q=auc&count=1")
        assert refused.status_code == 400
        assert "count does not apply to auc" in refused.json()["error"]
        document = http.get("/api/surveys/scores/snapshots/all").json()
        VALIDATOR.validate(document)
        assert document["answers"][0] == expected, "labelled scores begin with their area"
        assert [each["query"] for each in document["answers"][1:]] == ["top 10"] * 10
        shown = http.get("/metrics").text
    assert f'hearsay_estimate{{item="",query="auc",survey="scores"}} {expected["value"]}' in shown


def estimate_of(survey: Survey, people: int = PEOPLE):  # type: ignore[no-untyped-def]
    mechanism = survey.mechanism
    return mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(labelled(people, SCORES), seeded(1))))


def test_a_headline_only_for_what_is_called_a_label() -> None:
    assert headline(estimate_of(scores()))[0].query == "auc"
    assert {each.query for each in headline(estimate_of(scores(name="sex")))} == {"top 10"}
    assert {each.query for each in headline(estimate_of(scores("olh")))} == {"top 10"}
    assert answer(AUC, estimate_of(scores(name="sex"))), "asked for, two cells are enough"


def test_other_mechanisms_that_know_the_error_of_every_sum() -> None:
    survey = scores("matrix", epsilon=6.0, options={"strategy": "identity", "metric": "ldp"})
    cells, mechanism, random = labelled(PEOPLE, SCORES), survey.mechanism, seeded(5)
    states = [mechanism.fold(mechanism.empty(), mechanism.perturb(cells, random)) for _ in range(100)]
    found = [answer(AUC, mechanism.estimate(state))[0] for state in states]
    error = np.array([each.value for each in found]) - true_area(cells)
    ratio = (error**2).mean() / np.mean([each.stderr**2 for each in found])  # type: ignore[operator]
    assert 0.5 < ratio < 1.75  # the mean of 100 squares varies by a seventh


def refusal(text: str, survey: Survey, people: int = PEOPLE, **options: object) -> str:
    estimate = survey.mechanism.estimate(survey.mechanism.empty()) if people == 0 else estimate_of(survey, people)
    with pytest.raises(QueryError) as caught:
        answer(parse_text(text), estimate, **options)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_refusals() -> None:
    assert refusal("auc", scores(), people=0, minimum_reports=100) == "no reports yet"
    assert "withheld until there are 100 reports, got 99" in refusal("auc", scores(), people=99, minimum_reports=100)
    assert "auc takes no argument, got 1" in refusal("auc 1", scores())
    assert "cannot answer auc, which needs the error of any sum" in refusal("auc", scores("olh"))
    assert "count does not apply to auc, which is a chance" in refusal("auc", scores(), count=True)
    assert "simultaneous applies to cdf, histogram, frequencies, top, got auc" in refusal(
        "auc", scores(), simultaneous=True
    )
    assert "postprocess clip applies to" in refusal("auc", scores(), postprocess="clip")


@pytest.mark.parametrize(
    "domain",
    [
        {"kind": "ordinal", "size": 2},
        {"kind": "grid", "sizes": [3, 5]},
        {"kind": "grid", "sizes": [2, 2]},  # which of the two is the label?
        {"kind": "grid", "sizes": [2, 3, 2]},
    ],
)
def test_a_domain_without_a_label(domain: dict[str, object]) -> None:
    sizes = domain.get("sizes", [2])
    shares = np.full(sizes, 1 / np.prod(sizes))  # type: ignore[arg-type]
    with pytest.raises(QueryError, match="auc needs a grid of two axes, a score and a label with two cells"):
        answer(AUC, exact(domain, shares))


def test_cells_that_a_strategy_leaves_open() -> None:
    """Nobody reports which of two scores it has: the ties between them are unknown."""
    halves = [[1, 1, 0, 0, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1, 0, 0], [0, 0, 0, 0, 0, 0, 1, 1]]
    options = {"strategy": halves, "workload": halves, "metric": "ldp"}
    domain = {"kind": "grid", "sizes": [2, 4]}
    mechanism = build({"mechanism": "matrix", "epsilon": 1.0, "domain": domain, "options": options})
    values = np.array([[0, 1], [1, 2]] * 100)
    state = mechanism.fold(mechanism.empty(), mechanism.perturb(values, seeded(1)))
    with pytest.raises(QueryError, match="auc needs a share for every cell"):
        answer(AUC, mechanism.estimate(state))
