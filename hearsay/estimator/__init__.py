"""What the reports say together: estimates, snapshots, queries, metrics and the interface that serves them."""
