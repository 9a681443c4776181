"""`scorecube warm` leaves nothing to compile, and compiles nothing twice."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from scorecube.cli.compilation import prepare
from scorecube.cli.kernel_parts import parts
from scorecube.kernels.jit import Kernel

BY_PRECISION = {
    "scorecube.kernels.linalg.panel_product.multiply_wide",
    "scorecube.kernels.pairs.tiled_tail._tail_tiles",
    "scorecube.kernels.pairs.tiled_tail.squared_differences",
    "scorecube.kernels.random.resampling._add_draws",
}
"""Kernels of which single precision, or another type of counts, takes machine code of its own."""


def kernels() -> dict[str, Kernel]:
    """Return the kernels of all loaded modules that Python can call, by name."""
    found = [
        value
        for module in list(sys.modules.values())
        if module.__name__.startswith("scorecube.")
        for value in vars(module).values()
        if isinstance(value, Kernel) and "no_cpython_wrapper" not in value.options
    ]
    return {f"{kernel.__module__}.{kernel.py_func.__name__}": kernel for kernel in found}


def compiled() -> dict[str, int]:
    """Run all parts in this process, and return the number of compiled versions of each kernel."""
    prepare()
    for part in parts().values():
        part()
    return {name: len(kernel.signatures) for name, kernel in kernels().items()}


@pytest.mark.process
def test_every_kernel_is_compiled_in_one_version() -> None:
    code = "import json; from tests.cli.test_warm import compiled; print(json.dumps(compiled()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found) > 50
    assert [name for name, count in found.items() if count == 0] == []
    assert {name for name, count in found.items() if count > 1} <= BY_PRECISION
