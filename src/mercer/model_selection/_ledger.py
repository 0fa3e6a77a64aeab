"""What a search has found so far: scores and times of each candidate on each split.

One object that all threads write to. It keeps a file to resume from, tells a callback about the
progress, and makes ``cv_results_``.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata

from mercer._precision import EPS
from mercer.exceptions import FileError
from mercer.solvers import Stopping

__all__ = ["Cell", "Ledger", "SearchProgress", "fingerprint"]

FORMAT = "mercer-search"


@dataclass(frozen=True)
class SearchProgress:
    """What a callback is told after each fold of a group of candidates.

    Attributes
    ----------
    seconds : float
        Since the search began.
    done, total : int
        Fits: candidates times splits.
    seconds_left : float
        An estimate: the time so far, times the fits left over those done.
    best_score : float
        Of the candidates whose splits are all done; before there is one, on the splits that are
        done. NaN before the first.
    best_params : dict
    """

    seconds: float
    done: int
    total: int
    seconds_left: float
    best_score: float
    best_params: dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """One candidate on one split."""

    candidate: int
    split: int
    score: float
    train_score: float = np.nan
    fit_seconds: float = np.nan
    score_seconds: float = np.nan
    violation: float = np.nan

    def as_json(self) -> str:
        """A line of the file; JSON has no NaN."""
        items = {k: None if v != v else v for k, v in vars(self).items()}
        return json.dumps(items, allow_nan=False)

    @classmethod
    def of_json(cls, line: str) -> Cell:
        given: dict[str, Any] = json.loads(line)
        items: Any = {k: np.nan if v is None else v for k, v in given.items()}
        return cls(**items)


class Ledger:
    """Scores of all candidates on all splits, NaN where they are not known.

    Parameters
    ----------
    candidates : list of dict
    n_splits : int
    stopping : Stopping
        Whose callback gets a `SearchProgress`.
    has_train_scores : bool

    Attributes
    ----------
    duals : dict
        β of each task of a (candidate, split), where the search keeps them.
    """

    def __init__(
        self,
        candidates: Sequence[dict[str, Any]],
        n_splits: int,
        stopping: Stopping,
        has_train_scores: bool = False,
    ):
        self.candidates, self.n_splits = list(candidates), n_splits
        self.stopping, self.has_train_scores = stopping, has_train_scores
        shape = len(self.candidates), n_splits
        self.score, self.train_score, self.fit_seconds, self.score_seconds, self.violation = (
            np.full((5, *shape), np.nan)
        )
        self.is_done = np.zeros(shape, bool)
        self.duals: dict[tuple[int, int], list[np.ndarray]] = {}
        self._lock = threading.Lock()
        self._file: Path | None = None
        self._resumed = 0

    def is_known(self, candidates: Sequence[int], split: int) -> bool:
        """Whether all of these candidates are done on a split."""
        return bool(self.is_done[np.asarray(candidates), split].all())

    def record(self, cells: Sequence[Cell]) -> None:
        """Keep the cells, write them to the file, report the progress."""
        with self._lock:
            for cell in cells:
                self._set(cell)
            if self._file is not None and cells:
                with open(self._file, "a", encoding="utf-8") as file:
                    file.writelines(cell.as_json() + "\n" for cell in cells)
        if self.stopping.callback is not None:
            self.stopping.report(self.progress())

    def _set(self, cell: Cell) -> None:
        at = cell.candidate, cell.split
        self.score[at], self.train_score[at] = cell.score, cell.train_score
        self.fit_seconds[at], self.score_seconds[at] = cell.fit_seconds, cell.score_seconds
        self.violation[at], self.is_done[at] = cell.violation, True

    # ------------------------------------------------------------------ progress and the best

    def progress(self) -> SearchProgress:
        """How far the search is."""
        done, total = int(self.is_done.sum()), self.is_done.size
        seconds = self.stopping.seconds
        left = seconds * (total - done) / max(done - self._resumed, 1)
        best = self.best()
        score, params = (
            (np.nan, {}) if best is None else (self.comparable()[best], self.candidates[best])
        )
        return SearchProgress(seconds, done, total, left, float(score), params)

    def mean(self) -> np.ndarray:
        """The mean score of each candidate; NaN where a split is missing."""
        return self.score.mean(axis=1)

    def best(self) -> int | None:
        """The first of `ties`."""
        ties = self.ties()
        return int(ties[0]) if ties.size else None

    def ties(self) -> np.ndarray:
        """All complete candidates whose mean score is the largest, up to rounding.

        Of a search that was stopped: see `comparable`.
        """
        mean = self.comparable()
        if np.isnan(mean).all():
            return np.zeros(0, np.intp)
        largest = float(np.nanmax(mean))
        rounding = 8 * EPS * max(abs(largest), 1.0)
        return np.flatnonzero(mean >= largest - rounding)

    def comparable(self) -> np.ndarray:
        """Mean scores on the same splits, NaN where there is none.

        Those of the complete candidates, if there are some. Else of all candidates on the splits
        that all have; else of the candidates with the most splits.
        """
        mean, known = self.mean(), self.is_done & ~np.isnan(self.score)
        if not np.isnan(mean).all() or not known.any():
            return mean
        of_all, count = known.all(axis=0), known.sum(axis=1)
        if of_all.any():
            return self.score[:, of_all].mean(axis=1)
        total = np.where(known, self.score, 0.0).sum(axis=1)
        return np.where(count == count.max(), total / count.max(), np.nan)

    def results(self) -> dict[str, Any]:
        """``cv_results_`` in scikit-learn's shape, and the largest KKT violation of the fits."""
        out: dict[str, Any] = {}
        for name, times in (("fit_time", self.fit_seconds), ("score_time", self.score_seconds)):
            out[f"mean_{name}"], out[f"std_{name}"] = times.mean(axis=1), times.std(axis=1)
        for name in sorted({name for params in self.candidates for name in params}):
            out[f"param_{name}"] = _column(
                [params.get(name, _MISSING) for params in self.candidates]
            )
        out["params"] = self.candidates
        scores = [("test_score", self.score)]
        if self.has_train_scores:
            scores.append(("train_score", self.train_score))
        for name, found in scores:
            for split in range(self.n_splits):
                out[f"split{split}_{name}"] = found[:, split].copy()
            out[f"mean_{name}"], out[f"std_{name}"] = found.mean(axis=1), found.std(axis=1)
            if name == "test_score":
                worst = np.nan_to_num(out[f"mean_{name}"], nan=-np.inf)
                out[f"rank_{name}"] = rankdata(-worst, method="min").astype(np.int32)
        out["max_kkt_violation"] = self.violation.max(axis=1)
        return out

    # ------------------------------------------------------------------ the file to resume from

    def resume(self, path: str | os.PathLike, print_of_search: str) -> None:
        """Read what a file has of the same search, and append to it from now on."""
        self._file = Path(path)
        head = {"format": FORMAT, "version": 1, "fingerprint": print_of_search}
        if not self._file.exists() or not self._file.stat().st_size:
            self._file.write_text(json.dumps(head) + "\n", encoding="utf-8")
            return
        lines = self._file.read_text(encoding="utf-8").split("\n")
        try:
            found = json.loads(lines[0])
            is_search = found["format"] == FORMAT
        except (ValueError, KeyError, TypeError):
            is_search = False
        if not is_search:
            raise FileError(str(path), 1, "is not a file of a search; give resume= another path.")
        if found != head:
            raise FileError(
                str(path),
                1,
                "is of another search: the data, the folds, the grid or a parameter differ. Give "
                "resume= another path, or delete the file.",
            )
        for number, line in enumerate(lines[1:], start=2):
            try:
                cell = Cell.of_json(line) if line else None
                if cell is not None:
                    self._set(cell)
            except (ValueError, TypeError, IndexError):
                if number < len(lines):  # a line that was cut off ends the file
                    raise FileError(
                        str(path), number, "is not a cell of the search; delete the line."
                    ) from None
        if lines[-1]:
            with open(self._file, "a", encoding="utf-8") as file:
                file.write("\n")
        self._resumed = int(self.is_done.sum())


