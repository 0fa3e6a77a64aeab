"""Linear models in rounds over chunks: the optimum of the model in memory, certified."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import mercer

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")
from mercer.dask import LinearSVC, LinearSVR, LogisticRegression  # noqa: E402

CASES = {
    "squared hinge": (LinearSVC, {}),
    "squared hinge, free intercept": (LinearSVC, {"intercept_scaling": None}),
    "hinge": (LinearSVC, {"loss": "hinge"}),
    "hinge, free intercept": (LinearSVC, {"loss": "hinge", "intercept_scaling": None, "C": 5}),
    "hinge, no intercept": (LinearSVC, {"loss": "hinge", "fit_intercept": False}),
    "logistic": (LogisticRegression, {}),
    "ε-insensitive": (LinearSVR, {"epsilon": 0.1, "intercept_scaling": None}),
    "squared ε-insensitive": (
        LinearSVR,
        {"epsilon": 0.1, "loss": "squared_epsilon_insensitive", "C": 0.1},
    ),
}


def optimum(cls, parameters, X, y, weight=None):
    """The optimal value, to nine digits, by the solver in memory."""
    local = getattr(mercer, cls.__name__)(**parameters, tol=1e-9, max_iter=100_000)
    return local.fit(X, y, weight).certificate_


def check(model, cls, parameters, X, y, weight=None):
    """The certificate holds, and verify says so too."""
    best, stated = optimum(cls, parameters, X, y, weight), model.certificate_
    assert stated.status.is_solved
    assert stated.relative_gap <= model.tol
    assert stated.dual <= best.primal
    assert best.dual <= stated.primal
    assert stated.primal <= best.primal * (1 + 1.01 * model.tol)
    verified = mercer.verify(model, X, y, weight)
    assert verified.status.is_solved
    assert verified.primal == pytest.approx(stated.primal, rel=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_optimum_of_the_model_in_memory(case, client, rows):
    cls, parameters = CASES[case]
    X, y = rows
    model = cls(**parameters, tol=1e-5).fit(da.from_array(X, chunks=(150, 5)), y)
    check(model, cls, parameters, X, y)


def test_the_model_does_not_depend_on_the_workers(rows):
    X, y = rows
    chunks = da.from_array(X, chunks=(100, 5))
    models = []
    for n_workers in (1, 2, 4):
        how = {"processes": False, "dashboard_address": "127.0.0.1:0", "threads_per_worker": 1}
        with (
            distributed.LocalCluster(n_workers=n_workers, **how) as cluster,
            distributed.Client(cluster),
        ):
            models.append(LinearSVC(loss="hinge", tol=1e-3).fit(chunks, y))
    for model in models[1:]:
        assert np.array_equal(model.coef_, models[0].coef_)
        assert np.array_equal(model.intercept_, models[0].intercept_)
        assert model.certificate_.gap == models[0].certificate_.gap
        assert (model.dual_coef_ != models[0].dual_coef_).nnz == 0


def test_chunks_in_any_form_are_the_same_problem(client, rows, rng):
    """Sorted by class, with chunks of no rows, of several types, sparse, of unknown sizes."""
    X, y = rows
    order = np.argsort(y)
    X, y = X[order].astype(np.float32).astype(np.float64), y[order]
    arrays = da.from_array(X, chunks=((100, 0, 250, 250), 5))
    uneven = da.concatenate([arrays[:350].astype(np.float32), arrays[350:]])
    unknown = arrays[da.from_array(np.ones(600, bool), chunks=((100, 0, 250, 250),))]
    forms = {
        "empty": (arrays, y),
        "types": (uneven, y),
        "sparse": (arrays.map_blocks(sp.csr_matrix), y),
        "unknown": (unknown, da.from_array(y, chunks=((100, 0, 250, 250),))),
        "columns": (da.from_array(X, chunks=(200, 2)), da.from_array(y, chunks=77)),
    }
    for name, (chunks, labels) in forms.items():
        model = LinearSVC(tol=1e-6).fit(chunks, labels)
        assert model.certificate_.status.is_solved, name
        check(model, LinearSVC, {}, X, y)


def test_frames_weights_and_labels(client, rows, rng):
    import pandas as pd

    X, y = rows
    names, weight = list("abcde"), rng.integers(0, 3, 600).astype(float)
    frame = pd.DataFrame(X, columns=names).assign(label=np.where(y > 0, "yes", "no"), weight=weight)
    parts = dd.from_pandas(frame, npartitions=3)
    model = LinearSVC(tol=1e-6, class_weight="balanced")
    model.fit(parts[names], parts["label"], parts["weight"])
    assert list(model.feature_names_in_) == names
    assert list(model.classes_) == ["no", "yes"]
    check(model, LinearSVC, {"class_weight": "balanced"}, X, frame["label"].to_numpy(), weight)
    found = model.predict(parts[names]).compute()
    assert np.array_equal(found, model.to_local().predict(frame[names]))


def test_more_than_two_classes(client, rng):
    X = rng.normal(size=(300, 4))
    y = np.argmax(X[:, :3] + 0.3 * rng.normal(size=(300, 3)), axis=1)
    chunks = da.from_array(X, chunks=(75, 4))
    model = LogisticRegression(tol=1e-6).fit(chunks, y)
    check(model, LogisticRegression, {"multi_class": "ovr"}, X, y)
    assert [task.name for task in model.certificate_.tasks] == ["0 / rest", "1 / rest", "2 / rest"]
    assert model.certificate_.rounds < sum(task.rounds for task in model.certificate_.tasks)
    probabilities = model.predict_proba(chunks)
    assert probabilities.shape == (300, 3)
    assert np.array_equal(probabilities.compute(), model.predict_proba(X))


@pytest.mark.parametrize("penalised", [True, False])
def test_certificate_holds_with_large_offsets(penalised, client, rng):
    """Rounding bounds by norms are too large there: the fit asks for more digits by itself."""
    X = rng.normal(size=(400, 3)) + np.array([1e6, -1e5, 0])
    y = np.where(X[:, 0] - 1e6 + X[:, 2] > 0, 1, -1)
    parameters = {"intercept_scaling": 1.0 if penalised else None, "C": 0.5}
    model = LinearSVC(**parameters, tol=1e-3, max_iter=60)
    model.fit(da.from_array(X, chunks=(100, 3)), y)
    verified, stated = mercer.verify(model, X, y), model.certificate_
    assert stated.dual <= verified.primal
    assert verified.dual <= stated.primal
    assert stated.status.is_solved
    assert verified.status.is_solved


def test_targets_within_epsilon_of_a_constant(client, rng):
    X, y = rng.normal(size=(50, 2)), 7 + 0.1 * rng.random(50)
    model = LinearSVR(epsilon=1.0, intercept_scaling=None)
    model.fit(da.from_array(X, chunks=(20, 2)), y)
    assert model.certificate_.gap == model.certificate_.primal == 0
    assert not model.coef_.any()


def test_saved_as_a_plain_model(client, rows, tmp_path):
    X, y = rows
    model = LinearSVC(loss="hinge").fit(da.from_array(X, chunks=(200, 5)), y)
    mercer.save(model, tmp_path / "model")
    again = mercer.load(tmp_path / "model")
    assert type(again) is mercer.LinearSVC
    assert np.array_equal(again.coef_, model.coef_)
    assert again.certificate_ == model.certificate_
    assert mercer.verify(again, X, y).status.is_solved


def test_a_limit_leaves_a_certified_model(client, rows):
    X, y = rows
    chunks = da.from_array(X, chunks=(200, 5))
    with pytest.warns(mercer.exceptions.ConvergenceWarning, match="max_iter"):
        model = LinearSVC(loss="hinge", C=100, tol=1e-9, max_iter=3).fit(chunks, y)
    assert not model.certificate_.status.is_solved
    best = optimum(LinearSVC, {"loss": "hinge", "C": 100}, X, y)
    assert model.certificate_.dual <= best.primal <= model.certificate_.primal * (1 + 1e-9)
