"""What every estimator with a certificate must keep: a new estimator costs ten lines of test.

A subclass gives ``estimator`` and, where it has no labels, its `targets`. scikit-learn's own checks
are run beside it (``parametrize_with_checks``).
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import mercer
from mercer.solvers import Choice

N = 60


def rows() -> tuple[np.ndarray, np.ndarray]:
    """Rows of three columns, and a number for each that depends on two of them."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(N, 3))
    return X, X[:, 0] + 0.5 * X[:, 1] + 0.3 * rng.normal(size=N)


class EstimatorConformance:
    estimator: object
    has_duals = True  # `dual_view`

    def targets(self, t: np.ndarray) -> np.ndarray | None:
        """Labels of two classes."""
        return (t > 0).astype(int)

    @pytest.fixture
    def fitted(self):
        X, t = rows()
        y = self.targets(t)
        return clone(self.estimator).fit(X, y), X, y

    def values(self, model, X):
        for name in ("decision_function", "predict", "transform"):
            if hasattr(model, name):
                return np.asarray(getattr(model, name)(X)).reshape(len(X), -1)
        raise AssertionError("no method gives the values of f")

    def test_parameters_are_not_changed_by_fit(self, fitted):
        model, _, _ = fitted
        assert repr(model.get_params()) == repr(clone(self.estimator).get_params())
        assert not [name for name in vars(clone(model)) if name.endswith("_")]

    def test_the_method_of_solution_is_a_choice(self, fitted):
        chosen = fitted[0].solver_
        assert type(chosen) is Choice
        assert chosen.name
        assert chosen.reason

    def test_the_fitted_function_gives_the_values(self, fitted):
        model, X, _ = fitted
        expected = self.values(model, X)
        f = np.asarray(model.expansion_(X)).reshape(expected.shape)
        assert_allclose(f, expected, rtol=1e-10, atol=1e-10)

    def test_the_certificate_can_be_recomputed(self, fitted):
        model, X, y = fitted
        stated, found = model.certificate_, mercer.verify(model, X, y)
        assert stated.status.is_solved
        assert found.status.is_solved
        if hasattr(stated, "primal"):
            # Each is an interval that holds the optimum, and both are of the same model.
            assert max(found.dual, stated.dual) <= min(found.primal, stated.primal)
            assert found.primal == pytest.approx(stated.primal, rel=1e-6)

    def test_other_rows_do_not_pass_for_those_of_the_fit(self, fitted):
        model, X, y = fitted
        try:
            found = mercer.verify(model, 1.5 * X, y)
        except ValueError:  # the support vectors are not among them
            return
        assert not found.status.is_solved

    def test_a_saved_model_is_the_same(self, fitted, tmp_path):
        model, X, y = fitted
        mercer.save(model, tmp_path / "model.mercer")
        loaded = mercer.load(tmp_path / "model.mercer")
        assert type(loaded) is type(model)
        assert loaded.solver_ == model.solver_
        assert_array_equal(self.values(loaded, X), self.values(model, X))
        assert repr(loaded.certificate_) == repr(model.certificate_)
        if self.has_duals:
            mercer.verify(loaded, X, y)

    def test_duals_are_within_their_bounds(self, fitted):
        if not self.has_duals:
            assert not hasattr(fitted[0], "dual_view")
            return
        model, X, y = fitted
        (task,) = model.dual_view(X, y)
        rounding = 1e-12 * np.where(np.isfinite(task.bound), task.bound, 1.0)
        assert (task.beta >= task.lower - rounding).all()
        assert (task.beta <= task.upper + rounding).all()
        assert_allclose(task.f[:, None], self.values(model, X), rtol=1e-12, atol=1e-12)

    @pytest.mark.filterwarnings("ignore::mercer.exceptions.ConvergenceWarning")
    def test_a_time_limit_of_zero_gives_a_model(self):
        X, t = rows()
        model = clone(self.estimator).set_params(time_limit=0.0).fit(X, self.targets(t))
        assert np.isfinite(self.values(model, X)).all()
        assert isinstance(model.certificate_.status, mercer.Status)
