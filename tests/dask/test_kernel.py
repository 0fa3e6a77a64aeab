"""Kernel machines by parts: the optimum of the whole problem, certified."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import mercer

da = pytest.importorskip("dask.array")
pytest.importorskip("distributed")
from mercer.dask import SVC, SVR, OneClassSVM  # noqa: E402


def cut(X, rows=100):
    return da.from_array(X, chunks=(rows, -1))


def check(model, X, y, weight=None):
    """Against the model in memory, and `verify` on all rows."""
    local = model._plain().set_params(tol=1e-8).fit(X, y, weight)
    best, stated = local.certificate_, model.certificate_
    assert stated.status.is_solved
    assert stated.kkt_violation <= model.tol
    assert stated.dual <= best.primal
    assert best.dual <= stated.primal
    assert stated.primal <= best.primal + 0.01 * abs(best.primal)
    verified = mercer.verify(model, X, y, weight)
    assert verified.status.is_solved
    assert verified.primal == pytest.approx(stated.primal, rel=1e-7)
    assert verified.gap_low <= stated.gap * (1 + 1e-9)
    assert np.abs(model.expansion_(X) - local.expansion_(X)).max() < 0.05
    return local


def test_svc(client, rows):
    X, y = rows
    model = SVC(C=2.0).fit(cut(X), y)
    local = check(model, X, y)
    assert model.kernel_.gamma == pytest.approx(local.kernel_.gamma, rel=1e-12)
    assert np.array_equal(model.support_vectors_, X[model.support_])
    assert np.array_equal(model.predict(cut(X)).compute(), model.predict(X))


def test_several_classes_with_weights_and_chunks_of_one_class(client, rng):
    X = rng.normal(size=(240, 3))
    y = np.array(["a", "b", "c"])[np.argmax(X + 0.4 * rng.normal(size=X.shape), axis=1)]
    order = np.argsort(y)
    X, y, weight = X[order], y[order], rng.integers(0, 3, 240).astype(float)
    model = SVC(C=3.0, class_weight={"a": 2.0}).fit(cut(X, 60), y, weight)
    check(model, X, y, weight)
    assert len(model.certificate_.tasks) == 3


def test_svr(client, rng):
    X = rng.uniform(-3, 3, size=(300, 1))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=300)
    check(SVR(C=5.0, epsilon=0.05).fit(cut(X), y), X, y)


def test_parts_without_support_vectors(client):
    """Chunks whose targets lie within ε of a constant, which is another one in each chunk."""
    X = np.linspace(-3, 3, 200)[:, np.newaxis]
    y = np.sign(X[:, 0])
    check(SVR(gamma=1.0).fit(cut(X, 50), y), X, y)
    flat = SVR(gamma=1.0).fit(cut(X, 50), np.zeros(200))
    assert flat.certificate_.status.is_solved
    assert np.abs(flat.predict(X)).max() <= flat.epsilon


def test_one_class(client, rng):
    X = rng.normal(size=(300, 2))
    model = OneClassSVM(nu=0.2).fit(cut(X))
    check(model, X, None)
    assert np.mean(model.predict(X) < 0) == pytest.approx(0.2, abs=0.03)


def test_a_joint_problem_beyond_its_budget_ends_with_a_certificate(client, rows):
    X, y = rows
    model = SVC(C=100.0, joint_size=0.006)
    with pytest.warns(mercer.exceptions.ConvergenceWarning, match=r"joint_size=0\.006"):
        model.fit(cut(X), y)
    assert not model.certificate_.status.is_solved
    best = mercer.SVC(C=100.0, tol=1e-6).fit(X, y).certificate_
    assert model.certificate_.dual <= best.primal <= model.certificate_.primal


def test_saved_as_a_plain_model(client, rows, tmp_path):
    X, y = rows
    model = SVC().fit(cut(X), y)
    mercer.save(model, tmp_path / "model")
    again = mercer.load(tmp_path / "model")
    assert type(again) is mercer.SVC
    assert np.array_equal(again.decision_function(X), model.decision_function(X))
    assert mercer.verify(again, X, y).status.is_solved


def test_what_is_not_solved_by_parts_is_refused(rows):
    for parameters in ({"C": np.inf}, {"kernel": "precomputed"}):
        with pytest.raises(ValueError, match=r"not solved by parts: use mercer\.SVC"):
            SVC(**parameters).fit(cut(rows[0]), rows[1])


def test_fits_of_workers_leave_the_filters_of_warnings_alone(client, rows):
    """Two threads of one process, whose fits overlap."""
    X, y = rows
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        before = list(warnings.filters)
        SVC().fit(cut(X), y)
        assert list(warnings.filters) == before
