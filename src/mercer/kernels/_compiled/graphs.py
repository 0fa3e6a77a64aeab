"""Compiled loops over graphs: numbers of equal rows, shortest paths."""

from __future__ import annotations

import numpy as np

from mercer._numba import compiled

__all__ = ["number_rows", "path_lengths"]


def number_rows(
    heads: np.ndarray, indptr: np.ndarray, codes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Number the rows of a ragged array in the order in which they occur; equal rows alike.

    Row i is ``heads[i]`` and ``codes[indptr[i]:indptr[i + 1]]``. Returns the numbers, and where
    each of them occurs first.
    """
    size = 1 << max(4, int(2 * heads.size).bit_length())
    number, first = np.empty(heads.size, np.int64), np.empty(heads.size, np.int64)
    count = _number_rows(heads, indptr, codes, np.full(size, -1, np.int64), number, first)
    return number, first[:count]


@compiled
def _number_rows(heads, indptr, codes, table, number, first):
    """A hash table with linear probing; rows of equal hashes are compared."""
    mask = np.uint64(table.size - 1)
    factor, shift = np.uint64(0x9E3779B97F4A7C15), np.uint64(29)
    count = 0
    for i in range(heads.size):
        start, stop = indptr[i], indptr[i + 1]
        mixed = (np.uint64(heads[i]) + factor) * factor
        for t in range(start, stop):
            mixed = (mixed ^ (mixed >> shift) ^ np.uint64(codes[t])) * factor
        mixed ^= mixed >> shift
        slot = mixed & mask
        while True:
            known = table[slot]
            if known < 0:
                table[slot] = count
                first[count] = i
                number[i] = count
                count += 1
                break
            j = first[known]
            length = indptr[j + 1] - indptr[j]
            is_equal = heads[j] == heads[i] and length == stop - start
            t = 0
            while is_equal and t < length:
                is_equal = codes[indptr[j] + t] == codes[start + t]
                t += 1
            if is_equal:
                number[i] = known
                break
            slot = (slot + np.uint64(1)) & mask
    return count


@compiled
def path_lengths(indptr, neighbours, first, n, queue, distance, out):
    """Write the number of edges of a shortest path between all pairs of nodes of a graph.

    Nodes are first, …, first + n − 1; ``out[u * n + v]`` is −1 where there is no path.
    """
    for u in range(n):
        for v in range(n):
            distance[v] = -1
        distance[u] = 0
        queue[0] = u
        end = 1
        at = 0
        while at < end:
            node = queue[at]
            at += 1
            for t in range(indptr[first + node], indptr[first + node + 1]):
                other = neighbours[t] - first
                if distance[other] < 0:
                    distance[other] = distance[node] + 1
                    queue[end] = other
                    end += 1
        for v in range(n):
            out[u * n + v] = distance[v]
