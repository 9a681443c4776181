"""Machine instructions that neither NumPy nor numba offers, each as plain Python.

Compiled callers get the instruction instead, from `machine_code`. Addresses are those of the first element of a
contiguous array; what is read and written there is stated at each function.
"""

from __future__ import annotations

from ctypes import c_double, c_float, c_int32, c_uint8, c_uint64

import numpy as np

from scorecube.kernels.arrays import Float, Integer
from scorecube.kernels.jit import instruction
from scorecube.kernels.registers import ROWS, STEPS, VECTOR_BYTES, VECTORS, has_wide_registers

MASK_LENGTH = 64
"""Bytes or numbers that one mask is about."""


@instruction
def wide_registers() -> bool:
    """Return `has_wide_registers`: a constant of the code, from which the branch that is not taken is left out."""
    return has_wide_registers()


@instruction
def multiply_high(a: np.uint64, b: np.uint64) -> np.uint64:
    """Return the upper 64 bits of a 64 x 64 bit product: one machine instruction."""
    return np.uint64(int(a) * int(b) >> 64)


@instruction
def load_word(address: Integer) -> np.uint64:
    """Load eight bytes from an address, which need not be aligned."""
    return np.uint64(c_uint64.from_address(int(address)).value)


@instruction
def load_byte(address: Integer) -> np.uint8:
    """Load one byte from an address.

    Passing an address between functions is cheaper than passing an array.
    """
    return np.uint8(c_uint8.from_address(int(address)).value)


@instruction
def swap_bytes(word: np.uint64) -> np.uint64:
    """Reverse the bytes of a word, so that the order of words is the order of texts."""
    return np.uint64(int.from_bytes(int(word).to_bytes(8, "little"), "big"))


@instruction
def trailing_zeros(word: np.uint64) -> np.int64:
    """Count the zero bits below the lowest set bit: one instruction; 64 for zero."""
    number = int(word)
    return np.int64((number & -number).bit_length() - 1 if number else 64)


@instruction
def count_ones(word: np.uint64) -> np.int64:
    """Count the set bits: one machine instruction."""
    return np.int64(int(word).bit_count())


@instruction
def bytes_below(address: Integer, byte: np.uint8) -> np.uint64:
    """Compare the 64 bytes at an address with one byte; bit k of the result is set if byte k is smaller."""
    return _mask([each < int(byte) for each in (c_uint8 * MASK_LENGTH).from_address(int(address))])


@instruction
def bytes_equal(address: Integer, byte: np.uint8) -> np.uint64:
    """Compare the 64 bytes at an address with one byte; bit k of the result is set if byte k is equal."""
    return _mask([each == int(byte) for each in (c_uint8 * MASK_LENGTH).from_address(int(address))])


@instruction
def mask_between(address: np.uint64, low: Float, high: Float) -> np.uint64:
    """Compare the 64 numbers at an address with two numbers of their type.

    Bit k of the result is set if low <= number k < high.
    """
    kind = _c_type(low)
    return _mask(
        [
            float(low) <= each < float(high)
            for each in (kind * MASK_LENGTH).from_address(int(address))
        ]
    )


@instruction
def compress(
    source: np.uint64, n_values: Integer, low: Float, target: np.uint64, places: np.uint64
) -> np.int64:
    """Write the numbers that are at least `low`, and their indices as int32.

    The result is how many there are; they are written without gaps.

    Needs wide registers. Arrays are passed as addresses; whole vectors are read and written, so `n_values` must be a
    multiple of 16, and the targets need room for 16 elements more than are found.
    """
    kind = _c_type(low)
    values = (kind * int(n_values)).from_address(int(source))
    chosen = [k for k, value in enumerate(values) if value >= low]
    for place, k in enumerate(chosen):
        (kind * (place + 1)).from_address(int(target))[place] = values[k]
        (c_int32 * (place + 1)).from_address(int(places))[place] = k
    return np.int64(len(chosen))


@instruction
def steps_reached(
    address: np.uint64, n_values: Integer, low: Float, step: Float, rank: Integer
) -> np.int64:
    """Count the thresholds low + step, ..., low + 16 step that `rank` numbers reach.

    There must be at least one number, and their number a multiple of 4. All thresholds fit into one vector, so no
    counts have to be added up at the end, which for few numbers would take most of the time.
    """
    values = np.array((_c_type(low) * int(n_values)).from_address(int(address)))
    thresholds = low + np.arange(1, STEPS + 1, dtype=values.dtype) * step
    return np.int64(sum((values >= threshold).sum() >= rank for threshold in thresholds))


@instruction
def register_tile(
    rows: Integer, columns: Integer, out: Integer, sizes: tuple[Integer, Integer, Float]
) -> None:
    """Multiply `ROWS` rows by `VECTORS` vectors of columns.

    The arguments are the addresses of contiguous rows (row, inner), contiguous columns (inner, column) and the result.
    `sizes` is (inner size, elements in a row of `out`, a number of the element type). Every product is added without
    being rounded (fused), which plain Python cannot do: the last bits may differ.
    """
    inner, stride, kind = int(sizes[0]), int(sizes[1]), _c_type(sizes[2])
    width = VECTORS * VECTOR_BYTES // (4 if kind is c_float else 8)
    first = np.array((kind * (ROWS * inner)).from_address(int(rows))).reshape(ROWS, inner)
    second = np.array((kind * (inner * width)).from_address(int(columns))).reshape(inner, width)
    target = (kind * ((ROWS - 1) * stride + width)).from_address(int(out))
    for row, values in enumerate(first @ second):
        target[row * stride : row * stride + width] = values.tolist()


def _mask(bits: list[bool]) -> np.uint64:
    return np.uint64(sum(1 << place for place, bit in enumerate(bits) if bit))


def _c_type(number: Float) -> type[c_float] | type[c_double]:
    return c_float if isinstance(number, np.float32) else c_double
