"""Every attribute by itself with a share of epsilon: the method of Fanti et al. (Kulkarni's INPEM).

Device    Each of the d attributes by randomised response with eps/d.
Privacy   d independent coins, each with ratio at most e^(eps/d).
Fold      sum[a] += the sign of every character of at most k attributes at the reported value.
Estimate  The sums give the table of reported values over any k attributes. "inverse": the product of the attributes'
          inverse channels, unbiased. "em": expectation maximisation from even shares until no cell moves by 1e-5,
          which is biased, and stops where it started if nothing moves at first: the answer then says so.
Variance  of the inverse: sum_g f_g prod m - f, m = (1+3c^2)/(4c^2) where g agrees with the cell, else (1-c^2)/(4c^2),
          c = tanh(eps/2d), for binary attributes; `_second` in general.             Kulkarni 4.3.4, Fanti et al. 2016
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import nextafter, prod, sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import State, Values
from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.estimates.postprocess import project
from hearsay.mechanisms.exact.hadamard import parity
from hearsay.mechanisms.exact.randomness import Random
from hearsay.mechanisms.exact.thresholds import keep_threshold, log_ratio, probability
from hearsay.mechanisms.layout import Layout, Reports, Scalar, by_parts, length_of, smallest_unsigned
from hearsay.mechanisms.marginals.characters.code import Attributes, Masks, check_attributes
from hearsay.mechanisms.marginals.characters.coefficients import Coefficients
from hearsay.mechanisms.marginals.estimate import MarginalEstimate
from hearsay.mechanisms.marginals.mechanism import AttributeMechanism
from hearsay.mechanisms.marginals.methods.em import decode
from hearsay.mechanisms.marginals.table import Score, Table
from hearsay.mechanisms.options import choice

DECODERS = ("inverse", "em")
MAXIMUM_SUMS = 1 << 16  # characters: each report touches all of them
MAXIMUM_WIDTH = 48
_AT_ONCE = 1 << 14  # reports a matrix product; far below 2^24, so float32 sums are exact


@dataclass(frozen=True, eq=False)
class InpEMEstimate(MarginalEstimate):
    """Sums of all characters at the reported values."""

    total: NDArray[np.int64]
    mechanism: "InpEM"

    def observed(self, attributes: Attributes) -> Floats:
        """Shares of the reported values in a marginal's cells."""
        numbers = self.mechanism.coefficients.of(attributes)
        theta = np.where(numbers >= 0, self.total[numbers], self.reports) / max(self.reports, 1)
        return self.code.to_cells(attributes) @ theta

    def _table(self, attributes: Attributes) -> Table:
        if self.mechanism.options["decoder"] == "em":
            return self.tables([attributes])[0]
        seen, channels = self.observed(attributes), [self.mechanism.channels[attribute] for attribute in attributes]
        value = np.linalg.inv(_product(channels)) @ seen
        shares = project(value)
        covariance = (_second(channels, shares) - np.outer(shares, shares)) / max(self.reports, 1)
        shape = self.code.shape(attributes)
        return Table(attributes, shape, self.reports, value, covariance, score=_score(channels))

    def tables(self, several: Iterable[Attributes]) -> list[Table]:
        if self.mechanism.options["decoder"] == "inverse":
            return super().tables(several)
        wanted = [check_attributes(attributes, self.order) for attributes in several]
        by_shape: dict[tuple[int, ...], list[Attributes]] = {}
        for attributes in wanted:  # tables of one shape have one channel: they are decoded side by side
            by_shape.setdefault(self.code.shape(attributes), []).append(attributes)
        tables = {}
        for shape, alike in by_shape.items():
            channel = _product([self.mechanism.channels[attribute] for attribute in alike[0]])
            decoded = decode(np.stack([self.observed(each) for each in alike]), channel)
            unknown = np.full(channel.shape, np.nan)
            for row, attributes in enumerate(alike):
                tables[attributes] = Table(
                    attributes,
                    shape,
                    self.reports,
                    decoded.shares[row],
                    unknown,
                    method=decoded.name(row),
                    model=decoded.words(row),
                )
        return [tables[attributes] for attributes in wanted]


