"""The optimal mechanism for two values, for any pair of epsilons: Warner's and Mangat's responses are its corners.

Privacy   epsilon_12 bounds Q(.|0)/Q(.|1) and epsilon_21 bounds Q(.|1)/Q(.|0); "inf" leaves a value unprotected, so
          epsilon_12 = "inf" means that value 0 is not sensitive.
Device    With u = exp(-epsilon_12), v = exp(-epsilon_21): Q(0|0) = (1-v)/(1-uv), Q(0|1) = u(1-v)/(1-uv). Rounding the
          first down and the second up makes both ratios smaller.
Estimate  the inverse of the 2 x 2 channel.                                                    C theorem 2

Equal epsilons give Warner's randomised response, one infinite epsilon Mangat's improved one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import inf
from typing import Any, Self

from hearsay.mechanisms.base import EPSILON_LIMIT
from hearsay.mechanisms.domains.domain import Domain
from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.exact.mixtures import Weights
from hearsay.mechanisms.exact.randomness import WORD
from hearsay.mechanisms.exact.thresholds import down, exponential, up
from hearsay.mechanisms.guarantees.promises import EMatrix, Guarantee, PureLDP
from hearsay.mechanisms.options import Option
from hearsay.mechanisms.oracles.finite_channel import FiniteChannel, broken_pair

LEAST_EPSILON = 1e-6  # below it the channel's inverse has no correct digit left


def _epsilon(name: str, help: str) -> Option:
    """An epsilon of its own for one direction: a number or "inf"; the survey's epsilon where absent."""

    def check(value: Any) -> Any:
        if value is None or value == "inf" or value == inf:
            return value if value is None else "inf"
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= EPSILON_LIMIT:
            raise SpecificationError(
                what=f"options.{name}",
                expected=f'a number above 0 and at most {EPSILON_LIMIT:g}, or "inf"',
                got=repr(value),
            )
        return float(value)

    return Option(name, None, check, help)


@dataclass(frozen=True)
class Binary(FiniteChannel):
    """Two values, two outputs."""

    ID = "binary"
    SUMMARY = "the optimal response for two values, each with its own protection (Warner, Mangat and all between)"
    OPTIONS = (
        _epsilon(
            "epsilon_12", 'how well the first value is hidden; "inf": not at all; the survey\'s epsilon if absent'
        ),
        _epsilon(
            "epsilon_21", 'how well the second value is hidden; "inf": not at all; the survey\'s epsilon if absent'
        ),
    )
    EXAMPLES = (
        {"epsilon": 1.0, "domain": {"kind": "binary"}},
        {"epsilon": 0.8, "domain": {"kind": "binary", "categories": ["no", "yes"]}, "options": {"epsilon_12": "inf"}},
        {"epsilon": 2.0, "domain": {"kind": "binary"}, "options": {"epsilon_12": 2.0, "epsilon_21": 0.5}},
    )

    @classmethod
    def create(cls, epsilon: float, domain: Domain, options: Mapping[str, Any]) -> Self:
        """What a participation spends is the larger finite one of the two epsilons; one that is absent is `epsilon`."""
        made = super().create(epsilon, domain, options)
        spent = max(bound for bound in made.bounds if bound < inf)
        return replace(made, epsilon=spent, options={**made.options, **made.canonical_options()})

    def refuse_overspending(self) -> None:
        """Each direction has a bound of its own, which the channel's ratios must keep."""
        if broken_pair(self.weights, self.guarantee.matrix(self.domain)) is not None:
            raise SpecificationError("mechanism binary would spend more than is claimed: its probabilities are wrong")

    def check(self) -> None:
        if self.domain.size != 2:
            raise SpecificationError(what="domain", must="have 2 values for mechanism binary", got=self.domain.size)
        if self.bounds == (inf, inf):
            raise SpecificationError(
                what="options.epsilon_12 and options.epsilon_21", must='not both be "inf"', ending=": nothing is hidden"
            )
        if min(self.bounds) < LEAST_EPSILON:
            raise SpecificationError(
                what="epsilon",
                expected=f"at least {LEAST_EPSILON:g} for mechanism binary",
                got=repr(min(self.bounds)),
                ending=": the two values' reports could not be told apart by any number of them",
            )

    @property
    def bounds(self) -> tuple[float, float]:
        """epsilon_12 and epsilon_21."""
        first, second = (self.options[name] for name in ("epsilon_12", "epsilon_21"))
        return (
            self.epsilon if first is None else float(first),
            self.epsilon if second is None else float(second),
        )

    def lasting_options(self) -> dict[str, Any]:
        return {} if self.bounds == (self.epsilon, self.epsilon) else super().lasting_options()

    def canonical_options(self) -> dict[str, Any]:
        names = ("epsilon_12", "epsilon_21")
        return {name: "inf" if bound == inf else bound for name, bound in zip(names, self.bounds, strict=True)}

    @property
    def guarantee(self) -> Guarantee:
        first, second = self.bounds
        return PureLDP(first) if first == second else EMatrix(((0.0, first), (second, 0.0)))

    @cached_property
    def weights(self) -> Weights:
        u, v = (Fraction(0) if bound == inf else 1 / exponential(bound) for bound in self.bounds)
        stay = down((1 - v) / (1 - u * v))
        lie = up(u * (1 - v) / (1 - u * v))
        return ((stay, WORD - stay), (lie, WORD - lie))
