"""A device: pip install hearsay-ldp; python device.py http://127.0.0.1:8788 session-minutes 42"""

import json
import sys

from hearsay import Device, HearsayError

try:
    device = Device(f"{sys.argv[1]}/v1/surveys/{sys.argv[2]}", ledger="device.db", max_epsilon=2.0)  # key=
    print(device.submit(json.loads(sys.argv[3])), device.statement(), sep="\n")  # "sent", or "kept" for a later try
except HearsayError as error:  # such as BudgetSpent: this device has answered
    sys.exit(str(error))
except (IndexError, ValueError):
    sys.exit(__doc__ + "; the value must be JSON: 42, '{\"psycho\": 4}'; a text needs both quotes: '\"red\"'")
