"""The smallest share told: planned, and measured with ten planted texts among 20,000 others."""

from collections.abc import Iterator
from math import sqrt
from typing import Any

import numpy as np

from hearsay.ops.experiments.output import Result
from hearsay.ops.experiments.text.draws import LETTERS, People, drawn, planted, played, survey

DEVICES, PLANTED, OTHERS = 1_000_000, 10, 20_000
EPSILONS = (1.0, 2.0, 4.0)
DOMAINS = (("bytes", 8), ("bytes", 16), ("bytes", 32), (LETTERS, 8), (LETTERS, 16), (LETTERS, 32))
# Shares of the page, in per cent, that ten texts are planted with.
SHARES = {
    ("bytes", 8): (3.0, 1.32, 0.45),
    ("bytes", 16): (4.2, 1.90, 0.66),
    ("bytes", 32): (6.3, 2.73, 0.94),
    (LETTERS, 8): (2.5, 1.12, 0.37),
    (LETTERS, 16): (3.4, 1.48, 0.51),
    (LETTERS, 32): (4.8, 2.18, 0.71),
}
REAL = ((("bytes", 8), 2.0), ((LETTERS, 8), 4.0))  # rows whose reports are really drawn
MORE = 1.3
LEAST_ROW, LEAST_MEAN, LEAST_MORE, MOST_FALSE = 0.90, 0.93, 0.99, 0.05
HOLD = (0.93, 0.97)
NOBODY = 50  # texts that nobody holds, asked for in every run


def thresholds(runs: int, real: bool, seed: int) -> Iterator[Result]:
    """What is told at the page's shares and at 1.3 times them, and how often intervals contain the truth."""
    result = Result(
        "thresholds",
        f"Ten texts planted among {OTHERS:,} others, {DEVICES:,} devices",
        ["alphabet", "length", "epsilon", "questions", "planned", "share", "told", f"told at {MORE} x", "false", "how"],
        [],
        f"{runs} runs each; planned: the smallest share told with 95% probability; false: runs with a text of nobody",
    )
    told_in, coverage = [], _Held()
    told_more, false_runs = [], 0
    for number, (domain, epsilon) in enumerate((domain, epsilon) for domain in DOMAINS for epsilon in EPSILONS):
        alphabet, length = domain
        mechanism = survey(epsilon, length, alphabet)
        share = SHARES[domain][EPSILONS.index(epsilon)] / 100
        is_real = real and (domain, epsilon) in REAL
        told, false = _measure(mechanism, share, runs, is_real, [seed, number], coverage)
        more, false_more = _measure(mechanism, MORE * share, runs, False, [seed, number, 1], coverage)
        told_in.append(told)
        told_more.append(more)
        false_runs += false + false_more
        name = "bytes" if alphabet == "bytes" else "26 letters"
        plan = mechanism.smallest_share_told(DEVICES)
        result.rows.append(
            [name, length, f"{epsilon:g}", mechanism.questions, "" if plan is None else f"{plan:.2%}", f"{share:.2%}",
             f"{told:.1%}", f"{more:.1%}", false + false_more, "reports" if is_real else "drawn"]
        )  # fmt: skip
        chance = 3 * sqrt(0.05 / (runs * PLANTED))  # texts of one run are told nearly independently
        result.expect(told >= LEAST_ROW - chance, f"{name}, {length}, epsilon {epsilon:g}: {told:.1%} told")
    mean, mean_more, of_all = float(np.mean(told_in)), float(np.mean(told_more)), false_runs / (2 * runs * len(told_in))
    result.expect(mean >= LEAST_MEAN, f"{mean:.1%} told on average at the shares of the page")
    result.expect(mean_more >= LEAST_MORE, f"{mean_more:.1%} told on average at {MORE} times the shares")
    chance = 3 * sqrt(MOST_FALSE / (2 * runs * len(told_in)))
    result.expect(of_all <= MOST_FALSE + chance, f"{of_all:.1%} of all runs tell a text of nobody")
    result.rows.append(["all", "", "", "", "", "", f"{mean:.1%}", f"{mean_more:.1%}", f"{of_all:.1%}", ""])
    yield result
    yield coverage.result(runs, seed)


def _measure(mechanism: Any, share: float, runs: int, real: bool, seeds: list[int], held: "_Held") -> tuple[float, int]:
    """The part of the planted texts that are told, and how many runs tell a text of nobody."""
    generator, told, false = np.random.default_rng(seeds), 0, 0
    for _ in range(runs):
        people = planted(mechanism, share, OTHERS, DEVICES, PLANTED, generator)
        estimate = (
            played(mechanism, people, int(generator.integers(2**62))) if real else drawn(mechanism, people, generator)
        )
        names = {code.tobytes() for code in estimate.told}
        told += sum(code.tobytes() in names for code in people.codes[:PLANTED])
        false += bool(names - {code.tobytes() for code in people.codes[people.counts > 0]})
        held.add(estimate, people, generator)
    return told / (runs * PLANTED), false


class _Held:
    """How often intervals contain the truth: of told texts, of frequent ones at epsilon 4, of texts of nobody."""

    def __init__(self) -> None:
        self._seen = {"told": [0, 0], "nobody": [0, 0], "over 5% at epsilon 4": [0, 0]}

    def add(self, estimate: Any, people: People, generator: np.random.Generator, group: str = "told") -> None:
        """The answers of one run."""
        share = {code.tobytes(): each for code, each in zip(people.codes, people.shares, strict=True)}
        told = estimate.told
        self._count(group, estimate.shares(told), np.array([share.get(code.tobytes(), 0.0) for code in told]))
        if group == "told":
            length = estimate.domain.length
            words = ["q" + "".join(LETTERS[x] for x in row) for row in generator.integers(0, 26, (NOBODY, length - 1))]
            codes = estimate.domain.code.encode(words)
            truth = np.array([share.get(code.tobytes(), 0.0) for code in codes])
            self._count("nobody", estimate.shares(codes), truth)

    def _count(self, group: str, answers: Any, truth: Any) -> None:
        low, high = answers.ends()
        self._seen[group][0] += int(((low <= truth) & (truth <= high)).sum())
        self._seen[group][1] += len(truth)

    def result(self, runs: int, seed: int) -> Result:
        """The table, after runs with frequent texts at epsilon 4."""
        generator = np.random.default_rng([seed, 77])
        mechanism = survey(4.0, 8, LETTERS)
        for _ in range(2 * runs):
            people = planted(mechanism, 0.06, OTHERS, DEVICES, PLANTED, generator)
            self.add(drawn(mechanism, people, generator), people, generator, "over 5% at epsilon 4")
        result = Result(
            "intervals", "How often 95% intervals of shares contain the truth", ["texts", "asked", "hold"], []
        )
        for group, (good, asked) in self._seen.items():
            result.rows.append([group, asked, f"{good / max(asked, 1):.1%}"])
            chance = 4 * sqrt(0.05 / max(asked, 1))
            holds = HOLD[0] - chance <= good / max(asked, 1) <= HOLD[1] + chance
            result.expect(holds, f"intervals of texts {group} hold in {good / max(asked, 1):.1%}")
        return result
