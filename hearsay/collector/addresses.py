"""What the address of a host says, without asking anybody."""

from ipaddress import ip_address


def is_loopback(host: str) -> bool:
    """Whether this address can only be reached from this machine."""
    try:
        return ip_address(host.strip("[]").partition("%")[0]).is_loopback
    except ValueError:
        return host == "localhost"
