"""A registry on the real server; fold jobs of this process use it."""

from tests.estimator.conftest import registry

__all__ = ["registry"]
