"""Object stores: S3, compatible stores, and others that ``obstore`` opens.

Credentials, region and endpoint come from the environment (``AWS_ACCESS_KEY_ID``, ``AWS_SECRET_ACCESS_KEY``, ``AWS_SESSION_TOKEN``,
``AWS_REGION``, ``AWS_ENDPOINT_URL``) or from the role of the machine.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import UTC, datetime
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
from zarr.abc.buffer import Buffer, BufferPrototype
from zarr.abc.store import ByteRequest
from zarr.buffer import default_buffer_prototype
from zarr.core.sync import sync
from zarr.storage import ObjectStore

from scorecube.errors import BadStudy, StoreFailed
from scorecube.storage.base_location import Location
from scorecube.storage.layout import METADATA, UNSETTLED
from scorecube.storage.lock import LockFile, lock_subject, lock_suffix
from scorecube.storage.network import is_loopback

ENDPOINT_VARIABLES = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
INSTANCE_METADATA = "169.254.169.254"
"""Address of the service that provides the credentials of a machine's role, asked if the environment has none."""
NO_BUCKET, REFUSALS = "NoSuchBucket", ("401 Unauthorized", "403 Forbidden")
"""In responses of a store."""
MISSING = (FileNotFoundError, NotFoundError)
CONCURRENT_REQUESTS = 16
MAX_REMEMBERED, MAX_REMEMBERED_BYTES = 64, 2**18
"""Objects whose tags are kept, so that they are not read again before they are exchanged, and the size of one."""
MAX_REASON_CHARACTERS = 300
"""Of a store's response, in a message."""


