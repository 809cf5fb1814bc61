"""A device that follows a gateway's form: the standard library and msgpack only. `docs/device.md` specifies it."""
