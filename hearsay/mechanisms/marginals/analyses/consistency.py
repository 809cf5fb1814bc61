"""Consistency: every character of a table taken from all data that show it, so that all tables agree.

Methods that ask for one set of attributes at a time measure the same character in several tables. Averaged by inverse
variance it is known better than in any of them, and tables that are put together from such characters agree where they
overlap. Still unbiased; for methods on characters of the whole value nothing changes.
"""

import numpy as np

from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.marginals.analyses.maxent import HasCharacters, joined
from hearsay.mechanisms.marginals.characters.code import Attributes


def consistent(estimate: HasCharacters, attributes: Attributes) -> Floats:
    """The cells of a table of at most k attributes."""
    known = joined(estimate.known(attributes))
    masks = estimate.code.characters(attributes)
    positions = np.minimum(np.searchsorted(known.masks, masks), known.masks.size - 1)
    theta = np.where(known.masks[positions] == masks, known.theta[positions], 0.0)
    theta[0] = 1.0
    return estimate.code.to_cells(attributes) @ theta
