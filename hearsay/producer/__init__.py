"""The device side: the client library, and fleets of simulated devices."""

from typing import TYPE_CHECKING

__all__ = ["Device"]

if TYPE_CHECKING:
    from hearsay.producer.device import Device

if not TYPE_CHECKING:  # imported on first use: a device that reads a form has no numpy

    def __getattr__(name):
        if name != "Device":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from hearsay.producer.device import Device

        return Device
