"""What is said and shown about a matrix: properties, warnings, heat map, text, comparators."""

from fractions import Fraction
from math import log

import numpy as np
import pytest

from hearsay.mechanisms.counts.closed_forms import em, gm, um
from hearsay.mechanisms.counts.comparators import exponential, rounded_laplace
from hearsay.mechanisms.counts.design import Design, facts, warnings
from hearsay.mechanisms.counts.heat_map import heat_map
from hearsay.mechanisms.counts.objectives import Objective
from hearsay.mechanisms.counts.packing import pack, unpack
from hearsay.mechanisms.counts.promise import upward
from hearsay.mechanisms.counts.properties import has, properties_of
from hearsay.mechanisms.errors import SpecificationError


@pytest.mark.parametrize(
    ("name", "matrix"),
    [
        ("RH", [[0.5, 0.6, 0.1], [0.3, 0.3, 0.3], [0.2, 0.1, 0.6]]),
        ("RM", [[0.5, 0.1, 0.2], [0.3, 0.8, 0.2], [0.2, 0.1, 0.6]]),
        ("CH", [[0.4, 0.1, 0.1], [0.5, 0.8, 0.3], [0.1, 0.1, 0.6]]),
        ("CM", [[0.5, 0.2, 0.3], [0.2, 0.6, 0.1], [0.3, 0.2, 0.6]]),
        ("F", [[0.5, 0.2, 0.1], [0.3, 0.6, 0.3], [0.2, 0.2, 0.6]]),
        ("WH", [[0.3, 0.2, 0.1], [0.4, 0.6, 0.3], [0.3, 0.2, 0.6]]),
        ("S", [[0.5, 0.2, 0.1], [0.3, 0.6, 0.3], [0.2, 0.2, 0.6]]),
    ],
)
def test_a_broken_property_is_seen(name: str, matrix: list[list[float]]) -> None:
    assert not has(np.array(matrix), name)
    assert has(np.eye(3), name)


def test_implications() -> None:
    for matrix in (gm(5, upward(Fraction(1, 3))), em(6, upward(Fraction(3, 4))), um(4)):
        properties = set(properties_of(matrix))
        assert "RM" not in properties or "RH" in properties
        assert "CM" not in properties or {"CH", "WH"} <= properties


def test_unconstrained_l1_and_l2_are_warned_about() -> None:
    """Figure 6.1: gaps and spikes."""
    always = Design("lp", 4, 0.1, {"objective": "L2"})
    told = facts(always, always.whole()).warnings
    assert told[0].startswith("never reports 0-1, 3-4: ")
    assert "for input 0-1, 3-4 some wrong output is likelier than the truth" in told[1]
    gaps = Design("lp", 7, -log(0.62), {"objective": "L1"})
    assert facts(gaps, gaps.whole()).warnings[0].startswith("never reports 0, 7: ")
    honest = Design("lp", 7, -log(0.62), {"objective": "L1", "properties": ["CH"]})
    assert facts(honest, honest.whole()).warnings == ()


def test_gm_is_warned_about_where_its_ends_are_too_likely() -> None:
    design = Design("gm", 2, -log(0.9))
    told = facts(design, design.whole())
    assert told.warnings == (
        "for input 1 some wrong output is likelier than the truth; worst for input 1: output 0 with 0.47 against 0.05; "
        "property CH forbids it",
    )
    assert told.properties == ("RH", "RM", "S")
    assert told.derivable_from_gm
    assert warnings(em(8, upward(Fraction(9, 10))).astype(float)) == ()


def test_facts_are_those_of_the_matrix() -> None:
    design = Design("em", 8, -log(0.91))
    told = facts(design, design.whole())
    assert told.scores["L0"] == pytest.approx(Objective().score(em(8, design.promise.ratio)), abs=1e-12)
    assert told.wrong == pytest.approx(told.scores["L0"] * 8 / 9)
    assert told.root_mean_square_error == pytest.approx(told.scores["L2"] ** 0.5)
    assert not told.derivable_from_gm


def test_a_heat_map_has_a_line_per_output() -> None:
    lines = heat_map(np.array([[0.9, 0.2, 0.0], [0.1, 0.6, 0.0], [0.0, 0.2, 1.0]]))
    assert lines[1] == "0 ██░░·· 0.900"
    assert lines[3] == "2 ··░░██ 1.000"
    assert lines[-1] == "  0"
    assert "█ = 1.000" in lines[0]
    wide = heat_map(gm(130, upward(Fraction(1, 2))))
    assert len(wide) == 46
    assert "3 counts to a cell" in wide[0]


