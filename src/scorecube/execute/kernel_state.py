"""Whether the kernels that a class uses are loaded, cached on this machine, or not compiled yet."""

from __future__ import annotations

import sys
from enum import StrEnum
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from scorecube.kernels.jit import is_kernel

PACKAGE = __name__.partition(".")[0] + "."


class KernelState(StrEnum):
    """What the first use of kernels has to do."""

    LOADED = "loaded"
    CACHED = "load machine code"
    UNCOMPILED = "compile"


def kernel_state(user: type) -> KernelState:
    """Return the state of the kernels of a class.

    It is approximate: kernels are known by the modules that import them, and caches by folder.

    Parameters
    ----------
    user
        A class whose module, or that of a base class, imports kernels.

    Returns
    -------
    state
        Loaded if any kernel is; uncompiled if one of the folders of its kernels has no machine code.
    """
    kernels = _kernels_of(user)
    if not kernels or any(kernel.signatures for kernel in kernels):
        return KernelState.LOADED
    folders = {Path(kernel.stats.cache_path) for kernel in kernels if kernel.stats.cache_path}
    cached = all(any(folder.glob("*.nbi")) for folder in folders)
    return KernelState.CACHED if cached else KernelState.UNCOMPILED


@cache
def _kernels_of(user: type) -> set[Any]:
    """Return the kernels in the modules of a class, in modules that they import from, and in modules that those do."""
    near = {sys.modules[each.__module__] for each in user.__mro__}
    near |= {other for module in near for other in _imported(module)}
    near |= {other for module in near for other in _imported(module)}
    return {value for module in near for value in vars(module).values() if is_kernel(value)}


def _imported(module: ModuleType) -> set[ModuleType]:
    """Return the modules of this package in which the values of one of its modules are defined."""
    if not module.__name__.startswith(PACKAGE):
        return set()
    values = (getattr(value, "__module__", None) for value in vars(module).values())
    return {sys.modules[name] for name in values if name and name.startswith(PACKAGE)}
