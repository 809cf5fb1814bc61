"""Hold the mechanism to the laws that all of hearsay's obey, then use it."""

import short_coin

from hearsay import simulate
from hearsay.checks import check_family
from hearsay.mechanisms import catalogue

check_family("short_coin")
print("short-coin obeys the laws")
catalogue.add("short_coin")
domain = {"kind": "categorical", "categories": ["tea", "coffee", "milk", "water"]}
survey = {"name": "drinks", "mechanism": short_coin.ShortCoin.ID, "epsilon": 1.0, "domain": domain}
snapshot = simulate(survey, ["tea"] * 6_000 + ["coffee"] * 4_000, seed=1)
(answer,) = snapshot.ask("point tea")
spent = snapshot.survey.mechanism.spent_epsilon
print(f"tea: {answer.value:.2f} ({answer.low:.2f} to {answer.high:.2f}), spent {spent:.3f}")
