"""Who may import whom, and what a device loads."""

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import hearsay

ROOT = Path(__file__).parent.parent
SERVERS = {
    *("redis", "rq", "scipy", "click", "uvicorn", "rich", "starlette", "prometheus_client", "matplotlib"),
    "threadpoolctl",
}
DEVICE = (
    "from hearsay import Device;"
    "Device({'name': 'a', 'mechanism': 'hrr', 'epsilon': 1.0, 'domain': {'kind': 'binary'}}).report(1)"
)
SIMULATION = (
    "from hearsay import simulate, load_snapshot;"
    "simulate({'name': 'a', 'mechanism': 'haar', 'epsilon': 1.0, 'domain': {'kind': 'ordinal', 'size': 8}},"
    " [1, 2, 3], out='.'); load_snapshot('.').ask('range 1 3')"
)


def test_imports_go_one_way() -> None:
    checker = Path(sys.executable).parent / "lint-imports"
    done = subprocess.run([checker, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("program", ["import hearsay", DEVICE, SIMULATION], ids=["package", "device", "simulation"])
def test_what_needs_no_server_loads_nothing_of_one(program: str, tmp_path: Path) -> None:
    assert SERVERS & _modules(program, tmp_path) == set()


def test_a_device_loads_nothing_that_answers_questions(tmp_path: Path) -> None:
    loaded = {name for name in _modules(DEVICE, tmp_path) if name.startswith("hearsay.")}
    assert {name for name in loaded if ".queries." in name or name.endswith(".questions")} == set()
    assert {name.split(".")[1] for name in loaded} == {"collector", "errors", "mechanisms", "producer"}


def test_the_package_itself_loads_nothing() -> None:
    assert {name for name in _modules("import hearsay", ROOT) if name.startswith(("hearsay.", "numpy"))} == set()


def test_the_public_names_are_there_and_no_others() -> None:
    errors = {
        *("HearsayError", "SurveyError", "SpecificationError", "ValueOutsideDomain", "QueryError", "SnapshotError"),
        *("OfferRefused", "UnknownSurvey", "SurveyClosed", "RoundClosed", "PublishRefused", "ReportsLost"),
        *("ServerError", "BudgetSpent", "GatewayError", "LedgerError"),
    }
    verbs = {"load_snapshot", "open_survey", "plan", "simulate"}
    assert set(hearsay.__all__) == {"Device", "Survey", "Writer", *verbs, *errors}
    assert {*hearsay.__all__, "__version__"} <= set(dir(hearsay))
    assert hearsay.__version__ == version("hearsay-ldp")
    for name in hearsay.__all__:
        assert getattr(hearsay, name).__doc__, f"{name} has no documentation"
    with pytest.raises(AttributeError, match="no attribute 'Gadget'"):
        _ = hearsay.Gadget  # type: ignore[attr-defined]


@pytest.mark.slow
def test_the_public_names_have_types(tmp_path: Path) -> None:
    program = (
        "from hearsay import Device, Survey, Writer, load_snapshot, open_survey, simulate\n"
        "payload: bytes = Device(Survey.of({})).report(1)\n"
        "value: float | None = simulate({}, [1]).ask('point 1')[0].value\n"
        "name: str = load_snapshot('x').survey.name\n"
        "writer: Writer = open_survey('redis://', 'x').writer()\n"
        "wrong: int = open_survey('redis://', 'x').windows()\n"
        "from hearsay import Gadget\n"
    )
    (tmp_path / "program.py").write_text(program)
    words = [sys.executable, "-m", "mypy", str(tmp_path / "program.py")]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    errors = [line for line in done.stdout.splitlines() if ": error: " in line]
    assert [line.split("program.py:")[1].split(":")[0] for line in errors] == ["6", "7"], done.stdout


def test_a_name_that_needs_a_package_says_which() -> None:
    program = "import sys; sys.modules['redis'] = None; from hearsay import Writer"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1] == "ImportError: hearsay.Writer needs redis: pip install redis"


def test_the_command_without_the_extra_is_one_line_and_two() -> None:
    program = "import sys; sys.modules['click'] = None; from hearsay.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "hearsay: the command line needs click: pip install 'hearsay-ldp[server,local]'\n"


def test_a_device_is_imported_in_one_and_a_half_times_what_numpy_takes() -> None:
    """In processor time, the best of some in turns: a busy machine is not a slow program."""
    programs = {"numpy": "import numpy", "device": "from hearsay import Device", "first report": DEVICE}
    best = dict.fromkeys(programs, float("inf"))
    for _ in range(5):
        for name, program in programs.items():
            best[name] = min(best[name], _processor_s(program))
    assert best["device"] <= 1.5 * best["numpy"], best
    assert best["first report"] <= 5.0 * best["numpy"], best  # which loads numpy and pydantic


def _modules(program: str, folder: Path) -> set[str]:
    words = [sys.executable, "-c", f"{program}; import sys; print(*sys.modules)"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def _processor_s(program: str) -> float:
    """What a fresh interpreter spends on it, its own start included."""
    words = [sys.executable, "-c", f"{program}; import time; print(time.process_time())"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return float(done.stdout)
