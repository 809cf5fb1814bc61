"""Ask while reports come in: python ask.py SURVEY QUESTION; one line a second until nothing new comes"""

import sys
import time

from hearsay import QueryError, open_survey

name, question = sys.argv[1], " ".join(sys.argv[2:])
with open_survey(name) as opened:
    before = -1
    while (reports := opened.read().reports) > before:
        before = reports
        try:
            for answer in opened.ask(question):
                print(f"{reports:,} reports: {answer.value:.3f} ({answer.low:.3f} to {answer.high:.3f})")
        except QueryError as error:  # too few reports yet
            print(error)
        time.sleep(1)
