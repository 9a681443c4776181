"""Object stores: S3, compatible stores, and others that ``obstore`` opens.

Credentials, region and endpoint come from the environment, or from the role of the machine.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from itertools import chain, islice
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, NotFoundError, PreconditionError
from obstore.store import from_url

from scorecube.errors import BadStudy, StoreFailed
from scorecube.storage.place import PARTIAL, Item, Place, Value

MISSING = (FileNotFoundError, NotFoundError)
THERE = (AlreadyExistsError, PreconditionError)
REQUESTS: Final = 32
"""Requests at a time."""
AT_ONCE: Final = 4
"""Requests at a time to make one object, of which one should succeed."""


class ObjectPrefix(Place):
    """A prefix of an object store.

    url: E.g. ``s3://bucket/prefix``.
    """

    def __init__(self, url: str) -> None:
        super().__init__(url.rstrip("/"))
        bucket, _, prefix = self.name.partition("://")[2].partition("/")
        if not bucket or not prefix:
            raise BadStudy(f"{url}: a study needs a prefix in a bucket: scheme://bucket/prefix")
        self._store = self._ask(from_url, self.name)
        self._refuses = False
        """Whether the store was seen to refuse to create an object twice."""

    def _ask(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Return what a store answers; failures as `StoreFailed`, but for `MISSING` and `THERE`."""
        try:
            return function(*arguments, **options)
        except (*THERE, *MISSING, BaseError) as error:
            if isinstance(error, (*THERE, *MISSING)) and "NoSuchBucket" not in str(error):
                raise
            response = " ".join(str(error).partition("\n\nDebug source")[0].split())
            raise StoreFailed(
                f"{self.name}: the store fails or refuses: {response[:300]}; check the bucket, "
                "credentials (AWS_ACCESS_KEY_ID and others), AWS_REGION and AWS_ENDPOINT_URL; "
                "recorded blocks are kept"
            ) from None

    def read(self, key: str, most: int = 2**62) -> bytes | None:
        with suppress(*MISSING):
            found = self._ask(obstore.get, self._store, key)
            self._refuse_long(key, found.meta["size"], most)
            return bytes(self._ask(found.bytes))
        return None

    def create(self, key: str, content: bytes) -> bool:
        if not self._refuses:
            self._check_refusal()
        # An object that is there is perhaps of this request, whose first answer was lost.
        return self._put_new(key, content) or self.read(key) == content

    def _put_new(self, key: str, content: bytes) -> bool:
        with suppress(*THERE):
            self._ask(obstore.put, self._store, key, content, mode="create", use_multipart=False)
            return True
        return False

    def _check_refusal(self) -> None:
        """Refuse a store that replaces objects although it is asked not to (StoreFailed).

        It is asked at once: some look for an object, and write it afterwards.
        """
        key = f".{secrets.token_hex(8)}{PARTIAL}"
        made = sum(self.map(partial(self._put_new, key), [b"%d" % k for k in range(AT_ONCE)]))
        self.delete(key)
        self._refuses = made < 2
        if not self._refuses:
            raise StoreFailed(
                f"{self.name}: {made} of {AT_ONCE} requests made the same object, as the store "
                "ignores If-None-Match or does not ask and write in one step: two commands could "
                "overwrite each other; use another store, or a newer version of its server"
            )

    def write(self, key: str, content: bytes, *, synced: bool = True) -> None:  # noqa: ARG002
        self._ask(obstore.put, self._store, key, content)

    def sync(self, keys: Sequence[str] = ()) -> None:  # noqa: ARG002
        return

    def children(self, path: str) -> list[str]:
        listing = self._ask(obstore.list_with_delimiter, self._store, path or None)
        below = [*(entry["path"] for entry in listing["objects"]), *listing["common_prefixes"]]
        names = (entry.rstrip("/").rpartition("/")[2] for entry in below)
        return sorted(name for name in names if not name.endswith(PARTIAL))

    def _listed(self, path: str) -> list[Any]:
        """Return what the store says of each object below a path, sorted."""
        pages = self._ask(lambda: list(obstore.list(self._store, path or None)))
        return sorted(chain(*pages), key=itemgetter("path"))

    def files(self, path: str) -> dict[str, float]:
        return {
            entry["path"].removeprefix(f"{path}/"): entry["last_modified"].timestamp()
            for entry in self._listed(path)
        }

    @contextmanager
    def _writing(self, path: Path) -> Iterator[None]:  # noqa: ARG002
        yield  # a store has no links

    def _held(self, path: str) -> dict[str, Hashable]:
        found = self._listed(path)
        with suppress(*MISSING):
            found.append(self._ask(obstore.head, self._store, path))
        return {entry["path"]: (entry["last_modified"], entry["e_tag"]) for entry in found}

    def _remove(self, keys: Iterable[str]) -> None:
        def remove(key: str) -> None:
            with suppress(*MISSING):
                self._ask(obstore.delete, self._store, key)

        for _ in self.map(remove, keys):
            pass

    def _remove_folders(self, path: str) -> None:
        """Do nothing: a store has none."""

    def array_store(self, path: str) -> Any:
        from zarr.storage import ObjectStore

        return ObjectStore(self._ask(from_url, f"{self.name}/{path}"), read_only=True)

    def map(self, function: Callable[[Item], Value], items: Iterable[Item]) -> Iterator[Value]:
        left = iter(items)
        with ThreadPoolExecutor(REQUESTS, thread_name_prefix="requests") as threads:
            while batch := list(islice(left, REQUESTS)):
                yield from threads.map(function, batch)
