"""A certificate authority for one run: only holders of its certificate can connect.

A dask scheduler executes any code that a client sends. The authority of a run signs one certificate, with which scheduler, workers and
client authenticate to each other; the authority's own key is never written. Files are named as in Kubernetes' TLS secrets.
"""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scorecube.errors import BadPlan

if TYPE_CHECKING:
    from scorecube.execute.profiles import Profile

AUTHORITY, CERTIFICATE, KEY = "ca.crt", "tls.crt", "tls.key"
FILES = (AUTHORITY, CERTIFICATE, KEY)
VALIDITY = timedelta(days=30)
"""Longer than the time limits of queueing systems."""


def write_authority(directory: str | os.PathLike[str]) -> Path:
    """Create an authority and a certificate, and write both with the certificate's key.

    directory: Created if it does not exist; only its owner may read it (mode 0700, files 0600).
    Raises BadPlan: Such files exist already, or the package `cryptography` is missing.
    """
    folder = Path(directory)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)
    for name, content in zip(FILES, new_certificates(), strict=True):
        try:
            # Created with its final mode, so that others can never read it, and never over a file of another run.
            handle = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            raise BadPlan(
                f"{folder / name} exists already; each run has certificates of its own: use another directory"
            ) from None
        with os.fdopen(handle, "wb") as file:
            file.write(content)
    return folder


def check_files(directory: str | os.PathLike[str]) -> Path:
    """Refuse a directory with missing files or with a key that others can read."""
    folder = Path(directory)
    if missing := [name for name in FILES if not (folder / name).is_file()]:
        raise BadPlan(
            f"{folder}: no {' and '.join(missing)} there; create certificates with: python -m scorecube.execute.certificates {folder}"
        )
    if (folder / KEY).stat().st_mode & 0o007:
        raise BadPlan(f"{folder / KEY}: every user of this machine can read this key; chmod 600 it")
    return folder


def new_certificates() -> tuple[bytes, bytes, bytes]:
    """Return the authority's certificate, the run's certificate and its key, as PEM."""
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.x509.oid import NameOID
    except ImportError:
        raise BadPlan("encrypted connections need cryptography: pip install cryptography") from None
    now = datetime.now(UTC)
    authority_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    names = [
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"scorecube {what}")])
        for what in ("authority", "run")
    ]

    def certificate(subject: x509.Name, own: ec.EllipticCurvePrivateKey, *, signs: bool) -> bytes:
        signed = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(names[0])
            .public_key(own.public_key())
            .serial_number(x509.random_serial_number())
            # The clocks of machines differ.
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + VALIDITY)
            .add_extension(
                x509.BasicConstraints(ca=signs, path_length=0 if signs else None), critical=True
            )
            .sign(authority_key, hashes.SHA256())
        )
        return signed.public_bytes(serialization.Encoding.PEM)

    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return (
        certificate(names[0], authority_key, signs=True),
        certificate(names[1], key, signs=False),
        secret,
    )


def needs_certificates(profile: Profile, *, private: bool) -> bool:
    """Whether listening processes must require certificates.

    private: Whether they listen on loopback only, where certificates are optional.
    Raises BadPlan: Other machines could connect without certificates, and the profile is not `insecure`.
    """
    if profile.tls is None:
        return not (private or profile.insecure)
    if not profile.tls and not private and not profile.insecure:
        raise BadPlan(
            f"'tls: false' with {profile.interface or 'no interface'} lets everybody who reaches this machine run code as you: remove "
            "it, choose a loopback interface, or set 'insecure: true' as well"
        )
    return bool(profile.tls)


def security_of(
    profile: Profile, stack: ExitStack, *, private: bool, folder: Path | None = None
) -> Any:
    """Return the security settings of a cluster that is started, with certificates of this run; None for open connections on loopback."""
    if not needs_certificates(profile, private=private):
        return None
    if isinstance(profile.tls, str):
        return security_from(check_files(profile.tls))
    if folder is None:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="scorecube-"))) / "tls"
    return security_from(write_authority(folder))


def security_from(folder: Path) -> Any:
    """Return dask's security settings for the files of a directory."""
    from distributed import Security

    paths = {
        role: {"key": str(folder / KEY), "cert": str(folder / CERTIFICATE)}
        for role in ("client", "scheduler", "worker")
    }
    return Security(
        require_encryption=True,
        tls_ca_file=str(folder / AUTHORITY),
        **{
            f"tls_{role}_{what}": path
            for role, files in paths.items()
            for what, path in files.items()
        },
    )


def main() -> None:
    """``python -m scorecube.execute.certificates DIRECTORY``."""
    if len(sys.argv) != 2:
        sys.exit("usage: python -m scorecube.execute.certificates DIRECTORY")
    try:
        write_authority(sys.argv[1])
    except BadPlan as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
