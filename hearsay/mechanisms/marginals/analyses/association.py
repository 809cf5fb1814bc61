"""Are two attributes independent? A test that knows how noisy the table is, and the naive one beside it.

With the table P, its row sums p and column sums q, and Sigma the covariance of the cells in a sample from the
population, delta = P - p q' + Cov(p, q) is zero on average under independence. Its covariance to first order is
J Sigma J' with d delta = dP - dp q' - p dq'; at estimated p, q that overshoots by the product of their errors, so

    W = J Sigma J' - [Cov(p_i, p_k) Cov(q_j, q_l) + Cov(p_i, q_l) Cov(q_j, p_k)],

and delta' W^-1 delta over (r-1)(c-1) contrasts is chi-squared. For two binary attributes whose characters are
independent this is (theta12 - theta1 theta2)^2 / (v12 + theta1^2 v2 + theta2^2 v1 - v1 v2). Where a main effect's
standard error exceeds 0.15, or W is not positive, the distribution comes from simulated tables under independence.
The naive test takes the estimated table for counts of n devices, and rejects almost always (Kulkarni 4.5.1).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.errors import QueryError
from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.estimates.postprocess import project
from hearsay.mechanisms.marginals.table import Table

WEAK_MAIN_EFFECT = 0.15  # standard error of 1 - 2p above which first order is not enough
_SIMULATED = 2_000
_AT_ONCE = 250  # simulated tables at a time: their matrices stay small
_SEED = 5


@dataclass(frozen=True)
class Association:
    """The test's statistic, its degrees of freedom, and both p-values."""

    statistic: float
    degrees: int
    p_value: float
    naive_statistic: float
    naive_p_value: float
    simulated: bool


def associate(table: Table) -> Association:
    """Test whether the two attributes of a table are independent."""
    from scipy.special import chdtrc  # what stats.chi2.sf calls, without its checks

    if len(table.shape) != 2:
        raise QueryError(f"association needs two attributes, got {len(table.shape)}")
    degrees = (table.shape[0] - 1) * (table.shape[1] - 1)
    statistics, regular = _wald(table.value.reshape(1, *table.shape), table.covariance)
    statistic = float(statistics[0])
    simulated = not regular[0] or _weakest(table) > WEAK_MAIN_EFFECT
    p_value = _by_simulation(table, statistic) if simulated else float(chdtrc(degrees, statistic))
    naive = naive_statistic(table)
    return Association(statistic, degrees, p_value, naive, float(chdtrc(degrees, naive)), simulated)


def naive_statistic(table: Table) -> float:
    """Pearson's statistic of the projected table as if it were counted."""
    shares = table.projected.reshape(table.shape)
    expected = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    kept = expected > 0
    return float(table.reports * ((shares - expected)[kept] ** 2 / expected[kept]).sum())


def _sums(shape: tuple[int, ...]) -> tuple[Floats, Floats]:
    """Matrices that take a table's cells to its row sums and its column sums."""
    rows, columns = shape
    return np.repeat(np.eye(rows), columns, axis=1), np.tile(np.eye(columns), (1, rows))


def _wald(tables: Floats, covariance: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """delta' W^-1 delta of each table (count x rows x columns), and whether its W is a covariance."""
    count, rows, columns = tables.shape
    size = rows * columns
    to_rows, to_columns = _sums((rows, columns))
    p, q = tables.sum(axis=2), tables.sum(axis=1)
    of_rows, of_columns = to_rows @ covariance @ to_rows.T, to_columns @ covariance @ to_columns.T
    across = to_rows @ covariance @ to_columns.T
    delta = (tables - p[:, :, None] * q[:, None, :] + across).reshape(count, size)
    # d delta = dP - q dp - p dq, cell (i, j) of the change by cell of the table.
    by_rows = (q[:, None, :, None] * to_rows[None, :, None, :]).reshape(count, size, size)
    by_columns = (p[:, :, None, None] * to_columns[None, None, :, :]).reshape(count, size, size)
    inner = np.arange(size).reshape(rows, columns)[:-1, :-1].reshape(-1)
    jacobian = (np.eye(size) - by_rows - by_columns)[:, inner]
    second = np.kron(of_rows, of_columns) + np.einsum("il,kj->ijkl", across, across).reshape(size, size)
    spread = jacobian @ covariance @ jacobian.transpose(0, 2, 1) - second[np.ix_(inner, inner)]
    values, vectors = np.linalg.eigh((spread + spread.transpose(0, 2, 1)) / 2)
    regular = values[:, 0] > 1e-9 * np.abs(values[:, -1])
    floor = np.maximum(1e-9 * np.abs(values[:, -1:]), 1e-300)
    along = np.einsum("nab,na->nb", vectors, delta[:, inner])
    return (along**2 / np.maximum(values, floor)).sum(axis=1), regular


def _weakest(table: Table) -> float:
    """The largest standard error of 1 - 2p over rows and columns."""
    variances = [np.diag(matrix @ table.covariance @ matrix.T) for matrix in _sums(table.shape)]
    return float(2 * np.sqrt(np.maximum(np.concatenate(variances).max(), 0.0)))


def _by_simulation(table: Table, statistic: float) -> float:
    """How often tables drawn under independence have a statistic as large."""
    generator = np.random.default_rng(_SEED)
    shares = table.value.reshape(table.shape)
    p, q = project(shares.sum(axis=1)), project(shares.sum(axis=0))
    values, vectors = np.linalg.eigh((table.covariance + table.covariance.T) / 2)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    drawn = np.outer(p, q).reshape(-1) + generator.standard_normal((_SIMULATED, table.value.size)) @ root.T
    larger = 0
    for start in range(0, _SIMULATED, _AT_ONCE):
        part = drawn[start : start + _AT_ONCE].reshape(-1, *table.shape)
        larger += int((_wald(part, table.covariance)[0] >= statistic).sum())
    return (1 + larger) / (1 + _SIMULATED)
