"""What a snapshot says, and where it stands."""
