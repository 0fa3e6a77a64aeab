"""Kernels on sets of tokens and on bags of samples.

==================  ===============================================================
_token_sets.py      Intersection, Jaccard: how many tokens two sets share
_mean_embedding.py  MeanEmbedding: the mean kernel value between two bags of samples
_bags.py            bags of rows, of table rows and of other samples; `related_rows`
_reference.py       these kernels once more, for `mercer.verify`
==================  ===============================================================

The names are public in `mercer.kernels`.
"""
