"""What linear models are fitted to: LIBLINEAR's problem, its intercept penalised as ½ b²."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer

from benchmarks.data import load

__all__ = ["LINEAR_CASES", "LOSSES", "LinearCase"]

LOSSES = ("hinge", "squared_hinge", "logistic")
SYNTHETIC_ROWS, SYNTHETIC_COLUMNS = 1_000_000, 10


@dataclass(frozen=True)
class LinearCase:
    """A data set as two classes, and C."""

    name: str
    read: Callable[[], tuple[Any, np.ndarray]]
    C: float = 1.0
    headline: bool = True  # counts in the geometric mean


def _rows(name: str, positive: Callable[[np.ndarray], np.ndarray], how: str = "") -> Callable:
    """Reads a set: rows as they are, standardised, or bytes as parts of 255."""

    def read() -> tuple[Any, np.ndarray]:
        data = load(name)
        X, y = data.X, np.where(positive(data.y), 1.0, -1.0)
        if how == "standardise":
            std = X.std(axis=0)
            X = (X - X.mean(axis=0)) / np.where(std > 0, std, 1.0)
        return (X / 255 if how == "bytes" else X), y

    return read


def _synthetic() -> tuple[np.ndarray, np.ndarray]:
    """Labels of a linear rule under as much noise as there is signal."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(SYNTHETIC_ROWS, SYNTHETIC_COLUMNS))
    w = rng.normal(size=SYNTHETIC_COLUMNS)
    noise = np.linalg.norm(w) * rng.normal(size=SYNTHETIC_ROWS)
    return X, np.where(X @ w + noise > 0, 1.0, -1.0)


def _text(n: int, words: int, columns: int) -> Callable:
    """Documents of two topics as tf-idf rows of length one; words are drawn by Zipf's law."""

    def read() -> tuple[Any, np.ndarray]:
        rng = np.random.default_rng(0)
        y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
        noisy = np.where(rng.random(n) < 0.1, -y, y)
        frequency, leaning = 1 / np.arange(1, columns + 1) ** 1.05, rng.normal(size=columns)
        length = rng.poisson(words, n) + 5
        drawn = np.empty(length.sum(), dtype=np.int64)
        of_row = np.repeat(noisy, length)
        for topic in (-1.0, 1.0):
            weight = frequency * np.exp(0.75 * topic * leaning)
            places = np.flatnonzero(of_row == topic)
            drawn[places] = rng.choice(columns, places.size, p=weight / weight.sum())
        rows = np.repeat(np.arange(n), length)
        counts = sp.csr_matrix((np.ones(drawn.size), (rows, drawn)), shape=(n, columns))
        return TfidfTransformer(sublinear_tf=True).fit_transform(counts), y

    return read


def _first_ten(y: np.ndarray) -> np.ndarray:
    return np.isin(y, np.unique(y)[:10])


def _even(y: np.ndarray) -> np.ndarray:
    return y % 2 == 0


def _positive(y: np.ndarray) -> np.ndarray:
    return y > 0


_ALL = [
    LinearCase("covtype", _rows("covtype", lambda y: y == 2, "standardise")),
    LinearCase("synthetic", _synthetic),
    LinearCase("mnist", _rows("mnist", _even, "bytes"), C=0.01),
    LinearCase("a9a", _rows("a9a", _positive)),
    LinearCase("w8a", _rows("w8a", _positive)),
    LinearCase("ijcnn1", _rows("ijcnn1", _positive)),
    LinearCase("news20_tfidf", _rows("news20_tfidf", _first_ten)),
    LinearCase("text", _text(8_000, 60, 30_000), headline=False),
    LinearCase("spambase", _rows("spambase", _positive, "standardise"), headline=False),
    LinearCase("letter", _rows("letter", lambda y: y <= 13), headline=False),
    LinearCase("satimage", _rows("satimage", lambda y: y <= 3, "bytes"), headline=False),
    LinearCase("usps", _rows("usps", _even), headline=False),
    LinearCase("svmguide1", _rows("svmguide1", _positive, "standardise"), headline=False),
]
LINEAR_CASES = {case.name: case for case in _ALL}
