"""Read a deployment's metrics as Prometheus would: python scrape.py http://127.0.0.1:8787/metrics"""

import os
import sys
from urllib.request import Request, urlopen

from prometheus_client.parser import text_string_to_metric_families

token = os.environ.get("HEARSAY_API_TOKEN")
with urlopen(Request(sys.argv[1], headers={"Authorization": f"Bearer {token}"} if token else {})) as answer:
    families = {family.name: family.samples for family in text_string_to_metric_families(answer.read().decode())}
for folded in families["hearsay_reports_folded"]:
    print(f"{folded.labels['survey']}: {folded.value:,.0f} reports folded")
waiting = sum(sample.value for sample in families["hearsay_reports_waiting"])
stalled = sum(sample.value for sample in families["hearsay_standing_still"])
print(f"{waiting:,.0f} reports wait, {stalled:.0f} causes of a stall")
sys.exit(1 if stalled else 0)
