"""Row 2 of an attacker's list: what a device spends must not depend on the decimal context of its host program."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_05UP, ROUND_CEILING, ROUND_HALF_EVEN, ROUND_UP, Context, FloatOperation, Inexact, localcontext
from pathlib import Path

import numpy as np
import pytest

import hearsay
from hearsay.mechanisms import Mechanism, build, catalogue
from hearsay.mechanisms.checks.mechanisms import channel_keeps_the_guarantee
from hearsay.mechanisms.errors import SpecificationError
from hearsay.mechanisms.exact.randomness import seeded
from hearsay.mechanisms.oracles.grr import GRR
from tests.mechanisms.shared import ALL_CASES, CASES, Case, skewed_cells

CONTEXTS = {
    "4 digits, away from zero": Context(prec=4, rounding=ROUND_UP),
    "6 digits, upward": Context(prec=6, rounding=ROUND_CEILING),
    "28 digits, the default": Context(prec=28, rounding=ROUND_HALF_EVEN),
    "28 digits, 05up, everything inexact refused": Context(
        prec=28, rounding=ROUND_05UP, traps=[Inexact, FloatOperation]
    ),
}


@pytest.fixture(params=CONTEXTS.values(), ids=CONTEXTS.keys())
def context(request: pytest.FixtureRequest) -> Iterator[None]:
    with localcontext(request.param):
        yield


@pytest.mark.parametrize("case", ALL_CASES, ids=lambda case: case.name)
def test_every_channel_is_the_same_in_every_decimal_context(case: Case) -> None:
    expected = seen(case.build())
    for context in CONTEXTS.values():
        with localcontext(context):
            mechanism = case.build()
            assert seen(mechanism) == expected
            assert mechanism.spent_epsilon <= mechanism.epsilon
            if case in CASES:
                channel_keeps_the_guarantee(mechanism)


def seen(mechanism: Mechanism) -> tuple[object, ...]:
    """What a device would send, what it spends, and its channel, bit by bit."""
    reports = mechanism.perturb(skewed_cells(mechanism, 300), seeded(5))
    columns = tuple((name, np.asarray(column).tobytes()) for name, column in sorted(reports.items()))
    return columns, mechanism.spent_epsilon, mechanism.channel().tobytes()


@pytest.mark.usefixtures("context")
@pytest.mark.parametrize("epsilon", [0.3, 1.1, 4.0])
def test_no_mechanism_spends_more_than_it_claims_in_a_narrow_context(epsilon: float) -> None:
    domain = {"kind": "categorical", "size": 40}
    for name in ("grr", "ss", "sue", "oue", "olh", "hrr", "hr"):
        assert build({"mechanism": name, "epsilon": epsilon, "domain": domain}).spent_epsilon <= epsilon, name
    assert build({"mechanism": "mean", "epsilon": epsilon, "domain": {"kind": "number", "low": 0, "high": 9}})


def test_a_context_set_before_the_import_changes_nothing() -> None:
    program = (
        "import decimal; decimal.DefaultContext.prec = 4; decimal.setcontext(decimal.Context(prec=4)); "
        "from hearsay.mechanisms import build; "
        "print(repr(build({'mechanism': 'grr', 'epsilon': 1.1, 'domain': {'kind': 'categorical', 'size': 5}}).truth))"
    )
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    mechanism = build({"mechanism": "grr", "epsilon": 1.1, "domain": {"kind": "categorical", "size": 5}})
    assert isinstance(mechanism, GRR)
    assert int(output) == mechanism.truth


def test_decimals_are_computed_in_one_module_with_its_own_context() -> None:
    """A lint: `decimal` may be imported by exact/decimals.py alone, which has no operator and no current context."""
    root = Path(hearsay.__file__).parent
    users = [path for path in sorted((root / "mechanisms").rglob("*.py")) if uses_decimal(path)]
    assert users == [root / "mechanisms" / "exact" / "decimals.py"]
    assert ambient_arithmetic(users[0].read_text()) == []
    assert ambient_arithmetic("from decimal import Decimal\nx = 1 / Decimal(3)") == ["line 2: an operator"]
    assert ambient_arithmetic("y = Decimal(3).exp()") == ["line 1: exp without a context"]
    assert ambient_arithmetic("from decimal import getcontext") == ["line 1: getcontext"]


def uses_decimal(path: Path) -> bool:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "decimal":
            return True
        if isinstance(node, ast.Import) and any(name.name == "decimal" for name in node.names):
            return True
    return False


def ambient_arithmetic(source: str) -> list[str]:
    """Where a module would round by the current context: operators other than on digits, and methods of decimals."""
    complaints = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.ImportFrom(module="decimal", names=names):
                ambient = [name.name for name in names if name.name in ("getcontext", "setcontext", "localcontext")]
                complaints += [f"line {node.lineno}: {name}" for name in ambient]
            case ast.BinOp(left=left, right=right):
                if any(isinstance(part, ast.Call) for part in (left, right)):
                    complaints.append(f"line {node.lineno}: an operator")
            case ast.Call(func=ast.Attribute(value=value, attr=name)) if name not in ("numerator", "denominator"):
                if not (isinstance(value, ast.Call) and getattr(value.func, "id", "") == "_context"):
                    complaints.append(f"line {node.lineno}: {name} without a context")
    return complaints


@dataclass(frozen=True)
class Overspending(GRR):
    """Claims one epsilon and spends a little more."""

    ID = "overspending"

    @property
    def spent_epsilon(self) -> float:
        return self.epsilon * 1.000001


def test_a_mechanism_that_spends_more_than_it_claims_is_refused() -> None:
    domain = catalogue.DOMAINS["categorical"].load().parse({"kind": "categorical", "size": 4})
    with pytest.raises(SpecificationError, match=r"would spend epsilon 1\.100001.* where 1\.1 is claimed"):
        Overspending.create(1.1, domain, {})
