"""Devices that follow a form."""
