"""A matrix of probabilities as text: a row per output, a column per input, the darker the likelier."""

import numpy as np

from hearsay.mechanisms.counts.promise import Table

_SHADES = " ░▒▓█"
_NEVER = "·"
WIDEST = 64  # with more counts than this, several share a cell


def heat_map(matrix: Table) -> list[str]:
    """Lines of text: shades from 0 to the largest probability, a dot for what never happens, and the truth's share."""
    shares = matrix.astype(np.float64)
    largest = len(shares) - 1
    band = largest // WIDEST + 1
    starts = np.arange(0, largest + 1, band)
    shown = np.maximum.reduceat(np.maximum.reduceat(shares, starts, axis=0), starts, axis=1)
    top, width = float(shown.max()), len(str(largest))
    cells = np.array(list(_SHADES))[np.rint(shown / top * (len(_SHADES) - 1)).astype(int)]
    cells[shown <= 0] = _NEVER
    together = f", {band} counts to a cell" if band > 1 else ""
    lines = [f"output (down) for input (across), {_SHADES[-1]} = {top:.3f}{together}; at the right, the truth's share"]
    for start, row in zip(starts, cells, strict=True):
        lines.append(f"{start:>{width}} {''.join(cell * 2 for cell in row)} {shares[start, start]:.3f}")
    marks = "".join(f"{start:<10}" for start in starts[::5])
    return [*lines, f"{'':>{width}} {marks}".rstrip()]
