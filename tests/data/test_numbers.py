"""Decimals become the double that Python's float gives, to the last bit."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.data._svmlight_core import Scan, powers_of_ten, scan_number, scan_short

DIGITS = st.text("0123456789", max_size=25)
POWERS = st.one_of(
    st.just(""), st.builds("{}{}".format, st.sampled_from(["e", "E-", "e+"]), st.integers(0, 330))
)
NUMBERS = st.builds("{}{}.{}{}".format, st.sampled_from(["", "-", "+"]), DIGITS, DIGITS, POWERS)


def scan(text: str):
    return scan_number(np.frombuffer(text.encode(), np.uint8), 0, len(text), powers_of_ten())


def agrees(text: str) -> bool:
    value, end, status = scan(text)
    assert end == len(text)
    return status == Scan.HARD or (status == Scan.GOOD and same_bits(value, float(text)))


def same_bits(a: float, b: float) -> bool:
    return struct.pack("d", a) == struct.pack("d", b)


@given(NUMBERS)
def test_as_python_reads_them(text):
    if any(c.isdigit() for c in text.lower().split("e")[0]):
        assert agrees(text)
    else:
        assert scan(text)[2] == Scan.NO_NUMBER


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_shortest_and_long_decimals(x):
    assert agrees(repr(x))
    assert agrees(f"{x:.17e}")
    assert agrees(f"{x:.30e}")


@given(NUMBERS, st.sampled_from([",", " ", "\n"]))
def test_short_numbers_are_read_whole_or_not_at_all(text, after):
    value, end = scan_short(np.frombuffer((text + after).encode(), np.uint8), 0, len(text) + 1)
    assert end == 0 or (end == len(text) and same_bits(value, float(text)))


@pytest.mark.parametrize("text", ["7", "0.75", "123456789", "00.5"])
def test_short_numbers(text):
    whole = np.frombuffer(f"{text},".encode(), np.uint8)
    assert scan_short(whole, 0, len(text) + 1) == (float(text), len(text))


@given(st.floats(1e-290, 1e290), st.integers(0, 3))
def test_ordinary_numbers_need_no_help(x, digits):
    value, _, status = scan(f"{x:.{12 + digits}e}")
    assert status == Scan.GOOD
    assert value == float(f"{x:.{12 + digits}e}")


@pytest.mark.parametrize(
    "text",
    ["9007199254740993", "9007199254740993.00000000000000001", "1e-400", "1e400", "4.9e-324"],
)
def test_hard_cases_are_left_to_python(text):
    assert agrees(text)
    assert scan(text)[2] == Scan.HARD


@pytest.mark.parametrize("text", ["", "-", ".", "e5", "nan", "inf", "1e", "1e+", "abc", "--1"])
def test_other_texts_are_no_numbers(text):
    assert scan(text)[2] == Scan.NO_NUMBER


@pytest.mark.parametrize(("text", "end"), [("1,5", 1), ("1_0", 1), ("0x10", 1), ("1.2.3", 3)])
def test_a_number_ends_where_it_ends(text, end):
    assert scan(text)[1] == end
