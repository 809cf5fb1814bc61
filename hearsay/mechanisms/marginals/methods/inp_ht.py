"""Characters of the whole value: the method for marginals of few attributes out of many (Kulkarni's INPHT, and better).

Device    A value is the bits of all attributes (`code`). Draw a public set of t characters that touch at most k
          attributes (`subspaces`), hash the value to its t signs and pass them through randomised response over
          g = 2^t buckets.
Privacy   The set is independent of the value; the bucket has probability p or (1-p)/(g-1), ratio at most e^eps.
Fold      sum[a] += sign, count[a] += 1 for all g - 1 characters that the report shows: one histogram per batch.
Estimate  theta = sum/(count c), c = p - q; a marginal is a small Hadamard transform of its own characters (`code`).
Variance  `characters`; t = 1: [T sum (1/c^2 - theta^2)/4^bits - f(1-f)]/n.          Kulkarni 4.3.2, MECHANISMS 5

`weights` and `t` say what is drawn how often (module `weights`); Kulkarni's form is weights = "uniform", t = 1. `code`
says how attributes of more than two values are coded: by bits of their own ("binary", corollary 1), or a set of k
attributes at a time by linear hashing ("natural", module `natural`).
"""

from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import ANSWER, PUBLIC, State, Streams, Values
from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.exact.counting import COUNTERS_PER_SYMBOL
from hearsay.mechanisms.exact.hadamard import walsh_hadamard
from hearsay.mechanisms.exact.randomness import Random
from hearsay.mechanisms.exact.thresholds import keep_threshold
from hearsay.mechanisms.layout import Layout, Reports, Scalar, by_parts, smallest_unsigned
from hearsay.mechanisms.marginals.characters.coefficients import MAXIMUM_COEFFICIENTS
from hearsay.mechanisms.marginals.characters.natural import MAXIMUM_T, best_t, largest_t, natural
from hearsay.mechanisms.marginals.characters.reading import normalised, uses_own_counts
from hearsay.mechanisms.marginals.characters.subspaces import Subspaces
from hearsay.mechanisms.marginals.characters.weights import T2_FROM_EPSILON, WEIGHTS, one_character, three_characters
from hearsay.mechanisms.marginals.estimate import CharacterEstimate
from hearsay.mechanisms.marginals.mechanism import AttributeMechanism
from hearsay.mechanisms.options import choice, integer
from hearsay.mechanisms.oracles.bucket_coin import BucketCoin, bucket_chances

CODES = ("auto", "binary", "natural")
EXAMPLE_REPORTS = 100_000  # at which a choice is explained


