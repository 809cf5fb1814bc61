"""What a promise means to one person, in numbers that need no logarithm."""

from math import exp

_PRIORS = (0.01, 0.1, 0.5)


def posterior(prior: float, epsilon: float) -> float:
    """The most that somebody can think likely after one report who thought `prior` before it.

    A report is at most e^epsilon times likelier under one value than under another, and so are the odds.

    >>> round(posterior(0.5, 1.0), 3)
    0.731
    """
    grown = prior * exp(epsilon)
    return grown / (grown + 1 - prior)


def risk_words(epsilon: float) -> str:
    """The risk of one report for three beliefs."""
    parts = [
        f"{_in_hundred(prior)} likely may think at most {_in_hundred(posterior(prior, epsilon))}" for prior in _PRIORS
    ]
    return f"After one report, whoever thought {'; '.join(parts)}."


def _in_hundred(chance: float) -> str:
    return f"{100 * chance:.3g} in 100"


def lifetime_words(epsilon: float, reports: int, period: str, lifetime: str) -> str:
    """What a device spends that reports again and again, and what spends less."""
    spent = epsilon * reports
    return (
        f"One report every {period} for {lifetime} is {reports:,} reports, which spend epsilon {spent:g} in all. "
        f"A device that reports once spends {epsilon:g} in all; one that repeats itself ([participation] repeat = "
        f"'memoised', with hrr, olh, haar and a few others) spends {epsilon:g} for each of its mechanism's g buckets."
    )
