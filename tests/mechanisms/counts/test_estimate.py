"""The distribution and the mean from a survey of counts: unbiased, with intervals that hold."""

from collections.abc import Callable
from math import comb
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hearsay.mechanisms import build
from hearsay.mechanisms.counts.estimate import CountEstimate
from hearsay.mechanisms.counts.mechanism import CountMechanism
from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.metric.l1 import MetricL1Signs
from hearsay.mechanisms.questions import answer, parse_text

Counts = NDArray[np.int64]


def survey(name: str, largest: int, epsilon: float, **options: Any) -> CountMechanism:
    domain = {"kind": "count", "max": largest}
    made = build({"mechanism": name, "epsilon": epsilon, "domain": domain, "options": options})
    assert isinstance(made, CountMechanism)
    return made


def states(mechanism: CountMechanism, holders: Counts, runs: int, seed: int) -> list[dict[str, Counts]]:
    """What many repetitions would fold to: the outputs of everybody with one count are multinomial."""
    generator, channel = np.random.default_rng(seed), mechanism.channel()
    drawn = np.zeros((runs, mechanism.domain.size), dtype=np.int64)
    for count, people in enumerate(holders):
        if people:
            drawn += generator.multinomial(people, channel[count] / channel[count].sum(), size=runs)
    return [{"hist": outputs} for outputs in drawn]


def binomial_people(largest: int, p: float, people: int) -> Counts:
    shares = [comb(largest, count) * p**count * (1 - p) ** (largest - count) for count in range(largest + 1)]
    holders = np.floor(np.array(shares) * people).astype(np.int64)
    holders[holders.argmax()] += people - holders.sum()
    return holders


def all_questions(largest: int) -> NDArray[np.float64]:
    """Every single count, every prefix, the mean."""
    size = largest + 1
    return np.concatenate([np.eye(size), np.tril(np.ones((size, size)))[:-1], np.arange(size)[None, :]])


def covered(mechanism: CountMechanism, holders: Counts, runs: int, seed: int) -> NDArray[np.float64]:
    """How often the intervals of all questions hold."""
    questions = all_questions(mechanism.domain.largest)
    truth = questions @ holders / holders.sum()
    hits = np.zeros(len(questions))
    blank, known = (np.zeros(0), np.zeros(0)), (mechanism.channel(), mechanism.inverse)  # only sums are asked
    for state in states(mechanism, holders, runs, seed):
        seen = CountEstimate(mechanism.domain, int(holders.sum()), *blank, *known, state["hist"] / holders.sum())
        value, stderr, low, high = seen.sums(questions)
        low = value - 1.96 * stderr if low is None else low
        high = value + 1.96 * stderr if high is None else high
        hits += (low <= truth + 1e-12) & (truth <= high + 1e-12)
    return hits / runs


@pytest.mark.parametrize("epsilon", [0.3, 0.7, 1.5])
@pytest.mark.parametrize("largest", [4, 8, 16])
@pytest.mark.parametrize("name", ["gm", "em", "wm"])
def test_the_inverse_gives_back_every_distribution(name: str, largest: int, epsilon: float) -> None:
    mechanism = survey(name, largest, epsilon)
    shares = np.random.default_rng(1).dirichlet(np.ones(largest + 1))
    exact = CountEstimate.of(mechanism.domain, 10, mechanism.channel(), mechanism.inverse, shares @ mechanism.channel())
    np.testing.assert_allclose(exact.estimate, shares, atol=1e-9)
    assert exact.average().value[0] == pytest.approx(shares @ np.arange(largest + 1))


