"""The demo's own intervals over many seeds, each survey simulated from the people of the demo.

Plain intervals (value +- 1.96 standard errors) are meant to hold in 95%; the others (bands of quantiles, Fieller's and
score intervals) are wider where they must be. A demo says itself how many misses chance explains: among 200 at most one
may have more.
"""

from collections.abc import Iterator
from typing import Any

from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.queries.answer import Answer
from hearsay.ops.demo.scene import DemoSurvey, demo_surveys
from hearsay.ops.demo.screen import most_by_chance
from hearsay.ops.experiments.output import Result
from hearsay.ops.simulate.simulation import simulate

SEEDS = 200
KINDS = ("plain", "others")
_PLAIN = (0.94, 0.96)
_OTHERS = 0.94


def demo_result(seeds: int) -> Result:
    """How many of each survey's intervals hold."""
    result = Result(
        "demo",
        f"The demo's intervals over {seeds} seeds: how many hold, in percent",
        ["survey", "mechanism", *KINDS],
        [],
        "plain: value +- 1.96 standard errors; others: bands, Fieller's and score intervals",
    )
    total: dict[str, list[bool]] = {kind: [] for kind in KINDS}
    runs: list[list[bool]] = [[] for _ in range(seeds)]  # of each demo, which intervals hold
    for demo in demo_surveys():
        covered: dict[str, list[bool]] = {kind: [] for kind in KINDS}
        truth = demo.truth()
        for seed in range(seeds):
            for kind, holds in _intervals(demo, truth, seed):
                covered[kind].append(holds)
                runs[seed].append(holds)
        for kind in KINDS:
            total[kind] += covered[kind]
        result.rows.append([demo.survey.name, demo.survey.mechanism.ID, *_shown(covered)])
    result.rows.append(["all", "", *_shown(total)])
    misses = [len(each) - sum(each) for each in runs]
    most = most_by_chance(len(runs[0]))
    broken = sum(each > most for each in misses)
    result.caption += (
        f"; misses of a demo: {min(misses)} to {max(misses)}, {sum(misses) / seeds:.2f} on average of {len(runs[0])}; "
        f"{broken} of {seeds} demos have more than the {most} that it puts down to chance"
    )
    result.expect(broken <= max(seeds // 200, 1), f"{broken} of {seeds} demos look broken by their own words")
    share = {kind: sum(each) / len(each) for kind, each in total.items() if each}
    result.expect(_PLAIN[0] <= share["plain"] <= _PLAIN[1], f"{share['plain']:.2%} of the plain intervals hold")
    result.expect(share["others"] >= _OTHERS, f"{share['others']:.2%} of the other intervals hold")
    return result


def _shown(covered: dict[str, list[bool]]) -> list[Any]:
    return [f"{100 * sum(each) / len(each):.1f}" if each else "" for each in covered.values()]


def _intervals(demo: DemoSurvey, truth: list[Answer], seed: int) -> Iterator[tuple[str, bool]]:
    """Kind of every interval, and whether it holds."""
    estimate = simulate(demo.survey, demo.people, seeded(seed)).estimate
    assert estimate is not None
    for answer, true in zip(demo.ask(estimate), truth, strict=True):
        low, high = answer.band if answer.band is not None else (answer.low, answer.high)
        assert true.value is not None
        assert low is not None
        assert high is not None
        plain = answer.band is None and answer.interval is None
        yield "plain" if plain else "others", low <= true.value <= high
