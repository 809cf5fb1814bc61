"""The mathematics of hearsay: one file per mechanism, no input or output."""

from mechanisms import catalogue as _catalogue  # noqa: F401 - registers every mechanism
from mechanisms.base import Mechanism, State, merge
from mechanisms.layout import Reports
from mechanisms.registry import REGISTRY, build, register

__all__ = ["REGISTRY", "Mechanism", "Reports", "State", "build", "merge", "register"]