@pytest.mark.parametrize("epsilon", [0.3, 0.7, 1.5])
@pytest.mark.parametrize("largest", [2, 8, 16])
def test_the_inverse_of_gm_is_its_closed_form(largest: int, epsilon: float) -> None:
    mechanism = survey("gm", largest, epsilon)
    h, a = np.random.default_rng(2).dirichlet(np.ones(largest + 1)), np.exp(-epsilon)
    g = h * (1 + a) / (1 - a)
    g[[0, -1]] = h[[0, -1]] * (1 + a)
    f = (1 + a**2) * g - a * (np.append(g[1:], 0) + np.append(0, g[:-1]))
    f[0], f[-1] = g[0] - a * g[1], g[-1] - a * g[-2]
    np.testing.assert_allclose(mechanism.inverse @ h, f / (1 - a**2), atol=1e-10)


@pytest.mark.parametrize(
    ("epsilon", "worst"), [(0.3, {"gm": 51, "em": 46, "wm": 46}), (0.7, {"gm": 8.9, "em": 8.9, "wm": 8.9}),
                           (1.5, {"gm": 2.5, "em": 2.5, "wm": 2.5})], ids=["0.3", "0.7", "1.5"]
)  # fmt: skip
def test_condition_numbers_allow_to_invert(epsilon: float, worst: dict[str, float]) -> None:
    for name, limit in worst.items():
        assert max(np.linalg.cond(survey(name, largest, epsilon).channel()) for largest in (4, 8, 16)) <= limit


@pytest.mark.parametrize("name", ["gm", "em", "wm"])
def test_errors_are_what_the_formula_says(name: str) -> None:
    """sum_j f_j v_j / n, for single counts and the mean, within 5 standard deviations of a variance's estimate."""
    mechanism, runs = survey(name, 8, 0.7), 4_000
    holders = binomial_people(8, 0.3, 20_000)
    questions = all_questions(8)
    drawn, psi = states(mechanism, holders, runs, 3), questions @ mechanism.inverse
    found = np.array([state["hist"] for state in drawn]) / holders.sum() @ psi.T
    np.testing.assert_allclose(mechanism.estimate(drawn[0]).sums(questions).value, found[0], atol=1e-12)
    variance = (psi**2 @ mechanism.channel().T - questions**2) @ holders / holders.sum() ** 2
    np.testing.assert_allclose(found.var(axis=0) / variance, 1.0, atol=5 * np.sqrt(2 / runs))
    off = (found.mean(axis=0) - questions @ holders / holders.sum()) / np.sqrt(variance / runs)
    assert np.abs(off).max() < 5


def hold(name: str, largest: int, p: float, epsilon: float, runs: int) -> None:
    mechanism, holders = survey(name, largest, epsilon), binomial_people(largest, p, 20_000)
    share = covered(mechanism, holders, runs, 4)
    cells, noise = share[: largest + 1], np.sqrt(0.05 * 0.95 / runs)
    assert 0.935 < cells[holders >= 10].mean() < 0.965
    assert (cells > 0.94 - 4 * noise).all()  # rarer counts too
    assert abs(share[-1] - 0.952) < 0.01 + 4 * noise  # the mean


@pytest.mark.parametrize(
    ("name", "largest", "p", "epsilon"), [("gm", 8, 0.1, 0.3), ("em", 4, 0.5, 0.7), ("wm", 16, 0.3, 0.3)]
)
def test_intervals_hold_for_counts_with_ten_holders_and_for_rarer_ones(
    name: str, largest: int, p: float, epsilon: float
) -> None:
    hold(name, largest, p, epsilon, 600)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.3, 0.7, 1.5])
@pytest.mark.parametrize("name", ["gm", "em", "wm"])
@pytest.mark.parametrize(("largest", "p"), [(4, 0.5), (8, 0.1), (16, 0.3)])
def test_intervals_hold_everywhere(name: str, largest: int, p: float, epsilon: float) -> None:
    hold(name, largest, p, epsilon, 4_000)


