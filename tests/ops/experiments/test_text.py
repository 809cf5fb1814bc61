"""`hearsay experiment text`: drawn surveys agree with played ones, and the tables judge what they measure."""

import numpy as np
import pytest

from hearsay.ops.experiments.text import thresholds
from hearsay.ops.experiments.text.draws import LETTERS, People, drawn, planted, played, survey
from hearsay.ops.experiments.text.words import _spelled, pieces


@pytest.mark.parametrize("epsilon", [1.0, 8.0])
def test_drawn_answers_have_the_errors_of_played_ones(epsilon: float) -> None:
    mechanism, generator = survey(epsilon, 4, LETTERS, table=1024, texts=8), np.random.default_rng(1)
    people = planted(mechanism, 0.2, 50, 20_000, 2, generator)
    errors = []
    for run in range(60):
        both = played(mechanism, people, run), drawn(mechanism, people, generator)
        errors.append([estimate.whole.values(people.codes[:2]) - people.shares[:2] for estimate in both])
    of_played, of_drawn = np.sqrt((np.array(errors) ** 2).mean(axis=(0, 2)))
    assert 0.7 < of_played / of_drawn < 1.4
    stated = both[1].shares(people.codes[:2]).stderr.mean()
    assert of_drawn < 1.3 * stated


def test_detected_texts_and_intervals_are_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"DEVICES": 200_000, "OTHERS": 500, "DOMAINS": ((LETTERS, 8),), "EPSILONS": (4.0,)}.items():
        monkeypatch.setattr(thresholds, name, value)
    monkeypatch.setattr(thresholds, "SHARES", {(LETTERS, 8): (1.1,)})
    detected, intervals = thresholds.thresholds(3, False, 1)
    assert not detected.failures
    assert [row[0] for row in detected.rows] == ["26 letters", "all"]
    assert [row[0] for row in intervals.rows] == ["detected", "of no device", "over 5% at epsilon 4"]
    monkeypatch.setattr(thresholds, "SHARES", {(LETTERS, 8): (0.3,)})
    detected, _ = thresholds.thresholds(3, False, 1)
    assert any("detected on average" in failure for failure in detected.failures)


def test_pieces_spell_the_texts_shorter() -> None:
    texts = ["san francisco", "san diego", "santa ana"]
    symbols = pieces(texts, 25)
    assert len(symbols) == 25
    assert all("".join(_spelled(text, symbols)) == text for text in texts)
    assert len(_spelled("san diego", symbols)) < len("san diego")
    assert People(np.zeros((2, 1), dtype=np.uint8), np.array([3, 1])).shares.tolist() == [0.75, 0.25]
