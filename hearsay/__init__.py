"""A streaming collector for local differential privacy. `docs/start/python.md` shows each of these names at work.

Device         randomises one value and hands out bytes; needs numpy, msgpack and pydantic only, or msgpack alone
Survey         what devices, workers and estimator must agree on
plan           which mechanism, which epsilon, how many users
simulate       a survey on many values at once, without a server
load_snapshot  what an estimator wrote, ready to be asked
open_survey    a survey on a server: publish to it, read it, ask it
Writer         a process's way into a stream, each batch stored once
HearsayError   the base of every error, with code, what, expected and got; the errors that callers meet are here too
__version__    the version that is installed

Each is imported from its home on first use: a device loads nothing of what servers need.
"""

from typing import TYPE_CHECKING

__all__ = [
    "BudgetSpent",
    "Device",
    "GatewayError",
    "HearsayError",
    "LedgerError",
    "OfferRefused",
    "PublishRefused",
    "QueryError",
    "ReportsLost",
    "RoundClosed",
    "ServerError",
    "SnapshotError",
    "SpecificationError",
    "Survey",
    "SurveyClosed",
    "SurveyError",
    "UnknownSurvey",
    "ValueOutsideDomain",
    "Writer",
    "load_snapshot",
    "open_survey",
    "plan",
    "simulate",
]
__version__: str

if TYPE_CHECKING:
    from hearsay.collector.describe.planned import plan
    from hearsay.collector.errors import (
        OfferRefused,
        PublishRefused,
        ReportsLost,
        RoundClosed,
        ServerError,
        SurveyClosed,
        SurveyError,
        UnknownSurvey,
    )
    from hearsay.collector.survey.survey import Survey
    from hearsay.collector.writer import Writer
    from hearsay.errors import HearsayError
    from hearsay.estimator.errors import SnapshotError
    from hearsay.estimator.snapshots.loading import load as load_snapshot
    from hearsay.mechanisms.errors import QueryError, SpecificationError, ValueOutsideDomain
    from hearsay.ops.server.open_survey import open_survey
    from hearsay.ops.simulate.library import simulate
    from hearsay.producer.device import Device
    from hearsay.producer.errors import BudgetSpent, GatewayError, LedgerError

if not TYPE_CHECKING:  # a type checker would take __getattr__ as leave for any name
    _HOMES = {
        "Device": "hearsay.producer.device:Device",
        "Survey": "hearsay.collector.survey.survey:Survey",
        "Writer": "hearsay.collector.writer:Writer",
        "load_snapshot": "hearsay.estimator.snapshots.loading:load",
        "open_survey": "hearsay.ops.server.open_survey:open_survey",
        "plan": "hearsay.collector.describe.planned:plan",
        "simulate": "hearsay.ops.simulate.library:simulate",
        "BudgetSpent": "hearsay.producer.errors:BudgetSpent",
        "GatewayError": "hearsay.producer.errors:GatewayError",
        "HearsayError": "hearsay.errors:HearsayError",
        "LedgerError": "hearsay.producer.errors:LedgerError",
        "OfferRefused": "hearsay.collector.errors:OfferRefused",
        "PublishRefused": "hearsay.collector.errors:PublishRefused",
        "QueryError": "hearsay.mechanisms.errors:QueryError",
        "ReportsLost": "hearsay.collector.errors:ReportsLost",
        "RoundClosed": "hearsay.collector.errors:RoundClosed",
        "ServerError": "hearsay.collector.errors:ServerError",
        "SnapshotError": "hearsay.estimator.errors:SnapshotError",
        "SpecificationError": "hearsay.mechanisms.errors:SpecificationError",
        "SurveyClosed": "hearsay.collector.errors:SurveyClosed",
        "SurveyError": "hearsay.collector.errors:SurveyError",
        "UnknownSurvey": "hearsay.collector.errors:UnknownSurvey",
        "ValueOutsideDomain": "hearsay.mechanisms.errors:ValueOutsideDomain",
    }

    def __getattr__(name: str) -> object:
        from importlib import import_module

        if name == "__version__":
            return _version()
        if name not in _HOMES:
            raise AttributeError(f"module 'hearsay' has no attribute {name!r}")
        module, _, attribute = _HOMES[name].partition(":")
        try:
            value = getattr(import_module(module), attribute)
        except ModuleNotFoundError as error:
            if error.name is None or error.name.startswith("hearsay"):
                raise
            raise ImportError(f"hearsay.{name} needs {error.name}: pip install {error.name}") from None
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__, "__version__"})

    def _version() -> str:
        from hearsay.release import release

        return release()
