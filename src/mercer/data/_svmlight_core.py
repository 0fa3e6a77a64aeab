"""LIBSVM's text format, compiled: lines ``target index:value index:value …`` to the parts of a CSR.

Numbers are read to the double nearest to the decimals written. Up to 19 digits w and an exponent e
are read off the bytes; w · 10ᵉ is then

* exact in one multiplication or division, if w < 2⁵³ and |e| ≤ 22 (Clinger 1990);
* else rounded from the 128-bit product of w with 10ᵉ truncated to 128 bits, which tells when that
  could be the wrong neighbour (Eisel and Lemire; Lemire, Softw. Pract. Exper. 51, 2021);
* left to Python's ``float`` in the rare cases that remain (`Scan.HARD`).
"""

from __future__ import annotations

from enum import IntEnum
from functools import cache

import numpy as np

from mercer._numba import compiled

__all__ = ["LARGEST_INDEX", "Scan", "parse_lines", "powers_of_ten", "scan_number", "scan_short"]


class Scan(IntEnum):
    """What `scan_number` found."""

    GOOD = 0
    HARD = 1
    NO_NUMBER = 2


_GOOD, _HARD, _NO_NUMBER = int(Scan.GOOD), int(Scan.HARD), int(Scan.NO_NUMBER)
LARGEST_INDEX = int(np.iinfo(np.int32).max) - 1  # indices from 1 are kept in 32 bits

# Of the table of powers of ten: beyond are zeros and infinities.
_LEAST, _MOST = -348, 347
_ONE = np.uint64(1)
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_NINE_BITS = np.uint64(0x1FF)
_ALL_BITS = np.uint64(0xFFFFFFFFFFFFFFFF)
_EXACT = np.uint64(1 << 53)
_MANTISSA = np.uint64((1 << 52) - 1)
_TENS = np.array([10.0**e for e in range(23)])


@compiled
def parse_lines(text, first, last, y, indptr, indices, values, starts, powers):
    """All lines of ``text`` as rows of a CSR, indices as they are written.

    The arrays hold as many rows as there are lines, and as many pairs as there are colons. Indices
    rise from ``first`` to at most ``last``. Where only Python's ``float`` can read a value, NaN is
    stored, and in ``starts`` where its text begins; for targets, after the places of the values.

    Returns
    -------
    rows, and the position of the first line that is malformed, or −1
    """
    i, row, nnz, stop = 0, 0, 0, text.size
    while i < stop:
        line = i
        i = _skip_blanks(text, i, stop)
        if i < stop and text[i] != 10 and text[i] != 35:  # neither empty nor a comment
            value, end, status = scan_number(text, i, stop, powers)
            if status == _NO_NUMBER or not _ends(text, end, stop):
                return row, line
            if status == _HARD:
                value, starts[values.size + row] = np.nan, i
            y[row] = value
            i, nnz = _parse_pairs(text, end, first, last, indices, values, nnz, starts, powers)
            if i < 0:
                return row, line
            row += 1
            indptr[row] = nnz
        while i < stop and text[i] != 10:
            i += 1
        i += 1
    return row, -1


@compiled
def _parse_pairs(text, i, first, last, indices, values, nnz, starts, powers):
    """The pairs of a line from its target on: position (−1: malformed) and nonzeros."""
    stop, before = text.size, first - 1
    while True:
        i = _skip_blanks(text, i, stop)
        if i >= stop or text[i] == 10 or text[i] == 35:
            return i, nnz
        if text[i] == 113:  # qid:7
            if i + 4 >= stop or text[i + 1] != 105 or text[i + 2] != 100 or text[i + 3] != 58:
                return -1, nnz
            while not _ends(text, i, stop):
                i += 1
            continue
        index, digits = 0, 0
        while i < stop and 48 <= text[i] <= 57 and index <= last:
            index = 10 * index + (text[i] - 48)
            digits += 1
            i += 1
        if digits == 0 or i >= stop or text[i] != 58 or index <= before or index > last:
            return -1, nnz
        value, end = scan_short(text, i + 1, stop)
        status = _GOOD
        if end == i + 1:
            value, end, status = scan_number(text, i + 1, stop, powers)
        if status == _NO_NUMBER or not _ends(text, end, stop):
            return -1, nnz
        if status == _HARD:
            value, starts[nnz] = np.nan, i + 1
        indices[nnz], values[nnz] = np.int32(index), value
        nnz, before, i = nnz + 1, index, end