class ObjectPrefix(Location):
    """A prefix of an object store.

    url: E.g. ``s3://bucket/prefix``.
    whole_bucket: Accept a bucket without a prefix, for what lies beside a study.
    """

    counts_requests, has_stamps = True, False

    def __init__(self, url: str, *, whole_bucket: bool = False) -> None:
        self.name = url.rstrip("/")
        self._known: dict[str, tuple[bytes, Any]] = {}
        """Content of the objects that this process exchanged last, and what the store says of them."""
        bucket, _, prefix = self.name.partition("://")[2].partition("/")
        if not bucket or not (prefix or whole_bucket):
            raise BadStudy(
                f"{url}: a study needs a prefix of its own in a bucket: give scheme://bucket/prefix"
            )
        _refuse_unencrypted(self.name)
        with translate_errors(self.name):
            self._upstream = from_url(self.name)
        self.store = ErrorTranslatingStore(self._upstream, url=self.name)

    def holds_zarr(self) -> bool:
        try:
            with translate_errors(self.name):
                # One retry, as this is the first request: a wrong address is reported in seconds instead of minutes.
                store = from_url(self.name, retry_config={"max_retries": 1})
                obstore.get(store, METADATA)
        except MISSING:
            return False
        return True

    def exists(self) -> bool:
        with translate_errors(self.name):
            store = from_url(self.name, retry_config={"max_retries": 1})
            return any(True for entries in obstore.list(store, chunk_size=1) for _ in entries)

    def refuse_occupied(self) -> None:
        if self.exists():
            raise BadStudy(f"{self.name} holds objects that are not a study; choose another prefix")

    def failures(self) -> AbstractContextManager[None]:
        return translate_errors(self.name)

    def read(self, key: str) -> bytes | None:
        found = _get(self._upstream, key, self.name)
        if found is None:
            return None
        self._remember(key, *found)
        return found[0]

    def read_many(self, keys: Iterable[str]) -> dict[str, bytes | None]:
        wanted, prototype = list(keys), default_buffer_prototype()
        found = sync(_each(self.store.get, [(key, prototype) for key in wanted]))
        contents = [None if each is None else each.to_bytes() for each in found]
        return dict(zip(wanted, contents, strict=True))

    def children(self, path: str) -> list[str]:
        with translate_errors(self.name):
            listing = obstore.list_with_delimiter(self._upstream, path or None)
        below = [*(entry["path"] for entry in listing["objects"]), *listing["common_prefixes"]]
        return sorted(each.rstrip("/").rpartition("/")[2] for each in below)

    def exchange(self, key: str, old: bytes | None, new: bytes) -> bool:
        found = self._known.pop(key, None)
        if old is not None and (found is None or found[0] != old):
            found = _get(self._upstream, key, self.name)
            if found is None or found[0] != old:
                return False
        known = None if old is None or found is None else found[1]
        done = _put(self._upstream, key, new, known, self.name)
        if done is None:
            return False
        self._remember(key, new, done)
        return True

    def _remember(self, key: str, content: bytes, meta: Any) -> None:
        if len(self._known) >= MAX_REMEMBERED:
            self._known.clear()  # in one step: threads share it
        if len(content) <= MAX_REMEMBERED_BYTES:
            self._known[key] = content, meta

    def stamps(self, keys: Mapping[str, str]) -> dict[str, str]:
        """See `Location`; what a lock file belongs to may change, and nothing else."""
        parent, _, name = self.name.rpartition("/")
        with translate_errors(self.name):
            listing = obstore.list_with_delimiter(from_url(parent))
        beside = {entry["path"].rpartition("/")[2] for entry in listing["objects"]}
        return {each: UNSETTLED if name + lock_suffix(each) in beside else "" for each in keys}

    def write_cached(self, key: str, content: bytes) -> None:
        with translate_errors(self.name):
            obstore.put(self._upstream, key, content, use_multipart=False)

    def remove_object(self, key: str) -> None:
        with translate_errors(self.name), suppress(*MISSING):
            obstore.delete(self._upstream, key)

    def staging_path(self, path: str) -> str:
        """See `Location`; groups cannot be renamed, so this is the final path."""
        return f"{path}.{secrets.token_hex(4)}"

    def install(self, staged: str, path: str) -> str:  # noqa: ARG002
        """See `Location`; nothing is left to do."""
        return staged

    def remove(self, path: str) -> None:
        sync(self.store.delete_dir(path))

    def link(self, path: str, name: str) -> None:
        """See `Location`; object stores have no links."""

    def write_new(self, group: str, objects: Mapping[str, bytes]) -> None:
        prefix, buffer = f"{group}/".lstrip("/"), default_buffer_prototype().buffer
        contents = [(prefix + key, buffer.from_bytes(each)) for key, each in objects.items()]
        sync(_each(self.store.set, contents))

    def keys(self, path: str) -> list[str]:
        with translate_errors(self.name):
            found = [
                str(entry["path"])
                for entries in obstore.list(self._upstream, path or None)
                for entry in entries
            ]
        return sorted(key.removeprefix(f"{path}/") for key in found)

    def take(self, other: Any, source: str, target: str, *, link: bool) -> bool:  # noqa: ARG002
        """See `Location`; within a bucket the store copies."""
        bucket, prefix = _bucket_and_prefix(self.name)
        if not isinstance(other, ObjectPrefix) or _bucket_and_prefix(other.name)[0] != bucket:
            return False
        with translate_errors(self.name):
            store = from_url(bucket)
        origin = f"{_bucket_and_prefix(other.name)[1]}/{source}"
        copies = [
            (store, f"{origin}/{key}", f"{prefix}/{target}/{key}") for key in other.keys(source)
        ]
        with translate_errors(self.name):
            sync(_each(obstore.copy_async, copies))
        return True

    def parent(self) -> tuple[ObjectPrefix, str]:
        parent, _, name = self.name.rpartition("/")
        return ObjectPrefix(parent, whole_bucket=True), name

    def lock_file(self, collection: str = "") -> ObjectLockFile:
        parent, _, name = self.name.rpartition("/")
        with translate_errors(self.name):
            return ObjectLockFile(
                from_url(parent),
                name + lock_suffix(collection),
                self.name + lock_suffix(collection),
                lock_subject(self.name, collection),
            )


async def _each(function: Callable[..., Any], calls: Iterable[tuple[Any, ...]]) -> list[Any]:
    """Return what a function returns for the arguments of each call; only some calls are under way at a time."""
    slots = asyncio.Semaphore(CONCURRENT_REQUESTS)

    async def one(arguments: tuple[Any, ...]) -> Any:
        async with slots:
            return await function(*arguments)

    return list(await asyncio.gather(*map(one, calls)))


def _get(store: Any, key: str, url: str) -> tuple[bytes, Any] | None:
    """Return an object, and what the store says of it."""
    try:
        with translate_errors(url):
            response = obstore.get(store, key)
            return bytes(response.bytes()), response.meta
    except MISSING:
        return None


def _put(store: Any, key: str, content: bytes, known: Any, url: str) -> Any:
    """Write an object if there is none, or if it still is what the store says of a `known` one; return what the store says, None otherwise."""
    condition: Any = "create" if known is None else {"e_tag": known.get("e_tag")}
    try:
        with translate_errors(url):
            return obstore.put(store, key, content, mode=condition, use_multipart=False)
    except (AlreadyExistsError, PreconditionError, *MISSING):
        return None


def _bucket_and_prefix(url: str) -> tuple[str, str]:
    """Return the URL of the bucket, and the prefix in it."""
    scheme, _, rest = url.partition("://")
    bucket, _, prefix = rest.partition("/")
    return f"{scheme}://{bucket}", prefix


