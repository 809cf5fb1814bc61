"""The device side: the client library, and fleets of simulated devices."""

from producer.device import Device

__all__ = ["Device"]
