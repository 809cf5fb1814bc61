"""Probabilities as exact integers out of 2^64, rounded so that the spent epsilon is never above the claimed one.

exp(epsilon) has 60 significant digits; a 64-bit threshold needs 20. Every rounding goes towards more noise. Everything
computed from it is a fraction, which no setting of the program around it can round.
"""

from fractions import Fraction
from math import ceil, floor

from hearsay.mechanisms.exact.decimals import exponential_of, logarithm_of
from hearsay.mechanisms.exact.randomness import WORD

_DIGITS = 60


def exponential(epsilon: float) -> Fraction:
    """exp(epsilon) for the exact binary value of `epsilon`, rounded down to 60 digits."""
    return exponential_of(Fraction(epsilon), _DIGITS)


def keep_threshold(epsilon: float, choices: int) -> int:
    """Chance out of 2^64 of the true one among `choices` answers: e/(e + choices - 1), rounded down, e = exp(epsilon).

    With this threshold T, p = T/2^64 and q = (1-p)/(choices-1), rounding down keeps p/q <= exp(epsilon).
    """
    e = exponential(epsilon)
    return min(down(e / (e + choices - 1)), WORD - 1)


def flip_threshold(epsilon: float) -> int:
    """Chance q out of 2^64 to flip a sign: 1/(exp(epsilon) + 1), rounded up, so that (1-q)/q <= exp(epsilon)."""
    return up(1 / (exponential(epsilon) + 1))


def up(probability: Fraction) -> int:
    """The least threshold that is not below `probability`."""
    return min(ceil(probability * WORD), WORD)


def down(probability: Fraction) -> int:
    """The greatest threshold that is not above `probability`."""
    return min(floor(probability * WORD), WORD)


def probability(threshold: int) -> Fraction:
    """The exact probability of a threshold: threshold / 2^64."""
    return Fraction(threshold, WORD)


def log_ratio(numerator: Fraction, denominator: Fraction) -> float:
    """ln(numerator/denominator) of exact probabilities: the epsilon that a coin spends."""
    return float(logarithm_of(Fraction(numerator) / Fraction(denominator), _DIGITS))
