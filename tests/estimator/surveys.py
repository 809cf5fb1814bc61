"""Small surveys of different kinds, and states made from seeded devices."""

from typing import Any

from numpy.typing import NDArray

from collector.survey import Survey, parse
from mechanisms import State
from mechanisms.randomness import seeded
from tests.mechanisms.shared import skewed_cells


def colours(**changes: Any) -> Survey:
    """A categorical survey under hrr."""
    domain = {"kind": "categorical", "categories": ["red", "green", "blue"]}
    return parse({"name": "colours", "mechanism": "hrr", "epsilon": 2.0, "domain": domain, **changes})


def devices(survey: Survey, count: int, seed: int = 1) -> dict[str, NDArray[Any]]:
    """Reports of so many devices with skewed values."""
    return survey.mechanism.perturb(skewed_cells(survey.mechanism, count, seed), seeded(seed))


def state_of(survey: Survey, count: int, seed: int = 1) -> State:
    """The state after so many devices."""
    return survey.mechanism.fold(survey.mechanism.empty(), devices(survey, count, seed))
