"""Options that commands share, tied to the table of settings."""

import logging
import os
import re
from collections.abc import Callable
from functools import wraps
from math import isfinite
from typing import Any, TypeVar

import click

from hearsay.collector import logs
from hearsay.collector.describe.written import without_separators
from hearsay.collector.roles import Role
from hearsay.ops.config import BY_NAME, TABLE, Settings, unknown_variables

Command = TypeVar("Command", bound=Callable[..., Any])
SERVER = ("redis_url", "redis_port", "data_dir", "prefix")


def uses(*names: str, service: str = "") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the flags of these settings and, as its first argument, all settings resolved.

    Plug-in families that the settings name are added before the command begins. `HEARSAY_` variables that no setting
    has are named on stderr; those of a service as log lines.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def with_settings(**parameters: Any) -> Any:
            flags = {name: parameters.pop(name) for name in names}
            settings = Settings.resolve(flags, os.environ)
            _name_unknown_variables(service)
            add_plugins(settings.plugins)
            return function(settings, **parameters)

        for name in reversed(names):
            setting = BY_NAME[name]
            default = setting.default or setting.otherwise
            text = f"{setting.help}  [{setting.environment}; default: {default}]"
            if setting.switch:
                switch = f"{setting.flag}/--no-{setting.flag[2:]}"
                with_settings = click.option(switch, name, default=None, help=text)(with_settings)
            else:
                without_value: dict[str, Any] = (
                    {} if setting.alone is None else {"is_flag": False, "flag_value": setting.alone}
                )
                with_settings = click.option(setting.flag, name, metavar="VALUE", help=text, **without_value)(
                    with_settings
                )
        return with_settings

    return decorate


def uses_of(role: Role) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The same for the command of a role: the flags of every setting that the table gives to it."""
    return uses(*(setting.name for setting in TABLE if role in setting.roles), service=role.name)


def _name_unknown_variables(service: str) -> None:
    for line in unknown_variables(os.environ):
        if service:
            logs.configure(service)
            logging.getLogger("hearsay").warning(line)
        else:
            click.echo(f"hearsay: {line}", err=True)


_PERCENT = re.compile(r"\d{1,9}(\.\d{1,9})? ?%")


class NumberRange(click.FloatRange):
    """A finite number between bounds. Click accepts NaN and infinity; this class refuses them."""

    def _describe_range(self) -> str:  # click writes x<=None where there are no bounds
        return "" if self.min is None and self.max is None else super()._describe_range()

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, str) and _PERCENT.fullmatch(value.strip()):
            self.fail(f"write {value.strip()} as {float(value.strip()[:-1]) / 100:g}", param, ctx)
        number = super().convert(value, param, ctx)
        if not isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


class CountRange(click.IntRange):
    """A whole number between bounds, also written as 1e6, 2.5e6 or 40,000."""

    def _describe_range(self) -> str:  # click writes x<=None where there are no bounds
        return "" if self.min is None and self.max is None else super()._describe_range()

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, str):
            value = without_separators(value)
        return super().convert(value, param, ctx)


def add_plugins(modules: str) -> None:
    """Add the families of these modules, if any, to the catalogue."""
    if modules:
        from hearsay.collector.plugins import load_plugins  # with numpy, which most help texts do without

        load_plugins(modules)


def json_option(command: Command) -> Command:
    """`--json` for a command that prints data."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")(command)


def seed_option(command: Command) -> Command:
    """`--seed`: without it devices draw from the operating system's secure source."""
    return click.option(
        "--seed",
        type=click.IntRange(0, 2**63 - 1),
        help="Repeat the same simulated reports; without it they are drawn from the secure source.",
    )(command)