_PEOPLE: dict[str, Callable[[int, int], Counts]] = {
    "uniform": lambda size, people: np.bincount(np.arange(people) % size, minlength=size),
    "all at 0": lambda size, people: people * np.eye(size, dtype=np.int64)[0],
    "all in the middle": lambda size, people: people * np.eye(size, dtype=np.int64)[size // 2],
    "both ends": lambda size, people: (
        np.eye(size, dtype=np.int64)[[0, -1]].T @ np.array([people // 2, -(-people // 2)])
    ),
    "one apart": lambda size, people: np.eye(size, dtype=np.int64)[[0, size // 2]].T @ np.array([1, people - 1]),
}


def hold_at_the_edges(name: str, largest: int, epsilon: float, people: int, runs: int) -> None:
    """At least 93%, less what so many runs may miss it by."""
    mechanism = survey(name, largest, epsilon)
    for kind, group in _PEOPLE.items():
        share = covered(mechanism, group(largest + 1, people), runs, people)
        assert share.min() > 0.935 - 4 * np.sqrt(0.05 * 0.95 / runs), kind
        assert share.mean() > 0.93, kind


@pytest.mark.parametrize("people", [1, 10, 100])
@pytest.mark.parametrize(("name", "largest", "epsilon"), [("em", 4, 8.0), ("gm", 16, 1.0), ("em", 16, 0.5)])
def test_intervals_hold_at_the_edges(name: str, largest: int, epsilon: float, people: int) -> None:
    """Few reports, rare counts, everybody at one."""
    hold_at_the_edges(name, largest, epsilon, people, 150)


@pytest.mark.slow
@pytest.mark.parametrize("people", [1, 10, 100, 1_000, 20_000])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 4.0, 8.0])
@pytest.mark.parametrize(("name", "largest"), [("gm", 1), ("em", 4), ("gm", 16), ("em", 16), ("wm", 8), ("em", 64)])
def test_intervals_hold_at_every_edge(name: str, largest: int, epsilon: float, people: int) -> None:
    hold_at_the_edges(name, largest, epsilon, people, 400)


def test_no_report_no_answer() -> None:
    seen = survey("gm", 4, 1.0).estimate({"hist": np.zeros(5, dtype=np.int64)}).sums(all_questions(4))
    assert np.isinf(seen.stderr).all()
    assert seen.low is not None
    assert seen.high is not None
    assert (seen.low == 0).all()
    assert seen.high.tolist() == [1.0] * 9 + [4.0]


def test_a_singular_matrix_answers_only_what_it_tells() -> None:
    """um, and lp{WH} under L2 at epsilon 0.3: the whole is known, parts are not."""
    state = {"hist": np.full(9, 100, dtype=np.int64)}
    for mechanism in (survey("um", 8, 0.3), survey("lp", 8, 0.3, properties=["WH"], objective="L2")):
        assert np.linalg.matrix_rank(mechanism.channel()) < 9
        estimate = mechanism.estimate(state)
        (whole,) = answer(parse_text("range 0 8"), estimate)
        assert (whole.value, whole.stderr) == (pytest.approx(1.0, abs=1e-12), 0.0)
        (part,) = answer(parse_text("point 3"), estimate)
        assert (part.value, part.stderr, part.low, part.high) == (None, None, 0.0, 1.0)
        (mean,) = answer(parse_text("mean"), estimate)
        assert (mean.value, mean.low, mean.high) == (None, 0.0, 8.0)
        with pytest.raises(QueryError, match="leaves parts open"):
            answer(parse_text("quantile 0.5"), estimate)
        assert mechanism.predicted_stderr(100) == {}


def test_a_singular_matrix_keeps_the_sums_in_its_row_space() -> None:
    """lp{WH} under L1 at epsilon 0.3, n = 8: what is known is unbiased."""
    mechanism = survey("lp", 8, 0.3, properties=["WH"], objective="L1")
    channel = mechanism.channel()
    assert np.linalg.matrix_rank(channel) < 9
    scores = np.random.default_rng(5).normal(size=(3, 9)) @ channel.T  # sums that some score of the outputs has
    shares = np.random.default_rng(6).dirichlet(np.ones(9))
    exact = CountEstimate.of(mechanism.domain, 1_000, channel, mechanism.inverse, shares @ channel)
    seen = exact.sums(scores)
    np.testing.assert_allclose(seen.value, scores @ shares, atol=1e-6)
    assert np.isfinite(seen.stderr).all()


@pytest.mark.parametrize("anchored", [True, False])
def test_the_mean_under_metric_l1(anchored: bool) -> None:
    """n Var = n (1-c^2)/(4c^2) for anchored signs: 88 at n = 8, epsilon 0.3, where gm has 17 and em about 100."""
    domain = {"kind": "count", "max": 8}
    options = {"anchored": anchored}
    mechanism = build({"mechanism": "metric-l1", "epsilon": 0.3, "domain": domain, "options": options})
    assert isinstance(mechanism, MetricL1Signs)
    people, runs = np.repeat(np.arange(9), 100), 600
    random = seeded(8)
    found = np.array([
        mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(people, random))).average()[:2]
        for _ in range(runs)
    ])[:, :, 0]  # fmt: skip
    assert abs(found[:, 0].mean() - 4) < 5 * found[:, 1].mean() / np.sqrt(runs)
    assert found[:, 0].std() / found[:, 1].mean() == pytest.approx(1, abs=5 / np.sqrt(2 * runs))
    c = np.tanh(0.15)
    signs = 8 if anchored else 8 + 64
    assert people.size * found[0, 1] ** 2 == pytest.approx(signs * (1 - c**2) / (4 * c**2))
    if anchored:
        assert people.size * found[0, 1] ** 2 == pytest.approx(88.2, abs=0.1)
        predicted = [1_000 * survey(name, 8, 0.3).predicted_stderr(1_000)["mean"] ** 2 for name in ("gm", "em")]
        assert predicted == pytest.approx([17, 108], abs=1)


@pytest.mark.parametrize(("people", "epsilon"), [(1, 1.0), (1, 4.0), (10, 4.0), (100, 0.3), (100, 8.0)])
def test_the_interval_of_the_mean_under_metric_l1_holds(people: int, epsilon: float) -> None:
    mechanism = build({"mechanism": "metric-l1", "epsilon": epsilon, "domain": {"kind": "count", "max": 8}})
    assert isinstance(mechanism, MetricL1Signs)
    counts, random, hits = np.arange(people) % 3 + 5, seeded(11), 0
    for _ in range(400):
        seen = mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(counts, random))).average()
        low, high = (seen.value - 1.96 * seen.stderr, seen.value + 1.96 * seen.stderr) if seen.low is None else seen[2:]
        hits += bool(low[0] <= counts.mean() <= high[0])
    assert hits / 400 > 0.89


