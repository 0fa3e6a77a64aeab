"""Where a run stands, in a file that is at every moment either the old one or the new one, whole.

The format is NumPy's ``.npz`` (a zip archive with checksums) of plain arrays and one JSON text;
nothing in it is ever executed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mercer.data._files import replacing
from mercer.exceptions import FileError

__all__ = ["Checkpoint"]

# 2: other orders within a batch than in 1.
VERSION = 2


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

    def load(self) -> tuple[dict[str, np.ndarray], dict[str, Any]] | None:
        """What was saved last; None if nothing was."""
        try:
            with open(self.path, "rb") as file, np.load(file, allow_pickle=False) as saved:
                arrays = {name: saved[name] for name in saved.files}
            head = json.loads(str(arrays.pop("head")))
            version, of, values = head["version"], head["fingerprint"], head["values"]
        except FileNotFoundError:
            return None
        except Exception as error:
            raise self.damaged(error) from error
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
        return FileError(
            str(self.path),
            None,
            f"checkpoint {self.path} cannot be read ({reason}). It is damaged or no checkpoint: "
            "delete it to begin anew, or give another path.",
        )

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
