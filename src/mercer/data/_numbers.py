"""Numbers out of text, compiled: the double nearest to the decimals written, always.

Up to 19 digits w and an exponent e are read off the bytes; w · 10ᵉ is then

* exact in one multiplication or division, if w < 2⁵³ and |e| ≤ 22 (Clinger 1990);
* else rounded from the 128-bit product of w with 10ᵉ truncated to 128 bits, which tells when that
  could be the wrong neighbour (Eisel and Lemire; Lemire, Softw. Pract. Exper. 51, 2021);
* left to Python's ``float`` in the rare cases that remain (status ``HARD``).
"""

from __future__ import annotations

from functools import cache

import numpy as np

from mercer._numba import compiled

__all__ = ["GOOD", "HARD", "NO_NUMBER", "powers_of_ten", "scan_number", "scan_short"]

# What `scan_number` says.
GOOD, HARD, NO_NUMBER = 0, 1, 2

_LEAST, _MOST = -348, 347  # exponents in the table: beyond are zeros and infinities
_DIGITS = 19  # decimals that fit into 64 bits
_SHORT = 16  # bytes of numbers whose digits are below 2⁵³, and of the byte after them
_ONE, _LOW, _HALF = np.uint64(1), np.uint64(0xFFFFFFFF), np.uint64(32)
_NINE = np.uint64(0x1FF)
_FULL = np.uint64(0xFFFFFFFFFFFFFFFF)
_EXACT = np.uint64(1 << 53)
_MANTISSA = np.uint64((1 << 52) - 1)
_TENS = np.array([10.0**e for e in range(23)])


@cache
def powers_of_ten() -> np.ndarray:
    """The first 128 bits of 10ᵉ, truncated, as two words; row e − `_LEAST`."""
    table = np.empty((_MOST - _LEAST + 1, 2), np.uint64)
    for row, e in enumerate(range(_LEAST, _MOST + 1)):
        if e >= 0:
            value = 10**e
            bits = value.bit_length()
            value = value << (128 - bits) if bits <= 128 else value >> (bits - 128)
        else:
            value = (1 << (10**-e).bit_length() + 128) // 10**-e
            value >>= value.bit_length() - 128
        table[row] = value >> 64, value & ((1 << 64) - 1)
    return table


@compiled(inline=True)
def scan_short(text, start, stop):
    """A number such as 12 or 0.75 without sign and exponent: (value, where it ends).

    It ends where it starts if it is of another form; `scan_number` reads those.
    """
    i, w, value, end = start, 0, 0.0, start
    last = min(stop, start + _SHORT)
    while i < last and 48 <= text[i] <= 57:
        w = 10 * w + (text[i] - 48)
        i += 1
    if start < i < last:
        first = i + 1
        if text[i] == 46:
            i += 1
            while i < last and 48 <= text[i] <= 57:
                w = 10 * w + (text[i] - 48)
                i += 1
            if first < i < last and text[i] | 32 != 101:
                value, end = w / _TENS[i - first], i
        elif text[i] | 32 != 101:
            value, end = float(w), i
    return value, end


@compiled
def scan_number(text, start, stop, powers):
    """The number that begins at ``start``: (value, where it ends, status).

    It ends before the first byte that cannot belong to it; whether that byte may stand there is the
    caller's business. Words such as ``nan`` and ``inf`` are no numbers here.
    """
    i = start
    negative = False
    if i < stop and (text[i] == 45 or text[i] == 43):  # - +
        negative = text[i] == 45
        i += 1
    first = i
    w, i = _scan_digits(text, i, stop, np.uint64(0))
    digits, exponent, cut = i - first, 0, False
    if i < stop and text[i] == 46:
        first = i + 1
        w, i = _scan_digits(text, first, stop, w)
        exponent = first - i
        digits -= exponent
    if digits == 0:
        return 0.0, i, NO_NUMBER
    if digits > _DIGITS:  # w may have overflowed
        w, exponent, cut = _scan_long(text, start, i)
    if i < stop and (text[i] | 32) == 101:  # e E
        i, power, ok = _scan_exponent(text, i + 1, stop)
        if not ok:
            return 0.0, i, NO_NUMBER
        exponent += power
    value, status = _nearest(w, exponent, powers)
    if cut and status == GOOD:
        above, status = _nearest(w + _ONE, exponent, powers)
        if above != value:
            status = HARD
    return (-value if negative else value), i, status


