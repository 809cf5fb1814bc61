"""Whether a process works, and what keeps reports from becoming answers."""
