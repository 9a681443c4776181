"""Object stores: S3, compatible stores, and others that ``obstore`` opens.

Credentials, region and endpoint come from the environment (``AWS_ACCESS_KEY_ID``, ``AWS_SECRET_ACCESS_KEY``, ``AWS_SESSION_TOKEN``,
``AWS_REGION``, ``AWS_ENDPOINT_URL``) or from the role of the machine.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
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
from scorecube.storage.layout import METADATA, UNSETTLED
from scorecube.storage.lock import LockFile, lock_subject, lock_suffix
from scorecube.storage.network import is_loopback

ENDPOINT_VARIABLES = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
INSTANCE_METADATA = "169.254.169.254"
"""Address of the service that provides the credentials of a machine's role, asked if the environment has none."""
NO_BUCKET, REFUSALS = "NoSuchBucket", ("401 Unauthorized", "403 Forbidden")
"""In responses of a store."""
CONCURRENT_REQUESTS = 16
MAX_REMEMBERED, MAX_REMEMBERED_BYTES = 64, 2**18
"""Objects whose tags are kept, so that they are not read again before they are exchanged, and the size of one."""
MAX_REASON_CHARACTERS = 300
"""Of a store's response, in a message."""


class ObjectPrefix:
    """A prefix of an object store; see `scorecube.storage.location.Location`.

    url: E.g. ``s3://bucket/prefix``.
    whole_bucket: Accept a bucket without a prefix, for what lies beside a study.
    """

    counts_requests, has_stamps = True, False

    def __init__(self, url: str, *, whole_bucket: bool = False) -> None:
        self.name = url.rstrip("/")
        self._known: dict[str, tuple[bytes, Any]] = {}
        """Content and tag of the objects that this process exchanged last."""
        bucket, _, prefix = self.name.partition("://")[2].partition("/")
        if not bucket or not (prefix or whole_bucket):
            raise BadStudy(
                f"{url}: a study needs a prefix of its own in a bucket: give scheme://bucket/prefix"
            )
        _refuse_unencrypted(self.name)
        with translate_errors(self.name):
            self._upstream = from_url(self.name)
        self.store = ErrorTranslatingStore(self._upstream, url=self.name)

    def holds_zarr(self, path: str = "") -> bool:
        """See `Location`."""
        try:
            with translate_errors(self.name):
                # One retry, as this is the first request: a wrong address is reported in seconds instead of minutes.
                store = from_url(self.name, retry_config={"max_retries": 1})
                obstore.get(store, f"{path}/{METADATA}".lstrip("/"))
        except (FileNotFoundError, NotFoundError):
            return False
        return True

    def exists(self) -> bool:
        """See `Location`."""
        with translate_errors(self.name):
            store = from_url(self.name, retry_config={"max_retries": 1})
            return any(True for entries in obstore.list(store, chunk_size=1) for _ in entries)

    def refuse_occupied(self) -> None:
        """See `Location`."""
        if self.exists():
            raise BadStudy(f"{self.name} holds objects that are not a study; choose another prefix")

    def check_writable(self) -> None:
        """See `Location`."""

    def failures(self) -> AbstractContextManager[None]:
        """See `Location`."""
        return translate_errors(self.name)

    def read(self, key: str) -> bytes | None:
        """See `Location`."""
        found = self._get(key)
        if found is None:
            return None
        self._remember(key, *found)
        return found[0]

    def _get(self, key: str) -> tuple[bytes, Any] | None:
        """Return an object and its tag."""
        try:
            with translate_errors(self.name):
                response = obstore.get(self._upstream, key)
                return bytes(response.bytes()), response.meta.get("e_tag")
        except (FileNotFoundError, NotFoundError):
            return None

    def read_many(self, keys: Iterable[str]) -> dict[str, bytes | None]:
        """See `Location`."""
        wanted = list(keys)
        return dict(zip(wanted, sync(_read_many(self.store, wanted)), strict=True))

    def children(self, path: str) -> list[str]:
        """See `Location`."""
        with translate_errors(self.name):
            listing = obstore.list_with_delimiter(self._upstream, path or None)
        below = [*(entry["path"] for entry in listing["objects"]), *listing["common_prefixes"]]
        return sorted(each.rstrip("/").rpartition("/")[2] for each in below)

    def metadata(self, path: str) -> dict[str, bytes]:
        """See `Location`."""
        with translate_errors(self.name):
            keys = [
                str(entry["path"])
                for entries in obstore.list(self._upstream, path or None)
                for entry in entries
                if str(entry["path"]).rpartition("/")[2] == METADATA
            ]
        prefix = f"{path}/" if path else ""
        contents = self.read_many(keys)
        return {key.removeprefix(prefix): content for key, content in contents.items() if content}

    def exchange(self, key: str, old: bytes | None, new: bytes) -> bool:
        """See `Location`."""
        found = self._known.pop(key, None)
        if old is not None and (found is None or found[0] != old):
            found = self._get(key)
            if found is None or found[0] != old:
                return False
        condition: Any = "create" if old is None or found is None else {"e_tag": found[1]}
        try:
            with translate_errors(self.name):
                done = obstore.put(self._upstream, key, new, mode=condition, use_multipart=False)
        except (AlreadyExistsError, PreconditionError):
            return False
        self._remember(key, new, done.get("e_tag"))
        return True

    def _remember(self, key: str, content: bytes, tag: Any) -> None:
        if len(self._known) >= MAX_REMEMBERED:
            self._known.clear()  # in one step: threads share it
        if len(content) <= MAX_REMEMBERED_BYTES:
            self._known[key] = content, tag

    def stamps(self, keys: Mapping[str, str]) -> dict[str, str]:
        """See `Location`; what a lock file belongs to may change, and nothing else."""
        parent, _, name = self.name.rpartition("/")
        with translate_errors(self.name):
            listing = obstore.list_with_delimiter(from_url(parent))
        beside = {entry["path"].rpartition("/")[2] for entry in listing["objects"]}
        return {each: UNSETTLED if name + lock_suffix(each) in beside else "" for each in keys}

    def stamp(self, key: str) -> str:  # noqa: ARG002
        """See `Location`."""
        return ""

    def write_cached(self, key: str, content: bytes) -> None:
        """See `Location`."""
        with translate_errors(self.name):
            obstore.put(self._upstream, key, content, use_multipart=False)

    def remove_object(self, key: str) -> None:
        """See `Location`."""
        with translate_errors(self.name), suppress(FileNotFoundError, NotFoundError):
            obstore.delete(self._upstream, key)

    def staging_path(self, path: str) -> str:
        """See `Location`; groups cannot be renamed, so this is the final path."""
        return f"{path}.{secrets.token_hex(4)}"

    def install(self, staged: str, path: str) -> str:  # noqa: ARG002
        """See `Location`; nothing is left to do."""
        return staged

    def remove(self, path: str) -> None:
        """See `Location`."""
        sync(self.store.delete_dir(path))

    def link(self, path: str, name: str) -> None:
        """See `Location`; object stores have no links."""

    def write_new(self, group: str, objects: Mapping[str, bytes]) -> None:
        """See `Location`."""
        sync(_write(self.store, f"{group}/".lstrip("/"), objects))

    def keys(self, path: str) -> list[str]:
        """See `Location`."""
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
        copies = {f"{origin}/{key}": f"{prefix}/{target}/{key}" for key in other.keys(source)}
        with translate_errors(self.name):
            sync(_copy(store, copies))
        return True

    def check_inside(self, path: str) -> None:
        """See `Location`; an object store has no links."""

    def check_there(self) -> None:
        """See `Location`; objects are not moved."""

    def parent(self) -> tuple[ObjectPrefix, str]:
        """See `Location`."""
        parent, _, name = self.name.rpartition("/")
        return ObjectPrefix(parent, whole_bucket=True), name

    def sync(self, path: str) -> None:
        """See `Location`; a request that has succeeded is stored."""

    def is_below_zarr(self) -> bool:
        """See `Location`."""
        parent, _, _ = self.name.partition("://")[2].partition("/")[2].rpartition("/")
        above = parent.split("/") if parent else []
        scheme_and_bucket = self.name.removesuffix(self.name.partition("://")[2].partition("/")[2])
        return any(
            ObjectPrefix(scheme_and_bucket + "/".join(above[:count])).holds_zarr()
            for count in range(1, len(above) + 1)
        )

    def replace_all(self, objects: Mapping[str, bytes]) -> None:
        """See `Location`; the metadata of the group is written last."""
        self.remove("")
        self.write_new("", {key: each for key, each in objects.items() if key != METADATA})
        self.write_new("", {METADATA: objects[METADATA]})

    def lock_file(self, collection: str = "") -> ObjectLockFile:
        """See `Location`."""
        parent, _, name = self.name.rpartition("/")
        with translate_errors(self.name):
            return ObjectLockFile(
                from_url(parent),
                name + lock_suffix(collection),
                self.name + lock_suffix(collection),
                lock_subject(self.name, collection),
            )