_MISSING = object()


def _column(values: list[Any]) -> np.ma.MaskedArray:
    """A masked array of one parameter, numbers as numbers, as in scikit-learn."""
    present = [value for value in values if value is not _MISSING]
    kinds = {type(value) for value in present}
    dtype: Any = object
    if len(kinds) == 1 and issubclass(kinds.pop(), (bool, int, float, np.number)):
        dtype = np.asarray(present).dtype
    column = np.ma.MaskedArray(np.empty(len(values), dtype), mask=True)
    for i, value in enumerate(values):
        if value is not _MISSING:
            column[i] = value
    return column


def fingerprint(*parts: Any) -> str:
    """A SHA-256 of arrays (also sparse, also of objects) and of the ``repr`` of all else."""
    digest = hashlib.sha256()
    for part in parts:
        for item in (part.data, part.indices, part.indptr) if hasattr(part, "indptr") else (part,):
            is_array = isinstance(item, np.ndarray) and item.dtype != object
            # Addresses of functions and objects differ between processes.
            text = "" if is_array else re.sub(r" at 0x[0-9a-fA-F]+", "", repr(item))
            data = np.ascontiguousarray(item).tobytes() if is_array else text.encode()
            digest.update(str((type(item).__name__, np.shape(item), len(data))).encode())
            digest.update(data)
    return digest.hexdigest()
