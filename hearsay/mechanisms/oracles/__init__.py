"""Frequency oracles: the share of every cell from one short report a device."""
