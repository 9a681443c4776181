"""Texts in byte buffers, processed eight bytes at a time: hashes, comparisons, numbers.

A text is the bytes start .. stop-1 behind the address `base` of a buffer. Buffers end in `PADDING` zero bytes, so that
64 bytes can be read from any position.
"""

from __future__ import annotations

import numpy as np

from scorecube.kernels.arrays import Integer, UInt8Array1
from scorecube.kernels.intrinsics import (
    bytes_equal,
    load_byte,
    load_word,
    swap_bytes,
    trailing_zeros,
)
from scorecube.kernels.jit import inlined

PADDING = 72
MOST_DIGITS = 18
LARGEST_EXACT = 2**53
_POWERS = np.array([10.0**k for k in range(23)])
_ONE, _BYTE, _PAIR, _WORD, _TEN = (np.uint64(k) for k in (1, 8, 16, 32, 10))
_ZEROS, _BEYOND_NINE, _HIGH_BITS = (np.uint64(0x0101010101010101 * k) for k in (48, 118, 128))
_EVEN, _LOW, _HIGH = (
    np.uint64(k) for k in (0x000000FF000000FF, 0x000F424000000064, 0x0000271000000001)
)
_FIRST_BYTES = np.array([2 ** (8 * min(k, 8)) - 1 for k in range(10)], np.uint64)
"""Masks of the first 0, 1, ..., 8 and 8 bytes of a word."""
_HASH, _HALF = np.uint64(0x9E3779B97F4A7C15), np.uint64(29)


def address(text: UInt8Array1) -> np.int64:
    """Return where the text begins; it must outlive all uses of the address.

    Kernels take addresses, as they would be compiled once for texts that are read-only and once for others.
    """
    return np.int64(text.ctypes.data)


@inlined
def masked_word(place: Integer, left: Integer) -> np.uint64:
    """Return eight bytes from an address on, zero behind the first `left` of them."""
    word = load_word(place)
    if left < 8:
        word &= _FIRST_BYTES[left]
    return word


@inlined
def hash_text(place: Integer, length: Integer) -> np.int64:
    """Return a 64-bit hash of the text at an address; never 0, which marks an empty slot."""
    value = np.uint64(length) * _HASH
    left = length
    while left > 0:
        value = (value ^ masked_word(place, left)) * _HASH
        value ^= value >> _HALF
        place += 8
        left -= 8
    return np.int64(value | _ONE)


@inlined
def same_bytes(place_a: Integer, place_b: Integer, length: Integer) -> bool | np.bool:
    """Return whether the texts at two addresses are equal, both of this length."""
    left = length
    while left > 8:
        if load_word(place_a) != load_word(place_b):
            return False
        place_a += 8
        place_b += 8
        left -= 8
    return left <= 0 or (load_word(place_a) ^ load_word(place_b)) << np.uint64(64 - 8 * left) == 0


@inlined
def is_before(
    place_a: Integer, length_a: Integer, place_b: Integer, length_b: Integer
) -> bool | np.bool:
    """Return whether the text at an address is before another one, or equal to it."""
    left_a, left_b = length_a, length_b
    while left_a > 0 and left_b > 0:
        a, b = masked_word(place_a, left_a), masked_word(place_b, left_b)
        if a != b:
            return swap_bytes(a) < swap_bytes(b)
        place_a += 8
        place_b += 8
        left_a -= 8
        left_b -= 8
    return length_a <= length_b


@inlined
def read_short(base: Integer, start: Integer, stop: Integer) -> tuple[float, bool | np.bool]:
    """Return (value, exact) of up to eight digits with or without a decimal point.

    `exact` is False for all other texts.
    """
    length = stop - start
    point = trailing_zeros(bytes_equal(base + start, np.uint8(46)))
    if point > length:
        point = np.int64(length)
    count = length - (point < length)
    if count < 1 or count > 8:
        return 0.0, False
    # The bytes before the point stay, those after it move forward by one.
    front = _FIRST_BYTES[point]
    word = (load_word(base + start) & front) | (load_word(base + start + 1) & ~front)
    digits = (word - _ZEROS) << np.uint64(64 - 8 * count)
    wrong = (digits | (digits + _BEYOND_NINE)) & _HIGH_BITS
    # Pairs of digits are combined, then groups of four, then all eight, in one word (Lemire 2018).
    pairs = digits * _TEN + (digits >> _BYTE)
    value = ((pairs & _EVEN) * _LOW + ((pairs >> _PAIR) & _EVEN) * _HIGH) >> _WORD
    return np.int64(value) / _POWERS[np.int64(count - point)], wrong == 0


@inlined
def read_exponent(base: Integer, start: Integer, stop: Integer) -> Integer:
    """Return an exponent of one to three digits, with or without a sign; 1000 for other texts."""
    place, exponent, negative = start, np.int64(0), False
    letter = load_byte(base + place)
    if place < stop and (letter == 45 or letter == 43):
        place, negative = place + 1, letter == 45
    if place >= stop or place + 3 < stop:
        return np.int64(1000)
    while place < stop:
        digit = np.int64(load_byte(base + place)) - 48
        if digit < 0 or digit > 9:
            return np.int64(1000)
        exponent = exponent * 10 + digit
        place += 1
    return -exponent if negative else exponent


@inlined
def read_number(base: Integer, start: Integer, stop: Integer) -> tuple[float, bool | np.bool]:
    """Return (value, exact) of a decimal number; exact is False if this method fails.

    Integers up to 2**53 and powers of ten up to 22 are exact in double precision, so one rounding gives the nearest
    double, as strtod does (Clinger 1990). All other texts need another parser.
    """
    place, sign = start, 1.0
    letter = load_byte(base + place)
    if place < stop and (letter == 45 or letter == 43):
        place, sign = place + 1, -1.0 if letter == 45 else 1.0
    value, exact = read_short(base, place, stop)
    if exact:
        return sign * value, True
    digits, power, seen, point = np.int64(0), 0, 0, False
    while place < stop and seen <= MOST_DIGITS:
        letter = load_byte(base + place)
        if 48 <= letter <= 57:
            digits = digits * 10 + (np.int64(letter) - 48)
            seen += 1
            power -= point
        elif letter == 46 and not point:
            point = True
        else:
            break
        place += 1
    exact = 0 < seen <= MOST_DIGITS and digits <= LARGEST_EXACT
    if place < stop:
        exact = exact and (letter == 101 or letter == 69)
        power += read_exponent(base, place + 1, stop)
    if not exact or power < -22 or power > 22:
        return 0.0, False
    value = float(digits)
    value = value * _POWERS[power] if power >= 0 else value / _POWERS[-power]
    return sign * value, True
