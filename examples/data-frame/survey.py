"""A survey on a data frame, without a server."""

import pandas

from hearsay import simulate

SURVEY = {
    "name": "commute",
    "mechanism": "auto",  # the best for this domain and epsilon
    "epsilon": 2.0,
    "domain": {"kind": "categorical", "categories": ["bicycle", "bus", "car", "train"]},
}
people = pandas.DataFrame({"value": ["car"] * 9_000 + ["train"] * 6_000 + ["bicycle"] * 3_000 + ["bus"] * 2_000})

snapshot = simulate(SURVEY, people, seed=1)
print(snapshot.ask("frequencies").to_pandas()[["item", "value", "low", "high"]].round(2).to_string(index=False))
print("truth:", snapshot.truth("frequencies"))
