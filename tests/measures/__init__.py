"""What the pipeline costs and takes, measured over the real processes: commands, and short forms as slow tests."""
