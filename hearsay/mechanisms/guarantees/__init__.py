"""What is promised to a device, as data that can be checked."""
