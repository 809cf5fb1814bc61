"""The third of users, epsilon and width from the two others.

A width falls with the root of users, exactly where it depends on the state smoothly, nearly elsewhere; it falls
strictly with epsilon. So users are found by following the root, epsilon by the secant rule in logarithms inside a
bracket, and both end when the next step would change them by less than `_CLOSE`.
"""

from collections.abc import Callable
from math import ceil, exp, isfinite, log

EPSILON_LOW, EPSILON_HIGH = 0.01, 10.0
USERS_HIGH = 10**12
_CLOSE = 1e-3
_STEPS = 24


def users_for(width: Callable[[int], float], within: float) -> int | None:
    """The least number of users, up to a thousandth, whose width is not above `within`; None: no number's is."""
    low, high, users = 1, USERS_HIGH, 10_000
    for _ in range(_STEPS):
        now = width(users)
        low, high = (max(low, users), high) if now > within else (low, min(high, users))
        if high - low <= max(1, _CLOSE * low):
            break
        wanted = users * (now / within) ** 2 if isfinite(now) and now > 0 else users * (16 if now > 0 else 1 / 16)
        inside = low < wanted < high
        following = ceil(wanted) if inside else ceil(exp((log(low) + log(high)) / 2))
        if inside and abs(following - users) <= _CLOSE * users:
            return following
        if following in (low, high):
            break
        users = following
    return high if high < USERS_HIGH else None


def epsilon_for(width: Callable[[float], float], within: float) -> float | None:
    """The epsilon in 0.01..10 whose width is `within`; None where the largest one's is still above it."""
    low, high = EPSILON_LOW, EPSILON_HIGH
    before, at_before = high, width(high)
    if not at_before <= within:
        return None
    epsilon = 1.0
    for _ in range(_STEPS):
        now = width(epsilon)
        low, high = (epsilon, high) if now > within else (low, epsilon)
        following = _secant(before, at_before, epsilon, now, within)
        if following is None or not low < following < high:
            following = exp((log(low) + log(high)) / 2)
        if abs(log(following / epsilon)) <= _CLOSE or high / low <= 1 + _CLOSE:
            return following
        before, at_before, epsilon = epsilon, now, following
    return high


def _secant(one: float, at_one: float, other: float, at_other: float, within: float) -> float | None:
    """Where the line through two points, in logarithms, meets `within`; None where there is no such line."""
    if not (isfinite(at_one) and isfinite(at_other)) or min(at_one, at_other) <= 0 or at_one == at_other:
        return None
    slope = log(other / one) / log(at_other / at_one)
    exponent = log(other) + slope * log(within / at_other)
    return exp(exponent) if abs(exponent) < 50 else None
