"""Estimates of texts: a list of texts that may be frequent, which of them are detected, and the share of any text.

The query and the array of a snapshot that show detected texts are called `told`.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.estimates.charts import Chart
from hearsay.mechanisms.estimates.estimate import Estimate, Floats, Measured
from hearsay.mechanisms.estimates.simultaneous import critical_value
from hearsay.mechanisms.text.code import Octets
from hearsay.mechanisms.text.domain import Text
from hearsay.mechanisms.text.queries import Texts
from hearsay.mechanisms.text.shares import WholeTexts


@dataclass(frozen=True)
class TextEstimate(Estimate, Texts):
    """A listed text is detected if its simultaneous interval, over all listed texts, is above 0."""

    domain: Text
    reports: int
    whole: WholeTexts
    codes: Octets  # of the listed texts, the most likely ones first

    HEADLINE: ClassVar[tuple[str, ...]] = ("told", "outside")

    def charts(self) -> tuple[Chart, ...]:
        """The detected texts, and the share of devices whose text is outside."""
        return Chart("bars", "top 100", "Frequent texts"), Chart("table", "outside", "Texts outside the alphabet")

    @classmethod
    def of(cls, domain: Text, whole: WholeTexts, codes: Octets) -> "TextEstimate":
        return cls(domain, whole.reports, whole, codes)

    @property
    def cost(self) -> int:
        return self.whole.buckets.size

    def arrays(self) -> dict[str, NDArray[Any]]:
        listed = self.shares(self.codes)
        is_detected = np.isin(np.arange(len(self.codes)), self._detected).astype(np.int64)
        codes = self.codes.astype(np.int64)
        return {"estimate": listed.value, "stderr": listed.stderr, "codes": codes, "told": is_detected}

    def shares(self, codes: Octets) -> Measured:
        return self.whole.measured(codes, self._collisions(codes))

    def _collisions(self, codes: Octets) -> Floats:
        """The variance that other texts in the same buckets add. The buckets of listed texts are known."""
        listed = np.concatenate([self.codes, self.domain.code.outside[None]])
        same = self.whole.hash(codes)[:, None] == self.whole.hash(listed)
        same &= (codes[:, None, :] != listed).any(axis=2)
        of_listed: Floats = same @ np.clip(self.whole.values(listed), 0.0, 1.0) ** 2
        return of_listed + self.whole.unlisted_variance

    @cached_property
    def _detected(self) -> NDArray[np.intp]:
        """The indices of the detected texts, largest share first. Of each bucket only the most likely text can be."""
        _, first = np.unique(self.whole.hash(self.codes), return_index=True)
        candidates = self.codes[first]
        collisions = np.full(len(candidates), self.whole.unlisted_variance)
        above = self.whole.above_zero(candidates, collisions, critical_value(len(self.codes)))
        detected = first[above]
        return detected[np.argsort(-self.whole.values(self.codes[detected]), kind="stable")]

    @property
    def detected(self) -> Octets:
        return self.codes[self._detected]


@dataclass(frozen=True)
class ExactTexts(Estimate, Texts):
    """The true shares, from the texts of all devices."""

    domain: Text
    reports: int
    codes: Octets  # of all texts, the most frequent first
    counts: NDArray[np.int64]

    HEADLINE: ClassVar[tuple[str, ...]] = TextEstimate.HEADLINE

    @classmethod
    def of(cls, domain: Text, codes: Octets) -> "ExactTexts":
        texts, counts = np.unique(_as_one(codes), return_counts=True)
        order = np.argsort(-counts, kind="stable")
        return cls(domain, len(codes), texts[order].view(np.uint8).reshape(len(texts), -1), counts[order])

    @property
    def cost(self) -> int:
        return self.codes.size

    def arrays(self) -> dict[str, NDArray[Any]]:
        share = self.counts / max(self.reports, 1)
        return {"estimate": share, "stderr": np.zeros(len(share)), "codes": self.codes.astype(np.int64)}

    def shares(self, codes: Octets) -> Measured:
        known = {code.tobytes(): count for code, count in zip(self.codes, self.counts.tolist(), strict=True)}
        counts: Floats = np.array([known.get(code.tobytes(), 0) for code in codes], dtype=np.float64)
        return Measured.plain(counts / max(self.reports, 1), np.zeros(len(codes)))

    @property
    def detected(self) -> Octets:
        return self.codes[(self.codes != self.domain.code.outside).any(axis=1)]


def _as_one(codes: Octets) -> NDArray[np.void]:
    """Every code as a single array element, so that numpy compares whole codes."""
    return np.ascontiguousarray(codes).view(np.dtype((np.void, codes.shape[1]))).reshape(-1)
