"""Run inside a container that has no certificate of the run: leave with a message unless the scheduler refuses us."""

from __future__ import annotations

import sys
import tempfile

from distributed import Client, Security

from scorecube.execute.certificates import write_authority

SCHEDULER = "scorecube-scheduler:8786"


def foreign() -> Security:
    """Return certificates that look like the run's and are of another authority."""
    folder = write_authority(tempfile.mkdtemp() + "/tls")
    names = {"tls_ca_file": "ca.crt", "tls_client_cert": "tls.crt", "tls_client_key": "tls.key"}
    return Security(
        require_encryption=True, **{option: str(folder / name) for option, name in names.items()}
    )


def main(scheme: str) -> None:
    """Try to have something computed."""
    security = foreign() if scheme == "tls" else None
    try:
        with Client(f"{scheme}://{SCHEDULER}", security=security, timeout=10) as client:
            client.submit(sum, [1, 2]).result(timeout=10)
    except OSError as error:
        print(f"refused: {error}")
    else:
        sys.exit("let in")


if __name__ == "__main__":
    main(sys.argv[1])
