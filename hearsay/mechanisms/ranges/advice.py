"""What a survey of ranges over many cells should consider."""

from hearsay.mechanisms.domains.cells import Cells
from hearsay.mechanisms.estimates.postprocess import ISOTONIC, SMOOTH

_MANY_CELLS = 64
_ISOTONIC = (
    "The true cumulative share never falls, the estimated one does. Asked with postprocess isotonic, ranges come from "
    "the nearest one that never falls: a quarter to nearly half of their error is saved, less with many reports for "
    "each cell. Such values are biased, and say so; standard errors and intervals stay those of the raw values."
)


def isotonic_advice(domain: Cells, postprocess: str) -> list[str]:
    """That cumulative shares may be made to rise, where there are many cells and the survey does not ask for it."""
    return (
        [_ISOTONIC] if domain.is_line and domain.size >= _MANY_CELLS and postprocess not in (ISOTONIC, SMOOTH) else []
    )
