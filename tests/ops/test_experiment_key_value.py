"""The experiment on key-value data, in a quick form."""

from itertools import product

import numpy as np
import pytest
from click.testing import CliRunner

from hearsay.mechanisms.exact.randomness import seeded
from hearsay.ops.experiments.key_value.command import command
from hearsay.ops.experiments.key_value.cost import table_4
from hearsay.ops.experiments.key_value.methods import Setting, average, mean_error, pckv_grr, privkv, relative_error
from hearsay.ops.experiments.key_value.rivals import MeanEst
from hearsay.ops.experiments.key_value.table import METHODS, acceptance


def test_one_row_of_the_acceptance_table() -> None:
    generator, setting = np.random.default_rng(1), Setting("gauss", 100, 10**5, 1.0)
    expected = {"privkv split, paper": 0.161, "unbiased": 0.342, "joint": 0.174, "pckv-grr": 0.149}
    for name, value in expected.items():
        found = average(METHODS[name], setting, mean_error, 120, generator)
        assert found == pytest.approx(value, rel=0.17), name  # 10%, and five deviations of so few runs
    assert average(privkv(), setting, relative_error, 40, generator) == pytest.approx(0.112, rel=0.12)
    assert average(pckv_grr, setting, relative_error, 40, generator) == pytest.approx(0.144, rel=0.12)


@pytest.mark.slow
def test_the_acceptance_table_is_met() -> None:
    assert acceptance(100, np.random.default_rng(31)).failures == []


@pytest.mark.slow
def test_the_whole_command(tmp_path: object) -> None:
    done = CliRunner().invoke(command, ["--quick", "--out", str(tmp_path)], catch_exceptions=False)
    assert done.exit_code == 0, done.output


def test_reports_take_few_bytes() -> None:
    assert table_4().failures == []


@pytest.mark.parametrize("dimensions", [3, 4])
def test_mean_est_is_private_and_unbiased(dimensions: int) -> None:
    rival = MeanEst(dimensions, 1.0)
    p = np.e / (1 + np.e)
    vectors = np.array(list(product((-1, 1), repeat=dimensions)))
    agree = vectors @ vectors.T
    channel = (1 + np.sign(agree) * (2 * p - 1)) / len(vectors)
    assert np.log(channel.max(axis=0) / channel.min(axis=0)).max() <= 1.0 + 1e-12
    np.testing.assert_allclose(rival.scale * channel @ vectors, vectors, atol=1e-12)
    values = np.tile(np.linspace(-0.8, 0.6, dimensions), (40_000, 1))
    found = rival.estimate(rival.perturb(values, seeded(2)))
    assert (np.abs(found - values[0]) < 5 * rival.scale / np.sqrt(40_000)).all()
