"""Probabilities as exact integers out of 2^64, rounded so that the spent epsilon is never above the claimed one.

exp(epsilon) is taken to 60 significant digits, far beyond the 20 that a 64-bit threshold can hold, and every rounding
goes towards more noise.
"""

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from hearsay.mechanisms.exact.randomness import WORD

_EXACT = Context(prec=60)


def exponential(epsilon: float) -> Decimal:
    """exp(epsilon) for the exact binary value of `epsilon`, to 60 digits."""
    return _EXACT.exp(Decimal(epsilon))


def keep_threshold(epsilon: float, choices: int) -> int:
    """Chance out of 2^64 to tell the truth among `choices` answers, e/(e + choices - 1) rounded down.

    With p = T/2^64 and q = (1-p)/(choices-1) this keeps p/q <= e^epsilon.
    """
    e = exponential(epsilon)
    share = _EXACT.divide(_EXACT.multiply(e, Decimal(WORD)), _EXACT.add(e, Decimal(choices - 1)))
    return min(int(share.to_integral_value(ROUND_FLOOR)), WORD - 1)


def flip_threshold(epsilon: float) -> int:
    """Chance out of 2^64 to flip a sign, 1/(e + 1) rounded up, so that (1-q)/q <= e^epsilon."""
    return up(_EXACT.divide(Decimal(1), _EXACT.add(exponential(epsilon), Decimal(1))))


def up(probability: Decimal) -> int:
    """The least threshold that is not below `probability`."""
    return min(int(_EXACT.multiply(probability, Decimal(WORD)).to_integral_value(ROUND_CEILING)), WORD)


def down(probability: Decimal) -> int:
    """The greatest threshold that is not above `probability`."""
    return min(int(_EXACT.multiply(probability, Decimal(WORD)).to_integral_value(ROUND_FLOOR)), WORD)


def probability(threshold: int) -> Fraction:
    """The exact probability that a threshold stands for."""
    return Fraction(threshold, WORD)


def log_ratio(numerator: Fraction, denominator: Fraction) -> float:
    """ln(numerator/denominator) of exact probabilities; the epsilon that a coin really spends."""
    ratio = Fraction(numerator) / Fraction(denominator)
    return float(_EXACT.ln(_EXACT.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))))
