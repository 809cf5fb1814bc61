"""Questions to an estimate, and their answers."""
