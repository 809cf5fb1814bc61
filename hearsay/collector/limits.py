"""Every limit and time-out of the pipeline, with the reason beside it."""

KIB, MIB = 1024, 1024 * 1024

# What one range may hold. Frames hold thousands of reports; XRANGE of 256 of them inside a script takes about 9 ms.
RANGE_FRAMES = 256
RANGE_SINGLES = 20_000
RANGE_BYTES = 32 * MIB  # wide frames: keep a job's memory and the script's time bounded
CUT_AGE_MS = 250  # a range that is not full is cut when its oldest entry is so old: eager cutting makes tiny jobs
LONGEST_CUT_AGE_MS = 2_000  # and up to this where jobs wait: more entries in fewer ranges

# What one job may hold of small ranges: RQ takes as long for a job as folding dozens of them.
JOB_RANGES = 64
JOB_BYTES = MIB
JOB_CELLS = 4 * MIB  # of all their states together: tens of milliseconds to fold

# Attempts and leases. A lease is far above a job's two seconds and far below RQ's own recovery of over a minute.
LEASE_S = 20.0
ATTEMPTS = 5
REISSUE_BATCH = 64  # overdue ranges re-enqueued in one pass; more makes a storm
QUEUE_SHORT = 128  # overdue ranges are re-enqueued only while the queue is no longer than this

# Deltas.
PART_BYTES = 4 * MIB  # a larger delta is staged in parts of this size
STAGED_TTL_S = 600  # parts and chunks that were never committed go away by themselves
DELTAS_LIMIT = 2_048  # CUT refuses while more deltas wait to be merged
DELTA_BYTES_LIMIT = 512 * MIB
MERGE_SHARE = 4  # deltas above a quarter of the accumulator are merged into it
MERGE_DELTAS = DELTAS_LIMIT // 8  # many small deltas too, long before CUT has to wait for them
MERGE_BYTES = DELTA_BYTES_LIMIT // 8  # and a few huge ones, whose quarter may be above CUT's limit
MERGE_LEAST_BYTES = 64 * KIB  # less is not worth a job
CHUNK_CELLS = 64 * KIB  # 512 KiB of int64: what MERGE rewrites when a cell of it changed

# Back-pressure.
BACKLOG_ENTRIES = 500_000  # entries in a shard's stream at which PUBLISH answers "pressure"
BACKLOG_BYTES = 1_024 * MIB  # the same for bytes published and not yet trimmed
QUARANTINED_LIMIT = 100  # so many ranges set aside in one shard are no accident: stop taking more in
PRESSURE_TTL_S = 30  # a pressure mark that nobody renews is void: its writer may be dead
REFUSED_FOR_S = 5  # so long after PUBLISH refused for memory writers count as waiting: they try again every two seconds
MEMORY_SHARE = 0.6  # of maxmemory: producers pause well below the limit so that the drain can go on
STATE_SHARE = 0.8  # of maxmemory: what the states of all surveys may take, or none of them can be merged

# Entries.
FRAME_REPORTS = 65_536
FRAME_BYTES = 8 * MIB
SINGLE_BYTES = 1 * MIB
PUBLISH_ENTRIES = 1_000  # entries in one PUBLISH call
PUBLISH_BYTES = 8 * MIB

# Writers.
# A writer that was silent for so long is forgotten: longer than partitions last. Those that end say so and are
# forgotten sooner, so that only processes that died are remembered for a day.
DEDUP_WINDOW_S = 86_400
LEFT_WRITER_S = 600  # a late copy of its last batch may still come
LONGEST_STEP_S = 5  # what one look at the clock may add to the time that has gone by: ten times the usual
LOOKS_PER_RETAIN = 2  # of a survey that sleeps, by collector and estimator: both together are late by `retain` at most
WRITERS_AT_ONCE = 500  # looked at by one TRIM; all of a million would stop the server for a second
RESEND_WINDOW_S = 10.0  # an everysec server can lose its last second or two; writers hold on to more than that

# Rounds.
IN_FLIGHT_S = 2.5  # a writer that need not wait for each batch asks so often whether they are on disk or a replica
DISK_WAIT_MS = 2_000  # a log that is flushed every second is on disk by then

# The server.
# No command takes so long, WAITAOF included; a server that hangs must not hang its clients for ever.
REPLY_S = 5.0
CONNECT_S = 5.0

# Dead letters and skips.
DEAD_LETTERS_PER_COMMIT = 100
DEAD_LETTERS_KEPT = 10_000
DEAD_LETTER_BYTES = 4 * KIB  # of a payload, where payloads are kept: 40 MiB per shard at most

SNAPSHOT_JSON_BYTES = 64 * KIB
HEARTBEAT_TTL_S = 30
MISSED_BEAT_S = 15.0  # a process beats every ten seconds at least: one that was silent for longer may be dead
