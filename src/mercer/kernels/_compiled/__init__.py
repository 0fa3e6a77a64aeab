"""Compiled parts of kernels.

==================  ==============================================================
products.py         dot products of two blocks of rows: BLAS or the two below
sparse_dot.py       products of dense panels with rows of few nonzeros
sparse_pairwise.py  tiles on CSR rows
elementwise.py      in-place maps from dot products to kernel values
differences.py      RBF values from coordinate differences, for rows of large norm
column_means.py     sums over columns of kernels of single columns
sequence_pairs.py   recursions over two sequences of codes
windows.py          sums over all pairs of windows of two sequences
series_lanes.py     time series side by side
series_alignment.py the recursion of global alignment
series_rows.py      rows of this recursion
series_warping.py   that of dynamic time warping
graphs.py           numbers of equal rows, shortest paths
random_walks.py     sums over pairs of graphs for random walks
==================  ==============================================================
"""
