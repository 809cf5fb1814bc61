"""States of whole surveys, each drawn at once from its exact distribution given the devices' values.

What a device draws without looking at its value (a character, a set of attributes) is independent of the others', so
devices that stand in random order can be handed what was drawn in turn: how often each thing is drawn is multinomial.
That gives how often each honest answer comes. Coins are then flipped for all devices with the same honest answer
together: telling the truth whatever the draw is binomial, and what is left is spread evenly or, for bits, binomial.
"""

import numpy as np
from numpy.typing import NDArray

from hearsay.mechanisms.base import State
from hearsay.mechanisms.estimates.estimate import Floats
from hearsay.mechanisms.exact.hadamard import parity
from hearsay.mechanisms.marginals.characters.code import Code, Masks
from hearsay.mechanisms.marginals.mechanism import AttributeMechanism
from hearsay.mechanisms.marginals.methods.inp_em import InpEM
from hearsay.mechanisms.marginals.methods.inp_ht import InpHT
from hearsay.mechanisms.marginals.methods.marg_ht import MargHT
from hearsay.mechanisms.marginals.methods.marg_views import BitViews, MarginalViews
from hearsay.mechanisms.marginals.methods.views import Views
from hearsay.mechanisms.marginals.methods.whole_table import InpPS, InpRR
from hearsay.ops.experiments.marginals.data import People

Counts = NDArray[np.int64]
Generator = np.random.Generator


def drawn_state(mechanism: AttributeMechanism, people: People, generator: Generator) -> State | None:
    """The state of a survey of these devices; None for a mechanism whose devices have to be played one by one."""
    if isinstance(mechanism, InpRR | InpPS):
        return _whole_table(mechanism, people, generator)
    if isinstance(mechanism, InpHT):
        return _subspaces(mechanism, people, generator)
    if isinstance(mechanism, MargHT):
        return _characters(mechanism, people, generator)
    if isinstance(mechanism, MarginalViews):
        return _views(mechanism, people, generator)
    if isinstance(mechanism, InpEM) and mechanism.order <= 2 and max(mechanism.code.sizes) == 2:
        return _all_attributes(mechanism, people, generator)
    return None


def _whole_table(mechanism: InpRR | InpPS, people: People, generator: Generator) -> State:
    cells = np.ravel_multi_index(tuple(people.rows.T), mechanism.domain.shape)
    devices_of_cell, devices = np.zeros(mechanism.domain.size, dtype=np.int64), int(people.counts.sum())
    np.add.at(devices_of_cell, cells, people.counts)
    p, q, gap = mechanism.oracle.hit_chances()
    if isinstance(mechanism, InpRR):
        return {"ones": _bits(devices_of_cell, devices, p, q, generator), "n": np.array([devices])}
    return {"hist": _one_of_each(devices_of_cell[None], gap, generator)[0]}


def _bits(ones: Counts, devices: int | Counts, p: float, q: float, generator: Generator) -> Counts:
    """Ones in every cell: those who hold it set its bit with chance p, all others with q."""
    return generator.binomial(ones, p) + generator.binomial(devices - ones, q)


def _one_of_each(honest: Counts, gap: float, generator: Generator) -> Counts:
    """Reported answers by row, from honest ones: p - q is the chance to tell the truth whatever the draw."""
    kept = generator.binomial(honest, gap)
    rest, answers = (honest - kept).sum(axis=1), honest.shape[1]
    return kept + generator.multinomial(rest, np.full(answers, 1 / answers))


def _in_random_order(code: Code, people: People, generator: Generator) -> Masks:
    return generator.permutation(np.repeat(code.encode(people.rows), people.counts))


def _handed_out(chances: Floats, devices: int, generator: Generator) -> Counts:
    """How many devices draw each thing."""
    return generator.multinomial(devices, chances / chances.sum())


