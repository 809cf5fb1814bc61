"""The devices of a survey with three rounds, and its answers: python rounds.py"""

import sys
import time

from hearsay import Device, SurveyClosed, open_survey

try:
    with open_survey("two-apps") as opened:
        writer = opened.writer()
        devices = [Device(opened.survey) for _ in range(300)]
        for number in (1, 2, 3):
            while (offer := opened.offer()) is None or offer["round"] < number:
                time.sleep(0.1)  # no round is open while the last one is being counted
            for device in devices:  # an offer is drawn anew for each device
                device.publish({"camera": 20, "games": 60}, writer, round=opened.offer())
            print(f"round {number}: {len(devices)} devices reported")
        while opened.read().reports < 3 * len(devices):
            time.sleep(0.1)
        for answer in opened.ask("means"):
            print(f"{answer.item}: {answer.low:.0f} to {answer.high:.0f} minutes")
except SurveyClosed as error:  # a second run
    sys.exit(f"{error}; to begin again: hearsay survey delete two-apps --yes")
