"""An estimator as a process: passes over a survey, asked for on its standard input; says its peak memory at the end.

`python -m tests.estimator.one_sum URL PREFIX DIRECTORY`
"""

import re
import sys
from pathlib import Path

from hearsay.collector import limits
from hearsay.collector.store.connect import open_servers
from hearsay.collector.store.registry import Registry
from hearsay.estimator.materialise import Materialiser

if __name__ == "__main__":
    url, prefix, directory = sys.argv[1:]
    limits.MERGE_BYTES = 1  # every delta is merged at once: that takes memory too
    materialiser = Materialiser(Registry(open_servers(url), prefix), Path(directory))
    materialiser.agreement.forms = materialiser.agreement.forms._replace(accumulators=2)
    for _ in sys.stdin:
        done = materialiser.run_once()
        print(done.materialised, done.merged, done.failed, flush=True)
    (peak,) = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    print(int(peak) / 1e6)
