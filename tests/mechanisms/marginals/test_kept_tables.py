"""An estimate computes a small table once, whoever asks for it; large ones are not kept."""

import pytest

from hearsay.mechanisms.marginals.characters.code import Attributes
from hearsay.mechanisms.marginals.estimate import CharacterEstimate
from hearsay.mechanisms.marginals.methods.inp_ht import InpHT
from hearsay.mechanisms.marginals.table import Table
from hearsay.mechanisms.questions import answer, parse_text
from tests.mechanisms.marginals.shared import Surveys, independent, make


def estimate_of(shape: tuple[int, ...]) -> CharacterEstimate:
    shares = independent(shape, [(1 / cells,) * cells for cells in shape])
    made = Surveys(make(InpHT, shape, 2, 1.1), shares, 3).estimate(10_000)
    assert isinstance(made, CharacterEstimate)
    return made


def test_tree_and_correlations_share_their_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[Attributes] = []
    compute = CharacterEstimate._table

    def counted(estimate: CharacterEstimate, attributes: Attributes) -> Table:
        computed.append(attributes)
        return compute(estimate, attributes)

    monkeypatch.setattr(CharacterEstimate, "_table", counted)
    estimate = estimate_of((2, 2, 2, 2))
    first = answer(parse_text("tree"), estimate)
    answer(parse_text("correlations"), estimate)
    assert answer(parse_text("tree"), estimate) == first
    pairs = [attributes for attributes in computed if len(attributes) == 2]
    assert len(pairs) == len(set(pairs)) == 6


def test_large_tables_are_not_kept() -> None:
    estimate = estimate_of((9, 9))
    assert estimate.table((0, 1)) is not estimate.table((0, 1))
    assert estimate.table((0,)) is estimate.table((0,))
