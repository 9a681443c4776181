"""Where machine code of kernels is kept on the disk: numba's cache, with names that depend on all kernels' source.

numba does not notice that a function changed which a cached kernel calls, and fails where a record in a cached
signature was renamed. Files of other versions of the kernels are never opened, and removed when a kernel is stored.

No other module uses what is private in numba; `tests/kernels/test_code_cache.py` and `test_jit.py` fail if that changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile
from numba.core.runtime.nrt import rtsys

PACKAGE = Path(__file__).parents[1]
FOLDERS = ("kernels", "metrics", "analyses/leave_out")
"""All folders with functions that are compiled."""


@cache
def source_digest() -> str:
    """Return eight hexadecimal digits that depend on every file that holds kernels."""
    digest = sha256()
    for path in sorted(path for folder in FOLDERS for path in (PACKAGE / folder).rglob("*.py")):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(PACKAGE)} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:8]


class _NamedFiles(CompileResultCacheImpl):
    def get_filename_base(self, fullname: Any, abiflags: Any) -> str:
        name: str = super().get_filename_base(fullname, abiflags)  # type: ignore[no-untyped-call]
        return f"{name}-{source_digest()}"


class _OwnFiles(IndexDataCacheFile):
    """Names of machine code that follow from the argument types.

    numba numbers them: where two processes store code for different types at a time, the index of one may name the
    code of the other, which then ends the process that calls it.
    """

    def save(self, key: Any, data: Any) -> None:
        name = f"{self._index_name.removesuffix('.nbi')}.{sha256(repr(key).encode()).hexdigest()[:16]}.nbc"
        self._save_data(name, data)  # type: ignore[no-untyped-call]
        overloads = self._load_index()  # type: ignore[no-untyped-call]
        self._save_index({**overloads, key: name})  # type: ignore[no-untyped-call]


class KernelCache(FunctionCache):
    """The machine code of one function."""

    _impl_class = _NamedFiles

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        self._cache_file = _OwnFiles(  # type: ignore[no-untyped-call]
            self.cache_path, self._impl.filename_base, self._impl.locator.get_source_stamp()
        )

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load code; numba would first import all that it can compile, and scipy's linear algebra, which only the compiler needs."""
        rtsys.initialize(target_context)  # what loaded code calls
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)  # type: ignore[no-untyped-call]

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store code; remove that of other versions."""
        super().save_overload(sig, data)  # type: ignore[no-untyped-call]
        name = self._impl.filename_base
        for path in Path(self.cache_path).glob(f"{name.rpartition('-')[0]}-*.nb[ic]"):
            if not path.name.startswith(f"{name}."):
                with suppress(OSError):  # another process removes it
                    path.unlink()


def dispatcher(function: Callable[..., Any], options: Mapping[str, Any]) -> Any:
    """Return the dispatcher of numba that compiles a function, or loads its code from the disk.

    function: What is compiled.
    options: Of `numba.njit`; ``borrows`` for code without numba's runtime (NRT), which counts references. numba
        documents that for helpers of extensions (``register_jitable(_nrt=False)``), not for `numba.njit`.
    """
    flags = {name: value for name, value in options.items() if name != "borrows"}
    if options.get("borrows"):
        flags["_nrt"] = False
    made: Any = numba.njit(**flags)(function)
    made._cache = KernelCache(function)
    return made


@contextmanager
def one_process(function: Callable[..., Any]) -> Iterator[None]:
    """Keep other processes from compiling or loading a ufunc meanwhile, where the system has locks of files.

    Files that other versions of the kernels left are removed first, as numba would use them.
    """
    cache = KernelCache(function)
    folder, name = Path(cache.cache_path), cache._impl.filename_base
    with ExitStack() as stack:
        file = None
        with suppress(ImportError, OSError):
            from fcntl import LOCK_EX, flock

            file = stack.enter_context((folder / f"{name}.lock").open("ab"))
            flock(file, LOCK_EX)
        made_before = file is None or file.tell() > 0
        if not made_before:
            for path in folder.glob(f"*{name.rpartition('-')[0]}.*nb[ic]"):
                path.unlink(missing_ok=True)
        yield
        if file is not None and not made_before:
            file.write(b"compiled")
