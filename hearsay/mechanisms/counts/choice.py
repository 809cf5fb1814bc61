"""Which mechanism releases a count with given properties best under L0 (Kulkarni figure 6.4), and why.

For each of the 128 sets of properties one of only four mechanisms is best. The best fair mechanism has all the other
properties too (theorem 13). gm is symmetric and has the row properties (theorem 12), the column properties for a <= 1/2
(lemma 14, whose inequality is printed the wrong way round) and weak honesty for n >= 2a/(1-a) (lemma 13). WM does not
become gm where a > 1/2, whatever n is: only the program with weak honesty alone does. Other objectives and weights are
left to the linear program.
"""

from fractions import Fraction
from typing import NamedTuple


class Choice(NamedTuple):
    """A mechanism, the properties that are asked of it where it is `lp`, and why."""

    mechanism: str
    properties: tuple[str, ...]
    reason: str


def choose(properties: frozenset[str], largest: int, ratio: Fraction, plain: bool = True) -> Choice:
    """The mechanism for a set of properties; `plain`: under L0 with equal weights for neighbouring counts."""
    asked = tuple(sorted(properties))
    if not plain or "CDP" in properties:
        return Choice("lp", asked, "lp: best for the objective, weights and properties asked for")
    if "F" in properties:
        return Choice("em", (), "em: the best fair mechanism under L0, and it has all other properties")
    if properties & {"CH", "CM"}:
        if ratio <= Fraction(1, 2):
            return Choice("gm", (), "gm: the best of all under L0; it is column monotone where exp(-epsilon) <= 1/2")
        return Choice("wm", (), "wm: the best column monotone mechanism under L0; gm is not where exp(-epsilon) > 1/2")
    if "WH" in properties:
        if largest * (1 - ratio) >= 2 * ratio:
            return Choice("gm", (), "gm: the best of all under L0; for so large a count it is weakly honest")
        return Choice("lp", asked, "lp: the best weakly honest mechanism under L0; gm is not for so small a count")
    return Choice("gm", (), "gm: the best of all under L0, symmetric and row monotone")
