"""Object stores: S3, compatible stores, and others that ``obstore`` opens.

Credentials, region and endpoint come from the environment (``AWS_ACCESS_KEY_ID``,
``AWS_SECRET_ACCESS_KEY``, ``AWS_SESSION_TOKEN``,
``AWS_REGION``, ``AWS_ENDPOINT_URL``) or from the role of the machine.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final
from urllib.parse import urlsplit

import obstore
from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    NotFoundError,
    PermissionDeniedError,
    PreconditionError,
    UnauthenticatedError,
)
from obstore.store import from_url

from scorecube.errors import BadStudy, StoreFailed
from scorecube.storage.network import is_loopback
from scorecube.storage.place import PARTIAL, Place

ENDPOINT_VARIABLES: Final = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
INSTANCE_METADATA: Final = "169.254.169.254"
"""Address that provides the credentials of a machine's role, if the environment has none."""
NO_BUCKET, REFUSALS = "NoSuchBucket", ("401 Unauthorized", "403 Forbidden")
"""In responses of a store."""
MISSING = (FileNotFoundError, NotFoundError)
THERE = (AlreadyExistsError, PreconditionError)
MAX_REASON_CHARACTERS: Final = 300
"""Of a store's response, in a message."""


class ObjectPrefix(Place):
    """A prefix of an object store.

    url: E.g. ``s3://bucket/prefix``.
    """

    at_once = 32

    def __init__(self, url: str) -> None:
        super().__init__(url.rstrip("/"))
        bucket, _, prefix = self.name.partition("://")[2].partition("/")
        if not bucket or not prefix:
            raise BadStudy(
                f"{url}: a study needs a prefix of its own in a bucket: give scheme://bucket/prefix"
            )
        _refuse_unencrypted(self.name)
        with translated(self.name):
            self._store = from_url(self.name)
        self._refuses = False
        """Whether the store was seen to refuse to create an object twice."""

    def exists(self) -> bool:
        with translated(self.name):
            # The first request: with one retry, a wrong address is reported in seconds.
            store = from_url(self.name, retry_config={"max_retries": 1})
            return any(True for objects in obstore.list(store, chunk_size=1) for _ in objects)

    def make(self) -> None:
        return

    def read(self, key: str, last: int | None = None) -> bytes | None:
        options: Any = None if last is None else {"range": {"suffix": last}}
        try:
            with translated(self.name):
                return bytes(obstore.get(self._store, key, options=options).bytes())
        except MISSING:
            return None

    def create(self, key: str, content: bytes) -> bool:
        if not self._refuses:
            self._check_refusal()
        try:
            with translated(self.name):
                obstore.put(self._store, key, content, mode="create", use_multipart=False)
        except THERE:  # perhaps by this request, whose first answer was lost
            return self.read(key) == content
        return True

    def _check_refusal(self) -> None:
        """Refuse a store that replaces objects although it is asked not to (StoreFailed)."""
        key = f".{secrets.token_hex(8)}{PARTIAL}"
        with translated(self.name):
            obstore.put(self._store, key, b"", mode="create", use_multipart=False)
            try:
                with suppress(*THERE):
                    obstore.put(self._store, key, b"x", mode="create", use_multipart=False)
                    raise StoreFailed(
                        f"{self.name}: the store ignores If-None-Match, without which two commands "
                        f"could overwrite each other; "
                        "use another store, or a newer version of its server"
                    )
            finally:
                obstore.delete(self._store, key)
        self._refuses = True

    def write(self, key: str, content: bytes, *, durable: bool = True) -> None:  # noqa: ARG002
        with translated(self.name):
            obstore.put(self._store, key, content)

    def children(self, path: str) -> list[str]:
        with translated(self.name):
            listing = obstore.list_with_delimiter(self._store, path or None)
        below = [*(entry["path"] for entry in listing["objects"]), *listing["common_prefixes"]]
        names = (entry.rstrip("/").rpartition("/")[2] for entry in below)
        return sorted(name for name in names if not name.endswith(PARTIAL))

    def _listed(self, path: str) -> dict[str, Any]:
        with translated(self.name):
            return {
                str(entry["path"]).removeprefix(f"{path}/"): entry
                for entries in obstore.list(self._store, path or None)
                for entry in entries
            }

    def keys(self, path: str) -> list[str]:
        return sorted(key for key in self._listed(path) if not key.endswith(PARTIAL))

    def delete(self, path: str) -> None:
        keys = [f"{path}/{key}" for key in self._listed(path)]
        with translated(self.name):
            for key in [*keys, path]:
                with suppress(*MISSING):
                    obstore.delete(self._store, key)

    def ages(self, path: str) -> dict[str, float]:
        probe = f".{secrets.token_hex(8)}{PARTIAL}"
        with translated(self.name):
            obstore.put(self._store, probe, b"")
            now = obstore.head(self._store, probe)["last_modified"]
            obstore.delete(self._store, probe)
        listed = self._listed(path)
        return {key: (now - listed[key]["last_modified"]).total_seconds() for key in listed}

    def sync(self) -> None:
        return

    def array_store(self, path: str) -> Any:
        from zarr.storage import ObjectStore

        with translated(self.name):
            return ObjectStore(from_url(f"{self.name}/{path}"), read_only=True)


@contextmanager
def translated(url: str) -> Iterator[None]:
    """Raise failures of a store as `StoreFailed`, except of conditional requests."""
    try:
        yield
    except (*THERE, NotFoundError):
        raise
    except FileNotFoundError as error:
        if NO_BUCKET not in str(error):
            raise
        raise StoreFailed(f"{url}: {_reason(url, error)}") from None
    except BaseError as error:
        raise StoreFailed(f"{url}: {_reason(url, error)}") from None


def _reason(url: str, error: Exception) -> str:
    """Return the cause of a failure and its remedy, from the text of the response."""
    text = str(error)
    short = " ".join(text.partition("\n\nDebug source")[0].split())
    if len(short) > MAX_REASON_CHARACTERS:
        short = short[:MAX_REASON_CHARACTERS] + "..."
    if NO_BUCKET in text:
        bucket = url.partition("://")[2].partition("/")[0]
        return (
            f"there is no bucket {bucket!r}; create it, or check its name, AWS_ENDPOINT_URL and "
            "AWS_REGION"
        )
    if INSTANCE_METADATA in text:
        return (
            "no credentials in the environment, and this machine has no role; set "
            "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY "
            "and AWS_REGION"
        )
    refused = isinstance(error, PermissionDeniedError | UnauthenticatedError)
    if refused or any(reason in text for reason in REFUSALS):
        return (
            "the store refuses these credentials; check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY "
            "(and AWS_SESSION_TOKEN), and "
            f"that they allow listing, reading and writing. Response: {short}"
        )
    return (
        f"the store failed: {short}; check AWS_ENDPOINT_URL and AWS_REGION. Recorded blocks are "
        f"kept; rerun the same command to "
        "resume"
    )


def _refuse_unencrypted(url: str) -> None:
    """Refuse plain HTTP to another machine, which exposes scores and credentials."""
    for name in ENDPOINT_VARIABLES:
        endpoint = os.environ.get(name, "")
        address = urlsplit(endpoint)
        plain = address.scheme == "http" and not is_loopback(address.hostname or "")
        if url.startswith("s3://") and plain:
            raise BadStudy(
                f"{url}: {name}={endpoint} is not encrypted and not on this machine; give an "
                f"https:// address "
                "(http:// is accepted for a server on this machine only)"
            )
