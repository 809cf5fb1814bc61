"""Widths of surveys that are larger than those that are played."""

from typing import Any

import pytest

from hearsay.mechanisms import catalogue
from hearsay.mechanisms.planning import widths
from hearsay.mechanisms.planning.asked import Asked
from hearsay.mechanisms.planning.plan import Target, plan

BINS = {"kind": "ordinal", "low": 0, "high": 10, "bins": 8}
LINE = {"kind": "ordinal", "size": 64}
KEYS = {"kind": "key-value", "keys": 5}


def asked(domain: dict[str, Any], query: str, name: str, shape: str) -> Asked:
    return Asked.of(catalogue.parse_domain(domain), query, [name], shape=shape)


@pytest.mark.parametrize(
    ("domain", "query", "name", "shape", "users"),
    [
        (BINS, "quantile 0.5", "haar", "normal", 50_000),  # as narrow as its bins are
        (LINE, "quantile 0.9", "flat", "cauchy", 20_000),
        (KEYS, "mean 1", "pckv-ue", "normal", 10_000),  # small surveys are cut by the domain's ends
        (KEYS, "mean 1", "privkv", "geometric", 10_000),
        (KEYS, "mean 1", "privkvm", "normal", 10_000),  # in rounds
        (KEYS, "mean 1", "privkv", "point", 10_000),  # which nobody holds
        ({"kind": "categorical", "size": 16}, "top 3", "olh", "zipf", 10_000),
        (KEYS, "top 2", "collision", "zipf", 5_000),  # not grown, its states are too sparse: by the root
    ],
)
def test_a_survey_that_is_not_played_is_as_wide_as_if_it_were(
    domain: dict[str, Any], query: str, name: str, shape: str, users: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    played = asked(domain, query, name, shape).widths(name, 1.0).at(shape, users)
    monkeypatch.setattr(widths, "_PLAYED_MOST", users // 5)
    larger = asked(domain, query, name, shape).widths(name, 1.0).at(shape, users)
    assert larger.within == pytest.approx(played.within, rel=0.1)
    assert larger.within_90 == pytest.approx(played.within_90, rel=0.2)


def test_no_number_of_users_makes_a_quantile_narrower_than_half_its_bin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(widths, "_PLAYED_MOST", 20_000)
    (row,) = plan(asked(BINS, "quantile 0.5", "haar", "normal"), Target(epsilon=1.0, within=0.3))
    assert row.users is None
