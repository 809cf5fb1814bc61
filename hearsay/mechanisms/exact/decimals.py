"""Exponential and logarithm to many digits, in and out as fractions: the only module that computes with decimals.

The decimal module rounds as its context says, and the current context belongs to the program that a device runs in.
With six digits there, a probability is wrong in its sixth digit, and more is spent than was claimed. So every operation
here has a context of its own, with no setting left to a default, and what is computed from the results is computed in
fractions and integers. A test refuses `decimal` in every other module of the mathematics.
"""

from decimal import MAX_EMAX, MIN_EMIN, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

_SPARE_DIGITS = 20  # beyond those asked for: what rounding the argument changes stays behind them


def exponential_of(exponent: Fraction, digits: int) -> Fraction:
    """e^exponent, rounded down to so many significant digits."""
    value = _context(digits + _SPARE_DIGITS).exp(_decimal(exponent, digits + _SPARE_DIGITS))
    return Fraction(_context(digits, ROUND_FLOOR).plus(value))


def logarithm_of(number: Fraction, digits: int) -> Fraction:
    """ln(number), to so many significant digits of the number."""
    return Fraction(_context(digits).ln(_decimal(number, digits)))


def _decimal(number: Fraction, digits: int) -> Decimal:
    return _context(digits).divide(Decimal(number.numerator), Decimal(number.denominator))


def _context(digits: int, rounding: str = ROUND_HALF_EVEN) -> Context:
    return Context(
        prec=digits, rounding=rounding, Emin=MIN_EMIN, Emax=MAX_EMAX, capitals=1, clamp=0, flags=[], traps=[]
    )
