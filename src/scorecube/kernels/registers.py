"""Vector registers of the processor, and what kernels keep in them."""

from __future__ import annotations

from functools import cache

ROWS, VECTORS, VECTOR_BYTES = 8, 3, 64
"""A tile of a matrix product: 8 rows of 3 vectors take 24 of the 32 wide registers; the rest hold the factors."""
STEPS, UNROLLED = 16, 4
"""Thresholds in one vector, and numbers compared with them per iteration."""


@cache
def has_wide_registers() -> bool:
    """Return whether the processor has 32 vector registers of 64 bytes (AVX-512).

    The processor is the one that is compiled for, which may differ from the one at hand (``NUMBA_CPU_FEATURES``).
    Instructions that it lacks would end the process.
    """
    from llvmlite import binding
    from numba.core import config

    chosen = getattr(config, "CPU_FEATURES", None)
    if chosen is not None:
        return "+avx512f" in str(chosen).split(",")
    return bool(binding.get_host_cpu_features().get("avx512f", False))
