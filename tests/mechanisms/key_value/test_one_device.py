"""What single devices hold, one after the other."""

from hearsay import simulate


def test_devices_given_one_by_one_stay_apart() -> None:
    """They were all called the same, and joined into one device, or refused for holding a key twice."""
    survey = {"name": "pairs", "mechanism": "privkv", "epsilon": 6.0, "domain": {"kind": "key-value", "keys": 2}}
    found = simulate(survey, [{0: 0.5}, {0: 1.0, 1: -1.0}] * 300, seed=1)
    assert found.reports == 600
    share, other = found.ask("frequencies")
    assert share.low <= 1.0 <= share.high  # type: ignore[operator]
    assert other.low <= 0.5 <= other.high  # type: ignore[operator]