def _subspaces(mechanism: InpHT, people: People, generator: Generator) -> State:
    subspaces, g = mechanism.subspaces, mechanism.buckets
    words = _in_random_order(mechanism.code, people, generator)
    times = _handed_out(subspaces.chances, words.size, generator)
    drawn = np.repeat(np.arange(subspaces.count), times)
    counter = drawn * g + subspaces.buckets(drawn, words)
    honest = np.bincount(counter, minlength=g * subspaces.count).reshape(-1, g)
    sent = _one_of_each(honest, mechanism.correlation, generator)
    return mechanism.add(mechanism.empty(), subspaces.members, sent)


def _characters(mechanism: MargHT, people: People, generator: Generator) -> State:
    words = _in_random_order(mechanism.code, people, generator)
    times = _handed_out(mechanism.drawn, words.size, generator)
    minus = parity(np.repeat(mechanism.masks, times) & words)
    symbol = 2 * np.repeat(np.arange(times.size), times) + minus
    honest = np.bincount(symbol, minlength=2 * times.size).reshape(-1, 2)
    return mechanism.add(mechanism.empty(), _one_of_each(honest, mechanism.correlation, generator))


def _views(mechanism: MarginalViews, people: People, generator: Generator) -> State:
    views = mechanism.views
    words = _in_random_order(mechanism.code, people, generator)
    count = _handed_out(np.ones(len(views.sets)), words.size, generator)
    cell = np.repeat(views.starts[:-1], count) + _cells(views, mechanism.code, words, count)
    honest = np.bincount(cell, minlength=views.total)
    if isinstance(mechanism, BitViews):
        p, q, _ = mechanism.pooled.chances[0]  # the same coins in every view
        return {"ones": _bits(honest, np.repeat(count, views.cells), p, q, generator), "count": count}
    sent = np.zeros(views.total, dtype=np.int64)
    for cells in np.unique(views.cells):
        alike = np.flatnonzero(views.cells == cells)
        own = views.starts[alike][:, None] + np.arange(cells)
        sent[own] = _one_of_each(honest[own], mechanism.pooled.chances[alike[0]].gap, generator)
    return {"hist": sent}


def _cells(views: Views, code: Code, words: Masks, count: Counts) -> Counts:
    """The cell of every device in its view; views have as many devices as `count` says, one view after the other."""
    cell = np.zeros(words.size, dtype=np.int64)
    for axis in range(max(map(len, views.sets))):
        chosen = [view[axis] if axis < len(view) else None for view in views.sets]
        shift = np.array([0 if attribute is None else code.shifts[attribute] for attribute in chosen], dtype=np.uint64)
        mask = np.array(
            [0 if attribute is None else (1 << code.bits[attribute]) - 1 for attribute in chosen], dtype=np.uint64
        )
        size = np.array([1 if attribute is None else code.sizes[attribute] for attribute in chosen])
        cell *= np.repeat(size, count)
        cell += ((words >> np.repeat(shift, count)) & np.repeat(mask, count)).astype(np.int64)
    return cell


def _all_attributes(mechanism: InpEM, people: People, generator: Generator) -> State:
    """Yes-or-no attributes, pairs at most: the sums of signs are sums of columns and of products of two."""
    flip, attributes = float(mechanism.channels[0][1, 0]), people.attributes
    signs = np.empty((attributes, int(people.counts.sum())), dtype=np.float32)
    for attribute, column in enumerate((1 - 2 * people.rows).T):
        flipped = np.where(generator.random(signs.shape[1]) < flip, -1, 1)
        np.multiply(np.repeat(column, people.counts), flipped, out=signs[attribute], casting="unsafe")
    total = signs.sum(axis=1, dtype=np.float64)
    if mechanism.order == 2:  # in the characters' order; sums of at most 2^24 signs are exact in float32
        total = np.concatenate([total, (signs @ signs.T)[np.triu_indices(attributes, 1)]])
    return {"sum": np.rint(total).astype(np.int64), "reports": np.array([signs.shape[1]])}
