"""The device side: the client library, and fleets of simulated devices."""

from hearsay.producer.device import Device

__all__ = ["Device"]
