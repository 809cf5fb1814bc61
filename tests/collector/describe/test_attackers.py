"""How much false senders can move an answer: published figures, and no repeated report that moves it further."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hearsay.collector.describe.attackers import moved_by
from hearsay.collector.errors import SurveyError
from hearsay.collector.survey.survey import Survey, parse
from hearsay.mechanisms.estimates.ranges import middle_half
from hearsay.mechanisms.exact.hadamard import walsh_hadamard
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.layout import length_of
from hearsay.ops import cli

LINE = {"kind": "ordinal", "size": 1024}
NUMBER = {"kind": "number", "low": -1, "high": 1}


def survey(mechanism: str, domain: dict[str, Any] = LINE, **options: Any) -> Survey:
    table = {"name": "a", "mechanism": mechanism, "epsilon": 1.0, "domain": domain}
    return parse({**table, **({"options": options} if options else {})})


@pytest.mark.parametrize(
    ("of", "kind", "without", "factor"),
    [
        (survey("grr"), "point", 5.97, 1.0),
        (survey("oue"), "point", 0.0433, 1.0),
        (survey("hrr"), "point", 0.0432, 1.462),
        (survey("haar"), "range", 0.433, 1.462),
        (survey("flat", oracle="oue"), "range", 22.16, 1.0),
        (survey("mean", NUMBER), "mean", 0.0572, 1.0),
        (survey("mean", NUMBER, channel="duchi"), "mean", 0.0433, 1.0),
    ],
    ids=lambda value: value.mechanism.ID if isinstance(value, Survey) else str(value),
)
def test_one_percent_of_false_senders(of: Survey, kind: str, without: float, factor: float) -> None:
    table = moved_by(of, 10, 1_000)
    assert table["raised_norms"] == pytest.approx(factor, abs=1e-3)
    assert table[kind] / factor == pytest.approx(without, rel=2e-3)
    assert f"{kind} by {table[kind]:.4g}" in table["words"]


def test_hrr_with_raised_norms() -> None:
    assert moved_by(survey("hrr"), 1, 100)["point"] == pytest.approx(0.0632, abs=5e-5)


@pytest.mark.parametrize(("x", "y", "moved"), [(256, 768, 0.4328), (257, 769, 0.4328), (257, 768, 0.4319)])
def test_the_span_of_haar_by_all_of_its_reports(x: int, y: int, moved: float) -> None:
    """Every level, character and sign, each with what it adds to the share of the cells x..y-1."""
    mechanism = survey("haar").mechanism
    inside = np.zeros(1024)
    inside[x:y] = 1.0
    scores = [0.0]
    for level in range(1, 11):
        nodes = inside.reshape(-1, 2, 1 << level - 1).sum(axis=2)
        weights = (nodes[:, 0] - nodes[:, 1]) / (1 << level)  # of the difference of its halves, by node
        of_characters = 10 / mechanism.correlation * walsh_hadamard(weights)  # type: ignore[attr-defined]
        scores += [*of_characters, *-of_characters]
    assert (max(scores) - min(scores)) / 100 == pytest.approx(moved, abs=5e-5)
    if x == 256:
        assert mechanism.report_spans()["range"] == pytest.approx(max(scores) - min(scores))


SMALL = {"kind": "ordinal", "size": 16}
CASES = [
    survey("grr", SMALL),
    survey("oue", SMALL),
    survey("sue", SMALL),
    survey("ss", SMALL),
    survey("hr", SMALL),
    survey("hrr", SMALL),
    survey("olh", SMALL),
    survey("olh", SMALL, t=3, named=3),
    survey("haar", SMALL),
    survey("flat", SMALL, oracle="oue"),
    survey("flat", SMALL, oracle="grr"),
    survey("flat", SMALL, oracle="hrr"),
    survey("mean", NUMBER, channel="duchi"),
]


@pytest.mark.parametrize(
    "of", CASES, ids=lambda of: "-".join([of.mechanism.ID, *map(str, of.mechanism.options.values())])
)
def test_no_repeated_report_moves_an_answer_further(of: Survey) -> None:
    """5% of 4,000 senders send the same report, tried with 60 reports."""
    mechanism, users, false = of.mechanism, 4_000, 200
    values = np.linspace(-1, 1, users) if "mean" in mechanism.report_spans() else np.arange(users) % 16
    honest = mechanism.perturb(values, seeded(7))
    before = answers(of, mechanism.fold(mechanism.empty(), honest))
    bound = moved_by(of, false, users)
    worst = {kind: bound[kind] * (2 / bound["raised_norms"] if bound["raised_norms"] > 1 else 1) for kind in before}
    furthest = dict.fromkeys(before, 0.0)
    for number in range(60):
        repeated = {name: part.copy() for name, part in honest.items()}
        for part in repeated.values():
            part[:false] = part[users - 1 - number]
        assert length_of(repeated) == users
        after = answers(of, mechanism.fold(mechanism.empty(), repeated))
        for kind in before:
            furthest[kind] = max(furthest[kind], float(np.abs(after[kind] - before[kind]).max()))
    assert before.keys() == {"point", "range", "mean"} & bound.keys()
    for kind, moved in furthest.items():
        least = 0.0 if kind == "range" else 0.1  # of the bound: one that is far too large would say nothing
        assert least * worst[kind] < moved <= worst[kind], kind


def answers(of: Survey, state: Any) -> dict[str, Any]:
    estimate, spans = of.mechanism.estimate(state), of.mechanism.report_spans()
    if "mean" in spans:
        return {"mean": estimate.value}  # type: ignore[attr-defined]
    cells = estimate.estimate.reshape(-1)  # type: ignore[attr-defined]
    x, y = middle_half(cells.size)
    return {kind: cells if kind == "point" else cells[x:y].sum() for kind in spans}


def test_what_is_not_known_is_said() -> None:
    table = moved_by(survey("olh", SMALL, t=2, variant="coefficients"), 1, 10)
    assert not {"point", "range", "mean"} & table.keys()
    assert "not known for this mechanism" in table["words"]


@pytest.mark.parametrize(("attackers", "users"), [(-1, 10), (11, 10), (0, 0)])
def test_numbers_that_cannot_be(attackers: int, users: int) -> None:
    with pytest.raises(SurveyError, match=r"attackers must be a number in 0\.\.users"):
        moved_by(survey("grr", SMALL), attackers, users)


def test_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.toml"
    file.write_text('name = "a"\nmechanism = "oue"\nepsilon = 1.0\n[domain]\nkind = "categorical"\nsize = 1024\n')
    assert cli.run(["survey", "show", str(file), "--attackers", "10", "--users", "1000", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["attackers"]["point"] == pytest.approx(0.0433, abs=5e-5)
    assert cli.run(["survey", "show", str(file), "--attackers", "10", "--users", "1000"]) == 0
    assert "10 false senders among 1,000 can move an answer" in " ".join(capsys.readouterr().out.split())
    assert cli.run(["survey", "show", str(file), "--attackers", "10"]) == 2