def _score(channels: list[Floats]) -> Score:
    """How much a cell's own share can change n Var, at most; and the largest step from one report to the next."""
    inverses = [np.linalg.inv(channel) for channel in channels]
    moments = [inverse[0] ** 2 @ channel for inverse, channel in zip(inverses, channels, strict=True)]
    own, least = prod(float(m[0]) for m in moments), prod(float(m.min()) for m in moments)
    largest = prod(float(inverse[0, 0]) for inverse in inverses)
    next_largest = largest * max(float(np.delete(inverse[0], 0).max() / inverse[0, 0]) for inverse in inverses)
    return Score(largest - next_largest, slope=max(own - 1 - least, 0.0))


def _product(matrices: list[Floats]) -> Floats:
    """The Kronecker product."""
    result: Floats = np.ones((1, 1))
    for matrix in matrices:
        result = np.kron(result, matrix).astype(np.float64, copy=False)
    return result


def _second(channels: list[Floats], f: Floats) -> Floats:
    """sum_g f_g E[psi_x psi_y | g], psi the product of the attributes' inverse channels."""
    moments = f.reshape([len(channel) for channel in channels])
    for channel in channels:
        inverse = np.linalg.inv(channel)
        each = np.einsum("xz,yz,zg->xyg", inverse, inverse, channel)
        # Take the first axis that is left, put the pair (x, y) of its attribute last.
        moments = np.moveaxis(np.tensordot(each, moments, axes=(2, 0)), (0, 1), (-2, -1))
    count = len(channels)
    order = [2 * axis for axis in range(count)] + [2 * axis + 1 for axis in range(count)]
    result: Floats = np.transpose(moments, order).reshape(f.size, f.size)
    return result


