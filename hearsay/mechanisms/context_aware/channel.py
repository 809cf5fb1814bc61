"""A channel of the surveyor's own: any matrix of probabilities, checked against the promise before it is used.

`matrix` has a row per value and a column per output. `privacy` is the E matrix (C definition 2): row x and column x'
have the bound on ln(P(output | x)/P(output | x')), "inf" where nothing is promised; without it the survey's epsilon is
promised for every pair. The numbers in a file are rounded, so a channel on the very edge of its promise may miss it by
the last digit: it is then mixed with as little of its average row as is needed, at most one part in a million. It is
refused if it still breaks its promise.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, isfinite
from typing import Any, ClassVar, Self

import numpy as np

from hearsay.mechanisms.base import EPSILON_LIMIT
from hearsay.mechanisms.domains.domain import Domain
from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.exact.mixtures import Mixtures, Weights
from hearsay.mechanisms.guarantees.promises import EMatrix, Guarantee, PureLDP
from hearsay.mechanisms.options import Option, choice
from hearsay.mechanisms.oracles.finite_channel import FiniteChannel, broken_pair, losses, pure_broken_pair

_MAXIMUM_ENTRIES = 1 << 20
_MIXTURES = (None, *range(58, 19, -2))  # d: a part of 2^-d is the average row; tried in this order, None: unmixed
_SLACK = 1e-6  # far above what rounding can do to a loss


def _matrix(name: str, infinite: bool, help: str) -> Option:
    """An option whose value is a list of equally long rows of numbers >= 0; if `infinite`, also of "inf"."""

    def entry(value: Any) -> Any:
        if infinite and value in ("inf", inf):
            return "inf"
        if not isinstance(value, int | float) or isinstance(value, bool) or not isfinite(value) or value < 0:
            allowed = 'numbers >= 0 or "inf"' if infinite else "numbers >= 0"
            raise SpecificationError(what=f"options.{name}", must=f"hold {allowed}", got=repr(value))
        return float(value)

    def check(value: Any) -> Any:
        if value is None:
            return None
        if not isinstance(value, list | tuple) or not value or not all(isinstance(row, list | tuple) for row in value):
            raise SpecificationError(what=f"options.{name}", expected="a list of rows", got=type(value).__name__)
        rows = [[entry(item) for item in row] for row in value]
        if len({len(row) for row in rows}) != 1 or not rows[0] or len(rows) * len(rows[0]) > _MAXIMUM_ENTRIES:
            raise SpecificationError(
                what=f"options.{name}", must=f"have rows of one length, at most {_MAXIMUM_ENTRIES} entries"
            )
        return rows

    return Option(name, None, check, help)


@dataclass(frozen=True)
class Channel(FiniteChannel):
    """A channel matrix from the survey."""

    PROMISE = "matrix"
    ID = "channel"
    SUMMARY = "any finite channel matrix, checked against epsilon or an E matrix"
    LONG_CHECK: ClassVar[str] = "every probability is rounded and compared in exact integers"
    OPTIONS = (
        _matrix("matrix", False, "P(output | value): a row per value, a column per output; or the name of a CSV file"),
        _matrix(
            "privacy",
            True,
            'E matrix: row x, column y bounds ln(P(output | x)/P(output | y)); "inf": no bound; or a CSV file',
        ),
        choice("estimator", "inverse", ("inverse", "likelihood"), "unbiased inverse, or maximum likelihood"),
    )
    EXAMPLES: ClassVar[tuple[dict[str, Any], ...]] = (
        {
            "epsilon": 1.0986122886681098,
            "domain": {"kind": "categorical", "size": 3},
            "options": {"matrix": [[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]]},
        },
        {
            "epsilon": 1.3862943611198906,
            "domain": {"kind": "ordinal", "size": 3},
            "options": {
                "matrix": [[0.8, 0.1, 0.1, 0.0], [0.2, 0.4, 0.3, 0.1], [0.0, 0.1, 0.5, 0.4]],
                "privacy": [[0, "inf", "inf"], ["inf", 0, "inf"], ["inf", 1.3862943611198906, 0]],
            },
        },
    )

    @classmethod
    def create(cls, epsilon: float, domain: Domain, options: Mapping[str, Any]) -> Self:
        """Where an E matrix is given, `epsilon`, which a report spends, becomes its largest finite entry."""
        made = super().create(epsilon, domain, options)
        if not isinstance(made.guarantee, EMatrix):
            return made
        stated = replace(made, epsilon=made.guarantee.largest)
        # The weights depend on the E matrix, not on epsilon: take those of `made`, since computing them takes long.
        vars(stated)["weights"] = made.weights
        return stated

    @property
    def likelihood(self) -> bool:
        return self.options["estimator"] == "likelihood"

    @cached_property
    def guarantee(self) -> Guarantee:
        rows = self.options["privacy"]
        if rows is None:
            return PureLDP(self.epsilon)
        return EMatrix(tuple(tuple(float(entry) for entry in row) for row in rows))

    def check(self) -> None:
        matrix, privacy, size = self.options["matrix"], self.options["privacy"], self.domain.size
        if matrix is None:
            raise SpecificationError(
                "options.matrix is missing; mechanism channel needs a row of probabilities per value"
            )
        if len(matrix) != size:
            raise SpecificationError(what="options.matrix", must=f"have {size} rows, one per value", got=len(matrix))
        for row_number, row in enumerate(matrix):
            if abs(sum(row) - 1) > 1e-9:
                raise SpecificationError(
                    what=f"options.matrix row {row_number}", must="sum to 1", got=f"{sum(row):.12g}"
                )
        if privacy is not None:
            self._check_privacy(privacy)
        self.weights  # noqa: B018 - refuses a channel that breaks its promise
        if not self.likelihood and self.rank < size:
            raise SpecificationError(
                f"options.matrix has dependent rows (rank {self.rank} of {size}), so no unbiased estimate exists; "
                'use another matrix or estimator = "likelihood"'
            )

    def _check_privacy(self, privacy: list[list[Any]]) -> None:
        size = self.domain.size
        if len(privacy) != size or len(privacy[0]) != size:
            raise SpecificationError(
                what="options.privacy", expected=f"{size} x {size}", got=f"{len(privacy)} x {len(privacy[0])}"
            )
        if any(privacy[cell][cell] != 0 for cell in range(size)):
            raise SpecificationError(what="options.privacy", expected="0 on its diagonal")
        finite = [entry for row in privacy for entry in row if entry != "inf"]
        if not 0 < max(finite) <= EPSILON_LIMIT:
            raise SpecificationError(
                what="options.privacy",
                must=f"have a finite entry above 0, at most {EPSILON_LIMIT:g}",
                got=f"{max(finite):g}",
            )

    @cached_property
    def weights(self) -> Weights:
        mixtures = Mixtures(self.options["matrix"])
        bound = None if self.pure_epsilon is not None else self.guarantee.matrix(self.domain)
        broken: tuple[int, int] | None = None
        for exponent in _MIXTURES if self._within_reach(bound) else _MIXTURES[:1]:
            weights = mixtures.weights(exponent)
            broken = pure_broken_pair(weights, self.epsilon) if bound is None else broken_pair(weights, bound)
            if broken is None:
                return weights
        assert broken is not None
        pair = np.array([self.options["matrix"][value] for value in broken])
        most = self.epsilon if bound is None else bound[broken]
        raise SpecificationError(
            what="options.matrix",
            must="keep the promise for every pair of values: the logarithm of the likelihood ratio of values "
            f"{broken} must be at most {most:.6g}",
            got=f"{losses(pair)[0, 1]:.6g}",
        )

    def _within_reach(self, bound: Floats | None) -> bool:
        """Whether the mixture with the most of the average row keeps the promise, up to `_SLACK`; if not, none does."""
        channel = np.array(self.options["matrix"])
        channel /= channel.sum(axis=1, keepdims=True)
        part = 2.0 ** -_MIXTURES[-1]
        mixed = (1 - part) * channel + part * channel.mean(axis=0)
        if bound is not None:
            return bool((losses(mixed) <= bound + _SLACK).all())
        largest, least = mixed.max(axis=0), mixed.min(axis=0)
        occurs = largest > 0
        return bool((np.log(largest[occurs]) - np.log(least[occurs])).max() <= self.epsilon + _SLACK)
