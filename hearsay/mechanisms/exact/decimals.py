"""Exponential and logarithm to many digits, from fractions to fractions: the only module that computes with decimals.

The decimal module rounds by its current context, which the program around a device may set. If that context has six
digits, probabilities are wrong in the sixth digit, and a report spends more epsilon than claimed. So every operation
here uses a context of its own with every setting written out, and callers go on in fractions and integers. A test
refuses `decimal` in every other module of the mathematics.
"""

from decimal import MAX_EMAX, MIN_EMIN, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

_SPARE_DIGITS = 20  # beyond those asked for, so that rounding the argument changes only digits that are dropped


def exponential_of(exponent: Fraction, digits: int) -> Fraction:
    """e^exponent, rounded down to so many significant digits."""
    value = _context(digits + _SPARE_DIGITS).exp(_decimal(exponent, digits + _SPARE_DIGITS))
    return Fraction(_context(digits, ROUND_FLOOR).plus(value))


def logarithm_of(number: Fraction, digits: int) -> Fraction:
    """ln(number), computed with so many significant digits."""
    return Fraction(_context(digits).ln(_decimal(number, digits)))


def _decimal(number: Fraction, digits: int) -> Decimal:
    return _context(digits).divide(Decimal(number.numerator), Decimal(number.denominator))


def _context(digits: int, rounding: str = ROUND_HALF_EVEN) -> Context:
    return Context(
        prec=digits, rounding=rounding, Emin=MIN_EMIN, Emax=MAX_EMAX, capitals=1, clamp=0, flags=[], traps=[]
    )
