"""What processes report about themselves: heartbeats, complaints, durations and counts."""
