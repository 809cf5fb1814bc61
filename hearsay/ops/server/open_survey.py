"""`hearsay.open_survey`: a survey by its name, on the server that the command line would use."""

import os

from hearsay.collector.errors import UnknownSurvey
from hearsay.collector.store.registry import Registry
from hearsay.estimator.open_survey import OpenSurvey
from hearsay.ops.config import Settings, without_password
from hearsay.ops.server.connection import open_registry


def open_survey(name: str, url: str | None = None, prefix: str | None = None) -> OpenSurvey:
    """The survey of this name, with the settings of the command line: `HEARSAY_*`, then their defaults.

    `url` is the Redis or Valkey server (setting `redis-url`), `prefix` what its keys begin with (setting `prefix`). The
    order `open_survey(url, name)` is understood too. Errors say what is missing and where it was looked for.

    >>> from hearsay import Device
    >>> opened = open_survey("likes", url)
    >>> Device(opened.survey).publish("tea", opened.writer())
    >>> opened.survey.mechanism.ID
    'grr'
    >>> opened.read().reports  # the collector and a worker come first
    0
    >>> opened.close()
    """
    if "://" in name and url is not None and "://" not in url:
        name, url = url, name
    settings = Settings.resolve({"redis_url": url, "prefix": prefix}, os.environ)
    registry = open_registry(settings, Registry)
    try:
        return OpenSurvey(registry.get(name), registry)
    except UnknownSurvey as unknown:
        registry.node.disconnect()
        where = f"{without_password(settings.redis_url)} with the prefix {settings.prefix}"
        words = f"{unknown}; looked for on {where}: url and prefix, or HEARSAY_*, name another"
        raise UnknownSurvey(words, **unknown.fields) from None
