"""Rows that come in pieces: where they are read from, and where a run over them stands.

==============  ===================================================================
source.py       `Stream`, what all have in common; `Batches`, `Npy`; `as_stream`
parquet.py      `Parquet`: a file or a folder of them, by column names
svmlight.py     `Svmlight`: LIBSVM's text format, errors with their line
ahead.py        the next batches are read while one is worked on
checkpoint.py   a file that is either the old or the new one, whole
progress.py     `StreamProgress`, what a callback is told
==============  ===================================================================

A stream gives the same batches every time it is begun, so that a run can be taken up after any of
them.
"""

from mercer.streams.ahead import read_ahead
from mercer.streams.checkpoint import Checkpoint
from mercer.streams.parquet import Parquet
from mercer.streams.progress import StreamProgress
from mercer.streams.source import Batch, Batches, Npy, Stream, as_stream
from mercer.streams.svmlight import Svmlight

__all__ = [
    "Batch",
    "Batches",
    "Checkpoint",
    "Npy",
    "Parquet",
    "Stream",
    "StreamProgress",
    "Svmlight",
    "as_stream",
    "read_ahead",
]
