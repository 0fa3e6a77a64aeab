"""The numbers behind the other pictures: tubes, duals, matrices, spectra, losses, weights."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_moons
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer import kernels
from mercer.plots import (
    KernelMatrixDisplay,
    KKTDisplay,
    LossDisplay,
    PathDisplay,
    SpectrumDisplay,
    TubeDisplay,
    WeightsDisplay,
)
from tests.read_only import read_only

X, y = make_moons(100, noise=0.25, random_state=0)


def _data():
    rng = np.random.default_rng(0)
    LINE = np.sort(rng.uniform(0, 6, size=(90, 1)), axis=0)
    SINE = np.sin(LINE[:, 0]) + 0.2 * rng.normal(size=90)
    return read_only(LINE, SINE)


LINE, SINE = _data()


def counts(groups):
    return np.bincount(groups, minlength=3).tolist()


def of_certificate(model):
    proof = model.certificate_
    return [proof.n_zero, proof.n_free, proof.n_bound]


class TestTube:
    @pytest.mark.parametrize(
        "machine",
        [
            mercer.SVR(epsilon=0.2, tol=1e-8),
            mercer.NuSVR(nu=0.4, tol=1e-8),
            mercer.LinearSVR(epsilon=0.3, tol=1e-10),
        ],
        ids=lambda machine: type(machine).__name__,
    )
    def test_points_are_inside_on_the_edge_and_outside(self, machine):
        model = machine.fit(LINE, SINE)
        display = TubeDisplay.from_estimator(model, LINE, SINE)
        residual = np.abs(SINE - model.predict(LINE))
        assert counts(display.groups) == of_certificate(model)
        assert (residual[display.groups == 0] <= display.epsilon + 1e-5).all()
        assert np.allclose(residual[display.groups == 1], display.epsilon, atol=1e-5)
        assert (residual[display.groups == 2] >= display.epsilon - 1e-5).all()
        assert np.allclose(display.f, model.predict(display.x[:, np.newaxis]), rtol=0, atol=1e-12)

    def test_other_rows_and_machines_without_a_tube(self):
        model = mercer.SVR(epsilon=0.2).fit(LINE, SINE)
        display = TubeDisplay.from_estimator(model, LINE[:40], SINE[:40])
        outside = np.abs(SINE[:40] - model.predict(LINE[:40])) > 0.2 * 1.01
        assert np.array_equal(display.groups == 2, outside)
        ridge = mercer.KernelRidge(kernel="rbf").fit(LINE, SINE)
        display = TubeDisplay.from_estimator(ridge, LINE, SINE)
        assert display.epsilon == 0
        assert counts(display.groups) == [90, 0, 0]

    def test_along_one_of_several_features(self):
        frame = load_diabetes(as_frame=True)
        model = mercer.LinearSVR(epsilon=30.0, C=10.0).fit(frame.data, frame.target)
        display = TubeDisplay.from_estimator(model, frame.data, frame.target, feature="bmi")
        slope = np.polyfit(display.x, display.f, 1)[0]
        assert slope == pytest.approx(model.coef_[list(frame.data.columns).index("bmi")])
        assert "9 features" in display.caveat
        whole = TubeDisplay.from_estimator(model, frame.data, frame.target)
        assert "first principal component" in whole.caveat

    def test_errors(self):
        with pytest.raises(ValueError, match="BoundaryDisplay draws it"):
            TubeDisplay.from_estimator(mercer.SVC().fit(X, y), X, y)
        two = mercer.KernelRidge().fit(LINE, np.column_stack([SINE, SINE]))
        with pytest.raises(ValueError, match="2 targets"):
            TubeDisplay.from_estimator(two, LINE, np.column_stack([SINE, SINE]))


class TestKKT:
    @pytest.mark.parametrize(
        "machine",
        [
            mercer.SVC(tol=1e-7),
            mercer.NuSVC(tol=1e-7),
            mercer.SVC(C=np.inf, gamma=30.0, tol=1e-7),
            mercer.SVC(class_weight={1: 3}, tol=1e-7),
            mercer.LinearSVC(loss="hinge", tol=1e-10),
        ],
        ids=repr,
    )
    def test_every_row_is_on_the_staircase(self, machine):
        model = machine.fit(X, y)
        display = KKTDisplay.from_estimator(model, X, y)
        sign = np.where(y == 1, 1, -1)
        assert np.allclose(display.place, sign * model.decision_function(X), atol=1e-6)
        assert counts(display.groups) == of_certificate(model)
        assert (display.place[display.groups == 0] >= 1 - 1e-4).all()
        assert np.allclose(display.place[display.groups == 1], 1, atol=1e-4)
        assert (display.place[display.groups == 2] <= 1 + 1e-4).all()
        assert np.allclose(display.share[display.groups == 2], 1)
        assert display.share.min() >= 0
        assert display.share.max() <= 1 + 1e-12

    def test_several_classes_regression_one_class_and_matrices(self):
        data = load_iris()
        model = mercer.SVC().fit(data.data, data.target)
        display = KKTDisplay.from_estimator(model, data.data, data.target)
        assert counts(display.groups) == of_certificate(model)
        assert display.place.size == 3 * 100
        tube = mercer.SVR(epsilon=0.2, tol=1e-8).fit(LINE, SINE)
        display = KKTDisplay.from_estimator(tube, LINE, SINE)
        assert display.edges == (-0.2, 0.2)
        assert np.allclose(np.abs(display.place[display.groups == 1]), 0.2, atol=1e-6)
        region = mercer.OneClassSVM(nu=0.3, tol=1e-8).fit(X)
        display = KKTDisplay.from_estimator(region, X)
        assert np.allclose(display.place[display.groups == 1], 0, atol=1e-6)
        K = X @ X.T
        matrix = mercer.SVC(kernel="precomputed").fit(K, y)
        display = KKTDisplay.from_estimator(matrix, K, y)
        assert counts(display.groups) == of_certificate(matrix)

    def test_machines_without_duals_are_refused(self):
        with pytest.raises(ValueError, match="LogisticRegression has no duals"):
            KKTDisplay.from_estimator(mercer.LogisticRegression().fit(X, y), X, y)
        with pytest.raises(ValueError, match="X and y of its fit"):
            KKTDisplay.from_estimator(mercer.SVC().fit(X, y), X[:50], y[:50])


class TestKernelMatrix:
    def test_ordered_by_class(self):
        data = load_iris()
        names = data.target_names[data.target][::-1]
        rows = data.data[::-1]
        model = mercer.SVC(gamma=0.5).fit(rows, names)
        display = KernelMatrixDisplay.from_estimator(model, rows, names)
        ordered = rows[display.order]
        distances = ((ordered[:, None] - ordered[None]) ** 2).sum(axis=2)
        assert np.allclose(display.K, np.exp(-0.5 * distances))
        assert (names[display.order] == np.sort(names)).all()
        assert display.starts.tolist() == [0, 50, 100, 150]
        assert len(display.ax_.lines) == 4  # two borders across, two down

    def test_many_rows_are_sampled_by_class_and_it_is_said(self, rng):
        big, labels = rng.normal(size=(900, 3)), np.repeat([0, 1, 2], [600, 200, 100])
        display = KernelMatrixDisplay.from_kernel("linear", big, labels, max_rows=90)
        assert np.diff(display.starts).tolist() == [60, 20, 10]
        assert "90 of 900 rows" in display.caveat
        assert np.allclose(display.K, big[display.order] @ big[display.order].T)

    def test_targets_sparse_rows_and_matrices(self):
        model = mercer.SVR().fit(LINE, SINE)
        display = KernelMatrixDisplay.from_estimator(model, LINE, SINE)
        assert (np.diff(SINE[display.order]) >= 0).all()
        linear = mercer.LinearSVC().fit(sp.csr_matrix(X), y)
        display = KernelMatrixDisplay.from_estimator(linear, sp.csr_matrix(X), y)
        assert np.allclose(display.K, X[display.order] @ X[display.order].T)
        K = X @ X.T
        matrix = mercer.SVC(kernel="precomputed").fit(K, y)
        display = KernelMatrixDisplay.from_estimator(matrix, K, y)
        assert np.array_equal(display.K, K[np.ix_(display.order, display.order)])


class TestSpectrum:
    def test_eigenvalues_are_those_of_numpy(self):
        model = mercer.SVC(gamma=0.7).fit(X, y)
        display = SpectrumDisplay.from_estimator(model, X, y)
        distances = ((X[:, None] - X[None]) ** 2).sum(axis=2)
        expected = np.linalg.eigvalsh(np.exp(-0.7 * distances))[::-1]
        assert np.allclose(display.eigenvalues, expected, atol=1e-10)
        assert display.is_psd
        assert "positive semidefinite" in display.verdict

    def test_a_function_that_is_no_kernel_is_told(self):
        display = SpectrumDisplay.from_kernel(lambda A, B: np.tanh(1 + A @ B.T), X)
        assert not display.is_psd
        assert display.eigenvalues[-1] < -display.tolerance
        labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
        negative = int((display.eigenvalues < -display.tolerance).sum())
        assert f"negative, by size ({negative})" in labels
        assert any("not a kernel" in text.get_text() for text in display.ax_.texts)

    def test_rank_and_trace(self):
        display = SpectrumDisplay.from_kernel(kernels.Linear(), X)
        assert (display.eigenvalues > display.tolerance).sum() == 2
        assert display.eigenvalues.sum() == pytest.approx((X**2).sum())
        without_labels = SpectrumDisplay.from_estimator(mercer.LinearSVC().fit(X, y), X)
        assert np.allclose(without_labels.eigenvalues, display.eigenvalues)


class TestLosses:
    def test_known_values(self):
        at = np.array([-2.0, -1.0, 0.0, 0.5, 1.0, 3.0])
        curves = LossDisplay.from_names(at=at).curves
        assert curves["zero-one"].tolist() == [1, 1, 1, 0, 0, 0]
        assert np.allclose(curves["hinge"], [3, 2, 1, 0.5, 0, 0])
        assert np.allclose(curves["squared hinge"], [9, 4, 1, 0.25, 0, 0])
        assert np.allclose(curves["logistic"], np.log1p(np.exp(-at)))
        names = ["ε-insensitive", "squared ε-insensitive"]
        curves = LossDisplay.from_names(names, at=at, epsilon=0.5).curves
        assert np.allclose(curves[names[0]], [1.5, 0.5, 0, 0, 0.5, 2.5])
        assert np.allclose(curves[names[1]], np.array([1.5, 0.5, 0, 0, 0.5, 2.5]) ** 2)

    def test_which_are_upper_bounds_of_the_zero_one_loss(self):
        """Hinge and squared hinge are; the logistic loss is one only divided by log 2."""
        at = np.sort(np.concatenate([np.linspace(-5, 5, 2001), [0.0]]))
        display = LossDisplay.from_names(at=at)
        zero_one, logistic = display.curves["zero-one"], display.curves["logistic"]
        assert display.upper_bounds == ["hinge", "squared hinge"]
        assert "Nowhere below the zero-one loss: hinge, squared hinge." in display.description
        below = at[logistic < zero_one]
        assert below.max() == 0
        assert below.min() == pytest.approx(-np.log(np.e - 1), abs=0.005)
        assert (logistic / np.log(2) >= zero_one - 1e-15).all()
        for name in ("hinge", "squared hinge", "logistic"):  # on an even grid
            curve = LossDisplay.from_names([name], at=np.linspace(-5, 5, 2001)).curves[name]
            assert (np.diff(curve, 2) >= -1e-12).all()
        names = ["ε-insensitive", "squared ε-insensitive"]
        assert LossDisplay.from_names(names).upper_bounds == []

    def test_of_machines(self):
        model = mercer.SVC().fit(X, y)
        display = LossDisplay.from_estimator(model, X, y)
        assert display.own == "hinge"
        signed = np.where(y == 1, 1, -1) * model.decision_function(X)
        assert np.allclose(display.rows, signed)
        owns = {
            "squared hinge": mercer.LinearSVC().fit(X, y),
            "logistic": mercer.LogisticRegression().fit(X, y),
        }
        for own, machine in owns.items():
            assert LossDisplay.from_estimator(machine, X, y).own == own
        tube = mercer.NuSVR().fit(LINE, SINE)
        assert LossDisplay.from_estimator(tube, LINE, SINE).own == "ε-insensitive"

    def test_errors(self):
        with pytest.raises(ValueError, match="names must be some of"):
            LossDisplay.from_names(["hinge", "ε-insensitive"])
        ridge = mercer.KernelRidge().fit(LINE, SINE)
        with pytest.raises(ValueError, match="none of these losses"):
            LossDisplay.from_estimator(ridge, LINE, SINE)
        data = load_iris()
        three = mercer.SVC().fit(data.data, data.target)
        with pytest.raises(ValueError, match="more than two classes"):
            LossDisplay.from_estimator(three, data.data, data.target)


class TestWeights:
    def test_largest_first_by_name(self):
        frame = load_breast_cancer(as_frame=True)
        model = make_pipeline(StandardScaler(), mercer.LinearSVC(C=0.1))
        model.fit(frame.data, frame.target)
        display = WeightsDisplay.from_estimator(model, frame.data, top=7)
        size = np.abs(model[-1].coef_[0])
        assert np.array_equal(size[display.order], np.sort(size)[::-1])
        labels = [label.get_text() for label in display.ax_.get_yticklabels()]
        assert labels == [frame.data.columns[i] for i in display.order[:7]]
        assert "7 largest of 30" in display.caveat

    def test_uneven_columns_are_told(self):
        uneven = X * [1.0, 1e5]
        model = mercer.LogisticRegression().fit(uneven, y)
        display = WeightsDisplay.from_estimator(model, uneven)
        assert "do not compare" in display.caveat
        assert np.allclose(display.weights, model.coef_)
        even = WeightsDisplay.from_estimator(mercer.SVC(kernel="linear").fit(X, y), X)
        assert even.caveat == ""

    @pytest.mark.parametrize(
        "machine", [mercer.LinearSVC(), mercer.SVC(kernel="linear"), mercer.LinearSVR()], ids=repr
    )
    def test_several_tasks_and_regression(self, machine):
        data = load_iris()
        model = machine.fit(data.data, data.target)
        display = WeightsDisplay.from_estimator(model)
        assert np.array_equal(display.weights, np.atleast_2d(model.coef_))
        assert len(display.tasks) == len(display.weights)

    def test_sparse_and_not_linear(self):
        model = mercer.SVC(kernel="linear").fit(sp.csr_matrix(X), y)
        display = WeightsDisplay.from_estimator(model, sp.csr_matrix(X))
        assert np.allclose(display.weights, model.coef_.toarray())
        with pytest.raises(ValueError, match="kernel='linear'"):
            WeightsDisplay.from_estimator(mercer.SVC().fit(X, y))


class TestPath:
    def test_weights_and_support_along_C(self):
        Cs = [0.01, 0.1, 1.0]
        display = PathDisplay.from_estimator(mercer.LinearSVC(loss="hinge"), X, y, Cs=Cs)
        for C, weights, support in zip(Cs, display.weights, display.support, strict=True):
            model = mercer.LinearSVC(loss="hinge", C=C, tol=1e-9).fit(X, y)
            assert np.allclose(weights, model.coef_[0], atol=0.02)
            assert support == pytest.approx(model.certificate_.n_support, abs=3)
        assert len(display.axes_) == 2

    def test_errors(self):
        with pytest.raises(ValueError, match="SVC has no path along C"):
            PathDisplay.from_estimator(mercer.SVC(), X, y)
        data = load_iris()
        with pytest.raises(ValueError, match="3 tasks"):
            PathDisplay.from_estimator(mercer.LinearSVC(), data.data, data.target, Cs=[1.0])
