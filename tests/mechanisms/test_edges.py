"""Where plain intervals fail: few reports, rare cells, nearly everybody in one. Every row of these was seen to fail.

Coverage is measured over seeded runs. With the coverage that the whole suite (`hearsay experiment calibration`)
measures, a correct program misses these bounds less than once in a million runs; the bounds are far above what plain
intervals around plugged-in variances reached, which the comments tell.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hearsay.mechanisms import Mechanism, build
from hearsay.mechanisms.estimates.estimate import Measured
from hearsay.mechanisms.exact.randomness import seeded

RUNS = 400
HOLDS = 0.885  # of 400 runs that cover with 95% each, fewer than this is six deviations away
Counts = np.ndarray[Any, np.dtype[np.int64]]


def survey(mechanism: str, epsilon: float, size: int, kind: str = "categorical", **options: Any) -> Mechanism:
    domain = {"kind": kind, "size": size}
    return build({"mechanism": mechanism, "epsilon": epsilon, "domain": domain, "options": options})


def counts(size: int, **held: int) -> Counts:
    """How many hold each cell, as `c5=3`."""
    result = np.zeros(size, dtype=np.int64)
    for name, number in held.items():
        result[int(name[1:])] = number
    return result


def estimates(mechanism: Mechanism, holders: Counts, runs: int = RUNS, seed: int = 1) -> list[Any]:
    cells = np.repeat(np.arange(holders.size), holders)
    random = seeded(seed)
    return [
        mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(cells, random))) for _ in range(runs)
    ]


def coverage(answers: list[Measured], truth: Any) -> float:
    covered = []
    for answer in answers:
        low, high = answer.ends()
        covered.append((low <= truth + 1e-12) & (truth <= high + 1e-12))
    return float(np.mean(covered))


def of_cells(mechanism: Mechanism, holders: Counts, cells: list[int], runs: int = RUNS) -> float:
    chosen = np.array(cells)
    answers = [estimate.points(chosen) for estimate in estimates(mechanism, holders, runs)]
    return coverage(answers, holders[chosen] / holders.sum())


class TestOracles:
    """Row 6c."""

    def test_grr_one_report_of_255_cells(self) -> None:
        assert of_cells(survey("grr", 4.0, 255), counts(255, c85=1), [85]) > 0.93  # was 0

    def test_grr_ten_reports_of_1000_cells(self) -> None:
        assert of_cells(survey("grr", 4.0, 1000), counts(1000, c3=7, c500=3), [3, 500]) > HOLDS  # was 0.18 to 0.33

    @pytest.mark.parametrize(("name", "each"), [("grr", 1), ("oue", 2)])
    def test_cells_with_one_or_two_holders_of_a_thousand(self, name: str, each: int) -> None:
        holders = counts(1000, c0=900)
        holders[400:500:each] = each
        cells = list(range(400, 500, 4))
        assert of_cells(survey(name, 8.0, 1000), holders, cells, runs=200) > 0.95  # was 0.77 to 0.82

    def test_oue_cells_with_one_holder_of_a_hundred(self) -> None:
        holders = counts(40, c0=80)
        holders[10:30] = 1
        assert of_cells(survey("oue", 8.0, 40), holders, list(range(10, 30)), runs=200) > 0.95  # was 0.57

    @pytest.mark.parametrize("name", ["hr", "hrr", "olh"])
    def test_nearly_everybody_in_one_of_seven_cells(self, name: str) -> None:
        assert of_cells(survey(name, 8.0, 7), counts(7, c0=99, c1=1), [0]) > HOLDS  # hr, hrr: 0.48 to 0.59

    def test_many_reports_keep_the_plain_interval(self) -> None:
        """What holds anyway is not touched: value +- 1.96 standard errors."""
        for name in ("grr", "oue", "ss", "hrr", "olh", "hr"):
            (estimate,) = estimates(survey(name, 1.0, 5), np.full(5, 40_000), runs=1)
            assert estimate.points(np.arange(5)).low is None, name


class TestContextAware:
    """Rows 6 and 6b."""

    @pytest.mark.parametrize("epsilon", [0.5, 2.0])
    def test_highlow_rare_values_that_are_not_sensitive(self, epsilon: float) -> None:
        domain = {"kind": "categorical", "size": 20, "sensitive": [0, 1, 2]}
        mechanism = build({"mechanism": "highlow-hr", "epsilon": epsilon, "domain": domain})
        holders = counts(20, c2=5_000, c5=1, c6=3, c7=5, c19=4_991)
        assert of_cells(mechanism, holders, [5, 6, 7, 8], runs=200) > 0.93  # was 0.16 to 0.66
        assert min(estimate.stderr.min() for estimate in estimates(mechanism, holders, runs=50)) > 0

    def test_mangat_with_one_holder(self) -> None:
        mechanism = build(
            {"mechanism": "binary", "epsilon": 1.0, "domain": {"kind": "binary"}, "options": {"epsilon_21": "inf"}}
        )
        assert of_cells(mechanism, counts(2, c0=9_999, c1=1), [0, 1]) > 0.95  # was 0.63

    def test_a_channel_s_rare_cells(self) -> None:
        """The truncated geometric channel on 0..19, two heavy cells: observed outputs say nothing about the rest."""
        a, cells = np.exp(-2.0), np.arange(20)
        rows = (1 - a) / (1 + a) * a ** np.abs(cells[:, None] - cells)
        rows[:, 0], rows[:, -1] = a**cells / (1 + a), a ** (19 - cells) / (1 + a)
        table = {"mechanism": "channel", "epsilon": 38.0, "domain": {"kind": "ordinal", "size": 20}}
        mechanism = build({**table, "options": {"matrix": (rows / rows.sum(axis=1, keepdims=True)).tolist()}})
        holders = counts(20, c2=60, c17=38, c9=2)
        assert of_cells(mechanism, holders, [5, 9, 12]) > 0.93

    @pytest.mark.parametrize(("shown", "n"), [(0.1, 1_000), (0.1, 10_000), (0.5, 1_000)])
    def test_a_channel_s_cells_that_seldom_show(self, shown: float, n: int) -> None:
        """All but the first value show as the first one most of the time: what nobody sent may yet be held."""
        rows = np.full((6, 6), 1e-6)
        rows[:, 0], rows[range(1, 6), range(1, 6)] = 1 - shown - 4e-6, shown
        rows[0, 0] = 1 - 5e-6
        domain = {"kind": "categorical", "size": 6}
        mechanism = build(
            {"mechanism": "channel", "epsilon": 14.0, "domain": domain, "options": {"matrix": rows.tolist()}}
        )
        holders = counts(6, c0=n - 4, c1=1, c2=3)
        for cell in (1, 2, 3):
            assert of_cells(mechanism, holders, [cell]) > HOLDS  # 1 holder: 0.09 to 0.5, 3: 0.26 to 0.88, none: 0


class TestHaar:
    """Row 3."""

    @pytest.mark.parametrize(("epsilon", "n"), [(1.0, 10), (4.0, 10), (8.0, 20_000)])
    def test_small_domains(self, epsilon: float, n: int) -> None:
        mechanism = survey("haar", epsilon, 7, "ordinal")
        holders = counts(7, c2=n) if n > 100 else counts(7, c0=6, c1=3, c5=1)
        ends = np.array([[0, 2], [1, 4], [2, 2], [3, 6]])
        truth = np.array([holders[low : high + 1].sum() for low, high in ends]) / n
        found = estimates(mechanism, holders, runs=200 if n > 100 else RUNS)
        answers = [estimate.ranges(ends[:, :1], ends[:, 1:]) for estimate in found]
        assert coverage(answers, truth) > 0.92  # was 0.65 to 0.87
        least = (1 / mechanism.correlation**2 - 1) * 4.0**-3 / n  # the coins' noise of one level
        assert min(float(estimate.stderr.min()) for estimate in found) > np.sqrt(least)

    def test_grids(self) -> None:
        mechanism = build({"mechanism": "haar", "epsilon": 4.0, "domain": {"kind": "grid", "sizes": [4, 4]}})
        cells = np.repeat([[1, 2], [3, 0]], [12, 8], axis=0)
        random, answers = seeded(3), []
        low, high = np.array([[0, 0], [1, 1], [3, 0]]), np.array([[1, 3], [2, 3], [3, 1]])
        for _ in range(RUNS):
            state = mechanism.fold(mechanism.empty(), mechanism.perturb(cells, random))
            answers.append(mechanism.estimate(state).ranges(low, high))
        assert coverage(answers, np.array([0.6, 0.6, 0.4])) > 0.92  # was 0.23 to 0.55


class TestHierarchical:
    """Row 5."""

    def test_a_point_mass_by_grr(self) -> None:
        mechanism = survey("hierarchical", 4.0, 256, "ordinal", oracle="grr")
        assert of_cells(mechanism, counts(256, c85=500), [85], runs=140) > 0.85  # was 0.67 to 0.82

    @pytest.mark.slow
    def test_a_point_mass_by_oue(self) -> None:
        """With enough runs to tell what intervals were from what they should be."""
        mechanism = survey("hierarchical", 4.0, 256, "ordinal", oracle="oue")
        assert of_cells(mechanism, counts(256, c85=500), [85], runs=1_000) > 0.912  # was 0.88

    def test_a_heavy_unit_enters_with_what_it_holds(self) -> None:
        """Shares clipped at 0 and scaled to sum to 1 made a tenth of nearly everybody."""
        mechanism = survey("hierarchical", 1.1, 256, "ordinal", oracle="grr")
        for estimate in estimates(mechanism, counts(256, c85=20_000), runs=5):
            held = estimate.uncertainty.top.projected
            assert held.argmax() == 85
            assert held[85] > 0.5


class TestWeights:
    """Row 4."""

    @pytest.mark.parametrize("epsilon", [1.0, 4.0])
    def test_private_weights_of_few(self, epsilon: float) -> None:
        axes = [{"size": 20}, {"size": 6}]
        options = {"weights": "private"}
        mechanism = build(
            {"mechanism": "metric-l1", "epsilon": epsilon, "domain": {"kind": "grid", "axes": axes}, "options": options}
        )
        generator = np.random.default_rng(1)
        values, weights = generator.integers(0, 10, 1000), generator.integers(0, 6, 1000)
        values[:30] = generator.integers(12, 18, 30)
        cells = np.stack([values, weights], axis=1)
        low, high = np.array([[12], [13]]), np.array([[17], [15]])
        truth = np.array(
            [(weights * ((values >= a) & (values <= b))).mean() for (a,), (b,) in zip(low, high, strict=True)]
        )
        random, answers = seeded(2), []
        for _ in range(RUNS):
            state = mechanism.fold(mechanism.empty(), mechanism.perturb(cells, random))
            answers.append(mechanism.estimate(state).weighted(low, high))
        assert coverage(answers, truth) > HOLDS  # was 0.74 to 0.94
        assert min(float(answer.stderr.min()) for answer in answers) > 1e-3  # was exactly 0 in 2 to 21% of runs


class TestNoReports:
    """Row 9: nothing is known, and nothing is said."""

    TABLES = (
        *(
            {"mechanism": name, "domain": {"kind": "categorical", "size": 5}}
            for name in ("grr", "ss", "oue", "sue", "olh")
        ),
        *(
            {"mechanism": name, "domain": {"kind": "categorical", "size": 5}}
            for name in ("hrr", "hr", "laplace-histogram", "rappor", "count-mean-sketch", "shist")
        ),
        *({"mechanism": name, "domain": {"kind": "ordinal", "size": 6}} for name in ("haar", "hierarchical", "flat")),
        *({"mechanism": name, "domain": {"kind": "ordinal", "size": 6}} for name in ("metric-l1", "matrix")),
        {"mechanism": "highlow-hr", "domain": {"kind": "categorical", "size": 5, "sensitive": [0, 1]}},
        {"mechanism": "block-hr", "domain": {"kind": "categorical", "size": 6, "blocks": 3}},
        {"mechanism": "binary", "domain": {"kind": "binary"}},
    )

    @pytest.mark.parametrize("table", TABLES, ids=lambda table: str(table["mechanism"]))
    def test_an_empty_state(self, table: dict[str, Any]) -> None:
        mechanism = build({"epsilon": 1.0, **table})
        estimate = mechanism.estimate(mechanism.empty())
        assert np.isfinite(estimate.estimate).all()
        assert np.isinf(estimate.stderr).all()
        found = estimate.points(np.arange(mechanism.domain.size))
        low, high = found.ends()
        assert (low <= 0).all()
        assert (high >= 1).all()


def normal(size: int, n: int) -> Counts:
    place = (np.arange(size) + 0.5) / size
    shares = np.exp(-0.5 * ((place - 0.45) / 0.12) ** 2)
    return np.random.default_rng(1).multinomial(n, shares / shares.sum())


class TestQuantiles:
    """Row 1."""

    CASES: tuple[tuple[Callable[[], Mechanism], int, int], ...] = (
        (lambda: survey("haar", 1.1, 1024, "ordinal"), 500, 150),  # was 0.49 to 0.56
        (lambda: survey("haar", 1.1, 1024, "ordinal"), 5_000, 150),  # was 0.76 to 0.82
        (lambda: survey("haar", 1.1, 1 << 16, "ordinal"), 100_000, 30),  # was 0.45 to 0.57
        (lambda: survey("haar", 1.1, 1 << 16, "ordinal"), 1_000_000, 30),  # was 0.70
        (lambda: survey("hierarchical", 1.1, 1 << 16, "ordinal", fanout=4), 100_000, 30),  # was 0.60 to 0.65
        (lambda: survey("hierarchical", 8.0, 1000, "ordinal"), 2_000, 30),
        (lambda: survey("metric-l1", 0.3, 1024, "ordinal"), 2_000, 40),  # was 0.62
        (lambda: survey("flat", 1.1, 256, "ordinal"), 2_000, 200),
    )

    NAMES = (
        "haar-500",
        "haar-5000",
        "haar-2^16",
        "haar-2^16-million",
        "hierarchical-2^16",
        "hierarchical-epsilon-8",
        "metric-l1",
        "flat",
    )

    @pytest.mark.parametrize("case", CASES, ids=NAMES)
    def test_bands_cover_and_ranks_are_unbiased(self, case: tuple[Callable[[], Mechanism], int, int]) -> None:
        make, n, runs = case
        mechanism, ranks = make(), np.arange(1, 10) / 10
        holders = normal(mechanism.domain.size, n)
        cumulative = np.cumsum(holders) / n
        truth = np.searchsorted(cumulative, ranks - 1e-12)
        found = [estimate.quantiles(ranks) for estimate in estimates(mechanism, holders, runs)]
        covered = np.array([(each.low <= truth) & (truth <= each.high) for each in found])
        assert covered.mean() > 0.93
        bias = np.array([(cumulative[each.cell] - ranks) / each.rank_stderr for each in found])
        assert abs(bias.mean()) < 0.3  # in standard errors of the rank; was -1.4 to -2.5 at 2^16
        assert np.sqrt((bias**2).mean()) < 1.2  # was 1.6 to 2.6
        cells = np.array([each.cell for each in found])
        spread = np.quantile(cells, 0.975, axis=0) - np.quantile(cells, 0.025, axis=0) + 1
        width = np.array([each.high - each.low + 1 for each in found]).mean(axis=0)
        assert (width / spread).mean() < 2  # hierarchical at epsilon 8 was 11.7

    def test_a_band_on_a_large_domain_is_that_of_all_cells_or_wider(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where only some cells' errors are looked at, round numbers, which are known better, cut no band short."""
        mechanism, ranks = survey("haar", 1.1, 1 << 14, "ordinal"), np.arange(1, 10) / 10
        (estimate,) = estimates(mechanism, normal(1 << 14, 20_000), runs=1)
        sampled = estimate.quantiles(ranks)
        monkeypatch.setattr("hearsay.mechanisms.estimates.inversion.EVERY_CELL_UP_TO", 1 << 14)
        (again,) = estimates(mechanism, normal(1 << 14, 20_000), runs=1)
        every = again.quantiles(ranks)
        np.testing.assert_array_equal(sampled.cell, every.cell)
        width = every.high - every.low
        assert (sampled.low <= every.low + 0.1 * width).all()
        assert (sampled.high >= every.high - 0.1 * width).all()
        assert 1 <= (sampled.high - sampled.low).sum() / width.sum() < 2
