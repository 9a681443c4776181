"""The decorator of all kernels: compiled at the first call, and kept on the disk.

Kernels release the interpreter lock. None uses fastmath: results must not depend on how the
compiler reorders floating-point operations. The import of numba, which takes longer than many
commands, waits for the first kernel.

numba keeps the machine code of a function in numbered files, and an index of them by the types of
arguments. It writes a file beside and renames it, and a file gets other content only where the
index is begun anew, by another version of numba or of the source; both are part of the folder's
name here. So files can be read at any time. But a process that adds a form writes the index that
it has read: where two do so at once, each takes the same number, the index may name the code of
the other process, and that ends the process that calls it. So one process at a time compiles a
kernel, together with the kernels that it calls, whose indexes it also writes; a marker then says
that the form is there, and who finds the marker takes no lock.
"""

from __future__ import annotations

import logging
import os
import platform
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, cached_property, update_wrapper
from hashlib import sha256
from inspect import getclosurevars
from itertools import chain
from pathlib import Path
from typing import Any, TextIO, TypeVar, cast
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

Function = TypeVar("Function", bound=Callable[..., Any])
Ufunc = Callable[..., NDArray[Any]]
PACKAGE = Path(__file__).parents[1]
FOLDERS = ("kernels", "metrics")
"""All folders with functions that are compiled."""
KEPT = 4
"""Versions of the sources whose machine code is kept."""
NOTICE = 10.0
"""Seconds of waiting for a process that compiles a kernel until a line says so."""
PATIENCE = 60.0
"""Such seconds until all kernels are compiled for this process alone."""
LONGEST_PAUSE = 0.5
"""Seconds between two looks whether a kernel is locked still."""
LOGGER = logging.getLogger("scorecube.kernels")
METRIC_SIGNATURE = "(int32[:], int8[:], int64[:], float64[:], int64, float64[:], float64[:])"
METRIC_LAYOUT = "(entry),(entry),(level),(level),(),(parameter)->()"
_COMPILING = threading.RLock()
_SETTINGS = threading.RLock()
"""The second is also taken while numba compiles, for the functions that a kernel calls."""
_ALONE = threading.Event()
"""Set where kernels are compiled for this process alone, and kept nowhere."""
if hasattr(os, "register_at_fork"):  # a child has no locked files, and no lock of a lost thread
    os.register_at_fork(
        before=_COMPILING.acquire,
        after_in_parent=_COMPILING.release,
        after_in_child=_COMPILING.release,
    )


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
        _KERNELS.add(self)

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
            types = tuple(map(_numba().typeof, arguments))
            with _one_process(self.py_func, str(types)):
                self.dispatcher.compile(types)
            self._forms.add(forms)
        return self.dispatcher(*arguments)

    def forget(self) -> None:
        """Forget the machine code."""
        self._forms.clear()
        self.__dict__.pop("dispatcher", None)

    def __reduce__(self) -> str:
        """Pickle by name."""
        return self.py_func.__qualname__


_KERNELS: WeakSet[Kernel] = WeakSet()


def over_rankings(function: Callable[..., None]) -> Ufunc:
    """Compile a metric of one ranking into a ufunc over gains, runs and topics."""
    guvectorize = _numba().guvectorize
    with _one_process(function, METRIC_SIGNATURE + METRIC_LAYOUT), _in_cache_folder():
        options = {"nopython": True, "cache": is_cached(function)}
        vectorize = guvectorize([METRIC_SIGNATURE], METRIC_LAYOUT, **options)
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
    found = chain.from_iterable((PACKAGE / folder).rglob("*.py") for folder in FOLDERS)
    for path in sorted(found):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(PACKAGE)} {len(content)}\n".encode() + content)
    return digest.hexdigest()[:12]


def is_cached(function: Callable[..., Any]) -> bool:
    """Return whether machine code is kept: that of a metric typed into a console is not."""
    can_be = cache_folder() is not None and not _ALONE.is_set()
    return can_be and Path(function.__code__.co_filename).is_file()


@contextmanager
def _in_cache_folder() -> Iterator[None]:
    """Have numba keep the machine code of what is decorated meanwhile in `cache_folder`."""
    config = _numba().config
    with _SETTINGS:
        before = config.CACHE_DIR
        config.CACHE_DIR = str(_machine_folder() or "")
        try:
            yield
        finally:
            config.CACHE_DIR = before