async def _write(store: ErrorTranslatingStore, prefix: str, objects: Mapping[str, bytes]) -> None:
    slots, buffer = asyncio.Semaphore(CONCURRENT_REQUESTS), default_buffer_prototype().buffer

    async def upload(key: str, content: bytes) -> None:
        async with slots:
            await store.set(prefix + key, buffer.from_bytes(content))

    await asyncio.gather(*(upload(key, content) for key, content in objects.items()))


async def _copy(store: Any, copies: Mapping[str, str]) -> None:
    slots = asyncio.Semaphore(CONCURRENT_REQUESTS)

    async def copy(source: str, target: str) -> None:
        async with slots:
            await obstore.copy_async(store, source, target)

    await asyncio.gather(*(copy(source, target) for source, target in copies.items()))


def _bucket_and_prefix(url: str) -> tuple[str, str]:
    """Return the URL of the bucket, and the prefix in it."""
    scheme, _, rest = url.partition("://")
    bucket, _, prefix = rest.partition("/")
    return f"{scheme}://{bucket}", prefix


async def _read_many(store: ErrorTranslatingStore, keys: list[str]) -> list[bytes | None]:
    slots, prototype = asyncio.Semaphore(CONCURRENT_REQUESTS), default_buffer_prototype()

    async def download(key: str) -> bytes | None:
        async with slots:
            found = await store.get(key, prototype)
            return None if found is None else found.to_bytes()

    return list(await asyncio.gather(*map(download, keys)))


