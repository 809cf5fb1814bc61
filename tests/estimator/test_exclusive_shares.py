"""Row 1 of an attacker's list: methods that make shares sum to one have no meaning where a device holds several keys,
and one survey that fails takes no other one off the network."""

from pathlib import Path

import httpx
import numpy as np
import pytest

from hearsay.collector.errors import SurveyError
from hearsay.collector.health.troubles import troubles
from hearsay.collector.store.registry import Registered, Registry
from hearsay.collector.survey.survey import Survey, parse
from hearsay.estimator.materialise import Materialiser
from hearsay.mechanisms import build
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.estimates.postprocess import process, project
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.questions import answer, parse_text
from tests.estimator.running import estimator, wait_until
from tests.estimator.surveys import colours, deliver

FILMS = {"name": "films", "mechanism": "privkv", "epsilon": 2.0, "domain": {"kind": "key-value", "keys": 4}}


@pytest.mark.parametrize("method", ["simplex", "norm-sub"])
def test_row_1_shares_of_keys_are_not_made_to_sum_to_one(method: str) -> None:
    """True shares 1, 1, 1, 0 became .33, .34, .33, 0."""
    mechanism = build({key: FILMS[key] for key in ("mechanism", "epsilon", "domain")})
    columns = {"device": ["a"] * 3 + ["b"] * 3, "key": ["0", "1", "2"] * 2, "value": ["0.5", "-0.5", "0.1"] * 2}
    values = mechanism.domain.read(columns)
    estimate = mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(values, seeded(1))))
    for text in ("frequencies", "point 0", "top 2"):
        with pytest.raises(QueryError, match=f"postprocess {method} makes shares sum to one.* use clip or none"):
            answer(parse_text(text), estimate, postprocess=method)
        assert answer(parse_text(text), estimate, default=method)[0].postprocess is None
    with pytest.raises(SurveyError, match=f"answers.postprocess {method} makes shares sum to one"):
        parse({**FILMS, "answers": {"postprocess": method}})
    assert parse({**FILMS, "answers": {"postprocess": "clip"}}).postprocess == "clip"


@pytest.mark.parametrize("shares", [[], [np.nan], [0.5, np.nan, 0.2], [np.inf, 0.1]])
def test_row_1_the_projection_is_safe_without_data(shares: list[float]) -> None:
    projected = project(np.array(shares))
    assert projected.shape == (len(shares),)
    assert np.isnan(projected).all()
    assert np.isnan(process(np.array(shares), "simplex").values).all()


def test_row_1_one_survey_that_fails_leaves_the_others_ready(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_for(monkeypatch, "broken")
    for name in ("broken", "colours"):
        deliver(registry.add(named(name)), 50)
    with estimator(registry, tmp_path) as http:
        wait_until(lambda: "troubles" in http.get("/readyz").json())
        seen = http.get("/readyz")
        assert (seen.status_code, seen.json()) == (
            200,
            {"status": "ready", "troubles": ["estimator, broken: IndexError"]},
        )
        (trouble,) = [each for each in troubles(registry) if each.code == "estimator"]
        assert (trouble.survey, trouble.holds_up) == ("broken", True)
        registry.delete("colours")
        wait_until(lambda: http.get("/readyz").status_code == 503)
        assert "estimator, broken: IndexError" in http.get("/readyz").json()["error"]
        monkeypatch.undo()
        wait_until(lambda: is_well(http))


def is_well(http: httpx.Client) -> bool:
    return bool(http.get("/readyz").json() == {"status": "ready"})


def named(name: str) -> Survey:
    table = colours().canonical()
    return parse({**table, "name": name})


def fail_for(monkeypatch: pytest.MonkeyPatch, survey: str) -> None:
    """The materialising of one survey fails as a bug in its mathematics would."""
    really = Materialiser._materialise_survey

    def materialise(self: Materialiser, registered: Registered, *rest: object) -> None:
        if registered.survey.name == survey:
            raise IndexError("index -1 is out of bounds")
        really(self, registered, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Materialiser, "_materialise_survey", materialise)
