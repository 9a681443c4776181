"""Object stores: S3 and what speaks its language, and others that ``obstore`` opens in the same way.

Credentials, region and endpoint come from the environment: ``AWS_ACCESS_KEY_ID``, ``AWS_SECRET_ACCESS_KEY``, ``AWS_SESSION_TOKEN``,
``AWS_REGION``, ``AWS_ENDPOINT_URL``; or from the machine's role.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from ipaddress import ip_address
from typing import Any
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
from zarr.core.buffer import default_buffer_prototype
from zarr.core.sync import sync
from zarr.storage import ObjectStore

from scorecube.errors import BadStudy, StoreFailed
from scorecube.storage.encoding import METADATA
from scorecube.storage.lock import lock_ending

ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
TEMPORARY = "169.254.169.254"
"""Where a machine's role is asked for when the environment has no credentials."""
NO_BUCKET, REFUSALS = "NoSuchBucket", ("401 Unauthorized", "403 Forbidden")
"""In a server's answers."""
AT_ONCE = 16
"""Objects on their way to a store."""
WORDS = 300
"""Characters of a store's answer that are shown."""


class Objects:
    """A prefix of an object store; see `scorecube.storage.location.Place`.

    Parameters
    ----------
    text
        URL, e.g. ``s3://bucket/prefix``.
    """

    renames = False

    def __init__(self, text: str) -> None:
        self.text = text.rstrip("/")
        bucket, _, prefix = self.text.partition("://")[2].partition("/")
        if not bucket or not prefix:
            raise BadStudy(f"{text}: a study needs a place of its own in a bucket: give scheme://bucket/prefix")
        _refuse_open_line(self.text)
        with told(self.text):
            self._upstream = from_url(self.text)
        self.store = ErrorTranslatingStore(self._upstream, where=self.text)

    def _listing(self, inside: str = "") -> tuple[set[str], bool]:
        """Return the names of the objects right here, or at a path inside, and whether anything is there or below."""
        with told(self.text):
            # Asked at first, so that a wrong address is known in seconds and not after minutes of trying again.
            asked = from_url(self.text, retry_config={"max_retries": 1})
            found = obstore.list_with_delimiter(asked, inside or None)
        return {entry["path"].rpartition("/")[2] for entry in found["objects"]}, bool(
            found["objects"] or found["common_prefixes"]
        )

    def holds_zarr(self, inside: str = "") -> bool:
        """See `Place`."""
        return METADATA in self._listing(inside)[0]

    def is_there(self) -> bool:
        """See `Place`."""
        return self._listing()[1]

    def refuse_occupied(self) -> None:
        """See `Place`."""
        if self.is_there():
            raise BadStudy(f"{self.text} holds something that is not a study; choose another prefix")

    def rename(self, old: str, new: str) -> None:
        """Never called: objects have no directories."""
        raise NotImplementedError

    def replace(self, group: str, parts: Mapping[str, bytes], before: bytes, after: bytes) -> None:
        """See `Place`."""
        sync(_replace(self.store, f"{group}/".lstrip("/"), parts, before, after))

    def mark(self, part: str = "") -> ObjectMark:
        """See `Place`."""
        above, _, name = self.text.rpartition("/")
        with told(self.text):
            return ObjectMark(from_url(above), name + lock_ending(part), self.text + lock_ending(part))


async def _replace(
    store: ErrorTranslatingStore, prefix: str, parts: Mapping[str, bytes], before: bytes, after: bytes
) -> None:
    slots, buffer = asyncio.Semaphore(AT_ONCE), default_buffer_prototype().buffer

    async def put(key: str, content: bytes) -> None:
        async with slots:
            await store.set(prefix + key, buffer.from_bytes(content))

    await store.delete_dir(prefix)
    await put(METADATA, before)
    await asyncio.gather(*(put(key, content) for key, content in parts.items()))
    await put(METADATA, after)


