"""The mathematics of hearsay: one file per mechanism, no input or output."""

from hearsay.mechanisms import catalogue as _catalogue  # noqa: F401 - registers every mechanism
from hearsay.mechanisms.base import Mechanism, State, merge
from hearsay.mechanisms.layout import Reports
from hearsay.mechanisms.registry import REGISTRY, build, register

__all__ = ["REGISTRY", "Mechanism", "Reports", "State", "build", "merge", "register"]
