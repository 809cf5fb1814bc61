"""Publish the reports of many devices in batches: python publish.py SURVEY FIRST LAST"""

import sys

from hearsay import Device, open_survey

BATCH = 2_000
name, first, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with open_survey(name) as opened:
    writer = opened.writer()
    values = range(first, last)
    for start in range(0, len(values), BATCH):
        reports = Device(opened.survey).reports(values[start : start + BATCH])  # of so many devices, at once
        writer.publish([(b"r", report) for report in reports], len(reports))  # stored, once, when this returns
        print(f"{len(reports)} reports stored")
    writer.check()  # at the end: sends again what a server that was killed has lost
