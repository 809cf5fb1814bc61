"""Ranges on grids: how often a device is asked at which tuple of levels is chosen, and all tuples are solved together.

A table of its own, behind all other families: what `hierarchical` is on a grid unless a survey asks for uniform levels.
"""

from hearsay.mechanisms.tables import Form

MECHANISMS = {"hierarchical": (Form(("grid",), "grid:PlannedGrid"),)}
