"""Read every snapshot of a survey into one data frame: python read.py var/snapshots SURVEY QUESTION"""

import sys
from pathlib import Path

import pandas

from hearsay import load_snapshot

folder, question = Path(sys.argv[1]) / sys.argv[2], " ".join(sys.argv[3:])
frames = []
for window in sorted(path for path in folder.iterdir() if (path / "snapshot.json").exists()):
    snapshot = load_snapshot(window)
    frames.append(snapshot.ask(question).to_pandas().assign(window=window.name, reports=snapshot.reports))
print(pandas.concat(frames)[["window", "reports", "item", "value", "low", "high"]].round(2).to_string(index=False))
