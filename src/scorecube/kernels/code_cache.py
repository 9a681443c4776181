"""Where machine code of kernels is kept on the disk: numba's cache, with names that depend on all kernels' source.

numba does not notice that a function changed which a cached kernel calls, and fails where a record in a cached
signature was renamed. Files of other versions of the kernels are never opened, and removed when a kernel is stored.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.registry import cpu_target

PACKAGE = Path(__file__).parents[1]
ROOMS = ("kernels", "metrics", "analyses")
"""Rooms with functions that are compiled."""


@cache
def source_digest() -> str:
    """Return eight hexadecimal digits that depend on every file that holds kernels."""
    digest = sha256()
    for path in sorted(path for room in ROOMS for path in (PACKAGE / room).rglob("*.py")):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(PACKAGE)} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:8]


class _NamedFiles(CompileResultCacheImpl):
    def get_filename_base(self, fullname: Any, abiflags: Any) -> str:
        name: str = super().get_filename_base(fullname, abiflags)  # type: ignore[no-untyped-call]
        return f"{name}-{source_digest()}"


class KernelCache(FunctionCache):
    """The machine code of one function."""

    _impl_class = _NamedFiles

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store code; remove that of other versions."""
        super().save_overload(sig, data)  # type: ignore[no-untyped-call]
        name = self._impl.filename_base
        for path in Path(self.cache_path).glob(f"{name.rpartition('-')[0]}-*.nb[ic]"):
            if not path.name.startswith(f"{name}."):
                with suppress(OSError):  # another process removes it
                    path.unlink()


def is_marked(name: str) -> bool:
    """Return whether `mark` was called for a name with these kernels, on such a processor."""
    return _mark(name).exists()


def mark(name: str) -> None:
    """Note beside the machine code that the kernels of something are compiled."""
    with suppress(OSError):  # a cache that nobody may write
        _mark(name).touch()


def _mark(name: str) -> Path:
    _, processor, features = cpu_target.target_context.codegen().magic_tuple()
    machine = sha256(f"{processor} {features}".encode()).hexdigest()[:8]
    folder = Path(KernelCache(is_marked).cache_path)  # type: ignore[no-untyped-call]
    return folder / f"{name}-{machine}-{source_digest()}.compiled"
