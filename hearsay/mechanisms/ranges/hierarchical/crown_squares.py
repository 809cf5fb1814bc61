"""How much the crown's estimates weigh in the ranges of a workload: what the search for the best shares asks each time.

T of a level is 1 where two units lie in the same window, averaged over the level's offsets; H is diag(1/U) plus the
levels' T, each times its p/V; C is the inverse of H at a known total (`crown`). Asked for are trace(T C Omega C) of
every level and trace(C Omega C).

Where windows fill the units evenly, T and with it C stay the same when all units move on by a **period**, a few units.
Such a matrix is a row of blocks that repeats itself shifted, and the Fourier transform over the blocks makes of it a
few small matrices, which multiply and invert one by one. Omega enters averaged over these shifts, since a trace with
C T C sees no more of it. Example: four units, windows of two at both offsets: T is 1 on the diagonal and 1/2 beside
it, so the period is 1 and every small matrix is one number.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.domains.domain import Indices
from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.ranges.hierarchical.crown import WELL_KNOWN, well_known_inverse
from hearsay.mechanisms.ranges.hierarchical.hierarchy import Hierarchy

Complex = NDArray[np.complex128]


@dataclass(frozen=True)
class CrownSquares:
    """The traces for one hierarchy and one Omega."""

    hierarchy: Hierarchy
    omega: Floats

    @cached_property
    def together(self) -> list[Floats]:
        """T of every level down to the units."""
        return [np.mean([_same(node) for node in windows], axis=0) for windows in self.hierarchy.windows]

    @cached_property
    def _by_frequency(self) -> tuple[Complex, Complex, Floats] | None:
        """The small matrices of every T and of Omega, and how often each counts; None where nothing repeats itself."""
        period = self.hierarchy.period
        if period is None:
            return None
        shifts = len(self.omega) // period
        blocks = self.omega.reshape(shifts, period, shifts, period)
        omega = sum(np.roll(blocks[shift], -shift, axis=1) for shift in range(shifts)) / shifts
        levels = [_transformed(each[:period].reshape(period, shifts, period)) for each in self.together]
        # The transform of real blocks repeats itself conjugated in its second half, which is left out.
        frequency = np.arange(shifts // 2 + 1)
        return np.array(levels), _transformed(omega), np.where(2 * frequency % shifts == 0, 1.0, 2.0)

    def traces(self, precisions: Floats, below: Floats) -> tuple[Floats, float]:
        """trace(T C Omega C) of every level, and the sum of the diagonal of C Omega C over U^2."""
        small = self._small_traces(precisions, below)
        if small is not None:
            return small
        levels = zip(precisions, self.together, strict=False)
        inverse = well_known_inverse(np.diag(1 / below) + sum(precision * same for precision, same in levels))
        answers = inverse @ self.omega @ inverse
        return np.array([(same * answers).sum() for same in self.together]), float((np.diag(answers) / below**2).sum())

    def _small_traces(self, precisions: Floats, below: Floats) -> tuple[Floats, float] | None:
        """The same from the small matrices; None where there are none, or H is not well known."""
        if self._by_frequency is None:
            return None
        levels, omega, times = self._by_frequency
        information = np.tensordot(precisions[: len(levels)], levels, axes=1) + np.eye(omega.shape[1]) / below[0]
        try:
            inverse = np.linalg.inv(information)
        except np.linalg.LinAlgError:
            return None
        if not _largest_norm(information) * _largest_norm(inverse) < WELL_KNOWN:
            return None
        along = inverse[0].sum(axis=1)  # the total is in the matrix of frequency 0
        inverse[0] -= np.outer(along, along) / along.sum()
        answers = times[:, None, None] * (inverse @ omega @ inverse)
        of_levels = np.tensordot(levels, answers.conj(), axes=3).real
        return of_levels, float(np.trace(answers, axis1=1, axis2=2).real.sum() / below[0] ** 2)


def _same(windows: Indices) -> Floats:
    """1 where two units lie in the same window."""
    return (windows[:, None] == windows[None, :]).astype(np.float64)


def _transformed(blocks: Floats) -> Complex:
    """From blocks [row, shift, column] to one matrix a frequency."""
    return np.fft.rfft(blocks, axis=1).transpose(1, 0, 2)


def _largest_norm(matrices: Complex) -> float:
    return float(np.abs(matrices).sum(axis=1).max())
