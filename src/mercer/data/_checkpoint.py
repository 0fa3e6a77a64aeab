"""Where a run stands, in a file that is at every moment either the old one or the new one, whole.

The format is NumPy's ``.npz`` (a zip archive with checksums) of plain arrays and one JSON text;
nothing in it is ever executed.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mercer.data._arrays import check_sizes
from mercer.data._files import replacing
from mercer.exceptions import FileError

__all__ = ["Checkpoint"]

# 2: other orders within a batch than in 1.
VERSION = 2
_DAMAGED = (
    "checkpoint {} cannot be read ({}). It is damaged or no checkpoint: delete it to begin anew, "
    "or give another path."
)


class Checkpoint:
    """A file that keeps arrays and plain values of a run with a given fingerprint.

    Parameters
    ----------
    path : str or path
    fingerprint : dict of JSON values
        What the run depends on. A file with another one is refused.

    Examples
    --------
    >>> import numpy as np, tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = Checkpoint(pathlib.Path(folder.name) / "run.npz", {"lam": 0.1})
    >>> file.load() is None
    True
    >>> file.save({"w": np.ones(2)}, {"batches": 7})
    >>> arrays, values = file.load()
    >>> arrays["w"], values["batches"]
    (array([1., 1.]), 7)
    >>> folder.cleanup()
    """

    def __init__(self, path: str | os.PathLike, fingerprint: Mapping[str, Any]):
        self.path = Path(path)
        if not self.path.parent.is_dir():
            raise ValueError(f"checkpoint={str(path)!r}: there is no folder {self.path.parent}.")
        # As it comes back from a file: tuples are lists there.
        self.fingerprint = json.loads(json.dumps(fingerprint))

    def save(self, arrays: Mapping[str, np.ndarray], values: Mapping[str, Any]) -> None:
        """Replace the file. A crash at any moment leaves the old one or the new one."""
        head = {"version": VERSION, "fingerprint": self.fingerprint, "values": dict(values)}
        part = self.path.with_name(self.path.name + ".part")
        with replacing(self.path, part) as file:
            np.savez(file, head=np.array(json.dumps(head)), **dict[str, Any](arrays))

    @staticmethod
    def is_one(path: str | os.PathLike) -> bool:
        """Whether a file has the form of a checkpoint, of whatever run and version."""
        try:
            with zipfile.ZipFile(path) as archive:
                return "head.npy" in archive.namelist()
        except Exception:  # of a damaged archive zipfile also raises other errors
            return False

    @staticmethod
    def read(path: str | os.PathLike) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Version, fingerprint and values of a file, and its arrays."""
        try:
            with open(path, "rb") as file:
                check_sizes(file)
                with np.load(file, allow_pickle=False) as saved:
                    arrays = {name: saved[name] for name in saved.files}
            head = json.loads(str(arrays.pop("head")))
            if not (isinstance(head["fingerprint"], dict) and isinstance(head["values"], dict)):
                raise ValueError("its head is something else")
            return {"version": head["version"], **head}, arrays
        except FileNotFoundError:
            raise
        except Exception as error:
            raise FileError(str(path), None, _DAMAGED.format(path, error)) from error

    def load(self) -> tuple[dict[str, np.ndarray], dict[str, Any]] | None:
        """What was saved last; None if nothing was."""
        try:
            head, arrays = self.read(self.path)
        except FileNotFoundError:
            return None
        version, of, values = head["version"], head["fingerprint"], head["values"]
        if version != VERSION:
            what = (
                f"checkpoint {self.path} has version {version}, but this is {VERSION}. Finish the "
                "run with the version of Mercer that began it, or delete the file to begin anew."
            )
            raise FileError(str(self.path), None, what)
        self._refuse_others(of)
        return arrays, values

    def damaged(self, reason: Any) -> FileError:
        """The error for a file whose content is no checkpoint."""
        return FileError(str(self.path), None, _DAMAGED.format(self.path, reason))

    def _refuse_others(self, saved: Mapping[str, Any]) -> None:
        differing = [
            f"{name} was {saved.get(name)!r} and is now {self.fingerprint.get(name)!r}"
            for name in sorted({*saved, *self.fingerprint})
            if saved.get(name) != self.fingerprint.get(name)
        ]
        if differing:
            what = (
                f"checkpoint {self.path} is of another run: {'; '.join(differing)}. Give what was "
                "given then, delete the file to begin anew, or give another path."
            )
            raise FileError(str(self.path), None, what)