@dataclass(frozen=True)
class InpHT(AttributeMechanism, BucketCoin):
    """One machine word per value, a public list of subspaces, one histogram."""

    ID = "inp-ht"
    SAMPLES = True
    ESTIMATE = CharacterEstimate
    SUMMARY = "marginals from random characters of all attributes: the least error for few attributes out of many"
    OPTIONS = (
        choice("weights", "levels", WEIGHTS, "ask for characters of few attributes more often, or for all evenly"),
        integer("t", None, 1, MAXIMUM_T, "independent characters per report; chosen by epsilon where not given"),
        choice("code", "auto", CODES, "code attributes by their bits, or sets of them by hashing"),
    )
    EXAMPLES = (
        {"epsilon": 1.1, "domain": {"kind": "attributes", "names": ["a", "b", "c", "d"], "order": 2}},
        {
            "epsilon": 0.4,
            "domain": {"kind": "attributes", "names": ["a", "b", "c"], "order": 3},
            "options": {"weights": "uniform"},
        },
        {"epsilon": 1.5, "domain": {"kind": "attributes", "names": ["a", "b", "c"], "sizes": [3, 2, 5], "order": 2}},
        {
            "epsilon": 1.1,
            "domain": {"kind": "attributes", "names": ["a", "b", "c"], "sizes": [3, 2, 5], "order": 2},
            "options": {"code": "binary"},
        },
    )

    def check(self) -> None:
        super().check()
        self.refuse_more_characters(MAXIMUM_COEFFICIENTS)
        if self.form == "binary" and (self.options["t"] or 1) > 2:
            raise SpecificationError(
                what="options.t", expected='1 or 2 where the code is "binary"', got=self.options["t"]
            )
        self.subspaces  # noqa: B018 - too many of them are refused

    @cached_property
    def form(self) -> str:
        """How attributes are coded: "binary" or "natural"."""
        return self._chosen[0]

    @property
    def subspaces(self) -> Subspaces:
        """The public list that devices draw from."""
        return self._chosen[1]

    @cached_property
    def _chosen(self) -> tuple[str, Subspaces]:
        """The form asked for; else the one with the smaller predicted error."""
        if self.options["code"] != "auto":
            return self.options["code"], self._list(self.options["code"])
        if not self._compared:
            return "binary", self._list("binary")
        form, (_, subspaces) = min(self._compared.items(), key=lambda entry: entry[1][0])
        return form, subspaces

    @cached_property
    def _compared(self) -> dict[str, tuple[float, Subspaces]]:
        """The forms that fit, each with its mean error; yes-or-no attributes have only one."""
        fitting = {}
        for form in ("binary", "natural") if max(self.code.sizes) > 2 else ():
            try:
                subspaces = self._list(form)
            except SpecificationError:
                continue
            fitting[form] = self._mean_error(subspaces), subspaces
        return fitting

    def choices(self) -> str:
        if self.options["code"] != "auto" or not self._compared:
            return ""
        scale = 1 / self.mean_cells / sqrt(EXAMPLE_REPORTS)
        errors = ", ".join(f"{form} {error * scale:.3g}" for form, (error, _) in self._compared.items())
        return (
            f"code {self.form}: the least predicted standard error of a cell of a table at {EXAMPLE_REPORTS} reports "
            f"({errors})"
        )

    def _list(self, form: str) -> Subspaces:
        coefficients, wanted = self.coefficients, self.options["t"]
        if form == "natural":
            return natural(coefficients, largest_t(self.code, self.order, wanted or best_t(self.epsilon)))
        if wanted is None:
            wanted = 1 if self.epsilon < T2_FROM_EPSILON or self.order == 1 or len(self.code.sizes) == 1 else 2
            if wanted == 2:
                try:
                    return three_characters(coefficients, self.options["weights"])
                except SpecificationError:  # too many to list: one character per report is always possible
                    wanted = 1
        make = one_character if wanted == 1 else three_characters
        return make(coefficients, self.options["weights"])

    def _mean_error(self, subspaces: Subspaces) -> float:
        """The mean, over all sets of k attributes, of the sum of the cells' standard errors times sqrt n."""
        buckets = 1 << subspaces.t
        p, q = bucket_chances(keep_threshold(self.epsilon, buckets), buckets)
        c = float(p - q)
        errors = []
        for attributes in self.sets():
            numbers = subspaces.coefficients.of(attributes)
            squares = (self.code.to_cells(attributes)[:, 1:] ** 2) @ (1 / subspaces.seen[numbers[1:]])
            errors.append(float(np.sqrt(squares).sum()) / c)
        return float(np.mean(errors))

    def canonical_options(self) -> dict[str, Any]:
        return {"weights": self.options["weights"], "t": self.subspaces.t, "code": self.form}

    @property
    def buckets(self) -> int:
        """g."""
        return 1 << self.subspaces.t

    @cached_property
    def layout(self) -> Layout:
        return Layout.of(Scalar("characters", self.subspaces.count), Scalar("bucket", self.buckets))

    @cached_property
    def arrays(self) -> dict[str, tuple[int, ...]]:
        return {"sum": (self.subspaces.coefficients.count,), "count": (self.subspaces.coefficients.count,)}

    def perturb(self, values: Values, random: Random) -> Reports:
        return by_parts(lambda cells: self._draw(cells, random), self.domain.check(values))

    def _draw(self, cells: NDArray[np.int64], random: Random) -> Reports:
        drawn = self.subspaces.draw(len(cells), random)
        bucket = self.randomise(self.subspaces.buckets(drawn, self.code.encode(cells)), random)
        return {"characters": drawn.astype(smallest_unsigned(self.subspaces.count)), "bucket": bucket}

    @property
    def memoised_buckets(self) -> int:
        return self.buckets

    def perturb_memoised(self, values: Values, stream: Streams) -> Reports:
        drawn = self.subspaces.draw(1, stream(PUBLIC))
        bucket = self.subspaces.buckets(drawn, self.code.encode(self.domain.check(values)))
        answer = self.randomise(bucket, stream(f"{ANSWER} {bucket[0]}"))
        return {"characters": drawn.astype(smallest_unsigned(self.subspaces.count)), "bucket": answer}

    def fold(self, state: State, reports: Reports) -> State:
        g, count = self.buckets, self.subspaces.count
        counter = reports["characters"].astype(np.intp)
        counter *= g
        counter += reports["bucket"]
        if counter.size * COUNTERS_PER_SYMBOL < count:
            rows = np.unique(counter // g)
            members, seen = self.subspaces.members[rows], np.zeros((rows.size, g), dtype=np.int64)
            np.add.at(seen, (np.searchsorted(rows, counter // g), counter % g), 1)
        else:
            members = self.subspaces.members
            seen = np.bincount(counter, minlength=g * count).reshape(count, g)
        return self.add(state, members, seen)

    def add(self, state: State, members: NDArray[np.intp], seen: NDArray[np.int64]) -> State:
        """Fold a histogram: a row of `seen` is a subspace with these members, how often each of its buckets came."""
        # The transform of a row has the sums of signs of its g - 1 characters.
        signs, times = (seen @ _hadamard(self.buckets))[:, 1:], seen.sum(axis=1)
        np.add.at(state["sum"], members.reshape(-1), signs.reshape(-1))
        np.add.at(state["count"], members.reshape(-1), np.repeat(times, self.buckets - 1))
        return state

    def reports(self, state: State) -> int:
        return int(state["count"].sum()) // (self.buckets - 1)

    def estimate(self, state: State) -> CharacterEstimate:
        n, seen = self.reports(state), self.subspaces.seen
        own = uses_own_counts(float(seen.min()), n)
        theta = normalised(state["sum"], state["count"], seen, n, self.correlation, own)
        return CharacterEstimate(self.domain, n, theta, self.subspaces, self.correlation, own)

    def report_chances(self, values: NDArray[np.int64]) -> NDArray[np.float64]:
        p, q = map(float, bucket_chances(self.keep, self.buckets))
        drawn = np.arange(self.subspaces.count)
        rows = []
        for word in self.code.encode(values):
            honest = self.subspaces.buckets(drawn, np.full(drawn.size, word))
            hit = honest[:, None] == np.arange(self.buckets)[None, :]
            rows.append((np.where(hit, p, q) * self.subspaces.chances[:, None]).reshape(-1))
        return np.array(rows)

    def predicted_stderr(self, reports: int) -> dict[str, float]:
        return {"marginal": self._mean_error(self.subspaces) / self.mean_cells / sqrt(reports)}


def _hadamard(size: int) -> NDArray[np.int64]:
    """The matrix of signs: row bucket, column character."""
    return np.rint(walsh_hadamard(np.eye(size))).astype(np.int64)
