"""Files: fitted models and tables of data. Nothing that is read is ever executed.

==============  ===================================================================
libsvm.py       models of LIBSVM, read and written
models.py       `save`, `load`, `open_model`: a fitted estimator in one file
container.py    the safetensors format, with a checksum of the whole file
codec.py        fitted state as JSON and arrays, and back
registry.py     the classes a file may name
schema.py       `Schema`: how a file's columns become the rows a model takes
tables.py       `read_table`: rows and targets out of files of any common format
delimited.py    CSV and its relatives (`_cells`: compiled)
arrays.py       ``.npy`` and ``.npz``; svmlight is in `mercer.streams`
parquet.py      Parquet
raw.py          columns as they are in a file, and what they are for
shaping.py      from there to rows: learned from a file, applied to others
writing.py      `write_predictions`, `write_table`
==============  ===================================================================
"""

from mercer.exceptions import FileError
from mercer.io.libsvm import is_libsvm, read_libsvm, write_libsvm
from mercer.io.models import ModelFile, load, open_model, save
from mercer.io.schema import Column, Schema
from mercer.io.tables import Table, read_table
from mercer.io.writing import write_predictions, write_table

__all__ = [
    "Column",
    "FileError",
    "ModelFile",
    "Schema",
    "Table",
    "is_libsvm",
    "load",
    "open_model",
    "read_libsvm",
    "read_table",
    "save",
    "write_libsvm",
    "write_predictions",
    "write_table",
]
