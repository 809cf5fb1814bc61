"""Examples in docstrings are run; every public name has one, and stands on docs/start/python.md."""

import doctest
import re
from importlib import import_module
from pathlib import Path

import pytest

import hearsay
from hearsay.collector.store.client import Client
from hearsay.collector.store.registry import Registry
from hearsay.collector.survey.survey import parse
from hearsay.ops.server.embedded import EmbeddedServer

PACKAGE = Path(hearsay.__file__).parent
MODULES = sorted(
    ".".join(("hearsay", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
    for path in PACKAGE.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)
PAGE = PACKAGE.parent / "docs" / "start" / "python.md"
LIKES = {
    "name": "likes",
    "mechanism": "grr",
    "epsilon": 3.0,
    "domain": {"kind": "categorical", "categories": ["tea", "coffee"]},
}


@pytest.fixture
def names(server: EmbeddedServer, client: Client, tmp_path: Path) -> dict[str, object]:
    """What examples may use: the public names, a server with a survey, a snapshot."""
    Registry(client).add(parse(LIKES))
    people = ["tea"] * 6_000 + ["coffee"] * 4_000
    hearsay.simulate(LIKES, people, seed=1, out=tmp_path / "snapshot")
    public = {name: getattr(hearsay, name) for name in hearsay.__all__}
    return {**public, "url": server.url, "directory": tmp_path / "snapshot"}


def test_the_public_names_have_examples() -> None:
    homes = {getattr(hearsay, name).__module__ for name in hearsay.__all__}
    assert homes <= set(MODULES)


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name: str, names: dict[str, object]) -> None:
    failed, tried = doctest.testmod(import_module(name), extraglobs=names)
    assert tried
    assert failed == 0


def test_every_public_name_is_shown_on_the_page() -> None:
    """The page itself is run by tests/docs."""
    program = "\n".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL))
    for name in hearsay.__all__:
        assert re.search(rf"\b{name}\b", program), f"{name} is not shown on the page"
