"""Texts in byte buffers, processed eight bytes at a time: hashes, comparisons, numbers.

A text is the bytes start .. stop-1 behind the address `base` of a buffer. Buffers end in `PADDING` zero bytes, so that
64 bytes can be read from any position.
"""

from __future__ import annotations

import numpy as np

from scorecube.kernels.arrays import Integer
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
_ONES = np.uint64(0x0101010101010101)
_HASH = np.uint64(0x9E3779B97F4A7C15)


@inlined
def masked_word(base: np.uint64, start: Integer, stop: Integer) -> np.uint64:
    """Return up to eight bytes from `start` on, zero from `stop` on."""
    word = load_word(base + np.uint64(start))
    left = stop - start
    if left < 8:
        word &= (np.uint64(1) << np.uint64(8 * left)) - np.uint64(1)
    return word


@inlined
def hash_text(base: np.uint64, start: Integer, stop: Integer) -> np.uint64:
    """Return a 64-bit hash of a text; never 0, which marks an empty slot."""
    value = np.uint64(stop - start) * _HASH
    for place in range(start, stop, 8):
        value = (value ^ masked_word(base, place, stop)) * _HASH
        value ^= value >> np.uint64(29)
    return value | np.uint64(1)


@inlined
def compare_texts(
    base_a: np.uint64,
    start_a: Integer,
    stop_a: Integer,
    base_b: np.uint64,
    start_b: Integer,
    stop_b: Integer,
) -> int:
    """Return -1, 0 or 1: the first text is before, equal to or after the second."""
    k = 0
    while start_a + k < stop_a and start_b + k < stop_b:
        a = masked_word(base_a, start_a + k, stop_a)
        b = masked_word(base_b, start_b + k, stop_b)
        if a != b:
            return -1 if swap_bytes(a) < swap_bytes(b) else 1
        k += 8
    length_a, length_b = stop_a - start_a, stop_b - start_b
    return 0 if length_a == length_b else -1 if length_a < length_b else 1


@inlined
def read_digits(
    base: np.uint64, start: Integer, stop: Integer
) -> tuple[np.int64, Integer, Integer, Integer]:
    """Read an unsigned decimal number.

    Returns
    -------
    digits, power, seen, place
        Digits as an integer, exponent of the power of ten to multiply it by, number of digits, and where they end.
    """
    place: Integer
    place, digits, power, seen, point = start, np.int64(0), 0, 0, False
    while place < stop and seen <= MOST_DIGITS:
        letter = np.int64(load_byte(base + np.uint64(place)))
        if 48 <= letter <= 57:
            digits = digits * 10 + (letter - 48)
            seen += 1
            power -= point
        elif letter == 46 and not point:
            point = True
        else:
            break
        place += 1
    return digits, power, seen, place


@inlined
def read_sign(base: np.uint64, place: Integer, stop: Integer) -> tuple[int, Integer]:
    """Return the sign, -1 or 1, and the place after it; no sign means 1."""
    letter = load_byte(base + np.uint64(place))
    if place < stop and (letter == 45 or letter == 43):
        return -1 if letter == 45 else 1, place + 1
    return 1, place


@inlined
def eight_digits(word: np.uint64, count: Integer) -> tuple[np.int64, bool | np.bool]:
    """Return the value of the digits in the first `count` (1 to 8) bytes of a word.

    The second result is whether all of these bytes are digits.
    """
    digits = (word - _ONES * np.uint64(48)) << np.uint64(64 - 8 * count)
    wrong = (digits | (digits + _ONES * np.uint64(118))) & (_ONES << np.uint64(7))
    # Pairs of digits are combined, then groups of four, then all eight, in one word (Lemire 2018).
    pairs = digits * np.uint64(10) + (digits >> np.uint64(8))
    low, high = (
        pairs & np.uint64(0x000000FF000000FF),
        (pairs >> np.uint64(16)) & np.uint64(0x000000FF000000FF),
    )
    value = (
        low * np.uint64(0x000F424000000064) + high * np.uint64(0x0000271000000001)
    ) >> np.uint64(32)
    return np.int64(value), wrong == 0


@inlined
def read_short(base: np.uint64, start: Integer, stop: Integer) -> tuple[float, bool | np.bool]:
    """Return (value, exact) of up to eight digits with or without a decimal point.

    `exact` is False for all other texts.
    """
    length = stop - start
    point = min(trailing_zeros(bytes_equal(base + np.uint64(start), np.uint8(46))), length)
    count = length - (point < length)
    if count < 1 or count > 8:
        return 0.0, False
    # The bytes before the point stay, those after it move forward by one.
    front = (np.uint64(1) << np.uint64(8 * point)) - np.uint64(1) if point < 8 else ~np.uint64(0)
    word = (load_word(base + np.uint64(start)) & front) | (
        load_word(base + np.uint64(start + 1)) & ~front
    )
    digits, exact = eight_digits(word, count)
    return digits / _POWERS[count - point], exact


@inlined
def read_number(base: np.uint64, start: Integer, stop: Integer) -> tuple[float, bool | np.bool]:
    """Return (value, exact) of a decimal number; exact is False if this method fails.

    Integers up to 2**53 and powers of ten up to 22 are exact in double precision, so one rounding gives the nearest
    double, as strtod does (Clinger 1990). All other texts need another parser.
    """
    sign, place = read_sign(base, start, stop)
    value, exact = read_short(base, place, stop)
    if exact:
        return sign * value, True
    digits, power, seen, place = read_digits(base, place, stop)
    exact = 0 < seen <= MOST_DIGITS and digits <= LARGEST_EXACT
    if place < stop:
        letter = load_byte(base + np.uint64(place))
        exact = exact and (letter == 101 or letter == 69)
        exponent_sign, place = read_sign(base, place + 1, stop)
        exponent, _, seen, end = read_digits(base, place, min(stop, place + 3))
        exact = exact and 0 < seen == stop - place and end == stop
        power += exponent_sign * exponent
    if not exact or power < -22 or power > 22:
        return 0.0, False
    value = float(digits)
    value = value * _POWERS[power] if power >= 0 else value / _POWERS[-power]
    return sign * value, True