def test_queries_of_a_count_survey() -> None:
    mechanism = survey("em", 8, 1.0)
    people = np.random.default_rng(9).binomial(8, 0.4, 20_000)
    estimate = mechanism.estimate(mechanism.fold(mechanism.empty(), mechanism.perturb(people, seeded(10))))
    exact = mechanism.exact(people)
    for text in (
        "mean",
        "point 3",
        "range 2 5",
        "prefix 4",
        "quantile 0.1 0.5 0.9",
        "cdf",
        "frequencies",
        "linear " + "1 " * 9,
    ):
        for found, true in zip(answer(parse_text(text), estimate), answer(parse_text(text), exact), strict=True):
            assert found.stderr is not None
            assert abs(found.value - true.value) <= 4.9 * found.stderr + 1e-9, text
    assert [each.query for each in answer(parse_text("mean"), estimate)] == ["mean"]
    with pytest.raises(QueryError, match="count does not apply to mean"):
        answer(parse_text("mean"), estimate, count=True)
    with pytest.raises(QueryError, match="query mean takes no argument"):
        answer(parse_text("mean 3"), estimate)
    categories = build({"mechanism": "grr", "epsilon": 1.0, "domain": {"kind": "categorical", "size": 3}})
    with pytest.raises(QueryError, match="query mean needs a domain of numbers, this one is categorical"):
        answer(parse_text("mean"), categories.exact(np.array([0, 1, 2])))
