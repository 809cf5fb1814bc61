"""What people touch: command line, configuration, embedded server, demo, bench and experiments."""
