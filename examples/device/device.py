"""A device: pip install hearsay-ldp; python device.py http://127.0.0.1:8788 session-minutes 42"""

import json
import sys

from hearsay import Device

address, value = f"{sys.argv[1]}/v1/surveys/{sys.argv[2]}", json.loads(sys.argv[3])
device = Device(address, ledger="device.db", max_epsilon=2.0)
print(device.submit(value))  # "sent", or "kept" until the gateway answers
print(device.statement())
