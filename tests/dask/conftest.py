"""One cluster of threads for all tests of a file, and data cut into chunks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest


@pytest.fixture(scope="module")
def client() -> Iterator:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def rows(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """600 rows of 5 columns and labels ±1 with noise."""
    X = rng.normal(size=(600, 5))
    scores = X @ np.array([1.0, -2.0, 0.5, 0.0, 1.0]) + 0.3
    return X, np.where(scores + rng.normal(size=600) > 0, 1, -1)
