"""A device: pip install hearsay-ldp; python device.py http://127.0.0.1:8788 session-minutes 42"""

import json
import sys

from hearsay import Device, HearsayError

address = f"{sys.argv[1]}/v1/surveys/{sys.argv[2]}"
try:
    value = json.loads(sys.argv[3])  # 42, or '"red"', or '{"psycho": 4}'
    device = Device(address, ledger="device.db", max_epsilon=2.0)  # key="hsk_..." where the gateway asks for keys
    print(device.submit(value))  # "sent", or "kept" until the gateway answers
    print(device.statement())
except HearsayError as error:  # such as BudgetSpent: this device has answered
    sys.exit(str(error))
except ValueError:
    sys.exit("the value must be JSON; a text needs both quotes: '\"red\"'")