@dataclass(frozen=True)
class InpEM(AttributeMechanism):
    """A coin per attribute."""

    ID = "inp-em"
    ESTIMATE = InpEMEstimate
    SUMMARY = "marginals from every attribute by randomised response with epsilon/d; a comparison"
    OPTIONS = (choice("decoder", "inverse", DECODERS, "unbiased inverse, or expectation maximisation"),)
    EXAMPLES: ClassVar[tuple[dict[str, Any], ...]] = (
        {"epsilon": 3.0, "domain": {"kind": "attributes", "names": ["a", "b", "c"], "order": 2}},
        {"epsilon": 3.0, "domain": {"kind": "attributes", "names": ["a", "b"], "sizes": [2, 3], "order": 2}},
    )

    def check(self) -> None:
        super().check()
        self.refuse_more_bits(MAXIMUM_WIDTH)
        self.refuse_more_characters(MAXIMUM_SUMS)

    @cached_property
    def epsilon_per_attribute(self) -> float:
        """eps/d, rounded so that d of them are never more than eps."""
        count = len(self.code.sizes)
        share = self.epsilon / count
        while Fraction(share) * count > Fraction(self.epsilon):
            share = nextafter(share, 0.0)
        return share

    @cached_property
    def keeps(self) -> tuple[int, ...]:
        """Thresholds out of 2^64 of reporting each attribute truthfully."""
        return tuple(keep_threshold(self.epsilon_per_attribute, size) for size in self.code.sizes)

    def _exact(self) -> list[tuple[Fraction, Fraction]]:
        return [
            (probability(keep), (1 - probability(keep)) / (size - 1))
            for keep, size in zip(self.keeps, self.code.sizes, strict=True)
        ]

    @cached_property
    def channels(self) -> tuple[Floats, ...]:
        """P(reported | true) of every attribute."""
        return tuple(
            np.full((size, size), float(q)) + np.eye(size) * float(p - q)
            for (p, q), size in zip(self._exact(), self.code.sizes, strict=True)
        )

    @property
    def spent_epsilon(self) -> float:
        ratio = prod((p / q for p, q in self._exact()), start=Fraction(1))
        return log_ratio(ratio, Fraction(1))

    @cached_property
    def layout(self) -> Layout:
        return Layout.of(*(Scalar(f"attribute{attribute}", size) for attribute, size in enumerate(self.code.sizes)))

    @cached_property
    def arrays(self) -> dict[str, tuple[int, ...]]:
        return {"sum": (self.coefficients.count,), "reports": (1,)}

    def perturb(self, values: Values, random: Random) -> Reports:
        def draw(cells: NDArray[np.int64]) -> Reports:
            reports = {}
            for attribute, (size, keep) in enumerate(zip(self.code.sizes, self.keeps, strict=True)):
                lie = ~random.bernoulli(keep, len(cells))
                shift = 1 + (random.below(size - 1, len(cells)).astype(np.int64) if size > 2 else 0)
                sent = (cells[:, attribute] + lie * shift) % size
                reports[f"attribute{attribute}"] = sent.astype(smallest_unsigned(size))
            return reports

        return by_parts(draw, self.domain.check(values))

    @cached_property
    def _halves(self) -> tuple[Masks, Masks, NDArray[np.intp], NDArray[np.intp]]:
        """Every character as the product of two of half the level: their masks, and where each of the T takes them."""
        upper = (self.order + 1) // 2
        first = np.concatenate([[np.uint64(0)], Coefficients(self.code, upper).masks])
        lower = self.order - upper
        second = np.concatenate([[np.uint64(0)], *([Coefficients(self.code, lower).masks] if lower else [])])
        left, right = np.zeros(self.coefficients.count, np.uint64), np.zeros(self.coefficients.count, np.uint64)
        taken = np.zeros(self.coefficients.count, dtype=np.int64)
        for bits, shift in zip(self.code.bits, self.code.shifts, strict=True):
            part = self.coefficients.masks & np.uint64(((1 << bits) - 1) << shift)
            left |= np.where(taken < upper, part, np.uint64(0))
            right |= np.where(taken < upper, np.uint64(0), part)
            taken += part > 0
        return first, second, _find(first, left), _find(second, right)

    def fold(self, state: State, reports: Reports) -> State:
        columns = [reports[f"attribute{attribute}"].astype(np.int64) for attribute in range(len(self.code.sizes))]
        words = self.code.encode(np.stack(columns, axis=1))
        first, second, left, right = self._halves
        products = np.zeros((first.size, second.size), dtype=np.int64)
        for start in range(0, words.size, _AT_ONCE):
            part = words[start : start + _AT_ONCE, None]
            products += np.rint(_signs(part & first).T @ _signs(part & second)).astype(np.int64)
        state["sum"] += products[left, right]
        state["reports"] += length_of(reports)
        return state

    def reports(self, state: State) -> int:
        return int(state["reports"][0])

    def estimate(self, state: State) -> InpEMEstimate:
        return InpEMEstimate(self.domain, self.reports(state), state["sum"], self)

    def report_chances(self, values: NDArray[np.int64]) -> NDArray[np.float64]:
        every = self.layout.enumerate()
        table = np.ones((len(values), length_of(every)))
        for attribute, channel in enumerate(self.channels):
            table *= channel[every[f"attribute{attribute}"].astype(np.intp)[None, :], values[:, attribute][:, None]]
        return table

    def predicted_stderr(self, reports: int) -> dict[str, float]:
        errors = []
        for attributes in self.sets():
            cells = self.code.cells(attributes)
            even = np.full(cells, 1 / cells)
            second = _second([self.channels[attribute] for attribute in attributes], even)
            errors.append(float(np.sqrt(np.maximum(np.diag(second) - even, 0.0)).sum()))
        return {"marginal": float(np.mean(errors)) / self.mean_cells / sqrt(reports)}


def _signs(masked: Masks) -> NDArray[np.float32]:
    return (1 - 2 * parity(masked).astype(np.int8)).astype(np.float32)


def _find(listed: Masks, wanted: Masks) -> NDArray[np.intp]:
    order = np.argsort(listed)
    return order[np.searchsorted(listed[order], wanted)]
