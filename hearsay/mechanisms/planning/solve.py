"""The third of users, epsilon and width from the two others.

A width falls with the root of users, exactly where it depends on the state smoothly, nearly elsewhere; it falls
strictly with epsilon, nearly as 1/sinh(epsilon/2), which is how far a bit's two chances are apart. So users are found
by following the root, epsilon by the secant rule in the logarithms of width and of sinh(epsilon/2) inside a bracket.
Both end when the next step would change the number by less than `CLOSE`. Epsilons have four digits.
"""

from collections.abc import Callable
from math import asinh, ceil, exp, inf, isfinite, log, sinh

EPSILON_LOW, EPSILON_HIGH = 0.01, 10.0
USERS_HIGH = 10**12
CLOSE = 4e-3
_STEPS = 24


def users_for(width: Callable[[int], float], within: float, start: int = 10_000) -> int | None:
    """The least number of users, up to `CLOSE`, whose width is not above `within`; None: that of 10^12 is above it."""
    low, high, users = 0, USERS_HIGH, start  # too few, and enough
    reached = False  # that the upper end is enough was tried
    for _ in range(_STEPS):
        now = width(users)
        if now <= within:
            high, reached = users, True
        elif users == USERS_HIGH:
            return None
        else:
            low = users
        if reached and high - low <= max(1, CLOSE * low):
            break
        wanted = ceil(users * (now / within) ** 2) if 0 < now < inf else 0
        if abs(wanted - users) <= CLOSE * users:
            return min(wanted, high)
        otherwise = _between_users(low, high) if reached else USERS_HIGH
        users = wanted if low < wanted < high else otherwise
    return high if reached else None


def _between_users(low: int, high: int) -> int:
    middle = round(exp((log(max(low, 1)) + log(high)) / 2))
    return min(max(middle, low + 1), high - 1)


def epsilon_for(width: Callable[[float], float], within: float, start: float = 1.0) -> float | None:
    """The epsilon in 0.01..10 whose width is `within`, up to `CLOSE`; None where the largest one's is above it."""
    low, high, epsilon = EPSILON_LOW, EPSILON_HIGH, start
    before: tuple[float, float] | None = None
    reached = False  # the bracket's upper end was tried
    for _ in range(_STEPS):
        now = width(epsilon)
        if now <= within:
            high, reached = epsilon, True
        elif epsilon == EPSILON_HIGH:
            return None
        else:
            low = epsilon
        following = _next(epsilon, now, before, within)
        if isfinite(now) and abs(log(following / epsilon)) <= CLOSE:
            return epsilon
        if reached and high / low <= 1 + CLOSE:
            return high
        if not low < following < high:
            following = _between(low, high) if reached else EPSILON_HIGH
        before, epsilon = (epsilon, now), following
    return high


def _next(epsilon: float, now: float, before: tuple[float, float] | None, within: float) -> float:
    """Where the line through the last two points meets `within`; of slope -1 where there is one; else the largest."""
    if not isfinite(now):
        return EPSILON_HIGH
    if now <= 0:
        return EPSILON_LOW
    slope = -1.0
    if before is not None and isfinite(before[1]) and before[1] > 0 and before[1] != now:
        slope = (_strength(epsilon) - _strength(before[0])) / (log(now) - log(before[1]))
    return _of_strength(_strength(epsilon) + slope * (log(within) - log(now)))


def _strength(epsilon: float) -> float:
    return log(sinh(epsilon / 2))


def _of_strength(strength: float) -> float:
    return float(f"{2 * asinh(exp(min(max(strength, -50.0), 50.0))):.4g}")


def _between(low: float, high: float) -> float:
    return _of_strength((_strength(low) + _strength(high)) / 2)
