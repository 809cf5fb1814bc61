"""Without numpy and a ledger: python small_device.py http://127.0.0.1:8788 session-minutes 42"""

import json
import sys
import urllib.request as http

from hearsay.producer.portable.form import Form, reports_body
from hearsay.producer.request_id import new_request_id

address, value = f"{sys.argv[1]}/v1/surveys/{sys.argv[2]}", json.loads(sys.argv[3])
form = Form.of(json.load(http.urlopen(address))["device"])
if form.epsilon > 2.0:
    sys.exit("a report spends more than this application allows")
body = reports_body([form.report(value)])  # store body and id before they are sent; a retry sends the same
headers = {"Content-Type": "application/vnd.hearsay.v1+msgpack", "Idempotency-Key": new_request_id()}
print(http.urlopen(http.Request(f"{address}/reports", body, headers)).read().decode())
