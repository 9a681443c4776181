"""LLVM code of the machine instructions in `intrinsics`, which nothing imports before a kernel is compiled or loaded.

Each public function is the typing half of a `numba.extending.intrinsic`: it receives the numba types of the arguments
and returns the signature and the function that emits the instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TypeAlias

from llvmlite import ir
from numba import types
from numba.core.base import BaseContext
from numba.core.cgutils import get_or_insert_function
from numba.core.typing.context import Context
from numba.core.typing.templates import Signature

from scorecube.kernels.registers import (
    ROWS,
    STEPS,
    UNROLLED,
    VECTOR_BYTES,
    VECTORS,
    has_wide_registers,
)

Builder: TypeAlias = ir.IRBuilder
Value: TypeAlias = ir.Value
Values: TypeAlias = Sequence[ir.Value]
Type: TypeAlias = types.Type
Generate = Callable[[BaseContext, Builder, Signature, Values], Value]
Instruction = tuple[Signature, Generate]


def wide_registers(typing_context: Context) -> Instruction:
    """Return whether the processor has wide registers, as a constant."""

    def generate(
        context: BaseContext, builder: Builder, signature: Signature, arguments: Values
    ) -> Value:
        return context.get_constant(types.boolean, has_wide_registers())

    return types.boolean(), generate


def multiply_high(typing_context: Context, a: Type, b: Type) -> Instruction:
    """Return the upper 64 bits of a 64 x 64 bit product: one machine instruction."""

    def generate(
        context: BaseContext, builder: Builder, signature: Signature, arguments: Values
    ) -> Value:
        wide = ir.IntType(128)
        product = builder.mul(builder.zext(arguments[0], wide), builder.zext(arguments[1], wide))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), generate


def load_word(typing_context: Context, address: Type) -> Instruction:
    """Load eight bytes from an address, which need not be aligned."""

    def generate(
        context: BaseContext, builder: Builder, signature: Signature, arguments: Values
    ) -> Value:
        pointer = builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())
        return builder.load(pointer, align=1)

    return types.uint64(types.uint64), generate


def load_byte(typing_context: Context, address: Type) -> Instruction:
    """Load one byte from an address.

    Passing an address between functions is cheaper than passing an array.
    """

    def generate(
        context: BaseContext, builder: Builder, signature: Signature, arguments: Values
    ) -> Value:
        return builder.load(builder.inttoptr(arguments[0], ir.IntType(8).as_pointer()), align=1)

    return types.uint8(types.uint64), generate


def swap_bytes(typing_context: Context, word: Type) -> Instruction:
    """Reverse the bytes of a word, so that the order of words is the order of texts."""

    def generate(
        context: BaseContext, builder: Builder, signature: Signature, arguments: Values
    ) -> Value:
        return builder.bswap(arguments[0])

    return types.uint64(types.uint64), generate


def trailing_zeros(typing_context: Context, word: Type) -> Instruction:
    """Count the zero bits below the lowest set bit: one instruction; 64 for zero."""

    def generate(
        context: BaseContext, builder: Builder, signature: Signature, arguments: Values
    ) -> Value:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), generate


def count_ones(typing_context: Context, word: Type) -> Instruction:
    """Count the set bits: one machine instruction."""

    def generate(
        context: BaseContext, builder: Builder, signature: Signature, arguments: Values
    ) -> Value:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


def _compare_bytes(operator: str) -> Callable[[Context, Type, Type], Instruction]:
    """Return an instruction that compares the 64 bytes at an address with one byte.

    Bit k of its result is set where the comparison is true of byte k.
    """

    def compare(typing_context: Context, address: Type, byte: Type) -> Instruction:
        def generate(
            context: BaseContext, builder: Builder, signature: Signature, arguments: Values
        ) -> Value:
            kind = ir.VectorType(ir.IntType(8), 64)
            found = builder.load(builder.inttoptr(arguments[0], kind.as_pointer()), align=1)
            wanted = _spread(builder, arguments[1], 64)
            return builder.bitcast(builder.icmp_unsigned(operator, found, wanted), ir.IntType(64))

        return types.uint64(types.uint64, types.uint8), generate

    return compare


def mask_between(
    typing_context: Context, address: Type, low: Type, high: Type
) -> Instruction | None:
    """Compare the 64 numbers at an address with two numbers of their type.

    Bit k of the result is set if low <= number k < high.
    """
    if low != high:
        return None
    single = low == types.float32

    def generate(
        context: BaseContext, builder: Builder, signature: Signature, arguments: Values
    ) -> Value:
        kind = ir.VectorType(ir.FloatType() if single else ir.DoubleType(), 64)
        found = builder.load(builder.inttoptr(arguments[0], kind.as_pointer()), align=4)
        low, high = (_spread(builder, each, 64) for each in arguments[1:])
        inside = builder.and_(
            builder.fcmp_ordered(">=", found, low), builder.fcmp_ordered("<", found, high)
        )
        return builder.bitcast(inside, ir.IntType(64))

    return types.uint64(types.uint64, low, high), generate


def compress(
    typing_context: Context, source: Type, n_values: Type, low: Type, target: Type, places: Type
) -> Instruction:
    """Write the numbers that are at least `low`, and their indices as int32.

    The result is how many there are; they are written without gaps.

    Needs wide registers. Arrays are passed as addresses; whole vectors are read and written, so `n_values` must be a
    multiple of 16, and the targets need room for 16 elements more than are found.
    """
    single = low == types.float32
    kind, number, lanes = (
        (ir.FloatType(), ir.IntType(32), 16) if single else (ir.DoubleType(), ir.IntType(64), 8)
    )

    def generate(
        context: BaseContext, builder: Builder, signature: Signature, arguments: Values
    ) -> Value:
        word, small = ir.IntType(64), ir.IntType(32)
        vector, numbers = ir.VectorType(kind, lanes), ir.VectorType(number, lanes)

        def pack(values: Value, wanted: Value, letter: str) -> Value:
            called = f"llvm.x86.avx512.mask.compress.v{lanes}{letter}{512 // lanes}"
            of = ir.FunctionType(values.type, [values.type, values.type, wanted.type])
            zero = ir.Constant(values.type, [0] * lanes)
            compress = get_or_insert_function(builder.module, of, called)
            return builder.call(compress, [values, zero, wanted])

        def put(values: Value, base: Value, where: Value) -> None:
            address = builder.bitcast(builder.gep(base, [where]), values.type.as_pointer())
            builder.store(values, address, align=4)

        first, target = (builder.inttoptr(arguments[k], kind.as_pointer()) for k in (0, 3))
        places = builder.inttoptr(arguments[4], small.as_pointer())
        threshold = _spread(builder, arguments[2], lanes)
        before, loop = builder.block, builder.append_basic_block("vector")
        after = builder.append_basic_block("all")
        builder.branch(loop)
        builder.position_at_end(loop)
        start, found, here = builder.phi(word), builder.phi(word), builder.phi(numbers)
        values = builder.load(
            builder.bitcast(builder.gep(first, [start]), vector.as_pointer()), align=4
        )
        wanted = builder.fcmp_ordered(">=", values, threshold)
        put(pack(values, wanted, "f"), target, found)
        packed = pack(here, wanted, "i")
        put(packed if single else builder.trunc(packed, ir.VectorType(small, lanes)), places, found)
        total = builder.add(
            found, builder.zext(builder.ctpop(builder.bitcast(wanted, ir.IntType(lanes))), word)
        )
        following = builder.add(start, ir.Constant(word, lanes))
        moved = builder.add(here, ir.Constant(numbers, [lanes] * lanes))
        for phi, from_start, from_loop in (
            (start, ir.Constant(word, 0), following),
            (found, ir.Constant(word, 0), total),
            (here, ir.Constant(numbers, list(range(lanes))), moved),
        ):
            phi.add_incoming(from_start, before)
            phi.add_incoming(from_loop, loop)
        builder.cbranch(builder.icmp_unsigned("<", following, arguments[1]), loop, after)
        builder.position_at_end(after)
        return total

    return types.int64(types.uint64, types.int64, low, types.uint64, types.uint64), generate


def steps_reached(
    typing_context: Context, address: Type, n_values: Type, low: Type, step: Type, rank: Type
) -> Instruction | None:
    """Count the thresholds low + step, ..., low + 16 step that `rank` numbers reach.

    There must be at least one number. All thresholds fit into one vector, so no counts have to be added up at the end,
    which for few numbers would take most of the time.
    """
    if low != step:
        return None
    kind = ir.FloatType() if low == types.float32 else ir.DoubleType()

    def generate(
        context: BaseContext, builder: Builder, signature: Signature, arguments: Values
    ) -> Value:
        word, counts = ir.IntType(64), ir.VectorType(ir.IntType(32), STEPS)
        steps = ir.Constant(ir.VectorType(kind, STEPS), [float(k) for k in range(1, STEPS + 1)])
        start, width, wanted = (
            _spread(builder, each, STEPS)
            for each in (*arguments[2:4], builder.trunc(arguments[4], ir.IntType(32)))
        )
        thresholds = builder.fadd(start, builder.fmul(steps, width))
        first = builder.inttoptr(arguments[0], kind.as_pointer())
        before, loop, after = (
            builder.block,
            builder.append_basic_block("value"),
            builder.append_basic_block("all"),
        )
        builder.branch(loop)
        builder.position_at_end(loop)
        place, totals = builder.phi(word), []
        place.add_incoming(ir.Constant(word, 0), before)
        found = [builder.phi(counts) for _ in range(UNROLLED)]
        for k, each in enumerate(found):
            value = _spread(
                builder,
                builder.load(builder.gep(first, [builder.add(place, ir.Constant(word, k))])),
                STEPS,
            )
            totals.append(
                builder.sub(
                    each, builder.sext(builder.fcmp_ordered(">=", value, thresholds), counts)
                )
            )
            each.add_incoming(ir.Constant(counts, [0] * STEPS), before)
            each.add_incoming(totals[k], loop)
        following = builder.add(place, ir.Constant(word, UNROLLED))
        place.add_incoming(following, loop)
        builder.cbranch(builder.icmp_unsigned("<", following, arguments[1]), loop, after)
        builder.position_at_end(after)
        total = reduce(builder.add, totals)
        reached = builder.bitcast(builder.icmp_signed(">=", total, wanted), ir.IntType(STEPS))
        return builder.zext(builder.ctpop(reached), word)

    return types.int64(types.uint64, types.int64, low, step, types.int64), generate


def _spread(builder: Builder, value: Value, lanes: int) -> Value:
    """Return a vector of equal elements."""
    nothing = ir.Constant(ir.VectorType(value.type, lanes), ir.Undefined)
    places = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)
    return builder.shuffle_vector(
        builder.insert_element(nothing, value, ir.IntType(32)(0)), nothing, places
    )


def register_tile(
    typing_context: Context, rows: Type, columns: Type, out: Type, sizes: types.Tuple
) -> Instruction:
    """Multiply `ROWS` rows by `VECTORS` vectors of columns.

    The arguments are the addresses of contiguous rows (row, inner), contiguous columns (inner, column) and the result.
    `sizes` is (inner size, elements in a row of `out`, a number of the element type).
    """
    kind = ir.FloatType() if sizes.types[2] == types.float32 else ir.DoubleType()
    lanes = VECTOR_BYTES // (4 if sizes.types[2] == types.float32 else 8)

    def generate(
        context: BaseContext, builder: Builder, signature: Signature, arguments: Values
    ) -> Value:
        word, vector = ir.IntType(64), ir.VectorType(kind, lanes)
        first, second, target = (
            builder.inttoptr(each, kind.as_pointer()) for each in arguments[:3]
        )
        inner, stride = (builder.extract_value(arguments[3], place) for place in (0, 1))
        called = f"llvm.fma.v{lanes}f{512 // lanes}"
        fma = get_or_insert_function(builder.module, ir.FunctionType(vector, [vector] * 3), called)
        before, loop, after = (
            builder.block,
            builder.append_basic_block("inner"),
            builder.append_basic_block("out"),
        )
        builder.branch(loop)
        builder.position_at_end(loop)
        step = builder.phi(word)
        step.add_incoming(ir.Constant(word, 0), before)
        totals = [[builder.phi(vector) for _ in range(VECTORS)] for _ in range(ROWS)]
        base = builder.gep(second, [builder.mul(step, ir.Constant(word, VECTORS * lanes))])
        loaded = [
            builder.load(
                builder.bitcast(
                    builder.gep(base, [ir.Constant(word, k * lanes)]), vector.as_pointer()
                ),
                align=4,
            )
            for k in range(VECTORS)
        ]
        for row in range(ROWS):
            place = builder.add(builder.mul(inner, ir.Constant(word, row)), step)
            spread = _spread(builder, builder.load(builder.gep(first, [place])), lanes)
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
                place = builder.add(
                    builder.mul(stride, ir.Constant(word, row)), ir.Constant(word, k * lanes)
                )
                pointer = builder.bitcast(builder.gep(target, [place]), vector.as_pointer())
                builder.store(totals[row][k].incomings[1][0], pointer, align=4)
        return context.get_dummy_value()

    return types.void(types.uint64, types.uint64, types.uint64, sizes), generate


bytes_below = _compare_bytes("<")
bytes_equal = _compare_bytes("==")
