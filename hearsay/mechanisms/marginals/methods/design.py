"""Public views for `calm`: sets of attributes such that every pair lies in exactly one of them.

The lines of the affine plane of order q, q^2 points and q^2 + q lines of q points each: any two points lie on one line.
With fewer attributes than points the missing points are left out of their lines. q = 4 calculates in GF(4).
"""

from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.marginals.characters.code import Attributes

ORDERS = (2, 3, 4, 5, 7)
_TIMES_4 = ((0, 0, 0, 0), (0, 1, 2, 3), (0, 2, 3, 1), (0, 3, 1, 2))  # GF(4), 2 = x, 3 = x + 1


def plane_order(attributes: int) -> int:
    """The least order whose plane has a point for every attribute."""
    for order in ORDERS:
        if order * order >= attributes:
            return order
    raise SpecificationError(what="domain", must=f"have at most {ORDERS[-1] ** 2} attributes for calm", got=attributes)


def views(attributes: int) -> tuple[Attributes, ...]:
    """The lines of the plane, cut down to these attributes; lines of fewer than two attributes are left out."""
    if attributes <= 3:
        return (tuple(range(attributes)),)
    q = plane_order(attributes)

    def on_line(slope: int, start: int, x: int) -> int:
        if q == 4:
            return _TIMES_4[slope][x] ^ start
        return (slope * x + start) % q

    lines = [[x * q + on_line(slope, start, x) for x in range(q)] for slope in range(q) for start in range(q)]
    lines += [[x * q + y for y in range(q)] for x in range(q)]
    kept = [tuple(sorted(point for point in line if point < attributes)) for line in lines]
    return tuple(line for line in kept if len(line) >= 2)
