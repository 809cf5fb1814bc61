"""Without numpy and a ledger: python small_device.py http://127.0.0.1:8788 session-minutes 42"""

import json
import sys
import urllib.error
import urllib.request as http

from hearsay import HearsayError
from hearsay.producer.portable.form import Form, reports_body
from hearsay.producer.request_id import new_request_id

try:
    address, value = f"{sys.argv[1]}/v1/surveys/{sys.argv[2]}", json.loads(sys.argv[3])
except (IndexError, ValueError):
    sys.exit(f"{__doc__}; the value is JSON: 42, and a text needs both quotes: '\"red\"'")
try:
    described = json.load(http.urlopen(address))
    if described["device"] is None:
        sys.exit(described["device_reason"])
    form = Form.of(described["device"])
    if form.epsilon > 2.0:
        sys.exit("a report spends more than this application allows")
    body = reports_body([form.report(value)])  # store body and id before they are sent; a retry sends the same
    headers = {"Content-Type": "application/vnd.hearsay.v1+msgpack", "Idempotency-Key": new_request_id()}
    print(http.urlopen(http.Request(f"{address}/reports", body, headers)).read().decode())
except urllib.error.HTTPError as refusal:  # of a gateway a problem document, which says why
    is_problem = refusal.headers.get_content_type() == "application/problem+json"
    sys.exit(json.load(refusal)["error"] if is_problem else str(refusal))
except (HearsayError, OSError, ValueError) as error:  # outside the domain, no gateway
    sys.exit(f"{type(error).__name__}: {error}")
