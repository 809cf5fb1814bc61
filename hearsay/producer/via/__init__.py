"""Simulated devices that send to a gateway over HTTP."""
