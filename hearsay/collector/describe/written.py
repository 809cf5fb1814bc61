"""Numbers as people write them: users as 40,000 or 1e6, the half width of a share as 2%."""

import re
from decimal import Decimal, InvalidOperation

from hearsay.mechanisms.errors import SpecificationError

_THOUSANDS = re.compile(r"[0-9]{1,3}(,[0-9]{3})+")
_PERCENT = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?) ?%")
_MOST_DIGITS = 18  # of a count: a 64-bit integer holds it
_SHOWN = 40  # characters of what was given


def without_separators(text: str) -> str:
    """A whole number in plain digits where it is written as 40,000 or 2.5e6; any other text as it is.

    >>> [without_separators(text) for text in ("40,000", "2.5e6", "4,00", "7")]
    ['40000', '2500000', '4,00', '7']
    """
    if _THOUSANDS.fullmatch(text):
        return text.replace(",", "")
    if "e" in text.lower():
        try:
            number = Decimal(text)
        except InvalidOperation:
            return text
        if number.is_finite() and abs(number.adjusted()) < _MOST_DIGITS and number == int(number):
            return str(int(number))
    return text


def half_width(text: str, is_share: bool) -> float:
    """`within` as a number; of a share, or of ranks, also in percent.

    >>> half_width("2%", is_share=True)
    0.02
    """
    percent = _PERCENT.fullmatch(text.strip())
    if percent and not is_share:
        raise SpecificationError(
            what="within", expected="in the answer's own unit, which is no share", got=repr(text[:_SHOWN])
        )
    try:
        return float(Decimal(percent[1]) / 100) if percent else float(text)
    except ValueError:
        raise SpecificationError(
            what="within", expected="a number, or of a share a percentage such as 2%", got=repr(text[:_SHOWN])
        ) from None
