"""Compiled maps from dot products to kernel values, in place, a row at a time.

A tile is handed over as its flat memory with a row stride (`flat_rows`), so that one compiled
function serves whole arrays and views; rows are cut as contiguous slices, which lets LLVM
vectorise the loops.

exp: with k = round(x log₂e) and r = x − k ln 2 (ln 2 in two parts, so that k·ln 2 is exact to the
last bit), eˣ = 2ᵏ eʳ and |r| ≤ ½ ln 2. eʳ is a polynomial: in float32 the minimax one of Cephes'
``expf``, in float64 the interpolant of (eʳ − 1 − r)/r² of degree 9 at Chebyshev nodes, by which eʳ
is off by 2e-17. Adding ``round_`` to x log₂e leaves k plus the
exponent's bias in the low bits of the sum: shifted up they are the bits of 2ᵏ, without a
conversion, which AVX2 does not have for 64 bits. Arguments are ≤ 0 here. Results below the normal
range are 0: the smallest k the clamp lets through has the bits of 0. Largest relative errors:
1.2e-7 (one unit in the last place) and 4e-16.
"""

from __future__ import annotations

import numpy as np

from mercer._numba import (
    REASSOCIATE,
    bits_to_float,
    compiled,
    float_to_bits,
    larger,
    wide_vectors,
)

__all__ = [
    "CONTRACT",
    "exp32",
    "exp64",
    "exp_map32",
    "flat_rows",
    "map_by_table",
    "power_map",
    "rbf_map32",
    "rbf_map64",
    "rbf_of_few_columns",
    "sq_distances",
]

# No reassociation: adding and taking away ``round_`` must not be simplified to nothing.
CONTRACT = frozenset({"contract", "nnan", "nsz"})

_f32 = np.float32


def flat_rows(out: np.ndarray) -> tuple[np.ndarray, int]:
    """The memory of ``out`` (unit stride along rows) as one flat array, and its row stride."""
    if out.flags.c_contiguous:
        return out.reshape(-1), out.shape[1]
    stride = out.strides[0] // out.itemsize
    length = (out.shape[0] - 1) * stride + out.shape[1]
    return np.lib.stride_tricks.as_strided(out, (length,), (out.itemsize,)), stride


@compiled(fastmath=CONTRACT, inner=True)
def exp32(x):
    """eˣ for a float32 x ≤ 0."""
    round_ = _f32(1.5 * 2**23 + 127)
    x = larger(x, _f32(-88.0))  # rounds to k = −127, whose exponent bits are 0
    t = x * _f32(1.4426950408889634) + round_
    k = t - round_
    r = (x - k * _f32(0.693359375)) - k * _f32(-2.12194440e-4)
    p = _f32(1.9875691500e-4)
    p = p * r + _f32(1.3981999507e-3)
    p = p * r + _f32(8.3334519073e-3)
    p = p * r + _f32(4.1665795894e-2)
    p = p * r + _f32(1.6666665459e-1)
    p = p * r + _f32(5.0000001201e-1)
    p = (p * (r * r) + r) + _f32(1.0)
    return p * bits_to_float(np.int32(float_to_bits(_f32(t)) << np.int32(23)))


@compiled(fastmath=CONTRACT, inner=True)
def exp64(x):
    """eˣ for a float64 x ≤ 0."""
    round_ = 1.5 * 2**52 + 1023
    x = larger(x, -709.1)  # rounds to k = −1023
    t = x * 1.4426950408889634 + round_
    k = t - round_
    r = (x - k * 6.93145751953125e-1) - k * 1.42860682030941723212e-6
    p = 2.510038549551032e-08
    p = p * r + 2.7620088445409746e-07
    p = p * r + 2.7557268459997064e-06
    p = p * r + 2.4801521295954376e-05
    p = p * r + 1.9841269863053618e-04
    p = p * r + 1.3888888917213717e-03
    p = p * r + 8.333333333330062e-03
    p = p * r + 4.166666666662413e-02
    p = p * r + 1.6666666666666669e-01
    p = p * r + 5.000000000000001e-01
    p = (p * (r * r) + r) + 1.0
    return p * bits_to_float(np.int64(float_to_bits(np.float64(t)) << np.int64(52)))


@compiled(fastmath=CONTRACT)
def rbf_map32(flat, stride, n, m, a, a_rest, b, b_rest, gamma):
    """x·z → exp(−γ‖x − z‖²); ``a + a_rest`` and ``b + b_rest`` are the squared norms.

    Near the diagonal, where ‖x − z‖² is small against the norms, both subtractions are exact
    (Sterbenz), so the two-part norms leave the dot product's own rounding as the only error.
    """
    wide_vectors()
    for i in range(n):
        row = flat[i * stride : i * stride + m]
        ai, rest = a[i], a_rest[i]
        for j in range(m):
            sq_dist = ((ai - _f32(2.0) * row[j]) + b[j]) + (rest + b_rest[j])
            row[j] = exp32(-gamma * larger(sq_dist, _f32(0.0)))


@compiled(fastmath=CONTRACT)
def rbf_map64(flat, stride, n, m, a, b, gamma):
    """x·z → exp(−γ‖x − z‖²); ``a`` and ``b`` are the squared norms."""
    wide_vectors()
    for i in range(n):
        row = flat[i * stride : i * stride + m]
        ai = a[i]
        for j in range(m):
            row[j] = exp64(-gamma * larger((ai - 2.0 * row[j]) + b[j], 0.0))


