"""The smallest share that is detected: planned, and measured with ten planted texts among 20,000 others."""

from collections.abc import Iterator
from math import sqrt
from typing import Any

import numpy as np

from hearsay.ops.experiments.output import Result
from hearsay.ops.experiments.text.draws import LETTERS, People, drawn, planted, played, survey

DEVICES, PLANTED, OTHERS = 1_000_000, 10, 20_000
EPSILONS = (1.0, 2.0, 4.0)
DOMAINS = (("bytes", 8), ("bytes", 16), ("bytes", 32), (LETTERS, 8), (LETTERS, 16), (LETTERS, 32))
# The shares in docs/how-to/text.md, in per cent, that each of the ten planted texts has.
SHARES = {
    ("bytes", 8): (3.0, 1.32, 0.45),
    ("bytes", 16): (4.2, 1.90, 0.66),
    ("bytes", 32): (6.3, 2.73, 0.94),
    (LETTERS, 8): (2.5, 1.12, 0.37),
    (LETTERS, 16): (3.4, 1.48, 0.51),
    (LETTERS, 32): (4.8, 2.18, 0.71),
}
REAL = ((("bytes", 8), 2.0), ((LETTERS, 8), 4.0))  # rows for which every device reports
MORE = 1.3
LEAST_ROW, LEAST_MEAN, LEAST_MORE, MOST_FALSE = 0.90, 0.93, 0.99, 0.05
COVERED = (0.93, 0.97)
NOBODY = 50  # texts that no device has, asked for in every run
DETECTED, ABSENT, FREQUENT = "detected", "of no device", "over 5% at epsilon 4"


def thresholds(runs: int, real: bool, seed: int) -> Iterator[Result]:
    """How many texts of these shares and of 1.3 times them are detected, and how often intervals contain the truth."""
    result = Result(
        "thresholds",
        f"How many of ten texts planted among {OTHERS:,} others are detected, {DEVICES:,} devices",
        ["alphabet", "length", "epsilon", "questions", "planned", "share", "detected", f"at {MORE} x share",
         "false", "how"],
        [],
        f"{runs} runs each; planned: the smallest share that is detected with 95% probability; "
        f"false: runs, of {2 * runs}, in which a text that no device has is detected",
    )  # fmt: skip
    shares_detected, coverage = [], _Coverage()
    shares_at_more, false_runs = [], 0
    for number, (domain, epsilon) in enumerate((domain, epsilon) for domain in DOMAINS for epsilon in EPSILONS):
        alphabet, length = domain
        mechanism = survey(epsilon, length, alphabet)
        share = SHARES[domain][EPSILONS.index(epsilon)] / 100
        is_real = real and (domain, epsilon) in REAL
        detected, false = _measure(mechanism, share, runs, is_real, [seed, number], coverage)
        at_more, false_more = _measure(mechanism, MORE * share, runs, False, [seed, number, 1], coverage)
        shares_detected.append(detected)
        shares_at_more.append(at_more)
        false_runs += false + false_more
        name = "bytes" if alphabet == "bytes" else "26 letters"
        plan = mechanism.smallest_detected_share(DEVICES)
        result.rows.append(
            [name, length, f"{epsilon:g}", mechanism.questions, "" if plan is None else f"{plan:.2%}", f"{share:.2%}",
             f"{detected:.1%}", f"{at_more:.1%}", false + false_more, "reports" if is_real else "drawn"]
        )  # fmt: skip
        chance = 3 * sqrt(0.05 / (runs * PLANTED))  # texts of one run are detected nearly independently
        result.expect(detected >= LEAST_ROW - chance, f"{name}, {length}, epsilon {epsilon:g}: {detected:.1%} detected")
    mean, mean_more = float(np.mean(shares_detected)), float(np.mean(shares_at_more))
    of_all = false_runs / (2 * runs * len(shares_detected))
    result.expect(mean >= LEAST_MEAN, f"{mean:.1%} detected on average at the documented shares")
    result.expect(mean_more >= LEAST_MORE, f"{mean_more:.1%} detected on average at {MORE} times the shares")
    chance = 3 * sqrt(MOST_FALSE / (2 * runs * len(shares_detected)))
    result.expect(of_all <= MOST_FALSE + chance, f"{of_all:.1%} of all runs detect a text that no device has")
    result.rows.append(["all", "", "", "", "", "", f"{mean:.1%}", f"{mean_more:.1%}", f"{of_all:.1%}", ""])
    yield result
    yield coverage.result(runs, seed)


def _measure(
    mechanism: Any, share: float, runs: int, real: bool, seeds: list[int], coverage: "_Coverage"
) -> tuple[float, int]:
    """The share of the planted texts that are detected, and how many runs detect a text that no device has."""
    generator, detected, false = np.random.default_rng(seeds), 0, 0
    for _ in range(runs):
        people = planted(mechanism, share, OTHERS, DEVICES, PLANTED, generator)
        estimate = (
            played(mechanism, people, int(generator.integers(2**62))) if real else drawn(mechanism, people, generator)
        )
        names = {code.tobytes() for code in estimate.detected}
        detected += sum(code.tobytes() in names for code in people.codes[:PLANTED])
        false += bool(names - {code.tobytes() for code in people.codes[people.counts > 0]})
        coverage.add(estimate, people, generator)
    return detected / (runs * PLANTED), false


class _Coverage:
    """How many intervals contain the truth, of how many, for each group of texts."""

    def __init__(self) -> None:
        self._counts = {DETECTED: [0, 0], ABSENT: [0, 0], FREQUENT: [0, 0]}

    def add(self, estimate: Any, people: People, generator: np.random.Generator, group: str = DETECTED) -> None:
        """Count the detected texts of one run in `group`, and for the first group also texts that no device has."""
        share = {code.tobytes(): each for code, each in zip(people.codes, people.shares, strict=True)}
        codes = estimate.detected
        self._count(group, estimate.shares(codes), np.array([share.get(code.tobytes(), 0.0) for code in codes]))
        if group == DETECTED:
            length = estimate.domain.length
            words = ["q" + "".join(LETTERS[x] for x in row) for row in generator.integers(0, 26, (NOBODY, length - 1))]
            codes = estimate.domain.code.encode(words)
            truth = np.array([share.get(code.tobytes(), 0.0) for code in codes])
            self._count(ABSENT, estimate.shares(codes), truth)

    def _count(self, group: str, answers: Any, truth: Any) -> None:
        low, high = answers.ends()
        self._counts[group][0] += int(((low <= truth) & (truth <= high)).sum())
        self._counts[group][1] += len(truth)

    def result(self, runs: int, seed: int) -> Result:
        """The table, after runs with frequent texts at epsilon 4."""
        generator = np.random.default_rng([seed, 77])
        mechanism = survey(4.0, 8, LETTERS)
        for _ in range(2 * runs):
            people = planted(mechanism, 0.06, OTHERS, DEVICES, PLANTED, generator)
            self.add(drawn(mechanism, people, generator), people, generator, FREQUENT)
        result = Result(
            "intervals",
            "How often 95% intervals of the shares of texts contain the truth",
            ["texts", "intervals", "contain the truth"],
            [],
        )
        for group, (good, asked) in self._counts.items():
            result.rows.append([group, asked, f"{good / max(asked, 1):.1%}"])
            chance = 4 * sqrt(0.05 / max(asked, 1))
            as_expected = COVERED[0] - chance <= good / max(asked, 1) <= COVERED[1] + chance
            result.expect(
                as_expected, f"{good / max(asked, 1):.1%} of the intervals of texts {group} contain the truth"
            )
        return result
