"""Kernels on time series: one or several channels, of equal or different lengths.

====================  ====================================================================
_series.py            series as flat arrays, checked; what the kernels share
_global_alignment.py  GlobalAlignment: the sum over all alignments
_dtw.py               DTW: the best alignment, which gives no positive semidefinite kernel
_reference.py         both once more, for `mercer.verify`
====================  ====================================================================

The names are public in `mercer.kernels`.
"""
