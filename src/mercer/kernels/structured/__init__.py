"""Kernels on structured samples: strings and other sequences, and what these kernels share.

=====================  ==================================================================
_sample_types.py       from what the user gives (lists, arrays, columns) to samples
_sequences.py          strings and token lists as integer codes
_sparse_features.py    `SparseFeatureKernel`: kernels with sparse features φ(x)
_spectrum.py           Spectrum
_reference.py          the same kernels once more, for `mercer.verify`
=====================  ==================================================================

docs/design.md has a section on adding a kernel. The names are public in `mercer.kernels`.
"""
