"""Kernels on structured samples: strings and other sequences, and what these kernels share.

=======================  ================================================================
_sample_types.py         from what the user gives (lists, arrays, columns) to samples
_sparse_features.py      `SparseFeatureKernel`: kernels with sparse features φ(x)
_feature_sums.py         predictions by such features
_sequences.py            strings and token lists as integer codes
_sequence_kernel.py      `SequenceKernel`: kernels on pairs of sequences
_spectrum.py             Spectrum
_windows.py              GappedKmer, Mismatch
_alignment.py            WeightedDegree, Subsequence, LocalAlignment
_reference.py            Spectrum once more, for `mercer.verify`
_reference_sequences.py  the others
=======================  ================================================================

docs/design.md has a section on adding a kernel. The names are public in `mercer.kernels`.
"""
