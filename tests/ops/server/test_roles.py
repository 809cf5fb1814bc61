"""The table of roles, and what must agree with it."""

from pathlib import Path

from hearsay.collector.roles import NEEDED, ROLES
from hearsay.ops.cli import COMMANDS
from hearsay.ops.config import BY_NAME

PROCFILE = Path(__file__).parents[3] / "Procfile"


def test_the_procfile_has_the_roles_and_no_others() -> None:
    assert PROCFILE.read_text() == "".join(f"{role.process}: hearsay {role.command}\n" for role in ROLES)


def test_every_role_has_its_command_and_settings() -> None:
    for role in ROLES:
        assert role.command in COMMANDS
        assert {*(role.address or ()), *([role.count] if role.count else [])} <= set(BY_NAME)


def test_names_are_used_once() -> None:
    for names in ([role.name for role in ROLES], [role.process for role in ROLES]):
        assert len(set(names)) == len(names)


def test_what_is_needed_can_be_seen() -> None:
    assert [role.name for role in NEEDED] == ["collector", "worker", "estimator"]
