"""Dot products with rows that have few nonzeros among a moderate number of columns.

The other side lies in *panels* of `WIDTH` rows, transposed: for each column a line of the numbers
that these rows have there. A nonzero of a row is then one multiply-add of a whole line, and the
sums of a row with a panel stay in eight vector registers from the first nonzero to the last. LLVM
does not find that by itself (it writes the sums back after every line), so this one loop is given
in its own language: see `_sum_lines`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from mercer._numba import compiled, prefetch

__all__ = ["Panels", "gathered", "line_products", "nonzeros"]

# A line is as long as eight registers, and starts where a line of the cache does.
LINE_BYTES = 256
REGISTER_BYTES = 32
_CONTRACT = ("contract",)


def _fresh(n_bytes: int) -> np.ndarray:
    return np.empty(n_bytes, np.uint8)


class Panels:
    """Room for the panels of n rows of d columns, filled as they come.

    ``memory`` gives flat memory of a size in bytes.
    """

    def __init__(self, n: int, d: int, dtype: Any, memory: Callable[[int], np.ndarray] = _fresh):
        self.d = d
        self.width = LINE_BYTES // np.dtype(dtype).itemsize
        held = memory((self._size(n) + self.width) * np.dtype(dtype).itemsize).view(dtype)
        self._memory = held[-held.ctypes.data % LINE_BYTES // held.itemsize :]
        self._n = 0
        self._filling = threading.Lock()

    def _size(self, n: int) -> int:
        return -(-n // self.width) * self.d * self.width

    def lay(
        self, indptr: np.ndarray, columns: np.ndarray, values: np.ndarray, rows: np.ndarray
    ) -> np.ndarray:
        """The panels of some of the sparse rows, which begin with those laid before."""
        end = self._size(rows.size)
        with self._filling:
            if self._n < rows.size:
                _scatter(indptr, columns, values, rows, self._n, self.d, self.width, self._memory)
                self._n = rows.size
        return self._memory[:end]


def line_products(
    indptr: np.ndarray,
    columns: np.ndarray,
    values: np.ndarray,
    others: np.ndarray,
    d: int,
    flat: np.ndarray,
    stride: int,
    n: int,
) -> None:
    """Dot products of sparse rows with the first n rows in the panels ``others``.

    Row i goes to ``flat`` from i · stride on.
    """
    width = LINE_BYTES // values.itemsize
    spare = np.empty(width, values.dtype)
    _products(indptr, columns, values, others, d, width, flat, stride, n, spare)


def nonzeros(
    X: np.ndarray, origin: np.ndarray | None = None, rows_at_once: int = 4096
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Dense rows, less the origin, as sparse ones: indptr, columns, values.

    The values are float32 where that holds any of X. ``rows_at_once`` of them are cast at a time.
    """
    dtype = np.result_type(X.dtype, np.float32) if origin is None else np.dtype(np.float64)

    def parts() -> Iterator[np.ndarray]:
        for start in range(0, X.shape[0], rows_at_once):
            part = np.ascontiguousarray(X[start : start + rows_at_once], dtype)
            yield part if origin is None else part - origin

    count = sum(int(np.count_nonzero(part)) for part in parts())
    columns, values = np.empty(count + 1, np.int32), np.empty(count + 1, dtype)
    indptr = np.zeros(X.shape[0] + 1, np.int64)
    start = 0
    for part in parts():
        _list_nonzeros(part, indptr[start : start + part.shape[0] + 1], columns, values)
        start += part.shape[0]
    return indptr, columns[:count], values[:count]


@compiled
def _list_nonzeros(X, indptr, columns, values):
    t = indptr[0]
    for i in range(X.shape[0]):
        for c in range(X.shape[1]):
            columns[t] = c
            values[t] = X[i, c]
            t += X[i, c] != 0  # no branch to mispredict: a zero is written over
        indptr[i + 1] = t


