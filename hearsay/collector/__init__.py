"""The protocol and the way in: surveys, wire format, Redis keys and scripts, dispatcher."""
