"""Single machine instructions that neither NumPy nor the compiler's Python gives."""

from __future__ import annotations

from functools import cache
from typing import Any

from llvmlite import binding, ir
from numba import types
from numba.core.cgutils import get_or_insert_function
from numba.extending import intrinsic

ROWS, VECTORS, VECTOR_BYTES = 8, 3, 64
"""A tile of a matrix product: 8 rows of 3 vectors take 24 of the 32 wide registers; the rest hold what is multiplied."""


@cache
def has_wide_registers() -> bool:
    """Whether the processor has 32 vector registers of 64 bytes."""
    return bool(binding.get_host_cpu_features().get("avx512f", False))


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


def _mask_between(typing_context: Any, address: Any, low: Any, high: Any) -> Any:
    """Compare the 64 numbers at an address with two of their type: bit k of the word is set where low <= number k < high."""
    if low != high:
        return None
    single = low == types.float32

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.VectorType(ir.FloatType() if single else ir.DoubleType(), 64)
        nothing, places = ir.Constant(kind, ir.Undefined), ir.Constant(ir.VectorType(ir.IntType(32), 64), [0] * 64)
        found = builder.load(builder.inttoptr(arguments[0], kind.as_pointer()), align=4)
        low, high = (
            builder.shuffle_vector(builder.insert_element(nothing, each, ir.IntType(32)(0)), nothing, places)
            for each in arguments[1:]
        )
        inside = builder.and_(builder.fcmp_ordered(">=", found, low), builder.fcmp_ordered("<", found, high))
        return builder.bitcast(inside, ir.IntType(64))

    return types.uint64(types.uint64, low, high), generate


def _register_tile(typing_context: Any, rows: Any, columns: Any, out: Any, sizes: Any) -> Any:
    """Multiply `ROWS` rows (row, inner) by `VECTORS` vectors of columns (inner, column), both without gaps; all are addresses.

    `sizes` is (inner size, elements in a row of `out`, a number of the elements' type).
    """
    kind = ir.FloatType() if sizes.types[2] == types.float32 else ir.DoubleType()
    lanes = VECTOR_BYTES // (4 if sizes.types[2] == types.float32 else 8)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word, vector = ir.IntType(64), ir.VectorType(kind, lanes)
        nothing, splat = (
            ir.Constant(vector, ir.Undefined),
            ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes),
        )
        first, second, target = (builder.inttoptr(each, kind.as_pointer()) for each in arguments[:3])
        inner, stride = (builder.extract_value(arguments[3], place) for place in (0, 1))
        called = f"llvm.fma.v{lanes}f{512 // lanes}"
        fma = get_or_insert_function(builder.module, ir.FunctionType(vector, [vector] * 3), called)
        before, loop, after = builder.block, builder.append_basic_block("inner"), builder.append_basic_block("out")
        builder.branch(loop)
        builder.position_at_end(loop)
        step = builder.phi(word)
        step.add_incoming(ir.Constant(word, 0), before)
        totals = [[builder.phi(vector) for _ in range(VECTORS)] for _ in range(ROWS)]
        base = builder.gep(second, [builder.mul(step, ir.Constant(word, VECTORS * lanes))])
        loaded = [
            builder.load(
                builder.bitcast(builder.gep(base, [ir.Constant(word, k * lanes)]), vector.as_pointer()), align=4
            )
            for k in range(VECTORS)
        ]
        for row in range(ROWS):
            place = builder.add(builder.mul(inner, ir.Constant(word, row)), step)
            value = builder.insert_element(nothing, builder.load(builder.gep(first, [place])), ir.IntType(32)(0))
            spread = builder.shuffle_vector(value, nothing, splat)
            for k in range(VECTORS):
                total = totals[row][k]
                total.add_incoming(ir.Constant(vector, [0.0] * lanes), before)
                total.add_incoming(builder.call(fma, [spread, loaded[k], total]), loop)
        following = builder.add(step, ir.Constant(word, 1))
        step.add_incoming(following, loop)
        builder.cbranch(builder.icmp_unsigned("<", following, inner), loop, after)
        builder.position_at_end(after)
        for row in range(ROWS):
            for k in range(VECTORS):
                place = builder.add(builder.mul(stride, ir.Constant(word, row)), ir.Constant(word, k * lanes))
                pointer = builder.bitcast(builder.gep(target, [place]), vector.as_pointer())
                builder.store(totals[row][k].incomings[1][0], pointer, align=4)
        return context.get_dummy_value()

    return types.void(types.uint64, types.uint64, types.uint64, sizes), generate


multiply_high: Any = intrinsic(_multiply_high)
load_word: Any = intrinsic(_load_word)
load_byte: Any = intrinsic(_load_byte)
swap_bytes: Any = intrinsic(_swap_bytes)
trailing_zeros: Any = intrinsic(_trailing_zeros)
count_ones: Any = intrinsic(_count_ones)
bytes_below: Any = intrinsic(_compare_bytes("<"))
bytes_equal: Any = intrinsic(_compare_bytes("=="))
mask_between: Any = intrinsic(_mask_between)
register_tile: Any = intrinsic(_register_tile)
