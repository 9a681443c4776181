"""Texts inside byte buffers, eight bytes at a time: hashes, comparisons, numbers.

Buffers end in `PADDING` zero bytes, so that eight bytes can be read at any place of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scorecube.kernels.intrinsics import load_word, swap_bytes
from scorecube.kernels.jit import inlined

PADDING = 16
MOST_DIGITS = 18
LARGEST_EXACT = 2**53
_POWERS = np.array([10.0**k for k in range(23)])
_HASH = np.uint64(0x9E3779B97F4A7C15)


@inlined
def masked_word(base: Any, start: int, stop: int) -> Any:
    """Return up to eight bytes from `start` on, zero from `stop` on."""
    word = load_word(base + np.uint64(start))
    left = stop - start
    if left < 8:
        word &= (np.uint64(1) << np.uint64(8 * left)) - np.uint64(1)
    return word


@inlined
def hash_text(base: Any, start: int, stop: int) -> Any:
    """Return a 64-bit hash of the bytes start .. stop-1; never 0, which marks an empty slot."""
    value = np.uint64(stop - start) * _HASH
    for place in range(start, stop, 8):
        value = (value ^ masked_word(base, place, stop)) * _HASH
        value ^= value >> np.uint64(29)
    return value | np.uint64(1)


@inlined
def compare_texts(base_a: Any, start_a: int, stop_a: int, base_b: Any, start_b: int, stop_b: int) -> int:
    """Return -1, 0 or 1 as the bytes of the first are before, equal to or behind those of the second."""
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
def read_digits(text: Any, start: int, stop: int) -> Any:
    """Return (digits as an integer, power of ten, digits seen, where they end) of an unsigned decimal number."""
    place, digits, power, seen, point = start, np.int64(0), 0, 0, False
    while place < stop and seen <= MOST_DIGITS:
        letter = text[place]
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
def read_sign(text: Any, place: int, stop: int) -> Any:
    """Return (-1 or 1, the place behind the sign if there is one)."""
    if place < stop and (text[place] == 45 or text[place] == 43):
        return -1 if text[place] == 45 else 1, place + 1
    return 1, place


@inlined
def read_number(text: Any, start: int, stop: int) -> Any:
    """Return (value, exact) of a decimal number; exact is False for anything that needs a slower look.

    Integers up to 2**53 and powers of ten up to 22 are exact in double precision, so one rounding gives the nearest double,
    as strtod does (Clinger 1990).
    """
    sign, place = read_sign(text, start, stop)
    digits, power, seen, place = read_digits(text, place, stop)
    exact = 0 < seen <= MOST_DIGITS and digits <= LARGEST_EXACT
    if place < stop:
        exact = exact and (text[place] == 101 or text[place] == 69)
        exponent_sign, place = read_sign(text, place + 1, stop)
        exponent, _, seen, end = read_digits(text, place, min(stop, place + 3))
        exact = exact and 0 < seen == stop - place and end == stop
        power += exponent_sign * exponent
    if not exact or abs(power) > 22:
        return 0.0, False
    value = float(digits)
    value = value * _POWERS[power] if power >= 0 else value / _POWERS[-power]
    return sign * value, True
