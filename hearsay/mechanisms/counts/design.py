"""From a mechanism's name and options to its matrix of integers, and what can be said about a matrix.

gm, em and um are closed forms. wm (weak honesty, row and column monotone), lp (any properties, objective and weights)
and em with `tie = "l1"` (the fair mechanism with the least L1, 3-23% below em's where a is 0.5 to 0.91) need a solver.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from hearsay.mechanisms.counts import closed_forms
from hearsay.mechanisms.counts.integers import to_integers, to_shares, uniform
from hearsay.mechanisms.counts.objectives import Floats, Objective
from hearsay.mechanisms.counts.program import TIME_LIMIT_S, Program, Tell
from hearsay.mechanisms.counts.promise import Promise, Table, ratio_of
from hearsay.mechanisms.counts.properties import SEVEN, derivable_from_gm, dishonest, gaps, properties_of
from hearsay.mechanisms.errors import SpecificationError

DESIGNS = ("gm", "em", "um", "wm", "lp")
WM_PROPERTIES = frozenset({"WH", "RM", "CM"})


@dataclass(frozen=True)
class Design:
    """What is asked of a matrix for counts 0..largest."""

    mechanism: str
    largest: int
    epsilon: float
    options: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def promise(self) -> Promise:
        return Promise(
            ratio_of(self.epsilon), int(self.options.get("within") or 1), bool(self.options.get("local", False))
        )

    @cached_property
    def objective(self) -> Objective:
        workload = self.options.get("workload") or ()
        return Objective.parse(self.options.get("objective") or "L0", tuple(workload), self.largest)

    @property
    def solved(self) -> bool:
        """Whether a solver is needed."""
        return self.mechanism in ("wm", "lp") or (self.mechanism == "em" and self.options.get("tie") == "l1")

    @property
    def asked(self) -> frozenset[str]:
        """The properties that the matrix must have."""
        named = {"em": frozenset(SEVEN), "wm": WM_PROPERTIES}
        return named.get(self.mechanism) or frozenset(self.options.get("properties") or ())

    def check(self) -> None:
        """Refuse options that do not fit the largest count or each other."""
        weights = self.options.get("weights")
        if weights is not None and (len(weights) != self.largest + 1 or not sum(weights) > 0):
            got = f"{len(weights)}" if len(weights) != self.largest + 1 else "only 0"
            raise SpecificationError(
                what="options.weights", must=f"have {self.largest + 1} numbers, one per count and not all 0", got=got
            )
        if self.promise.local and self.promise.within > 1:
            raise SpecificationError("options.within goes with neighbouring counts, not with local")
        _ = self.objective

    def program(self) -> Program:
        """The linear program of a design that needs a solver."""
        if self.mechanism == "em":
            truth = float(closed_forms.truth(self.largest, self.promise.ratio))
            return Program(self.largest, self.promise, frozenset(SEVEN), Objective(power=1), truth=truth)
        if self.mechanism == "wm":
            return Program(self.largest, self.promise, WM_PROPERTIES)
        weights = self.options.get("weights")
        return Program(
            self.largest, self.promise, self.asked, self.objective, None if weights is None else tuple(weights)
        )

    def whole(self, time_limit_s: float = TIME_LIMIT_S, tell: Tell | None = None) -> Table:
        """P[output, input] as integers out of 2^64 that keep the promise exactly."""
        if self.solved:
            return to_integers(self.program().solve(time_limit_s, tell), self.promise)
        match self.mechanism:
            case "gm":
                return to_integers(closed_forms.gm(self.largest, self.promise.ratio), self.promise)
            case "em":
                return to_integers(closed_forms.em(self.largest, self.promise.ratio), self.promise)
        return uniform(self.largest)


@dataclass(frozen=True)
class Facts:
    """What a matrix is like, computed from its integers."""

    properties: tuple[str, ...]
    derivable_from_gm: bool
    wrong: float  # probability of a wrong output, inputs being equally frequent
    mean_absolute_error: float
    root_mean_square_error: float
    scores: dict[str, float]
    warnings: tuple[str, ...]


def facts(design: Design, whole: Table) -> Facts:
    """Properties, errors and pathologies of a design's matrix."""
    shares: Floats = to_shares(whole)
    count = np.arange(design.largest + 1)
    apart = np.abs(count[:, None] - count)
    names = dict.fromkeys(("L0", "L1", "L2", design.objective.name))
    scores = {name: Objective.parse(name).score(shares, design.options.get("weights")) for name in names}
    if design.objective.workload:
        scores["workload"] = design.objective.score(shares, design.options.get("weights"))
    return Facts(
        properties_of(shares, design.promise.ratio),
        derivable_from_gm(shares, design.promise.ratio),
        float(((apart > 0) * shares).sum() / count.size),
        float((apart * shares).sum() / count.size),
        float(np.sqrt((apart**2 * shares).sum() / count.size)),
        scores,
        warnings(shares),
    )


def warnings(shares: Floats) -> tuple[str, ...]:
    """The pathologies that unconstrained programs are known for (Kulkarni figure 6.1): gaps, and spikes elsewhere."""
    texts = []
    missing = gaps(shares)
    if missing:
        texts.append(
            f"never reports {_listed(missing)}: ask for property WH, or for F or CH, which keep every output possible"
        )
    wrong = dishonest(shares)
    if wrong:
        worst = max(wrong, key=lambda given: float(shares[:, given].max() - shares[given, given]))
        likeliest = int(shares[:, worst].argmax())
        texts.append(
            f"for input {_listed(wrong)} some wrong output is likelier than the truth; worst for input {worst}: "
            f"output {likeliest} with {shares[likeliest, worst]:.2f} against {shares[worst, worst]:.2f}; "
            "property CH forbids it"
        )
    return tuple(texts)


def _listed(counts: list[int]) -> str:
    """Counts in words, runs drawn together: 0, 2-5, 7."""
    runs: list[list[int]] = []
    for count in counts:
        if runs and runs[-1][1] == count - 1:
            runs[-1][1] = count
        else:
            runs.append([count, count])
    return ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in runs)