@compiled
def _scan_digits(text, i, stop, w):
    while i < stop and 48 <= text[i] <= 57:
        w = w * np.uint64(10) + np.uint64(text[i] - 48)
        i += 1
    return w, i


@compiled
def _scan_long(text, i, stop):
    """The first 19 digits that count, the exponent, and whether a digit after them is not zero."""
    w, digits, exponent, point, cut = np.uint64(0), 0, 0, False, False
    for k in range(i, stop):
        c = text[k]
        if c == 46:
            point = True
        elif c >= 48 and digits < _DIGITS:
            w = w * np.uint64(10) + np.uint64(c - 48)
            digits += w != 0  # leading zeros do not count
            exponent -= point
        elif c >= 48:
            cut |= c != 48
            exponent += not point
    return w, exponent, cut


@compiled
def _scan_exponent(text, i, stop):
    sign, power, first = 1, 0, i
    if i < stop and (text[i] == 45 or text[i] == 43):
        sign = -1 if text[i] == 45 else 1
        i += 1
        first = i
    while i < stop and 48 <= text[i] <= 57:
        power = min(10 * power + (text[i] - 48), 100_000)
        i += 1
    return i, sign * power, i > first


@compiled
def _nearest(w, exponent, powers):
    """The double nearest to w · 10^exponent, and whether it is known to be."""
    if w == 0:
        return 0.0, GOOD
    if w < _EXACT and -22 <= exponent <= 22:
        if exponent < 0:
            return np.float64(w) / _TENS[-exponent], GOOD
        return np.float64(w) * _TENS[exponent], GOOD
    if exponent < _LEAST or exponent > _MOST:
        return 0.0, HARD
    zeros = 0
    for width in (32, 16, 8, 4, 2, 1):
        if w >> np.uint64(64 - width) == 0:
            w <<= np.uint64(width)
            zeros += width
    row = exponent - _LEAST
    high, low = _product(w, powers[row, 0])
    if high & _NINE == _NINE and low + w < w:  # what was truncated could carry into the result
        more, least = _product(w, powers[row, 1])
        low += more
        if low < more:
            high += _ONE
        if high & _NINE == _NINE and low == _FULL and least + w < w:
            return 0.0, HARD
    top = high >> np.uint64(63)
    mantissa = high >> (top + np.uint64(9))
    if low == 0 and high & _NINE == 0 and mantissa & np.uint64(3) == 1:
        return 0.0, HARD  # half way between two doubles, perhaps
    # 217706 / 2¹⁶ is log₂ 10, near enough to its floor for all exponents of the table
    binary = ((217706 * exponent) >> 16) + 64 + 1023 - zeros - (1 - np.int64(top))
    mantissa = (mantissa + (mantissa & _ONE)) >> _ONE
    if mantissa >= _EXACT:
        mantissa >>= _ONE
        binary += 1
    if binary < 1 or binary > 2046:
        return 0.0, HARD
    bits = (np.uint64(binary) << np.uint64(52)) | (mantissa & _MANTISSA)
    return np.uint64(bits).view(np.float64), GOOD


@compiled
def _product(a, b):
    """The 128 bits of a · b as two words."""
    a1, a0, b1, b0 = a >> _HALF, a & _LOW, b >> _HALF, b & _LOW
    low, middle = a0 * b0, a1 * b0
    middle += low >> _HALF
    other = a0 * b1 + (middle & _LOW)
    high = a1 * b1 + (middle >> _HALF) + (other >> _HALF)
    return high, (other << _HALF) | (low & _LOW)