@compiled
def _skip_blanks(text, i, stop):
    while i < stop and (text[i] == 32 or text[i] == 9 or text[i] == 13):
        i += 1
    return i


@compiled
def _ends(text, i, stop):
    """Whether a word ends before this byte."""
    if i >= stop:
        return True
    c = text[i]
    return c == 32 or c == 10 or c == 9 or c == 13 or c == 35


# ------------------------------------------------------------------ numbers


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

    It ends where it starts if it is of another form; `scan_number` reads those. Of the 16 bytes
    that are read, at most 15 are digits, which are below 2⁵³.
    """
    i, w, value, end = start, 0, 0.0, start
    last = min(stop, start + 16)
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
        return 0.0, i, _NO_NUMBER
    if digits > 19:  # w may have overflowed
        w, exponent, cut = _scan_long(text, start, i)
    if i < stop and (text[i] | 32) == 101:  # e E
        i, power, ok = _scan_exponent(text, i + 1, stop)
        if not ok:
            return 0.0, i, _NO_NUMBER
        exponent += power
    value, status = _nearest(w, exponent, powers)
    if cut and status == _GOOD:
        above, status = _nearest(w + _ONE, exponent, powers)
        if above != value:
            status = _HARD
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
        elif c >= 48 and digits < 19:
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
        return 0.0, _GOOD
    if w < _EXACT and -22 <= exponent <= 22:
        if exponent < 0:
            return np.float64(w) / _TENS[-exponent], _GOOD
        return np.float64(w) * _TENS[exponent], _GOOD
    if exponent < _LEAST or exponent > _MOST:
        return 0.0, _HARD
    zeros = 0
    for width in (32, 16, 8, 4, 2, 1):
        if w >> np.uint64(64 - width) == 0:
            w <<= np.uint64(width)
            zeros += width
    row = exponent - _LEAST
    high, low = _product(w, powers[row, 0])
    if high & _NINE_BITS == _NINE_BITS and low + w < w:  # the truncated part could carry
        more, least = _product(w, powers[row, 1])
        low += more
        if low < more:
            high += _ONE
        if high & _NINE_BITS == _NINE_BITS and low == _ALL_BITS and least + w < w:
            return 0.0, _HARD
    top = high >> np.uint64(63)
    mantissa = high >> (top + np.uint64(9))
    if low == 0 and high & _NINE_BITS == 0 and mantissa & np.uint64(3) == 1:
        return 0.0, _HARD  # half way between two doubles, perhaps
    # 217706 / 2¹⁶ approximates log₂ 10: the floor is right for all exponents of the table
    binary = ((217706 * exponent) >> 16) + 64 + 1023 - zeros - (1 - np.int64(top))
    mantissa = (mantissa + (mantissa & _ONE)) >> _ONE
    if mantissa >= _EXACT:
        mantissa >>= _ONE
        binary += 1
    if binary < 1 or binary > 2046:
        return 0.0, _HARD
    bits = (np.uint64(binary) << np.uint64(52)) | (mantissa & _MANTISSA)
    return np.uint64(bits).view(np.float64), _GOOD


@compiled
def _product(a, b):
    """The 128 bits of a · b as two words."""
    a1, a0, b1, b0 = a >> _HALF, a & _LOW, b >> _HALF, b & _LOW
    low, middle = a0 * b0, a1 * b0
    middle += low >> _HALF
    other = a0 * b1 + (middle & _LOW)
    high = a1 * b1 + (middle >> _HALF) + (other >> _HALF)
    return high, (other << _HALF) | (low & _LOW)
