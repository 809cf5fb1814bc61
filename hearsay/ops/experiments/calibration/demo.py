"""The demo's own intervals over many seeds, each survey simulated from the people of the demo.

Plain intervals (value +- 1.96 standard errors) are meant to hold in 95%; the others (bands of quantiles, Fieller's and
score intervals) are wider where they must be; those of mutual information are meant to hold in 90%.
"""

from collections.abc import Iterator
from typing import Any

from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.queries.answer import Answer
from hearsay.ops.demo.scene import Act, acts
from hearsay.ops.experiments.output import Result
from hearsay.ops.simulate.simulation import simulate

SEEDS = 200
KINDS = ("plain", "others", "information")
_PLAIN = (0.94, 0.96)
_OTHERS = 0.94
_INFORMATION = 0.90


def demo_result(seeds: int) -> Result:
    """How many of each survey's intervals hold."""
    result = Result(
        "demo",
        f"The demo's intervals over {seeds} seeds: how many hold, in percent",
        ["survey", "mechanism", *KINDS],
        [],
        "plain: value +- 1.96 standard errors; others: bands, Fieller's and score intervals; information: of trees",
    )
    total: dict[str, list[bool]] = {kind: [] for kind in KINDS}
    for act in acts():
        covered: dict[str, list[bool]] = {kind: [] for kind in KINDS}
        truth = act.truth()
        for seed in range(seeds):
            for kind, holds in _intervals(act, truth, seed):
                covered[kind].append(holds)
        for kind in KINDS:
            total[kind] += covered[kind]
        result.rows.append([act.survey.name, act.survey.mechanism.ID, *_shown(covered)])
    result.rows.append(["all", "", *_shown(total)])
    share = {kind: sum(each) / len(each) for kind, each in total.items()}
    result.expect(_PLAIN[0] <= share["plain"] <= _PLAIN[1], f"{share['plain']:.2%} of the plain intervals hold")
    result.expect(share["others"] >= _OTHERS, f"{share['others']:.2%} of the other intervals hold")
    result.expect(share["information"] >= _INFORMATION, f"{share['information']:.2%} of those of trees hold")
    return result


def _shown(covered: dict[str, list[bool]]) -> list[Any]:
    return [f"{100 * sum(each) / len(each):.1f}" if each else "" for each in covered.values()]


def _intervals(act: Act, truth: list[Answer], seed: int) -> Iterator[tuple[str, bool]]:
    """Kind of every interval, and whether it holds; edges of a tree that the true one has not are left out."""
    estimate = simulate(act.survey, act.people, seeded(seed)).estimate
    assert estimate is not None
    edges = {str(answer.cell): answer for answer in truth if answer.query == "tree"}
    for answer, same in zip(act.ask(estimate), truth, strict=True):
        true = edges.get(str(answer.cell)) if answer.query == "tree" else same
        low, high = answer.band if answer.band is not None else (answer.low, answer.high)
        if true is None or true.value is None or low is None or high is None:
            continue
        plain = answer.band is None and answer.interval is None
        yield "information" if answer.query == "tree" else "plain" if plain else "others", low <= true.value <= high
