"""Run inside a container: leave with a message unless everything that listens beyond loopback wants this run's certificate."""

from __future__ import annotations

import socket
import ssl
import sys
from pathlib import Path

TLS = Path("/run/scorecube/tls")
LISTENS = "0A"


def ports() -> set[int]:
    """Return the ports that others can reach."""
    found = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            address, state = line.split()[1], line.split()[3]
            host, port = address.split(":")
            loopback = host.endswith("7F") if len(host) == 8 else host == "0" * 24 + "01000000"
            if state == LISTENS and not loopback:
                found.add(int(port, 16))
    return found


def answers(port: int, *, certificate: bool) -> bool:
    """Tell whether the port talks to one with, or without, the run's certificate."""
    context = ssl.create_default_context(cafile=TLS / "ca.crt")
    context.check_hostname = False
    if certificate:
        context.load_cert_chain(TLS / "tls.crt", TLS / "tls.key")
    host = socket.gethostbyname(socket.gethostname())
    try:
        with (
            socket.create_connection((host, port), timeout=10) as plain,
            context.wrap_socket(plain) as wrapped,
        ):
            return bool(wrapped.recv(1))  # a refusal comes after the handshake, in TLS 1.3
    except OSError:
        return False


def main() -> None:
    """Look at every port."""
    found = ports()
    if not found:
        sys.exit("nothing listens at all")
    for port in found:
        if not answers(port, certificate=True):
            sys.exit(f"port {port} does not speak TLS with this run's certificate")
        if answers(port, certificate=False):
            sys.exit(f"port {port} talks to everybody")


if __name__ == "__main__":
    main()
