"""A device that follows a gateway's form: standard library and msgpack only. `docs/how-to/devices.md` specifies it."""
