"""Single machine instructions that neither NumPy nor the compiler's Python gives."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


def _multiply_high(typing_context: Any, a: Any, b: Any) -> Any:
    """Upper 64 bits of a 64 x 64 bit product: one machine instruction."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        wide = ir.IntType(128)
        product = builder.mul(builder.zext(arguments[0], wide), builder.zext(arguments[1], wide))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), generate


def _load_word(typing_context: Any, address: Any) -> Any:
    """Eight bytes from an address that need not be aligned."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())
        return builder.load(pointer, align=1)

    return types.uint64(types.uint64), generate


def _load_byte(typing_context: Any, address: Any) -> Any:
    """One byte from an address: unlike an array, an address costs nothing to pass on."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(builder.inttoptr(arguments[0], ir.IntType(8).as_pointer()), align=1)

    return types.uint8(types.uint64), generate


def _swap_bytes(typing_context: Any, word: Any) -> Any:
    """Reverse the bytes of a word, so that comparing words compares texts."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bswap(arguments[0])

    return types.uint64(types.uint64), generate


def _trailing_zeros(typing_context: Any, word: Any) -> Any:
    """Number of zero bits below the lowest set bit: one machine instruction; 64 for zero."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), generate


def _count_ones(typing_context: Any, word: Any) -> Any:
    """Number of set bits: one machine instruction."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


def _compare_bytes(operator: str) -> Any:
    """Return what compares the 64 bytes at an address with one byte: bit k of the word is set where byte k passes."""

    def compare(typing_context: Any, address: Any, byte: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = ir.VectorType(ir.IntType(8), 64)
            nothing, places = ir.Constant(kind, ir.Undefined), ir.VectorType(ir.IntType(32), 64)
            found = builder.load(builder.inttoptr(arguments[0], kind.as_pointer()), align=1)
            first = builder.insert_element(nothing, arguments[1], ir.Constant(ir.IntType(32), 0))
            wanted = builder.shuffle_vector(first, nothing, ir.Constant(places, [0] * 64))
            return builder.bitcast(builder.icmp_unsigned(operator, found, wanted), ir.IntType(64))

        return types.uint64(types.uint64, types.uint8), generate

    return compare


multiply_high: Any = intrinsic(_multiply_high)
load_word: Any = intrinsic(_load_word)
load_byte: Any = intrinsic(_load_byte)
swap_bytes: Any = intrinsic(_swap_bytes)
trailing_zeros: Any = intrinsic(_trailing_zeros)
count_ones: Any = intrinsic(_count_ones)
bytes_below: Any = intrinsic(_compare_bytes("<"))
bytes_equal: Any = intrinsic(_compare_bytes("=="))
