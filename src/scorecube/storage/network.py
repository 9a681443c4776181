"""Addresses on this machine, to which connections need no encryption."""

from ipaddress import ip_address


def is_loopback(host: str) -> bool:
    """Whether a host name or IP address is this machine's loopback.

    Examples
    --------
    >>> [is_loopback(host) for host in ("localhost", "127.0.0.1", "::1", "example.org")]
    [True, True, True, False]
    """
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
