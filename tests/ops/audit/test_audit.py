"""The audit: bounds that hold, mechanisms that keep their promise, and broken copies that are caught."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from hearsay.mechanisms import Mechanism, build, catalogue
from hearsay.mechanisms.base import Values
from hearsay.mechanisms.exact.randomness import Random, seeded
from hearsay.mechanisms.layout import Reports
from hearsay.mechanisms.oracles.grr import GRR
from hearsay.mechanisms.oracles.linear_hashing import OLH
from hearsay.mechanisms.oracles.subset_selection import SubsetSelection
from hearsay.mechanisms.oracles.unary import OUE, set_bits
from hearsay.mechanisms.tables import Form
from hearsay.ops.audit.audit import audit
from hearsay.ops.audit.events import lower_loss
from hearsay.ops.audit.fit import misfit
from hearsay.ops.cli import run
from tests.mechanisms.shared import TELLS_NOTHING

DRAWS = 20_000


@dataclass(frozen=True)
class GenerousGRR(GRR):
    """Spends twice what it says: the same constant written in two places."""

    def perturb(self, values: Values, random: Random) -> Reports:
        return GRR.create(2 * self.epsilon, self.domain, {}).perturb(values, random)


@dataclass(frozen=True)
class TruthfulOUE(OUE):
    """Keeps the true bit set, as a well-known client does."""

    def perturb(self, values: Values, random: Random) -> Reports:
        reports = super().perturb(values, random)
        cells = self.domain.flatten(values)
        set_bits(reports["bits"], cells, np.ones(cells.size, dtype=bool))
        return reports


@dataclass(frozen=True)
class ForgetfulOLH(OLH):
    """Perturbs one hash bit too few: every eighth device sends its bucket as it is."""

    def perturb(self, values: Values, random: Random) -> Reports:
        reports = super().perturb(values, random)
        cells = self.domain.flatten(values).astype(np.uint32)
        honest = self.hashed(reports["vector"] + np.uint32(1), cells)
        bare = reports["vector"] % 8 == 0
        return {**reports, "bucket": np.where(bare, honest, reports["bucket"])}


@dataclass(frozen=True)
class SortedSubsets(SubsetSelection):
    """Names its own cell, and fills up with the next ones instead of random ones."""

    def perturb(self, values: Values, random: Random) -> Reports:
        cells = self.domain.flatten(values)
        bits = np.zeros((cells.size, (self.domain.size + 7) // 8), dtype=np.uint8)
        for step in range(self.chosen):
            set_bits(bits, (cells + step) % self.domain.size, np.ones(cells.size, dtype=bool))
        return {"bits": bits}


def broken(mechanism: type[Mechanism], size: int, epsilon: float = 1.0) -> Mechanism:
    return mechanism.over(size, epsilon)


@pytest.mark.parametrize(
    "mechanism",
    [
        broken(GenerousGRR, 5),
        broken(GenerousGRR, 2, 0.3),
        broken(TruthfulOUE, 6),
        broken(TruthfulOUE, 300),
        broken(ForgetfulOLH, 16),
        broken(ForgetfulOLH, 900),
        broken(SortedSubsets, 12),
    ],
    ids=lambda mechanism: f"{type(mechanism).__name__}-{mechanism.domain.size}",
)
def test_a_broken_copy_is_caught(mechanism: Mechanism) -> None:
    result = audit(mechanism, DRAWS, seeded(1))
    assert not result.holds
    assert result.worst.audited > result.worst.claimed


def test_the_chance_of_a_misfit_is_no_smaller_than_it_says() -> None:
    """Of 2,000 honest samples less than 1% (five standard deviations: 2.2%) are called one in a hundred."""
    generator, chances = np.random.default_rng(7), np.array([0.5, 0.3, 0.1, 0.05, 0.03, 0.01, 0.006, 0.004])
    called = [misfit(counts, chances) for counts in generator.multinomial(300, chances, 2_000)]
    assert (np.array(called) < 0.01).mean() < 0.022
    assert misfit(np.array([300, 0, 0, 0, 0, 0, 0, 0]), chances) < 1e-50
    assert misfit(np.array([1, 1]), np.array([1.0, 0.0])) == 0.0


def test_times_are_reported_for_every_value_and_not_judged() -> None:
    result = audit({"mechanism": "grr", "epsilon": 1.0, "domain": {"kind": "binary"}}, 2_000, seeded(8))
    assert set(result.microseconds) == {0, 1}
    assert all(time > 0 for time in result.microseconds.values())
    assert result.table()["microseconds"].keys() == {"0", "1"}


@pytest.mark.parametrize("name", sorted(set(catalogue.shipped()) - TELLS_NOTHING))
def test_every_mechanism_keeps_its_promise_and_the_attack_comes_close(name: str) -> None:
    mechanism = build({"mechanism": name, **catalogue.examples(name)[0]})
    result = audit(mechanism, DRAWS, seeded(2))
    assert result.holds
    # One report of several rounds spends only its part.
    assert mechanism.rounds > 1 or result.worst.audited > 0.5 * result.worst.claimed


@pytest.mark.parametrize("name", ["oue", "ss", "olh"])
def test_a_domain_too_large_to_list_is_attacked_through_what_reports_say(name: str) -> None:
    mechanism = build({"mechanism": name, "epsilon": 2.0, "domain": {"kind": "categorical", "size": 500}})
    result = audit(mechanism, 8_000, seeded(3))
    assert result.holds
    assert result.worst.exact is None
    assert result.worst.audited > 1.0


def test_pairs_without_a_promise_are_left_out() -> None:
    domain = {"kind": "categorical", "size": 6, "blocks": 3}
    result = audit({"mechanism": "block-hr", "epsilon": 1.0, "domain": domain}, DRAWS, seeded(4))
    assert {(pair.one < 3) == (pair.other < 3) for pair in result.pairs} == {True}


def test_the_bound_is_clopper_and_pearsons() -> None:
    limits = [stats.binomtest(hits, 1000).proportion_ci(0.98, "exact") for hits in (300, 100)]
    expected = np.log(limits[0].low / limits[1].high)
    assert lower_loss(np.array([300]), 1000, np.array([100]), 1000, 0.01)[0] == pytest.approx(expected, rel=1e-9)
    assert lower_loss(np.array([0]), 1000, np.array([0]), 1000, 0.01)[0] == -np.inf
    assert np.isfinite(lower_loss(np.array([1000]), 1000, np.array([0]), 1000, 0.01)[0])


def test_the_bound_exceeds_the_truth_no_more_often_than_it_says() -> None:
    """With confidence 0.9 for one pair, five standard deviations of 2,000 runs allow 13.4%; a real one has far less."""
    generator, p, q, tail = np.random.default_rng(5), 0.4, 0.1, 0.05
    bounds = lower_loss(generator.binomial(400, p, 2_000), 400, generator.binomial(400, q, 2_000), 400, tail)
    assert (bounds > np.log(p / q)).mean() < 0.1


def test_the_command_prints_a_table_and_ends_well(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "grr", "--seed", "1", "--draws", "5000"]) == 0
    printed = capsys.readouterr().out
    assert "claimed" in printed
    assert "audited" in printed


def test_the_command_takes_a_survey_file_and_gives_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "survey.toml"
    file.write_text(
        'name = "colours"\nmechanism = "oue"\nepsilon = 1.0\n[domain]\nkind = "categorical"\nsize = 4\n',
        encoding="utf-8",
    )
    assert run(["audit", str(file), "--seed", "1", "--draws", "5000", "--json"]) == 0
    (result,) = json.loads(capsys.readouterr().out)
    assert result["holds"] is True
    assert {pair["claimed"] for pair in result["pairs"]} == {1.0}
    assert all(pair["audited"] <= 1.0 and pair["exact"] <= 1.0 + 1e-9 for pair in result["pairs"])


@pytest.mark.parametrize(
    "domain",
    [
        'kind = "ordinal"\nsize = 65536',
        'kind = "ordinal"\nlow = 0\nhigh = 10\nbins = 4000',
        'kind = "grid"\nsizes = [70, 80]',
    ],
)
def test_a_large_survey_is_audited_on_its_first_cells(
    domain: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "survey.toml"
    file.write_text(f'name = "big"\nmechanism = "hrr"\nepsilon = 1.0\n[domain]\n{domain}\n', encoding="utf-8")
    assert run(["audit", str(file), "--seed", "1", "--draws", "2000"]) == 0
    assert "of its" in capsys.readouterr().err


def test_the_command_fails_with_one_line_where_the_claim_is_exceeded(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    generous = catalogue.Listed(__name__, Form(("categorical", "ordinal", "binary", "grid"), ":GenerousGRR"))
    monkeypatch.setitem(catalogue.MECHANISMS, "grr", (generous,))
    assert run(["audit", "grr", "--seed", "1", "--draws", "5000"]) == 1
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert "must not leak more than" in last


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["missing.toml"], ["grr", "--draws", "5"], ["grr", "--confidence", "1"]]
)
def test_bad_input_is_one_line(arguments: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", *arguments]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