class ObjectLockFile(LockFile):
    """A lock file in an object store; see `scorecube.storage.lock.LockFile`."""

    def __init__(self, store: Any, key: str, url: str, subject: str) -> None:
        self._store, self._key, self.name, self.subject = store, key, url, subject
        self._tag: str | None = None

    def create(self, content: str) -> bool:
        try:
            with translate_errors(self.name):
                obstore.put(
                    self._store, self._key, content.encode(), mode="create", use_multipart=False
                )
        except AlreadyExistsError:
            return False
        return True

    def _get(self) -> tuple[str, Any] | None:
        """Return its content and what the store knows of it."""
        try:
            with translate_errors(self.name):
                response = obstore.get(self._store, self._key)
                return bytes(response.bytes()).decode(), response.meta
        except (FileNotFoundError, NotFoundError):
            return None

    def read(self) -> tuple[str, float] | None:
        found = self._get()
        if found is None:
            return None
        content, meta = found
        self._tag = meta.get("e_tag")
        return content, (datetime.now(UTC) - meta["last_modified"]).total_seconds()

    def take_over(self, content: str) -> bool:
        return self._replace(content, self._tag)

    def _replace(self, content: str, tag: str | None) -> bool:
        try:
            with translate_errors(self.name):
                unchanged: Any = {"e_tag": tag}
                obstore.put(
                    self._store, self._key, content.encode(), mode=unchanged, use_multipart=False
                )
        except (PreconditionError, FileNotFoundError, NotFoundError):
            return False
        return True

    def renew(self, content: str) -> None:
        found = self._get()  # another thread may read it meanwhile
        if found is not None and found[0] == content:
            self._replace(content, found[1].get("e_tag"))

    def remove(self, content: str) -> None:
        """See `LockFile`; between looking and removing it, another process may take over a stale one."""
        found = self._get()
        if found is not None and found[0] == content:
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
