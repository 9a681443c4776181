"""The decorator of all kernels: compiled at the first call, and kept on the disk.

Kernels release the interpreter lock. None uses fastmath: results must not depend on how the
compiler reorders floating-point operations. The import of numba, which takes longer than many
commands, waits for the first kernel.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, cached_property, update_wrapper
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

Function = TypeVar("Function", bound=Callable[..., Any])
Ufunc = Callable[..., NDArray[Any]]
PACKAGE = Path(__file__).parents[1]
FOLDERS = ("kernels", "metrics")
"""All folders with functions that are compiled."""
KEPT = 4
"""Versions of the sources whose machine code is kept."""
METRIC_SIGNATURE = "(int32[:], int8[:], int64[:], float64[:], int64, float64[:], float64[:])"
METRIC_LAYOUT = "(entry),(entry),(level),(level),(),(parameter)->()"
_COMPILING, _SETTINGS = threading.RLock(), threading.RLock()
"""The second is also taken while numba compiles, for the functions that a kernel calls."""


def compiled(function: Function) -> Function:
    """Compile a function at its first call with each combination of argument types."""
    return cast("Function", Kernel(function))


class Kernel:
    """A function that is compiled, or loaded from the disk, when it is called.

    Other kernels may call it.

    function: What is compiled.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        update_wrapper(self, function)
        self.py_func = function
        defaults = function.__defaults__ or ()
        required = function.__code__.co_argcount - len(defaults)
        self._defaults = (None,) * required + defaults
        self._forms: set[tuple[Any, ...]] = set()

    @cached_property
    def dispatcher(self) -> Any:
        """What numba makes of the function."""
        options = {"nogil": True, "error_model": "numpy", "cache": is_cached(self.py_func)}
        with _in_cache_folder():
            return _numba().njit(**options)(self.py_func)

    def __call__(self, *arguments: Any) -> Any:
        """Call the compiled function."""
        arguments += self._defaults[len(arguments) :]
        forms = tuple(map(_form, arguments))
        if forms not in self._forms:
            with _one_process():
                self.dispatcher.compile(tuple(map(_numba().typeof, arguments)))
            self._forms.add(forms)
        return self.dispatcher(*arguments)

    def __reduce__(self) -> str:
        """Pickle by name."""
        return self.py_func.__qualname__


def over_rankings(function: Callable[..., None]) -> Ufunc:
    """Compile a metric of one ranking into a ufunc over gains, runs and topics."""
    options = {"nopython": True, "cache": is_cached(function)}
    with _one_process(), _in_cache_folder():
        vectorize = _numba().guvectorize([METRIC_SIGNATURE], METRIC_LAYOUT, **options)
        made: Ufunc = vectorize(function)
    return made


@cache
def cache_folder() -> Path | None:
    """Return the folder of machine code, None if none can be written.

    It lies in ``NUMBA_CACHE_DIR``, else beside the package, else in the user's cache, and is named
    by the sources of all kernels: numba does not notice that a function changed which a cached
    kernel calls. Folders of other sources are removed, but for those used last.
    """
    places = [PACKAGE / "__pycache__"]
    with suppress(RuntimeError):  # no home
        places.append(Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "scorecube"))
    if given := os.environ.get("NUMBA_CACHE_DIR"):
        places = [Path(given)]
    for place in places:
        folder = place / f"kernels-{source_digest()}"
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "used").touch()
            folders = place.glob("kernels-*/used")
            for other in sorted(folders, key=lambda path: path.stat().st_mtime)[:-KEPT]:
                shutil.rmtree(other.parent, ignore_errors=True)
            return folder
    return None


def source_digest() -> str:
    """Return twelve hexadecimal digits that depend on every file that holds kernels."""
    digest = sha256()
    for path in sorted(path for folder in FOLDERS for path in (PACKAGE / folder).rglob("*.py")):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(PACKAGE)} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:12]


def is_cached(function: Callable[..., Any]) -> bool:
    """Return whether machine code is kept: that of a metric typed into a console is not."""
    return cache_folder() is not None and Path(function.__code__.co_filename).is_file()


@contextmanager
def _in_cache_folder() -> Iterator[None]:
    """Have numba keep the machine code of what is decorated meanwhile in `cache_folder`."""
    config = _numba().config
    with _SETTINGS:
        before, config.CACHE_DIR = config.CACHE_DIR, str(cache_folder() or "")
        try:
            yield
        finally:
            config.CACHE_DIR = before


@contextmanager
def _one_process() -> Iterator[None]:
    """Keep other processes from compiling or loading meanwhile, where files can be locked.

    numba numbers the files of a function: where two processes store code for different types at a
    time, its index may name the code of the other process, which then ends the process that calls
    it.
    """
    folder = cache_folder()
    with _COMPILING, ExitStack() as stack:
        with suppress(ImportError, OSError):
            from fcntl import LOCK_EX, LOCK_UN, flock

            if folder is not None:
                file = stack.enter_context((folder / "used").open("ab"))
                flock(file, LOCK_EX)
                stack.callback(flock, file, LOCK_UN)  # child processes have the open file, too
        yield


@cache
def _numba() -> Any:
    """Return numba, which then knows how kernels call each other."""
    import numba
    from numba.extending import typeof_impl

    @typeof_impl.register(Kernel)
    def typeof_kernel(kernel: Kernel, context: Any) -> Any:
        return typeof_impl(kernel.dispatcher, context)

    return numba


def _form(argument: Any) -> Any:
    """Return what the compiled type of an argument depends on."""
    if isinstance(argument, np.ndarray):
        return argument.dtype, argument.ndim, argument.flags.num
    if isinstance(argument, tuple):
        return type(argument), *map(_form, argument)
    return type(argument)
