"""Read a deployment's metrics as Prometheus would: python scrape.py http://127.0.0.1:8787/metrics"""

import os
import sys
from collections import Counter
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from prometheus_client.parser import text_string_to_metric_families

address = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8787/metrics"
token = os.environ.get("HEARSAY_API_TOKEN")
try:
    with urlopen(Request(address, headers={"Authorization": f"Bearer {token}"} if token else {}), timeout=10) as answer:
        families = {family.name: family.samples for family in text_string_to_metric_families(answer.read().decode())}
except HTTPError as error:
    hint = "set HEARSAY_API_TOKEN to the estimator's token" if error.code == 401 else "is this the estimator's address?"
    sys.exit(f"{address} answers {error.code}: {hint}")
except (OSError, URLError) as error:
    sys.exit(f"{address} does not answer: start `hearsay estimate`, or name its address ({error})")


def samples(name):
    return families.get(name, [])


if not all(sample.value for sample in samples("hearsay_up")):
    sys.exit("the Redis server does not answer")
folded = Counter()  # a survey has a sample for each of its shards
for sample in samples("hearsay_reports_folded"):
    folded[sample.labels["survey"]] += sample.value
for survey, reports in folded.items():
    print(f"{survey}: {reports:,.0f} reports folded")
waiting = sum(sample.value for sample in samples("hearsay_reports_waiting"))
stalled = sum(sample.value for sample in samples("hearsay_standing_still"))
print(f"{waiting:,.0f} reports wait, {stalled:.0f} causes of a stall")
sys.exit(1 if stalled else 0)