@pytest.mark.parametrize("design", [Design("gm", 5, 0.4), Design("wm", 8, 0.2), Design("em", 9, 1.0, {"tie": "l1"})])
def test_a_matrix_survives_its_text(design: Design) -> None:
    whole = design.whole()
    text = pack(whole)
    assert (unpack(text, design.largest) == whole).all()
    assert len(text) == -(-4 * 8 * (-(-((design.largest + 1) ** 2) // 2)) // 3)


def test_an_output_that_is_always_given_survives_its_text() -> None:
    whole = Design("lp", 4, 0.1, {"objective": "L2"}).whole()
    assert (whole[2] == 1 << 64).all()
    assert (unpack(pack(whole), 4) == whole).all()


def test_an_uneven_matrix_survives_its_text_too() -> None:
    design = Design("lp", 4, 0.5, {"properties": ["WH"], "weights": [5, 1, 1, 1, 1]})
    whole = design.whole()
    assert (unpack(pack(whole), 4) == whole).all()


def test_what_is_no_matrix_is_refused() -> None:
    text = pack(Design("gm", 4, 0.5).whole())
    for wrong in (text[:-1], text + "A", "", "*" * len(text), text[:-1] + "B"):
        with pytest.raises(SpecificationError, match=r"options\.matrix must"):
            unpack(wrong, 4)
    with pytest.raises(SpecificationError, match=r"counts 0\.\.5"):
        unpack(text, 5)
    with pytest.raises(SpecificationError, match=r"sum to 2\^64"):
        unpack("B" + text[1:], 4)


@pytest.mark.parametrize("epsilon", [0.2, 1.0])
def test_comparators_are_private_and_worse_than_what_they_are_compared_with(epsilon: float) -> None:
    design = Design("em", 8, epsilon)
    for matrix in (exponential(8, epsilon), rounded_laplace(8, epsilon)):
        np.testing.assert_allclose(matrix.sum(axis=0), 1.0, rtol=1e-12)
        assert np.abs(np.diff(np.log(matrix), axis=1)).max() <= epsilon * (1 + 1e-9)
    score = Objective().score
    assert score(exponential(8, epsilon)) > score(em(8, design.promise.ratio))
    assert score(rounded_laplace(8, epsilon)) > score(gm(8, design.promise.ratio))


@pytest.mark.parametrize(
    ("name", "workload", "message"),
    [
        ("L3", (), r"options\.objective must be L0, L1 or L2"),
        ("L0,", (), r"options\.objective must be"),
        ("min-L0", (), r"options\.objective must be"),
        ("L1,2", ("mean",), "without a distance"),
        ("L1", ("median",), r"options\.workload must have questions mean"),
        ("L1", ("at-least:9",), r"counts in 0\.\.8"),
    ],
)
def test_objectives_that_are_refused(name: str, workload: tuple[str, ...], message: str) -> None:
    with pytest.raises(SpecificationError, match=message):
        Objective.parse(name, workload, 8)


def test_objectives_by_hand() -> None:
    matrix = np.array([[0.5, 0.2, 0.1], [0.3, 0.6, 0.3], [0.2, 0.2, 0.6]])
    score = {name: Objective.parse(name).score(matrix) for name in ("L0", "L1", "L2", "L0,1", "max-L0", "max-L2,1")}
    assert score["L0"] == pytest.approx((0.5 + 0.4 + 0.4) / 2)
    assert score["L1"] == pytest.approx((0.3 + 0.4 + 0.4 + 0.3 + 0.2) / 3)
    assert score["L2"] == pytest.approx((0.3 + 0.8 + 0.4 + 0.3 + 0.4) / 3)
    assert score["L0,1"] == pytest.approx((0.2 + 0.1) / 2)
    assert score["max-L0"] == pytest.approx(0.5)
    assert score["max-L2,1"] == pytest.approx(0.8)
    tail = Objective.parse("L1", ("at-least:2*2", "exactly:0"), 2)
    # 2 |[i >= 2] - [j >= 2]| + |[i = 0] - [j = 0]|
    assert tail.score(matrix) == pytest.approx(((0.3 + 3 * 0.2) + (0.2 + 2 * 0.2) + (3 * 0.1 + 2 * 0.3)) / 3)
