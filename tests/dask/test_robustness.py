"""Bad input gives a clear error; lost clusters and checkpoints give the same model."""

from __future__ import annotations

import socket

import numpy as np
import pytest

import mercer

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")
from mercer.dask import (  # noqa: E402
    SVC,
    SVR,
    LinearSVC,
    LinearSVR,
    LogisticRegression,
    PegasosClassifier,
)
from mercer.dask._client import find_client  # noqa: E402

HOW = {
    "processes": False,
    "dashboard_address": "127.0.0.1:0",
    "threads_per_worker": 1,
    "n_workers": 2,
}


def cut(X, rows=200):
    return da.from_array(X, chunks=(rows, -1))


def test_bad_numbers_name_chunk_row_and_column(client, rows):
    X, y = rows
    X[417, 3] = np.nan
    with pytest.raises(ValueError, match="X is NaN or infinite in chunk 2, row 17, column 3"):
        LinearSVC().fit(cut(X), y)
    with pytest.raises(ValueError, match="sample_weight is NaN or infinite in chunk 1, row 0"):
        LinearSVC().fit(cut(X[:300]), y[:300], np.where(np.arange(300) == 200, np.inf, 1))


def test_bad_collections(client, rows):
    X, y = rows
    chunks = cut(X)
    with pytest.raises(TypeError, match=r"Dask array or data frame.*from_array"):
        LinearSVC().fit(X, y)
    with pytest.raises(ValueError, match="y has 500 rows, but X has 600"):
        LinearSVC().fit(chunks, y[:500])
    with pytest.raises(ValueError, match=r"greater than one; got 1 class \(1\.0\)"):
        LinearSVC().fit(chunks, np.ones(600))
    with pytest.raises(ValueError, match="no rows with a positive weight"):
        LinearSVC().fit(chunks, y, np.zeros(600))
    for supervised in (LinearSVC, LinearSVR, SVC, SVR, PegasosClassifier):
        with pytest.raises(ValueError, match="y is missing"):
            supervised().fit(chunks, None)
    unknown = chunks[chunks[:, 0] > 0]
    with pytest.raises(ValueError, match=r"unknown sizes.*compute_chunk_sizes"):
        LinearSVC().fit(unknown, y[X[:, 0] > 0])
    with pytest.raises(ValueError, match=r"y has 2 chunks, but X has 3.*compute_chunk_sizes"):
        LinearSVC().fit(unknown, da.from_array(y, chunks=300))
    with pytest.raises(ValueError, match="y must hold numbers in chunk"):
        LinearSVR().fit(chunks, np.where(y > 0, "yes", "no"))
    labels = da.from_array(y.astype(str), chunks=200).map_blocks(_numbers_first, dtype=object)
    with pytest.raises(ValueError, match="numbers in some chunks and text in others"):
        LinearSVC().fit(chunks, labels)


def _numbers_first(block, block_id=None):
    return block.astype(int) if block_id[0] == 0 else block


@pytest.mark.parametrize(
    "parameters", [{"penalty": "l1"}, {"C": np.inf}, {"multi_class": "crammer_singer"}]
)
def test_what_is_not_solved_in_rounds_is_refused(parameters, rows):
    with pytest.raises(ValueError, match=r"not solved in rounds.*mercer\.LinearSVC"):
        LinearSVC(**parameters).fit(cut(rows[0]), rows[1])


def test_rows_too_wide_for_a_matrix_of_columns(client, rows):
    wide = da.zeros((600, 10_001), chunks=(300, -1))
    with pytest.raises(ValueError, match=r"10,001 columns.*at most 10,000"):
        LinearSVC().fit(wide, rows[1])


def test_no_scheduler_at_the_address(rows):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(ConnectionError, match=r"No Dask scheduler answers at tcp.*dask scheduler"):
        LinearSVC(scheduler=address, scheduler_timeout=0.3).fit(cut(rows[0]), rows[1])


def test_no_workers(rows):
    with (
        distributed.LocalCluster(**HOW | {"n_workers": 0}) as cluster,
        distributed.Client(cluster),
        pytest.raises(TimeoutError, match=r"has had no worker for 0\.5 s.*checkpoint="),
    ):
        LinearSVC(scheduler_timeout=0.5).fit(cut(rows[0]), rows[1])


class StopAfter:
    """A callback that ends a fit at a round; its state is the checkpoint's."""

    def __init__(self, rounds):
        self.rounds = rounds

    def __call__(self, progress):
        return progress.rounds >= self.rounds


@pytest.mark.parametrize(
    ("cls", "parameters"),
    [(LinearSVC, {"loss": "hinge", "intercept_scaling": None}), (LogisticRegression, {"C": 50})],
)
def test_a_checkpoint_survives_the_cluster(cls, parameters, rows, tmp_path):
    X, y = rows
    whole = part = None
    for checkpoint, callback in (
        (None, None),
        (tmp_path / "run", StopAfter(2)),
        (tmp_path / "run", None),
    ):
        with distributed.LocalCluster(**HOW) as cluster, distributed.Client(cluster):
            model = cls(**parameters, tol=1e-6, checkpoint=checkpoint, callback=callback)
            model.fit(cut(X), y)
        if checkpoint is None:
            whole = model
        elif callback is not None:
            part = model
    assert not part.certificate_.status.is_solved
    assert model.certificate_.status.is_solved
    assert np.array_equal(model.coef_, whole.coef_)
    assert np.array_equal(model.intercept_, whole.intercept_)
    assert model.certificate_.rounds == whole.certificate_.rounds
    with (
        distributed.LocalCluster(**HOW) as cluster,
        distributed.Client(cluster),
        pytest.raises(mercer.FileError, match=r"another run: C was .* and is now 2; data was"),
    ):
        cls(**parameters | {"C": 2}, tol=1e-6, checkpoint=tmp_path / "run").fit(cut(X + 1), y)


def test_a_new_scheduler_at_the_same_address(rows):
    """Chunks, duals and the round in flight are submitted again."""
    X, y = rows
    over_tcp = {**HOW, "host": "127.0.0.1", "protocol": "tcp"}
    clusters = [distributed.LocalCluster(**over_tcp)]
    address = clusters[0].scheduler_address
    port = int(address.rpartition(":")[2])

    def restart(progress):
        if progress.rounds == 3 and len(clusters) == 1:
            clusters[0].close()
            clusters.append(distributed.LocalCluster(**over_tcp, scheduler_port=port))

    parameters = {"loss": "hinge", "tol": 1e-4, "scheduler": address}
    try:
        model = LinearSVC(**parameters, callback=restart).fit(cut(X), y)
        assert len(clusters) == 2
        again = LinearSVC(**parameters).fit(cut(X), y)
        find_client(address, 5.0).close()
    finally:
        clusters[-1].close()
    assert model.certificate_.status.is_solved
    assert np.array_equal(model.coef_, again.coef_)
