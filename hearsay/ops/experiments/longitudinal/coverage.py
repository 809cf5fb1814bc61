"""How often the interval of a share over several memoised windows contains the truth.

Noise repeats, so the usual interval of as many fresh reports is too narrow: it holds in 46% after 10 windows. The
answer's interval is sqrt(windows) times as wide (`mechanisms.questions`), which is enough however many devices moved.
"""

from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.exact.randomness import SeededRandom, seeded
from hearsay.mechanisms.questions import answer, parse_text
from hearsay.ops.experiments.longitudinal.lives import Lives
from hearsay.ops.experiments.longitudinal.variances import hashing
from hearsay.ops.experiments.output import Result

SIZE, DEVICES, EPSILON = 64, 4_000, 1.0
WINDOWS = (1, 3, 10)
MOVED = (0.0, 0.5, 1.0)  # share of the devices that draw a new value in every window
USUAL_AT_10 = 0.46


def coverage(runs: int, seed: int) -> Result:
    """Coverage of all cells' intervals, usual and stated."""
    result = Result(
        "coverage",
        f"Intervals of shares over memoised windows, hrr, {SIZE} values, epsilon {EPSILON:g}, {DEVICES:,} devices",
        ["windows", "devices that move", "usual interval holds", "stated interval holds"],
        [],
        f"{runs} runs of {SIZE} cells",
    )
    random = seeded(seed)
    for windows in WINDOWS:
        for moved in MOVED if windows > 1 else MOVED[:1]:
            usual, stated = _covered(windows, moved, runs, random)
            result.rows.append([windows, f"{moved:.0%}", f"{usual:.1%}", f"{stated:.1%}"])
            slack = 4 * sqrt(0.05 * 0.95 / (runs * SIZE)) + 0.005
            result.expect(stated >= 0.95 - slack, f"{windows} windows, {moved:.0%} move: {stated:.1%} hold")
            if windows == 10 and moved == 0.0:
                result.expect(abs(usual - USUAL_AT_10) <= 0.03, f"usual interval after 10 windows: {usual:.1%}")
    return result


def _covered(windows: int, moved: float, runs: int, random: SeededRandom) -> tuple[float, float]:
    """Of all cells and runs, the share that the usual and the stated interval contain."""
    mechanism, question = hashing(EPSILON, SIZE, 1), parse_text("frequencies")
    shares = 1 / np.arange(1.0, SIZE + 1)
    covered = np.zeros(2)
    for _ in range(runs):
        lives, state, truth = Lives.draw(mechanism, DEVICES, random), mechanism.empty(), np.zeros(SIZE)
        cells = _drawn(shares, DEVICES, random)
        for _ in range(windows):
            moves = random.below(1 << 20, DEVICES) < moved * (1 << 20)
            cells[moves] = _drawn(shares, int(moves.sum()), random)
            mechanism.fold(state, lives.reports(cells))
            truth += np.bincount(cells, minlength=SIZE) / (DEVICES * windows)
        estimate = mechanism.estimate(state)
        for number, repeats in enumerate((1, windows)):
            object.__setattr__(estimate, "repeats", repeats)  # as a sum of windows has it
            answers = answer(question, estimate)
            low, high = (np.array([getattr(each, end) for each in answers]) for end in ("low", "high"))
            covered[number] += ((low <= truth) & (truth <= high)).mean()
    usual, stated = covered / runs
    return float(usual), float(stated)


def _drawn(shares: NDArray[Any], count: int, random: SeededRandom) -> NDArray[np.int64]:
    ends = (np.cumsum(shares / shares.sum())[:-1] * 2.0**64).astype(np.uint64)
    return random.choose(ends, count).astype(np.int64)