@cache
def _machine_folder() -> Path | None:
    """Return the part of `cache_folder` for this numba and processor, whose code is of no other."""
    if (folder := cache_folder()) is None:
        return None
    numba = _numba()
    processor = numba.core.registry.cpu_target.target_context.codegen().magic_tuple()
    digest = sha256(repr((processor, platform.python_version_tuple()[:2])).encode())
    return folder / f"numba-{numba.__version__}-{digest.hexdigest()[:8]}"


@contextmanager
def _one_process(function: Callable[..., Any], types: str) -> Iterator[None]:
    """Let no other process compile a function meanwhile, nor what it calls.

    Where the marker of the form is there, nothing is locked. Where files cannot be locked, or
    others do not let them go, all kernels are compiled for this process alone from now on.
    """
    _numba()  # its import takes seconds: outside any lock
    with _COMPILING, ExitStack() as stack:
        if cache_folder() is None and not _ALONE.is_set():
            _compile_alone("no folder for machine code can be written, see NUMBA_CACHE_DIR")
        folder = _machine_folder() if is_cached(function) else None
        form = sha256(types.encode()).hexdigest()[:16]
        marker = None if folder is None else folder / f"{_name(function)}-{form}.done"
        if marker is None or marker.exists():
            yield
            return
        try:
            for name in sorted(set(map(_name, _with_called(function)))):
                stack.enter_context(_locked(marker.with_name(f"{name}.lock")))
        except (ImportError, OSError) as error:
            stack.close()
            _compile_alone(str(error))
        yield
        if not _ALONE.is_set():
            with suppress(OSError):  # the next process looks itself
                marker.touch()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keep a file locked, in which others read who locked it; TimeoutError after `PATIENCE`."""
    from fcntl import LOCK_EX, LOCK_NB, LOCK_UN, flock

    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    with path.open("r+", encoding="utf-8") as file:  # NFS wants files that can be written
        # Pauses are counted, not the clock: a process that was stopped has not waited.
        waited = 0.0
        pause = 0.01
        is_told = False
        while True:
            with suppress(BlockingIOError):
                flock(file, LOCK_EX | LOCK_NB)
                break
            if waited >= PATIENCE:
                raise TimeoutError(f"{_holder(file)} has kept {path} locked for {PATIENCE:g} s")
            if waited >= NOTICE and not is_told:
                is_told = True
                LOGGER.warning(
                    "waiting for %s, which compiles the kernel %s; after %g s it is compiled here",
                    *(_holder(file), path.name.split("-")[0], PATIENCE),
                )
            time.sleep(pause)
            waited += pause
            pause = min(2 * pause, LONGEST_PAUSE)
        try:
            file.truncate(0)
            file.write(f"process {os.getpid()} of {platform.node()}")
            file.flush()
            yield
        finally:
            file.truncate(0)
            flock(file, LOCK_UN)


def _holder(file: TextIO) -> str:
    """Return who has locked a file."""
    file.seek(0)
    return file.read() or "another process"


def _compile_alone(reason: str) -> None:
    """Compile all kernels anew in the memory of this process, and keep none."""
    LOGGER.warning(
        "%s: this process compiles its kernels for itself, for up to some minutes, and keeps none",
        reason,
    )
    _ALONE.set()
    for kernel in list(_KERNELS):
        kernel.forget()


def _with_called(function: Callable[..., Any]) -> set[Callable[..., Any]]:
    """Return a function, and those of all kernels that it calls, or that these call."""
    found = set[Callable[..., Any]]()
    new = [function]
    while new:
        one = new.pop()
        if one not in found:
            found.add(one)
            known = getclosurevars(one)
            called = [*known.globals.values(), *known.nonlocals.values()]
            new += [kernel.py_func for kernel in called if isinstance(kernel, Kernel)]
    return found


def _name(function: Callable[..., Any]) -> str:
    """Return the name of a function, and what tells those of a name apart, for files."""
    code = function.__code__
    place = sha256(f"{code.co_filename}:{code.co_firstlineno}".encode()).hexdigest()[:8]
    name = re.sub(r"[^\w.]", "", function.__qualname__)
    return f"{name}-{place}"


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