@compiled(fastmath=CONTRACT, inner=True)
def _two_rows_of_products(x, z, BT, first, second):
    """x·b and z·b for the columns b of ``BT``, four entries at a time: both rows use those read.

    The two rows may be one: both are read before one is written.
    """
    wide_vectors()
    for c in range(0, BT.shape[0], 4):
        x0, x1, x2, x3 = x[c], x[c + 1], x[c + 2], x[c + 3]
        z0, z1, z2, z3 = z[c], z[c + 1], z[c + 2], z[c + 3]
        b0, b1, b2, b3 = BT[c], BT[c + 1], BT[c + 2], BT[c + 3]
        for j in range(first.size):
            one = (x0 * b0[j] + x1 * b1[j]) + (x2 * b2[j] + x3 * b3[j])
            two = (z0 * b0[j] + z1 * b1[j]) + (z2 * b2[j] + z3 * b3[j])
            if c > 0:
                one, two = first[j] + one, second[j] + two
            first[j], second[j] = one, two


@compiled(fastmath=CONTRACT, inner=True)
def _rbf_row64(row, a, b, gamma):
    wide_vectors()
    for j in range(row.size):
        row[j] = exp64(-gamma * larger((a - 2.0 * row[j]) + b[j], 0.0))


@compiled(fastmath=CONTRACT)
def rbf_of_few_columns(flat, stride, n, m, A, BT, a, b, gamma):
    """exp(−γ‖x − z‖²) in float64 from products of rows with few columns, which BLAS is slow at.

    Columns are filled up with zeros to a multiple of four; ``a`` and ``b`` are the squared norms.
    Two rows at a time stay in the first-level cache until they are mapped; a last odd one is its
    own partner.
    """
    for i in range(0, n, 2):
        k = min(i + 1, n - 1)
        first, second = flat[i * stride : i * stride + m], flat[k * stride : k * stride + m]
        _two_rows_of_products(A[i], A[k], BT, first, second)
        _rbf_row64(first, a[i], b, gamma)
        if k > i:
            _rbf_row64(second, a[k], b, gamma)


@compiled
def _table_rows(flat, stride, n, m, a, b, table, index):
    """Indices of a whole row first: this loop is vectorised, the one that reads the table is not.

    An index without a sign is not asked whether it counts from the end.
    """
    wide_vectors()
    two = flat.dtype.type(2.0)
    for i in range(n):
        row = flat[i * stride : i * stride + m]
        ai = a[i]
        for j in range(m):
            index[j] = np.int32((ai - two * row[j]) + b[j])
        for j in range(m):
            row[j] = table[np.uint32(index[j])]


def map_by_table(out: np.ndarray, a: np.ndarray, b: np.ndarray, table: np.ndarray) -> None:
    """x·z → table[‖x − z‖²] for rows of integers; ``a`` and ``b`` are the squared norms.

    All of them must be exact in the precision of ``out``.
    """
    flat, stride = flat_rows(out)
    norms = a.astype(out.dtype), b.astype(out.dtype)
    _table_rows(flat, stride, *out.shape, *norms, table, np.empty(out.shape[1], np.int32))


@compiled(fastmath=REASSOCIATE)
def sq_distances(flat, stride, n, m, A, BT):
    """‖a − b‖² from differences, for few columns: 4 of them at a time, zeros filling up the last.

    With B transposed the innermost loop runs over rows of B and is vectorised.
    """
    wide_vectors()
    for i in range(n):
        row = flat[i * stride : i * stride + m]
        for c in range(0, BT.shape[0], 4):
            x0, x1, x2, x3 = A[i, c], A[i, c + 1], A[i, c + 2], A[i, c + 3]
            b0, b1, b2, b3 = BT[c], BT[c + 1], BT[c + 2], BT[c + 3]
            if c == 0:
                for j in range(m):
                    d0, d1, d2, d3 = x0 - b0[j], x1 - b1[j], x2 - b2[j], x3 - b3[j]
                    row[j] = (d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3)
            else:
                for j in range(m):
                    d0, d1, d2, d3 = x0 - b0[j], x1 - b1[j], x2 - b2[j], x3 - b3[j]
                    row[j] += (d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3)


@compiled(fastmath=CONTRACT)
def exp_map32(flat, stride, n, m, gamma):
    """x → exp(−γ x)."""
    wide_vectors()
    for i in range(n):
        row = flat[i * stride : i * stride + m]
        for j in range(m):
            row[j] = exp32(-gamma * row[j])


@compiled(fastmath=CONTRACT)
def power_map(flat, stride, n, m, scale, shift, degree):
    """x·z → (scale x·z + shift)^degree by repeated squaring; degree ≥ 1."""
    for i in range(n):
        row = flat[i * stride : i * stride + m]
        for j in range(m):
            row[j] = scale * row[j] + shift
        if degree == 2:
            for j in range(m):
                row[j] = row[j] * row[j]
        elif degree == 3:
            for j in range(m):
                row[j] = row[j] * row[j] * row[j]
        elif degree > 3:
            base = row.copy()
            e = degree - 1
            while e > 0:
                if e & 1:
                    for j in range(m):
                        row[j] *= base[j]
                e >>= 1
                if e > 0:
                    for j in range(m):
                        base[j] *= base[j]