class ObjectLockFile(LockFile):
    """A lock file in an object store."""

    def __init__(self, store: Any, key: str, url: str, subject: str) -> None:
        self._store, self._key, self.name, self.subject = store, key, url, subject
        self._read: Any = None

    def create(self, content: str) -> bool:
        return self._put(content, None)

    def _put(self, content: str, known: Any) -> bool:
        return _put(self._store, self._key, content.encode(), known, self.name) is not None

    def read(self) -> tuple[str, float] | None:
        found = _get(self._store, self._key, self.name)
        if found is None:
            return None
        content, self._read = found
        age = datetime.now(UTC) - self._read["last_modified"]
        return content.decode(), age.total_seconds()

    def take_over(self, content: str) -> bool:
        return self._put(content, self._read)

    def renew(self, content: str) -> None:
        found = _get(self._store, self._key, self.name)  # another thread may read it meanwhile
        if found is not None and found[0].decode() == content:
            self._put(content, found[1])

    def remove(self, content: str) -> None:
        """See `LockFile`; between looking and removing it, another process may take over a stale one."""
        found = _get(self._store, self._key, self.name)
        if found is not None and found[0].decode() == content:
            obstore.delete(self._store, self._key)


class ErrorTranslatingStore(ObjectStore[Any]):
    """zarr's object store, with failures raised as `StoreFailed`.

    store: Of ``obstore``.
    url: For messages.
    """

    def __init__(self, store: Any, *, read_only: bool = False, url: str = "") -> None:
        super().__init__(store, read_only=read_only)
        self.url = url

    def with_read_only(self, read_only: bool = False) -> ErrorTranslatingStore:
        return ErrorTranslatingStore(self.store, read_only=read_only, url=self.url)

    async def get(
        self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        with translate_errors(self.url):
            return await super().get(key, prototype, byte_range)

    async def exists(self, key: str) -> bool:
        with translate_errors(self.url):
            return await super().exists(key)

    async def set(self, key: str, value: Buffer) -> None:
        with translate_errors(self.url):
            await super().set(key, value)

    async def delete(self, key: str) -> None:
        with translate_errors(self.url):
            await super().delete(key)

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:  # type: ignore[override]
        with translate_errors(self.url):
            async for key in super().list_prefix(prefix):
                yield key

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:  # type: ignore[override]
        with translate_errors(self.url):
            async for key in super().list_dir(prefix):
                yield key


@contextmanager
def translate_errors(url: str) -> Iterator[None]:
    """Raise failures of a store as `StoreFailed`, except of conditional requests."""
    try:
        yield
    except (AlreadyExistsError, PreconditionError, NotFoundError):
        raise
    except FileNotFoundError as error:
        if NO_BUCKET not in str(error):
            raise
        raise StoreFailed(f"{url}: {_reason(url, error)}") from None
    except BaseError as error:
        raise StoreFailed(f"{url}: {_reason(url, error)}") from None


def _reason(url: str, error: Exception) -> str:
    """Return the cause of a failure and its remedy.

    Failed listings have no error type of their own, only the text of the response.
    """
    text = str(error)
    if NO_BUCKET in text:
        bucket = url.partition("://")[2].partition("/")[0]
        return f"there is no bucket {bucket!r}; create it, or check its name, AWS_ENDPOINT_URL and AWS_REGION"
    if INSTANCE_METADATA in text:
        return (
            "no credentials in the environment, and this machine has no role; set AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY "
            "and AWS_REGION"
        )
    if isinstance(error, PermissionDeniedError | UnauthenticatedError) or any(
        each in text for each in REFUSALS
    ):
        return (
            "the store refuses these credentials; check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY (and AWS_SESSION_TOKEN), and that they "
            f"allow listing, reading and writing. Response: {_shorten(error)}"
        )
    return (
        f"the store failed: {_shorten(error)}; check AWS_ENDPOINT_URL and AWS_REGION. Recorded blocks are kept; rerun the same "
        "command to resume"
    )


def _shorten(error: Exception) -> str:
    text = " ".join(str(error).partition("\n\nDebug source")[0].split())
    return text if len(text) <= MAX_REASON_CHARACTERS else text[:MAX_REASON_CHARACTERS] + "..."


def _refuse_unencrypted(url: str) -> None:
    """Refuse plain HTTP to another machine, which exposes scores and credentials."""
    for name in ENDPOINT_VARIABLES:
        endpoint = os.environ.get(name, "")
        address = urlsplit(endpoint)
        if (
            url.startswith("s3://")
            and address.scheme == "http"
            and not is_loopback(address.hostname or "")
        ):
            raise BadStudy(
                f"{url}: {name}={endpoint} is not encrypted and not on this machine; give an https:// address "
                "(http:// is accepted for a server on this machine only)"
            )
