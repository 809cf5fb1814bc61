"""The averaging attack: whoever can connect a device's reports guesses its value by what it said most often.

Four values at epsilon 1. Drawn afresh (grr), T reports are T votes; the share guessed is computed exactly from the
multinomial distribution of the votes. Memoised (olh, four buckets) the answer about a value that stays is drawn once,
and any number of windows tells what one tells.
"""

from math import exp, lgamma, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms import build
from hearsay.mechanisms.estimates.estimate import Z95
from hearsay.mechanisms.exact.randomness import Random, seeded
from hearsay.ops.experiments.lines import line_style
from hearsay.ops.experiments.longitudinal.lives import Lives
from hearsay.ops.experiments.longitudinal.variances import hashing
from hearsay.ops.experiments.output import Result

VALUES, EPSILON = 4, 1.0
WINDOWS = (1, 10, 100)
STATED = {1: 0.475, 10: 0.773, 100: 1.0}
LIVES = 20_000


def guessed(windows: int) -> float:
    """The exact chance that the true value has the most votes, ties drawn."""
    p = exp(EPSILON) / (exp(EPSILON) + VALUES - 1)
    true, other = log(p), log((1 - p) / (VALUES - 1))
    chance = 0.0
    for own in range(windows + 1):
        for a in range(windows - own + 1):
            for b in range(windows - own - a + 1):
                votes = (own, a, b, windows - own - a - b)
                if own < max(votes):
                    continue
                ways = lgamma(windows + 1) - sum(lgamma(each + 1) for each in votes)
                chance += exp(ways + own * true + (windows - own) * other) / votes.count(own)
    return chance


def attack(lives: int, seed: int) -> Result:
    """Shares of values guessed after so many windows."""
    result = Result(
        "attack",
        f"Share of values that the averaging attack guesses, {VALUES} values, epsilon {EPSILON:g}",
        ["windows", "afresh, grr", "exact", "stated", "memoised, olh of 4 buckets"],
        [],
        f"{lives:,} devices whose value does not change",
    )
    random = seeded(seed)
    cells = random.below(VALUES, lives).astype(np.int64)
    afresh = _afresh(cells, max(WINDOWS), random)
    memoised = _memoised(cells, random)
    curve = []
    for windows in range(1, max(WINDOWS) + 1):
        share = _share(afresh[:windows].sum(axis=0), cells, random)
        curve.append(share)
        if windows not in WINDOWS:
            continue
        exact, stated = guessed(windows), STATED[windows]
        result.rows.append([windows, f"{share:.3f}", f"{exact:.3f}", f"{stated:g}", f"{memoised:.3f}"])
        error = 4 * float(np.sqrt(0.25 / lives))
        result.expect(abs(exact - stated) <= 6e-4, f"{windows} windows: exact {exact:.4f}, stated {stated}")
        result.expect(abs(share - exact) <= error, f"{windows} windows: {share:.3f} guessed, exact {exact:.3f}")
        result.expect(abs(memoised - STATED[1]) <= error, f"memoised: {memoised:.3f} guessed, stated {STATED[1]}")
    result.draw = lambda figure: _draw(figure, curve, memoised, lives)
    return result


def _afresh(cells: NDArray[np.int64], windows: int, random: Random) -> NDArray[np.int16]:
    """Votes by window, device and value."""
    domain = {"kind": "categorical", "size": VALUES}
    mechanism = build({"mechanism": "grr", "epsilon": EPSILON, "domain": domain})
    votes = np.zeros((windows, len(cells), VALUES), dtype=np.int16)
    for window in range(windows):
        votes[window, np.arange(len(cells)), mechanism.perturb(cells, random)["value"]] = 1
    return votes


def _memoised(cells: NDArray[np.int64], random: Random) -> float:
    """Guessed: the value whose bucket the device names, in every window the same one."""
    lives = Lives.draw(hashing(EPSILON, VALUES, 2), len(cells), random)
    buckets = [lives.reports(cells)["bucket"] for _ in range(2)]
    assert (buckets[0] == buckets[1]).all(), "a second window tells no more"
    votes = [buckets[0] == lives.buckets(np.full(len(cells), value)) for value in range(VALUES)]
    return _share(np.stack(votes, axis=1).astype(np.int16), cells, random)


def _share(votes: NDArray[Any], cells: NDArray[np.int64], random: Random) -> float:
    """The share of devices whose value has the most votes, ties drawn."""
    ties = random.below(1 << 20, votes.size).reshape(votes.shape) / (1 << 20)
    return float(((votes + ties).argmax(axis=1) == cells).mean())


def _draw(figure: Any, curve: list[float], memoised: float, lives: int) -> None:
    axes = figure.subplots()
    windows = np.arange(1, len(curve) + 1)
    measured = {
        "afresh in every window (grr)": np.array(curve),
        "memoised (olh, 4 buckets)": np.full(len(curve), memoised),
    }
    for number, (label, share) in enumerate(measured.items()):
        style = line_style(number, len(measured)) | {"marker": ""}
        axes.semilogx(windows, share, label=f"{label}, with 95% interval", **style)
        half = Z95 * np.sqrt(share * (1 - share) / lives)
        axes.fill_between(windows, share - half, share + half, alpha=0.3, linewidth=0, color=style["color"])
    axes.axhline(1 / VALUES, color="grey", linestyle=":", label="guessed without a report")
    axes.set_xticks(WINDOWS, [str(windows) for windows in WINDOWS])
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("windows in which a device reported the same value")
    axes.set_ylabel("share of values guessed")
    axes.legend()
