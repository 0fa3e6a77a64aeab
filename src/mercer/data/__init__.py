"""Where X and y come from: tables in files, and streams of batches.

=====================  =======================================================================
_table.py              `read_table`: rows and targets from files of any common format
_csv.py                CSV and its relatives: by pyarrow, or by the standard library's `csv`
_layout.py             delimiter, names and a sample of delimited text
_parquet.py            Parquet: a table, and the stream `Parquet` over one file or a folder
_svmlight.py           LIBSVM's text format: a table, and the stream `Svmlight`
_svmlight_core.py      its lines and numbers, compiled
_arrays.py             ``.npy`` and ``.npz``; checks of CSR arrays
_columns.py            columns of a file: their numbers and words
_roles.py              what columns are for: features, words, the target
_schema.py             `Schema`: how a file's columns become the columns of X
_samples.py            rows, series and texts as kernels on structures take them
_learn.py              the `Schema` of a file that a model is trained on
_dates.py              dates and times of day as numbers
_write.py              `write_predictions`, `write_table`
_files.py              opening, decompressing and replacing files
_stream.py             `Stream`, `Batches`, `Npy`; `as_stream`, `read_ahead`, `StreamProgress`
_memmap.py             `to_memmap`: any source as a memory-mapped file
_checkpoint.py         files that are replaced whole
_column_statistics.py  statistics of columns, and warnings about their scales
=====================  =======================================================================

CSV and Parquet take one path: file → Arrow table → columns → `Schema` → X and y. A stream gives the
same batches every time it is started, so that a run can be resumed after any of them.
"""

from mercer.data._checkpoint import Checkpoint
from mercer.data._memmap import to_memmap
from mercer.data._parquet import Parquet
from mercer.data._schema import Column, Schema
from mercer.data._stream import (
    Batch,
    Batches,
    Npy,
    Stream,
    StreamProgress,
    as_stream,
    read_ahead,
)
from mercer.data._svmlight import Svmlight
from mercer.data._table import Table, read_table
from mercer.data._write import write_predictions, write_table

__all__ = [
    "Batch",
    "Batches",
    "Checkpoint",
    "Column",
    "Npy",
    "Parquet",
    "Schema",
    "Stream",
    "StreamProgress",
    "Svmlight",
    "Table",
    "as_stream",
    "read_ahead",
    "read_table",
    "to_memmap",
    "write_predictions",
    "write_table",
]
