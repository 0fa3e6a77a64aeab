"""Sums over all pairs of windows of two sequences, by the number of positions at which they agree.

Windows x[i : i+g] and z[j : j+g] on one diagonal j − i = const share all but one position with the
next pair, so that the number of equal positions is a sliding sum: one comparison more, one less. A
sequence x meets a *panel* of `LANES` sequences at once, which lie position by position beside each
other. All steps are on lanes of 8 bits; LLVM does not find that by itself, so these loops are given
in its own language (`_slide_windows`). For each threshold e the pairs with at least e equal
positions are counted; a function f of that number is a sum of its increments,

    Σ_pairs f(equal) = f(0) · pairs + Σ_e (f(e) − f(e−1)) · #{pairs: equal ≥ e}.

All counts are integers: results are exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from mercer._numba import compiled
from mercer.kernels._compiled.elementwise import flat_rows
from mercer.kernels._compiled.sparse_dot import REGISTER_BYTES

__all__ = ["panels_of", "self_sums", "window_sums"]

LANES = 2 * REGISTER_BYTES  # sequences of a panel, a byte each
_BYTES = ir.VectorType(ir.IntType(8), LANES)
_INDEX = ir.VectorType(ir.IntType(32), LANES)
# Of counters of 8 bits: they are added up before they can exceed it.
MOST_STEPS = int(np.iinfo(np.uint8).max)
# Counters that are always updated, in registers; windows that reach more of them are rare, and only
# these take a branch, which is then predicted well.
IN_REGISTERS = 3


def panels_of(
    codes: np.ndarray, offsets: np.ndarray, rows: np.ndarray, dtype: type
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Sequences in panels: codes position by position, where each panel begins, and lengths.

    Sequences are ordered by length, so that those of a panel are about as long; the last array is
    their order.
    """
    lengths = offsets[rows + 1] - offsets[rows]
    order = np.argsort(lengths, kind="stable")
    n_panels = -(-rows.size // LANES)
    longest = np.zeros(n_panels, np.int64)
    sizes = np.zeros(n_panels * LANES, np.int64)
    sizes[: rows.size] = lengths[order]
    longest[:] = sizes.reshape(n_panels, LANES).max(axis=1)
    begin = np.concatenate([[0], np.cumsum(longest * LANES)])
    # Positions beyond the end of a sequence have a code that none has.
    out: np.ndarray = np.full(int(begin[-1]), np.iinfo(dtype).max, dtype)
    _lay(codes, offsets, rows[order], begin, out)
    return out, begin, sizes, order


@compiled
def _lay(codes, offsets, rows, begin, out):
    for k in range(rows.size):
        base = begin[k // LANES] + k % LANES
        start = offsets[rows[k]]
        for t in range(offsets[rows[k] + 1] - start):
            out[base + t * LANES] = codes[start + t]


def window_sums(
    codes: np.ndarray,
    offsets: np.ndarray,
    rows: np.ndarray,
    panels: tuple,
    g: int,
    increments: np.ndarray,
    base: float,
    out: np.ndarray,
) -> None:
    """out[i, j] = Σ over window pairs of f(equal positions), f(0) being ``base``.

    ``increments[e]`` is f(e) − f(e−1); those before the first that is not zero are not counted.
    """
    flat, begin, sizes, order = panels
    used = np.flatnonzero(increments)
    first = int(used[0]) if used.size else g + 1
    _window_sums(
        codes, offsets, rows, flat, begin, sizes, order, g, first, increments, base,
        *flat_rows(out),
    )  # fmt: skip


@compiled
def _window_sums(
    codes, offsets, rows, panels, begin, sizes, order, g, first, increments, base, flat, stride
):
    n_thresholds = g + 1 - first
    counters = np.zeros(max(n_thresholds, 1) * LANES, np.uint8)
    equal = np.zeros(LANES, np.uint8)
    total = np.zeros(LANES, np.float64)
    for p in range(begin.size - 1):
        panel = panels[begin[p] : begin[p + 1]]
        longest = panel.size // LANES
        valid = _valid_windows(sizes[p * LANES : (p + 1) * LANES], longest, g)
        for i in range(rows.size):
            x = codes[offsets[rows[i]] : offsets[rows[i] + 1]]
            for lane in range(LANES):
                total[lane] = 0.0
            if n_thresholds > 0 and x.size >= g and longest >= g:
                _one_sequence(x, panel, valid, g, first, increments, counters, equal, total)
            for lane in range(LANES):
                k = p * LANES + lane
                if k < order.size:
                    pairs = max(x.size - g + 1, 0) * max(sizes[k] - g + 1, 0)
                    flat[i * stride + order[k]] = total[lane] + base * pairs


@compiled
def _valid_windows(lengths, longest, g):
    """255 where a window of a lane begins at a position, else 0; one row for each position."""
    out = np.zeros(max(longest - g + 1, 0) * LANES, np.uint8)
    for lane in range(LANES):
        for t in range(lengths[lane] - g + 1):
            out[t * LANES + lane] = 255
    return out


def _pointers(context: Any, builder: Any, signature: Any, args: Any) -> list[Any]:
    return [
        context.make_array(kind)(context, builder, value).data
        for kind, value in zip(signature.args, args, strict=True)
        if isinstance(kind, types.Array)
    ]


def _line(builder: Any, pointer: Any, row: Any) -> Any:
    """LANES numbers of an array, from row · LANES on, as a vector."""
    lanes = ir.VectorType(pointer.type.pointee, LANES)
    place = builder.gep(pointer, [builder.mul(row, ir.Constant(row.type, LANES))])
    return builder.load(builder.bitcast(place, lanes.as_pointer()), align=1)


def _everywhere(builder: Any, value: Any) -> Any:
    """A number in all lanes."""
    undefined = ir.Constant(ir.VectorType(value.type, LANES), ir.Undefined)
    one = builder.insert_element(undefined, value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one, undefined, ir.Constant(_INDEX, [0] * LANES))


def _matches(builder: Any, pointers: Any, letter_at: Any, line_at: Any) -> Any:
    """−1 in the lanes that have the letter x[letter_at] in the line, else 0, as bytes."""
    x, panel = pointers[:2]
    letter = builder.load(builder.gep(x, [letter_at]))
    same = builder.icmp_signed("==", _line(builder, panel, line_at), _everywhere(builder, letter))
    return builder.sext(same, _BYTES)


def _byte(builder: Any, value: Any) -> Any:
    return builder.trunc(value, ir.IntType(8))


def _none(builder: Any, flags: Any) -> Any:
    """Whether no lane is set."""
    lanes = builder.bitcast(flags, ir.IntType(LANES))
    return builder.icmp_unsigned("==", lanes, ir.Constant(lanes.type, 0))


def _add_count(builder: Any, counters: Any, number: Any, negative: Any) -> None:
    """Subtract what is given, which is not above 0, from a counter in memory."""
    place = builder.mul(number, ir.Constant(number.type, LANES))
    place = builder.bitcast(builder.gep(counters, [place]), _BYTES.as_pointer())
    builder.store(builder.sub(builder.load(place, align=1), negative), place, align=1)


def _begin_windows(typingctx, x, panel, equal, i, j, count):
    """``begin_windows(…)``: in each lane, positions c < count with x[i + c] = z[j + c]."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointers = _pointers(context, builder, signature, args)
        i, j, count = args[3:]
        total = cgutils.alloca_once_value(builder, ir.Constant(_BYTES, [0] * LANES))
        with cgutils.for_range(builder, count) as loop:
            c = loop.index
            match = _matches(builder, pointers, builder.add(i, c), builder.add(j, c))
            builder.store(builder.sub(builder.load(total), match), total)
        out = builder.bitcast(pointers[2], _BYTES.as_pointer())
        builder.store(builder.load(total), out, align=1)
        return context.get_dummy_value()

    return types.void(x, panel, equal, types.intp, types.intp, types.intp), emit


def _slide_windows(typingctx, x, panel, equal, valid, counters, i, j, g, steps, first, n_counters):
    """``slide_windows(…)``: count the pairs of windows that begin at i + t and j + t, t < steps.

    ``equal`` holds the equal positions of the first g − 1 of the first window, and afterwards those
    of the next one. Counter e gets the windows with at least ``first + e``; once no lane has that
    number, none has more. The first counters are in registers.
    """

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointers = _pointers(context, builder, signature, args)
        held, valid, counters = pointers[2:]
        i, j, g, steps, first, n_counters = args[5:]
        held = builder.bitcast(held, _BYTES.as_pointer())
        equal = cgutils.alloca_once_value(builder, builder.load(held, align=1))
        ahead = builder.sub(g, ir.Constant(g.type, 1))
        zero = ir.Constant(_BYTES, [0] * LANES)
        held_counts = [cgutils.alloca_once_value(builder, zero) for _ in range(IN_REGISTERS)]
        bounds = [
            _everywhere(builder, _byte(builder, builder.add(first, ir.Constant(first.type, e))))
            for e in range(IN_REGISTERS + 1)
        ]
        with cgutils.for_range(builder, steps) as outer:
            a, b = builder.add(i, outer.index), builder.add(j, outer.index)
            enters = _matches(builder, pointers, builder.add(a, ahead), builder.add(b, ahead))
            now = builder.sub(builder.load(equal), enters)
            seen = builder.and_(now, _line(builder, valid, b))
            for count, bound in zip(held_counts, bounds, strict=False):
                enough = builder.sext(builder.icmp_unsigned(">=", seen, bound), _BYTES)
                builder.store(builder.sub(builder.load(count), enough), count)
            more = builder.not_(_none(builder, builder.icmp_unsigned(">=", seen, bounds[-1])))
            with builder.if_then(more, likely=False):
                start = ir.Constant(n_counters.type, IN_REGISTERS)
                with cgutils.for_range_slice(
                    builder, start, n_counters, ir.Constant(n_counters.type, 1)
                ) as (e, _):
                    least = _everywhere(builder, _byte(builder, builder.add(first, e)))
                    enough = builder.icmp_unsigned(">=", seen, least)
                    _add_count(builder, counters, e, builder.sext(enough, _BYTES))
            builder.store(builder.add(now, _matches(builder, pointers, a, b)), equal)
        builder.store(builder.load(equal), held, align=1)
        for e, count in enumerate(held_counts):
            number = ir.Constant(n_counters.type, e)
            with builder.if_then(builder.icmp_signed("<", number, n_counters)):
                _add_count(builder, counters, number, builder.neg(builder.load(count)))
        return context.get_dummy_value()

    counts = [types.intp] * 6
    return types.void(x, panel, equal, valid, counters, *counts), emit


begin_windows: Any = intrinsic(_begin_windows)
slide_windows: Any = intrinsic(_slide_windows)


@compiled
def _one_sequence(x, panel, valid, g, first, increments, counters, equal, total):
    """Add the sums of x with all lanes of a panel to ``total``."""
    longest, n_counters = panel.size // LANES, g + 1 - first
    counted = 0
    for shift in range(g - x.size, longest - g + 1):
        i, j = max(0, -shift), max(0, shift)
        begin_windows(x, panel, equal, i, j, g - 1)
        left = min(x.size - i, longest - j) - g + 1
        while left > 0:
            steps = min(left, MOST_STEPS - counted)
            slide_windows(x, panel, equal, valid, counters, i, j, g, steps, first, n_counters)
            i, j, left, counted = i + steps, j + steps, left - steps, counted + steps
            if counted == MOST_STEPS:
                _flush(counters, increments, first, total)
                counted = 0
    _flush(counters, increments, first, total)


@compiled
def _flush(counters, increments, first, total):
    for e in range(counters.size // LANES):
        counter = counters[e * LANES : (e + 1) * LANES]
        for lane in range(LANES):
            total[lane] += increments[first + e] * counter[lane]
            counter[lane] = 0


@compiled
def self_sums(codes, offsets, rows, g, values, out):
    """The sums of each sequence with itself; ``values[e]`` is f(e)."""
    for i in range(rows.size):
        x = codes[offsets[rows[i]] : offsets[rows[i] + 1]]
        windows = x.size - g + 1
        total = max(windows, 0) * values[g]
        for shift in range(1, windows):
            equal = 0
            for c in range(g - 1):
                equal += x[c] == x[shift + c]
            for t in range(windows - shift):
                equal += x[t + g - 1] == x[shift + t + g - 1]
                total += 2 * values[equal]
                equal -= x[t] == x[shift + t]
        out[i] = total