class ObjectMark:
    """The object that says who writes; see `scorecube.storage.lock.LockFile`."""

    def __init__(self, store: Any, key: str, text: str) -> None:
        self._store, self._key, self.text = store, key, text
        self._tag: Any = None

    def make(self, content: str) -> bool:
        """See `LockFile`."""
        try:
            with told(self.text):
                obstore.put(self._store, self._key, content.encode(), mode="create", use_multipart=False)
        except AlreadyExistsError:
            return False
        return True

    def read(self) -> tuple[str, float] | None:
        """See `LockFile`."""
        try:
            with told(self.text):
                found = obstore.get(self._store, self._key)
                content = bytes(found.bytes()).decode()
        except (FileNotFoundError, NotFoundError):
            return None
        self._tag = found.meta.get("e_tag")
        return content, (datetime.now(UTC) - found.meta["last_modified"]).total_seconds()

    def take_over(self, content: str) -> bool:
        """See `LockFile`."""
        try:
            with told(self.text):
                condition: Any = {"e_tag": self._tag}
                obstore.put(self._store, self._key, content.encode(), mode=condition, use_multipart=False)
        except (PreconditionError, FileNotFoundError, NotFoundError):
            return False
        return True

    def renew(self, content: str) -> None:
        """See `LockFile`."""
        obstore.put(self._store, self._key, content.encode(), use_multipart=False)

    def remove(self) -> None:
        """See `LockFile`."""
        obstore.delete(self._store, self._key)


class ErrorTranslatingStore(ObjectStore[Any]):
    """zarr's object store, whose failures are told in one message.

    Parameters
    ----------
    store
        Of ``obstore``.
    where
        URL, for messages.
    """

    def __init__(self, store: Any, *, read_only: bool = False, where: str = "") -> None:
        super().__init__(store, read_only=read_only)
        self.where = where

    def with_read_only(self, read_only: bool = False) -> ErrorTranslatingStore:
        """See `zarr.abc.store.Store`."""
        return ErrorTranslatingStore(self.store, read_only=read_only, where=self.where)

    async def get(self, *given: Any, **how: Any) -> Any:
        """See `zarr.abc.store.Store`."""
        with told(self.where):
            return await super().get(*given, **how)

    async def exists(self, key: str) -> bool:
        """See `zarr.abc.store.Store`."""
        with told(self.where):
            return await super().exists(key)

    async def set(self, key: str, value: Any) -> None:
        """See `zarr.abc.store.Store`."""
        with told(self.where):
            await super().set(key, value)

    async def delete(self, key: str) -> None:
        """See `zarr.abc.store.Store`."""
        with told(self.where):
            await super().delete(key)

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:  # type: ignore[override]
        """See `zarr.abc.store.Store`."""
        with told(self.where):
            async for key in super().list_prefix(prefix):
                yield key

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:  # type: ignore[override]
        """See `zarr.abc.store.Store`."""
        with told(self.where):
            async for key in super().list_dir(prefix):
                yield key


@contextmanager
def told(where: str) -> Iterator[None]:
    """Say in one message what failed, and what to do; what callers ask for by trying goes on as it is."""
    try:
        yield
    except (AlreadyExistsError, PreconditionError, NotFoundError):
        raise
    except FileNotFoundError as error:
        if NO_BUCKET not in str(error):
            raise
        raise StoreFailed(f"{where}: {_reason(where, error)}") from None
    except BaseError as error:
        raise StoreFailed(f"{where}: {_reason(where, error)}") from None


def _reason(where: str, error: Exception) -> str:
    """Return what is wrong and what to do; listings fail with no more than the server's words."""
    words = str(error)
    if NO_BUCKET in words:
        bucket = where.partition("://")[2].partition("/")[0]
        return f"there is no bucket {bucket!r}; make it first, or check its name, AWS_ENDPOINT_URL and AWS_REGION"
    if TEMPORARY in words:
        return (
            "no credentials in the environment, and this machine has no role; set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY "
            "and AWS_REGION"
        )
    if isinstance(error, PermissionDeniedError | UnauthenticatedError) or any(each in words for each in REFUSALS):
        return (
            "the store refuses these credentials; check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY (and AWS_SESSION_TOKEN), and that they "
            f"may list, read and write there. It said: {_brief(error)}"
        )
    return (
        f"the store failed: {_brief(error)}; check AWS_ENDPOINT_URL and AWS_REGION. What was recorded is kept: the same command goes "
        "on from there"
    )


def _brief(error: Exception) -> str:
    words = " ".join(str(error).partition("\n\nDebug source")[0].split())
    return words if len(words) <= WORDS else words[:WORDS] + "..."


def _refuse_open_line(where: str) -> None:
    """Refuse plain HTTP to another machine: scores and credentials could be read and changed on the way."""
    for name in ENDPOINTS:
        endpoint = os.environ.get(name, "")
        address = urlsplit(endpoint)
        if where.startswith("s3://") and address.scheme == "http" and not _is_loopback(address.hostname or ""):
            raise BadStudy(
                f"{where}: {name}={endpoint} is not encrypted and leaves this machine; give an https:// address "
                "(http:// is for a stand-in on this machine only)"
            )


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
