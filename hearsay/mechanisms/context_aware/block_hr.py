"""Block-structured Hadamard response: the block in the clear, the value within it by Hadamard response.

Device    Report the block j and a position of the value's row in the block's own Hadamard matrix, K_j = 2^ceil(log2(
          k_j + 1)) for k_j values. A block of a single value has nothing to hide within it: only the block is sent.
Privacy   Values of one block have ratio at most e^eps; the block itself is not protected (C definition 4).
Estimate  f = WHT(hist_j)[i+1]/(n c) for the i-th value of block j.
Variance  (b - c^2 f)/(n c^2), b the block's share, which is known exactly: far less than hr's for many blocks.
                                                                                             C section 6
A report is one integer: the block's first output plus the position.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import State, Values
from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.estimates.cells import CellEstimate
from hearsay.mechanisms.estimates.intervals import Spread, scored_cells
from hearsay.mechanisms.exact.hadamard import walsh_hadamard
from hearsay.mechanisms.exact.randomness import Random
from hearsay.mechanisms.guarantees.promises import BlockStructured, Guarantee
from hearsay.mechanisms.layout import Reports, smallest_unsigned
from hearsay.mechanisms.oracles.hadamard_response import PositionCoin, chances, positions, respond


@dataclass(frozen=True)
class BlockHadamardResponse(PositionCoin):
    """Hadamard response within the domain's blocks."""

    PROMISE = "blocks"
    ID = "block-hr"
    SUMMARY = "protects which value of its block a device holds, but not the block; the more blocks the less error"
    EXAMPLES = (
        {"epsilon": 1.0, "domain": {"kind": "categorical", "size": 9, "blocks": 3}},
        {"epsilon": 0.7, "domain": {"kind": "categorical", "size": 7, "blocks": [[6, 1, 2], [0, 5, 4, 3]]}},
    )

    def check(self) -> None:
        if self.domain.blocks is None:
            raise SpecificationError(
                "domain.blocks is missing; mechanism block-hr needs a block size or lists of values"
            )

    @property
    def blocks(self) -> tuple[tuple[int, ...], ...]:
        return self.domain.blocks or ()

    @property
    def guarantee(self) -> Guarantee:
        return BlockStructured(self.epsilon, self.blocks)

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """K_j: the outputs of each block."""
        return np.array([positions(len(block)) if len(block) > 1 else 1 for block in self.blocks], dtype=np.int64)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Each block's first output; last: how many outputs there are."""
        return np.concatenate([[0], np.cumsum(self.sizes)])

    @cached_property
    def block_and_row(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Block and row number (from 1) of every cell."""
        block_of = np.empty(self.domain.size, dtype=np.int64)
        row_of = np.empty(self.domain.size, dtype=np.int64)
        for number, block in enumerate(self.blocks):
            block_of[list(block)] = number
            row_of[list(block)] = np.arange(1, len(block) + 1)
        return block_of, row_of

    @property
    def outputs(self) -> int:
        return int(self.starts[-1])

    def perturb(self, values: Values, random: Random) -> Reports:
        cells = self.domain.flatten(values)
        block_of, row_of = self.block_and_row
        block = block_of[cells]
        sizes = self.sizes[block].astype(np.uint64)
        position = respond(row_of[cells].astype(np.uint64), sizes, self.keep, random) & (sizes - np.uint64(1))
        output = self.starts[block] + position.astype(np.int64)
        return {"output": output.astype(smallest_unsigned(self.outputs))}

    def estimate(self, state: State) -> CellEstimate:
        n = self.reports(state)
        block_of, row_of = self.block_and_row
        spectrum = np.empty(self.outputs)
        for size in np.unique(self.sizes):  # one transform for all blocks of a size
            outputs = self.starts[:-1][self.sizes == size][:, None] + np.arange(size)
            spectrum[outputs] = walsh_hadamard(state["hist"][outputs].astype(np.float64))
        spectrum /= max(n, 1)
        share = spectrum[self.starts[block_of]]
        alone = self.sizes[block_of] == 1
        c = self.correlation
        f = np.where(alone, share, spectrum[self.starts[block_of] + np.where(alone, 0, row_of)] / c)
        # An empty block, and a value alone in its block, are known without error.
        known = alone | (share == 0)
        spread = Spread(np.where(known, 0.0, share / c**2), np.where(known, 0.0, -1.0))
        return scored_cells(self.domain, n, f, (spread,), np.where(known, 0.0, 2 / c), share)

    def channel(self) -> NDArray[np.float64]:
        block_of, row_of = self.block_and_row
        table = np.zeros((self.domain.size, self.outputs))
        for cell, (block, row) in enumerate(zip(block_of, row_of, strict=True)):
            inside = slice(self.starts[block], self.starts[block + 1])
            size = int(self.sizes[block])
            table[cell, inside] = 1.0 if size == 1 else chances(np.array([row]), size, self.keep)[0]
        return table

    def predicted_stderr(self, reports: int) -> dict[str, float]:
        """For values equally frequent: a block's share is its part of the domain."""
        size = self.domain.size
        variance = [
            len(block) / size / self.correlation**2 - 1 / size if len(block) > 1 else 0 for block in self.blocks
        ]
        weights = [len(block) / size for block in self.blocks]
        return {"point": float(np.sqrt(np.dot(weights, variance) / reports))}
