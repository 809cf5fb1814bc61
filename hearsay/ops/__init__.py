"""What people touch: command line, configuration, embedded server, demo, bench and experiments."""

import os

# One thread of linear algebra a process, set before numpy comes in: the roles run side by side, and where the cores are
# busy OpenBLAS' threads wait for each other, which makes small matrix products ten times as slow.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
