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


def _swap_bytes(typing_context: Any, word: Any) -> Any:
    """Reverse the bytes of a word, so that comparing words compares texts."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bswap(arguments[0])

    return types.uint64(types.uint64), generate


multiply_high: Any = intrinsic(_multiply_high)
load_word: Any = intrinsic(_load_word)
swap_bytes: Any = intrinsic(_swap_bytes)
