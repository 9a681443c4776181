"""Texts in byte buffers: hashes, comparisons, numbers.

A text is the bytes start .. stop-1 of a buffer. Buffers end in `PADDING` zero bytes, so that a word of eight bytes can
be read at each byte of a text and behind it.
"""

from __future__ import annotations

import numpy as np

from scorecube.kernels.arrays import Integer, UInt8Array1
from scorecube.kernels.jit import compiled

PADDING = 16
MOST_DIGITS = 18
LARGEST_EXACT = 2**53
_POWERS = np.array([10.0**k for k in range(23)])
_FIRST_BYTES = np.array([2 ** (8 * k) - 1 for k in range(9)], np.uint64)
"""Masks of the first 0, 1, ..., 8 bytes of a word."""
_HASH, _HALF, _ONE = np.uint64(0x9E3779B97F4A7C15), np.uint64(29), np.uint64(1)
_PLACES = tuple(np.uint64(k) for k in range(8))
_SHIFTS = tuple(np.uint64(8 * k) for k in range(8))


def read_only(text: UInt8Array1) -> UInt8Array1:
    """Return a view that cannot be written, so that kernels are compiled for one type of array."""
    view = text[:]
    view.flags.writeable = False
    return view


@compiled
def load_word(text: UInt8Array1, start: Integer) -> np.uint64:
    """Return the eight bytes from a place on, the first as the lowest.

    Compilers make one instruction of this function.
    """
    place = np.uint64(start)  # spares the check for negative indices
    return (
        np.uint64(text[place])
        | np.uint64(text[place + _PLACES[1]]) << _SHIFTS[1]
        | np.uint64(text[place + _PLACES[2]]) << _SHIFTS[2]
        | np.uint64(text[place + _PLACES[3]]) << _SHIFTS[3]
        | np.uint64(text[place + _PLACES[4]]) << _SHIFTS[4]
        | np.uint64(text[place + _PLACES[5]]) << _SHIFTS[5]
        | np.uint64(text[place + _PLACES[6]]) << _SHIFTS[6]
        | np.uint64(text[place + _PLACES[7]]) << _SHIFTS[7]
    )


@compiled
def masked_word(text: UInt8Array1, start: Integer, left: Integer) -> np.uint64:
    """Return eight bytes from a place on, zero behind the first `left` of them."""
    word = load_word(text, start)
    return word if left >= 8 else word & _FIRST_BYTES[left]


@compiled
def hash_text(text: UInt8Array1, start: Integer, length: Integer) -> np.int64:
    """Return a 64-bit hash of a text; never 0, which marks an empty slot."""
    value = np.uint64(length) * _HASH
    for done in range(0, length, 8):
        value = (value ^ masked_word(text, start + done, length - done)) * _HASH
        value ^= value >> _HALF
    return np.int64(value | _ONE)


@compiled
def same_bytes(
    text_a: UInt8Array1, start_a: Integer, text_b: UInt8Array1, start_b: Integer, length: Integer
) -> bool | np.bool:
    """Return whether two texts of the same length are equal."""
    for done in range(0, length, 8):
        a = masked_word(text_a, start_a + done, length - done)
        if a != masked_word(text_b, start_b + done, length - done):
            return False
    return True


@compiled
def is_before(
    text: UInt8Array1, start_a: Integer, length_a: Integer, start_b: Integer, length_b: Integer
) -> bool | np.bool:
    """Return whether a text is before another one of the same buffer, or equal to it."""
    for k in range(min(length_a, length_b)):
        a, b = text[np.uint64(start_a + k)], text[np.uint64(start_b + k)]
        if a != b:
            return bool(a < b)
    return length_a <= length_b


@compiled
def read_exponent(text: UInt8Array1, start: Integer, stop: Integer) -> Integer:
    """Return an exponent of one to three digits, with or without a sign; 1000 for other texts."""
    place, exponent, negative = start, np.int64(0), False
    letter = text[place]
    if place < stop and (letter == 45 or letter == 43):
        place, negative = place + 1, letter == 45
    if place >= stop or place + 3 < stop:
        return np.int64(1000)
    while place < stop:
        digit = np.int64(text[place]) - 48
        if digit < 0 or digit > 9:
            return np.int64(1000)
        exponent = exponent * 10 + digit
        place += 1
    return -exponent if negative else exponent


@compiled
def read_number(text: UInt8Array1, start: Integer, stop: Integer) -> tuple[float, bool | np.bool]:
    """Return (value, exact) of a decimal number; exact is False if this method fails.

    Integers up to 2**53 and powers of ten up to 22 are exact in double precision, so one rounding gives the nearest
    double, as strtod does (Clinger 1990). All other texts need another parser.
    """
    place, sign = start, 1.0
    letter = text[place]
    if place < stop and (letter == 45 or letter == 43):
        place, sign = place + 1, -1.0 if letter == 45 else 1.0
    digits, power, seen, point = np.int64(0), 0, 0, False
    while place < stop and seen <= MOST_DIGITS:
        letter = text[np.uint64(place)]
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
        power += read_exponent(text, place + 1, stop)
    if not exact or power < -22 or power > 22:
        return 0.0, False
    value = float(digits)
    value = value * _POWERS[power] if power >= 0 else value / _POWERS[-power]
    return sign * value, True
