"""Compiled parts of kernels.

==================  ===============================================================
products.py         dot products of two blocks of rows: BLAS or the two below
sparse_dot.py       products of dense panels with rows of few nonzeros
sparse_pairwise.py  tiles on CSR rows
elementwise.py      in-place maps from dot products to kernel values
differences.py      RBF values from coordinate differences, for rows of large norm
==================  ===============================================================
"""