def gathered(
    indptr: np.ndarray, columns: np.ndarray, values: np.ndarray, rows: np.ndarray, dtype: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Some of the sparse rows: indptr, columns, values in ``dtype``."""
    begin = indptr[rows]
    out = np.zeros(rows.size + 1, np.int64)
    np.cumsum(indptr[rows + 1] - begin, out=out[1:])
    out_columns, out_values = np.empty(out[-1], np.int32), np.empty(out[-1], dtype)
    _gather(begin, columns, values, out, out_columns, out_values)
    return out, out_columns, out_values


@compiled
def _gather(begin, columns, values, indptr, out_columns, out_values):
    for i in range(begin.size):
        shift = begin[i] - indptr[i]
        for t in range(indptr[i], indptr[i + 1]):
            out_columns[t] = columns[shift + t]
            out_values[t] = values[shift + t]


@compiled
def _scatter(indptr, columns, values, rows, first, d, width, out):
    for j in range(first, rows.size):
        base = j // width * d * width + j % width
        if j % width == 0:  # zeros and numbers of a panel are written while it is in the cache
            panel = out[base : base + d * width]
            for k in range(panel.size):
                panel[k] = 0
        # The nonzeros of two rows ahead are asked for; eight or more lie on a cache line.
        later = rows[min(j + 2, rows.size - 1)]
        for t in range(indptr[later], indptr[later + 1], 8):
            prefetch(columns, t)
            prefetch(values, t)
        for t in range(indptr[rows[j]], indptr[rows[j] + 1]):
            out[base + columns[t] * width] = values[t]


def _sum_lines(typingctx, panel, columns, values, begin, end, out, at):
    """out[at : at + WIDTH] = Σ_t values[t] · panel[line of columns[t]] for begin ≤ t < end."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        number = signature.args[0].dtype
        item_bytes = number.bitwidth // 8
        lanes, registers = REGISTER_BYTES // item_bytes, LINE_BYTES // REGISTER_BYTES
        vector = ir.VectorType(context.get_data_type(number), lanes)
        int32, int64 = ir.IntType(32), ir.IntType(64)
        undefined = ir.Constant(vector, ir.Undefined)
        everywhere = ir.Constant(ir.VectorType(int32, lanes), [0] * lanes)
        panel, columns, values, out = (
            context.make_array(kind)(context, builder, array).data
            for kind, array in zip(signature.args, args, strict=True)
            if isinstance(kind, types.Array)
        )

        def register(pointer: Any, k: int) -> Any:
            place = builder.gep(pointer, [ir.Constant(int64, k * lanes)])
            return builder.bitcast(place, vector.as_pointer())

        zero = ir.Constant(vector, [0.0] * lanes)
        sums = [cgutils.alloca_once(builder, vector) for _ in range(registers)]
        for total in sums:
            builder.store(zero, total)
        begin, end, at = args[3], args[4], args[6]
        with cgutils.for_range_slice(builder, begin, end, ir.Constant(begin.type, 1)) as (t, _):
            column = builder.sext(builder.load(builder.gep(columns, [t])), int64)
            line = builder.gep(panel, [builder.mul(column, ir.Constant(int64, registers * lanes))])
            value = builder.load(builder.gep(values, [t]))
            value = builder.insert_element(undefined, value, ir.Constant(int32, 0))
            value = builder.shuffle_vector(value, undefined, everywhere)
            for k, total in enumerate(sums):
                term = builder.load(register(line, k), align=item_bytes)
                term = builder.fmul(value, term, flags=_CONTRACT)
                builder.store(builder.fadd(builder.load(total), term, flags=_CONTRACT), total)
        row = builder.gep(out, [at])
        for k, total in enumerate(sums):
            builder.store(builder.load(total), register(row, k), align=item_bytes)
        return context.get_dummy_value()

    return types.void(panel, columns, values, begin, end, out, at), emit


sum_lines: Any = intrinsic(_sum_lines)


@compiled
def _used(columns, d):
    """The columns that occur, in order."""
    occurs = np.zeros(d, np.bool_)
    for c in columns:
        occurs[c] = True
    return np.flatnonzero(occurs)


@compiled
def _ask(panel, lines, width, step):
    for c in lines:
        for k in range(c * width, (c + 1) * width, step):
            prefetch(panel, k)


@compiled
def _products(indptr, columns, values, others, d, width, flat, stride, n, spare):
    """While the rows meet one panel, the lines of the next are asked for: some with each row."""
    n_rows, lines = indptr.size - 1, np.empty(0, np.int64)
    # Smaller panels the processor prefetches itself; of larger ones two exceed the L2 cache.
    if 1 << 17 < d * LINE_BYTES <= 1 << 18 and n > width:
        lines = _used(columns[indptr[0] : indptr[n_rows]], d)
    share = max(-(-lines.size // max(n_rows, 1)), 4)  # lines at a time
    step = 64 // values.itemsize  # a line of the cache
    for first in range(0, n, width):
        panel = others[first * d : (first + width) * d]
        if first + width <= n:
            ahead = others[(first + width) * d : (first + 2 * width) * d]
            asked = 0 if ahead.size else lines.size
            for i in range(n_rows):
                if asked < lines.size:
                    _ask(ahead, lines[asked : asked + share], width, step)
                    asked += share
                at = i * stride + first
                sum_lines(panel, columns, values, indptr[i], indptr[i + 1], flat, at)
        else:
            for i in range(n_rows):
                sum_lines(panel, columns, values, indptr[i], indptr[i + 1], spare, 0)
                row = flat[i * stride + first : i * stride + n]
                for p in range(row.size):
                    row[p] = spare[p]
