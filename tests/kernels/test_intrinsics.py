"""Each machine instruction does what its plain Python function does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from scorecube.kernels import intrinsics, machine_code
from scorecube.kernels.intrinsics import MASK_LENGTH
from scorecube.kernels.jit import Instruction
from scorecube.kernels.registers import ROWS, VECTOR_BYTES, VECTORS, has_wide_registers
from tests.kernels.entry import entry

CHANCE = np.random.default_rng(1)
WORDS = [0, 1, 2**63, 2**64 - 1, *(int(word) for word in CHANCE.integers(0, 2**64, 20, np.uint64))]


def address(array: Any) -> np.uint64:
    return np.uint64(array.ctypes.data)


def test_every_instruction_has_both_forms() -> None:
    names = {name for name, each in vars(intrinsics).items() if isinstance(each, Instruction)}
    assert len(names) == 13
    assert names == set(machine_code.INSTRUCTIONS)


@pytest.mark.parametrize("name", ["swap_bytes", "trailing_zeros", "count_ones"])
def test_words(name: str) -> None:
    plain = getattr(intrinsics, name)
    instruction = entry(plain)
    for word in map(np.uint64, WORDS):
        assert instruction(word) == plain(word)


def test_the_upper_half_of_a_product() -> None:
    instruction = entry(intrinsics.multiply_high)
    for a, b in zip(map(np.uint64, WORDS), map(np.uint64, reversed(WORDS)), strict=True):
        assert instruction(a, b) == intrinsics.multiply_high(a, b) == int(a) * int(b) >> 64


@pytest.mark.parametrize("name", ["load_word", "load_byte"])
def test_loads_need_no_alignment(name: str) -> None:
    data = CHANCE.integers(0, 256, 32, np.uint8)
    plain = getattr(intrinsics, name)
    instruction = entry(plain)
    for place in range(24):
        assert instruction(address(data[place:])) == plain(address(data[place:]))


@pytest.mark.parametrize("name", ["bytes_below", "bytes_equal"])
def test_comparisons_of_bytes(name: str) -> None:
    plain = getattr(intrinsics, name)
    instruction = entry(plain)
    for _ in range(10):
        data = CHANCE.integers(0, 256, MASK_LENGTH, np.uint8)
        for byte in (np.uint8(0), data[5], np.uint8(255)):
            assert instruction(address(data), byte) == plain(address(data), byte)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_numbers_between(kind: type[np.floating[Any]]) -> None:
    instruction = entry(intrinsics.mask_between)
    values = CHANCE.normal(size=MASK_LENGTH).astype(kind)
    values[3] = np.nan
    for low, high in ((values[0], values[1]), (values[1], values[0]), (kind(-9), kind(9))):
        expected = intrinsics.mask_between(address(values), low, high)
        assert instruction(address(values), low, high) == expected


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_compression(kind: type[np.floating[Any]]) -> None:
    if not has_wide_registers():
        pytest.skip("needs AVX-512")
    values = CHANCE.normal(size=48).astype(kind)
    values[::7] = kind(0.3)
    found = []
    for function in (entry(intrinsics.compress), intrinsics.compress):
        target, places = np.zeros(64, kind), np.zeros(64, np.int32)
        n = function(address(values), np.int64(48), kind(0.3), address(target), address(places))
        found.append((int(n), target[:n].tolist(), places[:n].tolist()))
    assert found[0] == found[1]
    assert found[0][1] == values[values >= kind(0.3)].tolist()


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_steps(kind: type[np.floating[Any]]) -> None:
    instruction = entry(intrinsics.steps_reached)
    values = CHANCE.integers(0, 20, 40).astype(kind)
    for rank in (1, 5, 39, 40):
        arguments = (address(values), np.int64(40), kind(-1), kind(1), np.int64(rank))
        assert instruction(*arguments) == intrinsics.steps_reached(*arguments)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_tiles(kind: type[np.floating[Any]]) -> None:
    if not has_wide_registers():
        pytest.skip("needs AVX-512")
    inner, width = 7, VECTORS * VECTOR_BYTES // np.dtype(kind).itemsize
    rows = CHANCE.integers(-9, 9, (ROWS, inner)).astype(kind)  # exact in every order
    columns = CHANCE.integers(-9, 9, (inner, width)).astype(kind)
    for function in (entry(intrinsics.register_tile), intrinsics.register_tile):
        out = np.full((ROWS, width + 3), 5, kind)
        sizes = (np.int64(inner), np.int64(width + 3), kind(0))
        function(address(rows), address(columns), address(out), sizes)
        assert (out[:, :width] == rows @ columns).all()
        assert (out[:-1, width:] == 5).all()
