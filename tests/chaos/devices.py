"""Devices with ledgers: a process in which every device submits its own number once, and that may be killed.

`python -m tests.chaos.devices SURVEY FOLDER FIRST STEP COUNT PACE PORT...` goes through the devices FIRST,
FIRST + STEP ... of COUNT, one in about PACE seconds; each has a ledger of its own in FOLDER. Whoever starts it again
goes through all of them again: the ledgers know what was spent, what was sent and what still waits.
"""

import random
import sys
import threading
import time
from pathlib import Path

from hearsay import BudgetSpent, Device
from hearsay.mechanisms import catalogue
from hearsay.producer.errors import GatewayError
from tests.identity import MECHANISMS

THREADS = 4
PAUSE_S = 0.05


class Owner(threading.Thread):
    """Uses one device after the other, each through whichever gateway it draws, until nothing of it waits."""

    def __init__(self, survey: str, folder: Path, numbers: list[int], ports: list[str], pace_s: float) -> None:
        super().__init__()
        self._survey, self._folder, self._numbers, self._ports, self._pace_s = survey, folder, numbers, ports, pace_s
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            for number in self._numbers:
                while not self._is_stored(number):
                    time.sleep(PAUSE_S)
                time.sleep(self._pace_s)
        except BaseException as error:
            self.failure = error

    def _is_stored(self, number: int) -> bool:
        """Whether the device's report is with the gateway; a gateway that is away is asked again."""
        url = f"http://127.0.0.1:{random.choice(self._ports)}/v1/surveys/{self._survey}"
        try:
            device = Device(url, ledger=self._folder / f"{number}.db", max_epsilon=1.0)
        except GatewayError:  # away, and this device has not met the survey yet
            return False
        try:
            if device.submit(number) == "sent":
                return True
        except BudgetSpent:
            pass  # by the other process, or by this one before it was killed
        return device.flush() == 0


def main(words: list[str]) -> int:
    """0 when every device's report is stored; 1 where one never can be."""
    survey, folder, first, step, count, pace_s, *ports = words
    for name, (form,) in MECHANISMS.items():
        catalogue.MECHANISMS[name] = (catalogue.Listed("tests.identity", form),)
    numbers = [(int(first) + int(step) * index) % int(count) for index in range(int(count))]
    owners = [
        Owner(survey, Path(folder), numbers[thread::THREADS], ports, THREADS * float(pace_s))
        for thread in range(THREADS)
    ]
    for owner in owners:
        owner.start()
    for owner in owners:
        owner.join()
    failures = [owner.failure for owner in owners if owner.failure is not None]
    print(*map(repr, failures), sep="\n", file=sys.stderr)
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
