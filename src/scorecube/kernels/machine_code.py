"""LLVM code of the machine instructions in `intrinsics`, which nothing imports before a kernel is compiled or loaded."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial, reduce
from typing import Any, TypeAlias

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
Type: TypeAlias = types.Type
Emit = Callable[..., Value | None]
Typing = Callable[..., tuple[Signature, Callable[..., Value]] | None]
WORD, SMALL, BYTE = ir.IntType(64), ir.IntType(32), ir.IntType(8)
INSTRUCTIONS: dict[str, Typing] = {}
"""By name, what `numba.extending.intrinsic` takes: a function from the numba types of the arguments to the signature and
what emits the code; None for types that the instruction does not have."""


def _instruction(
    name: str, signature: Signature | Callable[..., Signature | None]
) -> Callable[[Emit], Emit]:
    """Return a decorator of a function that emits an instruction.

    name: In `intrinsics`.
    signature: Of the instruction, or a function that returns it for the types of the arguments.
    """

    def decorate(emit: Emit) -> Emit:
        def generate(
            context: BaseContext, builder: Builder, _: Signature, arguments: list[Value]
        ) -> Value:
            value = emit(builder, *arguments)
            return context.get_dummy_value() if value is None else value

        def typing(_: Context, *kinds: Type) -> tuple[Signature, Callable[..., Value]] | None:
            found = signature if isinstance(signature, Signature) else signature(*kinds)
            return None if found is None else (found, generate)

        inspected: Any = typing
        inspected.__name__ = name
        inspected.__signature__ = inspect.signature(
            emit
        )  # numba takes the names of arguments from it
        INSTRUCTIONS[name] = typing
        return emit

    return decorate


@_instruction("wide_registers", types.boolean())
def _wide_registers(_: Builder) -> Value:
    return ir.Constant(ir.IntType(1), has_wide_registers())


@_instruction("multiply_high", types.uint64(types.uint64, types.uint64))
def _multiply_high(builder: Builder, a: Value, b: Value) -> Value:
    wide = ir.IntType(128)
    product = builder.mul(builder.zext(a, wide), builder.zext(b, wide))
    return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), WORD)


@_instruction("load_word", types.uint64(types.uint64))
def _load_word(builder: Builder, address: Value) -> Value:
    return builder.load(builder.inttoptr(address, WORD.as_pointer()), align=1)


@_instruction("load_byte", types.uint8(types.uint64))
def _load_byte(builder: Builder, address: Value) -> Value:
    return builder.load(builder.inttoptr(address, BYTE.as_pointer()), align=1)


@_instruction("swap_bytes", types.uint64(types.uint64))
def _swap_bytes(builder: Builder, word: Value) -> Value:
    return builder.bswap(word)


@_instruction("trailing_zeros", types.int64(types.uint64))
def _trailing_zeros(builder: Builder, word: Value) -> Value:
    return builder.cttz(word, ir.Constant(ir.IntType(1), 0))


@_instruction("count_ones", types.int64(types.uint64))
def _count_ones(builder: Builder, word: Value) -> Value:
    return builder.ctpop(word)


def _compare_bytes(operator: str, builder: Builder, address: Value, byte: Value) -> Value:
    """Return a word whose bit k is set where the comparison of byte k at an address with a byte is true."""
    kind = ir.VectorType(BYTE, 64)
    found = builder.load(builder.inttoptr(address, kind.as_pointer()), align=1)
    wanted = _spread(builder, byte, 64)
    return builder.bitcast(builder.icmp_unsigned(operator, found, wanted), WORD)


for _name, _operator in (("bytes_below", "<"), ("bytes_equal", "==")):
    _instruction(_name, types.uint64(types.uint64, types.uint8))(partial(_compare_bytes, _operator))


@_instruction(
    "mask_between",
    lambda _, low, high: types.uint64(types.uint64, low, high) if low == high else None,
)
def _mask_between(builder: Builder, address: Value, low: Value, high: Value) -> Value:
    kind = ir.VectorType(low.type, 64)
    found = builder.load(builder.inttoptr(address, kind.as_pointer()), align=4)
    inside = builder.and_(
        builder.fcmp_ordered(">=", found, _spread(builder, low, 64)),
        builder.fcmp_ordered("<", found, _spread(builder, high, 64)),
    )
    return builder.bitcast(inside, WORD)


def _compress_signature(source: Type, n_values: Type, low: Type, *_: Type) -> Signature:
    return types.int64(types.uint64, types.int64, low, types.uint64, types.uint64)


@_instruction("compress", _compress_signature)
def _compress(
    builder: Builder, source: Value, n_values: Value, low: Value, target: Value, places: Value
) -> Value:
    kind, single = low.type, low.type == ir.FloatType()
    number, lanes = (SMALL, 16) if single else (WORD, 8)
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

    first, kept = (builder.inttoptr(each, kind.as_pointer()) for each in (source, target))
    placed = builder.inttoptr(places, SMALL.as_pointer())
    threshold = _spread(builder, low, lanes)
    before, loop, after = _loop(builder)
    start, found, here = builder.phi(WORD), builder.phi(WORD), builder.phi(numbers)
    values = builder.load(
        builder.bitcast(builder.gep(first, [start]), vector.as_pointer()), align=4
    )
    wanted = builder.fcmp_ordered(">=", values, threshold)
    put(pack(values, wanted, "f"), kept, found)
    packed = pack(here, wanted, "i")
    put(packed if single else builder.trunc(packed, ir.VectorType(SMALL, lanes)), placed, found)
    ones = builder.ctpop(builder.bitcast(wanted, ir.IntType(lanes)))
    total = builder.add(found, builder.zext(ones, WORD))
    following = builder.add(start, ir.Constant(WORD, lanes))
    moved = builder.add(here, ir.Constant(numbers, [lanes] * lanes))
    for phi, from_start, from_loop in (
        (start, ir.Constant(WORD, 0), following),
        (found, ir.Constant(WORD, 0), total),
        (here, ir.Constant(numbers, list(range(lanes))), moved),
    ):
        phi.add_incoming(from_start, before)
        phi.add_incoming(from_loop, loop)
    builder.cbranch(builder.icmp_unsigned("<", following, n_values), loop, after)
    builder.position_at_end(after)
    return total


def _steps_signature(
    address: Type, n_values: Type, low: Type, step: Type, rank: Type
) -> Signature | None:
    of = types.int64(types.uint64, types.int64, low, step, types.int64)
    return of if low == step else None


@_instruction("steps_reached", _steps_signature)
def _steps_reached(
    builder: Builder, address: Value, n_values: Value, low: Value, step: Value, rank: Value
) -> Value:
    kind, counts = low.type, ir.VectorType(SMALL, STEPS)
    steps = ir.Constant(ir.VectorType(kind, STEPS), [float(k) for k in range(1, STEPS + 1)])
    start, width, wanted = (
        _spread(builder, each, STEPS) for each in (low, step, builder.trunc(rank, SMALL))
    )
    thresholds = builder.fadd(start, builder.fmul(steps, width))
    first = builder.inttoptr(address, kind.as_pointer())
    before, loop, after = _loop(builder)
    place, totals = builder.phi(WORD), []
    place.add_incoming(ir.Constant(WORD, 0), before)
    found = [builder.phi(counts) for _ in range(UNROLLED)]
    for k, each in enumerate(found):
        here = builder.gep(first, [builder.add(place, ir.Constant(WORD, k))])
        reached = builder.fcmp_ordered(
            ">=", _spread(builder, builder.load(here), STEPS), thresholds
        )
        totals.append(builder.sub(each, builder.sext(reached, counts)))
        each.add_incoming(ir.Constant(counts, [0] * STEPS), before)
        each.add_incoming(totals[k], loop)
    following = builder.add(place, ir.Constant(WORD, UNROLLED))
    place.add_incoming(following, loop)
    builder.cbranch(builder.icmp_unsigned("<", following, n_values), loop, after)
    builder.position_at_end(after)
    total = reduce(builder.add, totals)
    enough = builder.bitcast(builder.icmp_signed(">=", total, wanted), ir.IntType(STEPS))
    return builder.zext(builder.ctpop(enough), WORD)


def _tile_signature(rows: Type, columns: Type, out: Type, sizes: Type) -> Signature:
    return types.void(types.uint64, types.uint64, types.uint64, sizes)


@_instruction("register_tile", _tile_signature)
def _register_tile(builder: Builder, rows: Value, columns: Value, out: Value, sizes: Value) -> None:
    kind = sizes.type.elements[2]
    lanes = VECTOR_BYTES // (4 if kind == ir.FloatType() else 8)
    vector = ir.VectorType(kind, lanes)
    first, second, target = (
        builder.inttoptr(each, kind.as_pointer()) for each in (rows, columns, out)
    )
    inner, stride = (builder.extract_value(sizes, place) for place in (0, 1))
    called = f"llvm.fma.v{lanes}f{512 // lanes}"
    fma = get_or_insert_function(builder.module, ir.FunctionType(vector, [vector] * 3), called)

    def vector_at(base: Value, place: Value) -> Value:
        return builder.bitcast(builder.gep(base, [place]), vector.as_pointer())

    before, loop, after = _loop(builder)
    step = builder.phi(WORD)
    step.add_incoming(ir.Constant(WORD, 0), before)
    totals = [[builder.phi(vector) for _ in range(VECTORS)] for _ in range(ROWS)]
    base = builder.gep(second, [builder.mul(step, ir.Constant(WORD, VECTORS * lanes))])
    loaded = [
        builder.load(vector_at(base, ir.Constant(WORD, k * lanes)), align=4) for k in range(VECTORS)
    ]
    for row in range(ROWS):
        place = builder.add(builder.mul(inner, ir.Constant(WORD, row)), step)
        spread = _spread(builder, builder.load(builder.gep(first, [place])), lanes)
        for total, columns_here in zip(totals[row], loaded, strict=True):
            total.add_incoming(ir.Constant(vector, [0.0] * lanes), before)
            total.add_incoming(builder.call(fma, [spread, columns_here, total]), loop)
    following = builder.add(step, ir.Constant(WORD, 1))
    step.add_incoming(following, loop)
    builder.cbranch(builder.icmp_unsigned("<", following, inner), loop, after)
    builder.position_at_end(after)
    for row in range(ROWS):
        for k in range(VECTORS):
            place = builder.add(
                builder.mul(stride, ir.Constant(WORD, row)), ir.Constant(WORD, k * lanes)
            )
            builder.store(totals[row][k].incomings[1][0], vector_at(target, place), align=4)


def _loop(builder: Builder) -> tuple[Value, Value, Value]:
    """Begin a loop; return the blocks before it, of it, where what follows is placed, and after it."""
    before = builder.block
    loop, after = (builder.append_basic_block(name) for name in ("loop", "after"))
    builder.branch(loop)
    builder.position_at_end(loop)
    return before, loop, after


def _spread(builder: Builder, value: Value, lanes: int) -> Value:
    """Return a vector of equal elements."""
    nothing = ir.Constant(ir.VectorType(value.type, lanes), ir.Undefined)
    places = ir.Constant(ir.VectorType(SMALL, lanes), [0] * lanes)
    return builder.shuffle_vector(builder.insert_element(nothing, value, SMALL(0)), nothing, places)
