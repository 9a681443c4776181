"""`scorecube warm` leaves nothing to compile."""

from __future__ import annotations

import subprocess
import sys

import pytest

from scorecube.cli.kernel_parts import _begin, _parts
from scorecube.kernels.jit import Kernel, is_kernel


def kernels() -> dict[str, Kernel]:
    """Return the kernels of all loaded modules that Python can call, by name."""
    found = [
        value
        for module in list(sys.modules.values())
        if module.__name__.startswith("scorecube.")
        for value in vars(module).values()
        if is_kernel(value) and "no_cpython_wrapper" not in value.options
    ]
    return {f"{kernel.__module__}.{kernel.py_func.__name__}": kernel for kernel in found}


def uncalled() -> list[str]:
    """Run all parts in this process, and return the kernels that none called."""
    _begin()
    for part in _parts().values():
        part()
    found = kernels()
    assert len(found) > 50
    return [name for name, kernel in found.items() if not kernel.signatures]


@pytest.mark.process
def test_every_kernel_is_called() -> None:
    code = "from tests.cli.test_warm import uncalled; print(uncalled())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("[]\n", 0), done.stderr
