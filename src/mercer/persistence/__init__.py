"""Fitted models in files. Nothing that is read is ever executed.

================  ============================================================
_model_file.py    `save`, `load`, `open_model`: a fitted estimator in one file
_container.py     the safetensors format, with a checksum of the whole file
_state.py         fitted state as JSON and arrays, and back
_registry.py      the classes a file may name, and their earlier names
_model_arrays.py  what the arrays of a fitted model are
_sequences.py     arrays of texts and sequences as flat arrays and offsets
_graphs.py        arrays of graphs as flat arrays
_validity.py      a file's content checked before use
_text_header.py   headers of the two formats that follow
_libsvm.py        models of LIBSVM, read and written
_liblinear.py     models of LIBLINEAR, read and written
================  ============================================================
"""

from mercer.exceptions import FileError
from mercer.persistence._liblinear import is_liblinear, read_liblinear, write_liblinear
from mercer.persistence._libsvm import is_libsvm, read_libsvm, write_libsvm
from mercer.persistence._model_file import ModelFile, load, open_model, save

__all__ = [
    "FileError",
    "ModelFile",
    "is_liblinear",
    "is_libsvm",
    "load",
    "open_model",
    "read_liblinear",
    "read_libsvm",
    "save",
    "write_liblinear",
    "write_libsvm",
]
