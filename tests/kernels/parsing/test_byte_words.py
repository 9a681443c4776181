"""Splitting lines and reading numbers, against Python's own split and float."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorecube.kernels.arrays import Integer
from scorecube.kernels.parsing import byte_words, split_lines
from scorecube.kernels.parsing.byte_words import PADDING

read_number = byte_words.read_number
split_line = split_lines.split_line
same_bytes = byte_words.same_bytes


def padded(content: bytes) -> Any:
    return np.frombuffer(content + bytes(PADDING), np.uint8)


def read(text: str) -> Any:
    buffer = padded(b"!" + text.encode() + b" 1.5")
    return read_number(buffer, 1, 1 + len(text))


def lines_of(content: bytes, width: int) -> list[list[bytes]]:
    place: Integer = 0
    lines: list[list[bytes]] = []
    buffer = padded(content)
    places = np.empty((width, 2), np.int64)
    while place < len(content):
        line = content[place:].split(b"\n")[0]
        found, place, more = split_line(buffer, place, len(content), places)
        blanks = bytes([9, 11, 12, 13, 32])
        fields = line.translate(bytes.maketrans(blanks, b" " * 5)).split(b" ")
        assert more == (len([field for field in fields if field]) > width)
        lines.append([content[start:stop] for start, stop in places[:found]])
    return lines


@pytest.mark.parametrize("length", [*range(1, 34)])
def test_texts_are_equal_if_all_bytes_are(length: int) -> None:
    text = bytes(range(65, 65 + length))
    first, second = padded(text + b"x"), padded(text + b"y")
    assert same_bytes(first, 0, second, 0, length)
    for place in range(length):
        other = np.where(np.arange(second.size) == place, second ^ 1, second)
        assert not same_bytes(first, 0, other, 0, length)


DIGITS = st.text("0123456789", max_size=12)


@given(
    st.sampled_from(["", "-", "+"]),
    DIGITS,
    st.sampled_from(["", "."]),
    DIGITS,
    st.sampled_from(["", "e3", "E-12", "e+22", "e999"]),
)
def test_what_is_read_is_what_python_reads(
    sign: str, whole: str, point: str, part: str, exponent: str
) -> None:
    text = sign + whole + point + part + exponent
    value, exact = read(text)
    try:
        expected = float(text)
    except ValueError:
        assert not exact
        return
    if exact:
        assert value == expected
        assert math.copysign(1.0, value) == math.copysign(1.0, expected)
    else:
        assert len(whole + part) > 15 or abs(int(exponent[1:] or 0)) + len(part) > 22


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "-",
        "-.",
        "e5",
        "1e",
        "1e+",
        "1.2.3",
        "1,5",
        "0x10",
        "nan",
        "inf",
        "1_0",
        "12a",
        "a12",
        "1 2",
        "\uff11",
    ],
)
def test_what_is_no_plain_number_is_left_open(text: str) -> None:
    assert not read(text)[1]


@given(
    st.lists(st.binary(max_size=90).map(lambda raw: raw.replace(b"\n", b"")), max_size=6).map(
        b"\n".join
    ),
    st.integers(1, 7),
)
def test_lines_split_as_python_splits(content: bytes, width: int) -> None:
    expected = [line.split()[:width] for line in content.split(b"\n")]
    if not content or content.endswith(b"\n"):
        expected.pop()
    assert lines_of(content, width) == expected


@pytest.mark.parametrize("length", [1, 7, 8, 63, 64, 65, 127, 128, 129, 1000])
@pytest.mark.parametrize("gap", [b" ", b"\t", b"  \t ", b" " * 70])
def test_fields_of_any_length(length: int, gap: bytes) -> None:
    line = gap.join([b"a" * length, b"b", b"\x01\xff" * length])
    assert lines_of(line + b"\r\n" + line, 3) == [line.split()] * 2
