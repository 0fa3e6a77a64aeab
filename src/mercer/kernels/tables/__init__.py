"""Kernels on tables: samples that are rows with columns of several kinds.

=================  ===============================================================
_table.py          `Table`: samples as columns, and how they are read
_encoded.py        `EncodedKernel`: kernels of differences of encoded columns
_column_kinds.py   Number, Category, Ordered, Cyclic: the encodings
_additive.py       the mean of the kernels of all columns, in one pass
_table_kernel.py   TableKernel: one kernel for all columns
_proposal.py       the kind of a column, learned from a data frame
_equality.py       Equality: weighted overlap of categories
_on_columns.py     OnColumns: any kernel on some columns
_reference.py      these kernels once more, for `mercer.verify`
=================  ===============================================================

The names are public in `mercer.kernels`.
"""
