"""The numbers behind the picture of a boundary are those of the machine and its certificate."""

from __future__ import annotations

import matplotlib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from scipy.interpolate import RegularGridInterpolator
from sklearn.datasets import load_breast_cancer, load_iris, make_moons
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer.plots import BoundaryDisplay

X, y = make_moons(120, noise=0.25, random_state=0)
WEIGHT = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 3.0], size=y.size)


def counts(display):
    return np.bincount(display.groups, minlength=3).tolist()


def of_certificate(model):
    proof = model.certificate_
    return [proof.n_zero, proof.n_free, proof.n_bound]


@pytest.mark.parametrize(
    "machine",
    [
        mercer.SVC(),
        mercer.SVC(C=10, kernel="poly", coef0=1.0),
        mercer.SVC(class_weight={0: 1, 1: 5}),
        mercer.SVC(fit_intercept=False),
        mercer.NuSVC(nu=0.4),
        mercer.LinearSVC(loss="hinge", C=0.5),
        mercer.SVC(C=np.inf, gamma=30.0),
    ],
    ids=repr,
)
def test_groups_are_those_of_the_certificate(machine):
    model = machine.fit(X, y)
    assert counts(BoundaryDisplay.from_estimator(model, X, y)) == of_certificate(model)


def test_groups_with_weights():
    model = mercer.SVC().fit(X, y, sample_weight=WEIGHT)
    display = BoundaryDisplay.from_estimator(model, X, y, sample_weight=WEIGHT)
    shown = np.bincount(display.groups[WEIGHT > 0], minlength=3).tolist()
    assert shown == of_certificate(model)
    assert (display.groups[WEIGHT == 0] == 0).all()
    with pytest.raises(ValueError, match="sample_weight of the fit"):
        BoundaryDisplay.from_estimator(model, X, y)


def test_alpha_is_that_of_the_model_and_areas_are_in_proportion():
    model = mercer.SVC(C=3.0).fit(X, y)
    display = BoundaryDisplay.from_estimator(model, X, y)
    assert np.array_equal(np.flatnonzero(display.alpha), np.sort(model.support_))
    assert np.array_equal(display.alpha[model.support_], np.abs(model.dual_coef_[0]))
    areas = display.discs_.get_sizes()
    alpha = display.alpha[display.alpha > 0]
    assert np.allclose(areas / alpha, areas[0] / alpha[0], rtol=1e-12)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_margins_pass_through_the_free_vectors(kernel):
    model = mercer.SVC(kernel=kernel, tol=1e-8).fit(X, y)
    display = BoundaryDisplay.from_estimator(model, X, y, grid_resolution=400)
    axes = display.xx1[:, 0], display.xx0[0]
    surface = RegularGridInterpolator(axes, display.values, method="cubic")
    free = display.groups == 1
    f = surface(display.points[free][:, ::-1])
    assert free.sum() >= 2
    assert np.allclose(f, np.where(display.codes[free] == 1, 1, -1), atol=2e-3)


def test_the_band_is_where_the_ends_of_the_bias_interval_put_the_boundary():
    # Two points and C too small for a free vector: w = (0, 1/2), b anywhere in [-1/2, 1/2].
    points, labels = np.array([[0.0, 1.0], [0.0, -1.0]]), [1, -1]
    model = mercer.SVC(kernel="linear", C=0.25).fit(points, labels)
    display = BoundaryDisplay.from_estimator(model, points, labels)
    assert display.bias == pytest.approx((-0.5, 0.5))
    assert counts(display) == [0, 0, 2]
    # f + (end - b) = 0 at x2 = ±1: w x2 + end = 0.
    at = [0.5 * 1 + model.intercept_[0], 0.5 * -1 + model.intercept_[0]]
    assert sorted(display.band) == pytest.approx(sorted(at))
    assert any("optimal b" in text.get_text() for text in display.ax_.get_legend().get_texts())
    free = mercer.SVC(kernel="linear").fit(points, labels)
    assert BoundaryDisplay.from_estimator(free, points, labels).band is None


def test_values_are_those_of_the_model():
    model = mercer.SVC().fit(X, y)
    display = BoundaryDisplay.from_estimator(model, X, y, grid_resolution=11)
    rows = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
    assert np.array_equal(display.values.ravel(), model.decision_function(rows))
    assert display.caveat == ""


def test_several_classes_are_regions_of_predict():
    data = load_iris()
    labels = data.target_names[data.target]
    model = mercer.SVC().fit(data.data[:, 2:], labels)
    display = BoundaryDisplay.from_estimator(model, data.data[:, 2:], labels, grid_resolution=30)
    rows = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
    names = np.array(display.classes)[display.values.ravel().astype(int)]
    assert np.array_equal(names, model.predict(rows))
    # A row is at its worst group among the pairs it takes part in.
    in_any = np.zeros(len(labels), bool)
    in_any[model.support_] = True
    assert np.array_equal(display.groups > 0, in_any)


def test_duals_of_all_classes_at_once_are_no_groups_of_a_margin():
    data = load_iris()
    model = mercer.LinearSVC("l2", "hinge", multi_class="crammer_singer")
    model.fit(data.data[:, 2:], data.target)
    display = BoundaryDisplay.from_estimator(
        model, data.data[:, 2:], data.target, grid_resolution=9
    )
    wrong = model.predict(data.data[:, 2:]) != data.target
    assert np.array_equal(display.groups == 2, wrong)
    assert display.alpha is None
    assert "multiclass hinge" in display.title


def test_more_features_are_projected_and_it_is_said():
    data = load_breast_cancer()
    model = make_pipeline(StandardScaler(), mercer.SVC()).fit(data.data, data.target)
    display = BoundaryDisplay.from_estimator(model, data.data, data.target, grid_resolution=20)
    texts = [text.get_text().replace("\n", " ") for text in display.ax_.texts]
    assert display.caveat in texts
    assert "30 features" in display.caveat
    seen = model[0].transform(data.data)
    variance = np.linalg.svd(seen - seen.mean(axis=0), compute_uv=False) ** 2
    assert f"{variance[:2].sum() / variance.sum():.0%}" in display.caveat
    assert counts(display) == of_certificate(model[-1])


def test_a_slice_holds_the_others_at_their_median():
    frame = load_iris(as_frame=True)
    model = mercer.SVC().fit(frame.data, frame.target)
    columns = ["petal width (cm)", "sepal length (cm)"]
    display = BoundaryDisplay.from_estimator(
        model, frame.data, frame.target, features=columns, grid_resolution=9
    )
    rows = pd.DataFrame([frame.data.median()] * 81)
    rows[columns[0]], rows[columns[1]] = display.xx0.ravel(), display.xx1.ravel()
    expected = model.predict(rows[frame.data.columns])
    assert np.array_equal(display.values.ravel(), expected)
    assert display.labels == tuple(columns)
    assert "2 features" in display.caveat
    assert "median" in display.caveat


@pytest.mark.parametrize(
    "as_given",
    [
        sp.csr_matrix,
        lambda X: pd.DataFrame(X, columns=["a", "b"]),
        lambda X: pl.DataFrame(X, schema=["a", "b"]),
        lambda X: X.astype(np.float32),
        np.ndarray.tolist,
    ],
    ids=["csr", "pandas", "polars", "float32", "list"],
)
def test_any_form_of_rows(as_given):
    rows = as_given(X)
    model = mercer.SVC().fit(rows, y)
    display = BoundaryDisplay.from_estimator(model, rows, y, grid_resolution=9)
    assert counts(display) == of_certificate(model)


@pytest.mark.parametrize("wide", [sp.csr_matrix, pl.DataFrame, pd.DataFrame])
def test_any_form_of_wide_rows(wide):
    data = load_iris()
    rows = wide(data.data)
    if isinstance(rows, pd.DataFrame):
        rows.columns = data.feature_names
    model = mercer.SVC().fit(rows, data.target)
    display = BoundaryDisplay.from_estimator(model, rows, data.target, grid_resolution=9)
    assert "4 features" in display.caveat


@pytest.mark.parametrize(
    "machine",
    [
        mercer.LinearSVC(),
        mercer.LinearSVC(dual=True),
        mercer.PegasosClassifier(random_state=0),
        mercer.LogisticRegression(),
        mercer.KernelLogisticRegression(),
        mercer.KernelPerceptron(random_state=0, gamma=50.0),
    ],
    ids=lambda machine: type(machine).__name__,
)
def test_machines_without_a_box_of_duals(machine):
    model = machine.fit(X, y)
    display = BoundaryDisplay.from_estimator(model, X, y, grid_resolution=9)
    signed = np.where(y == 1, 1, -1) * model.decision_function(X)
    assert display.alpha is None
    if display.has_margin:
        assert np.array_equal(display.groups == 2, signed < 0.99)
    else:
        assert np.array_equal(display.groups == 2, signed <= 0)


def test_points_are_pale_only_where_they_have_no_part_in_f():
    """Every point has one in logistic regression; beyond the margin of an SVC none has."""
    X, y = make_moons(40, noise=0.1, random_state=0)

    def largest(model):
        drawn = BoundaryDisplay.from_estimator(model.fit(X, y), X, y).ax_.collections
        groups = [
            each for each in drawn if each.get_label().startswith("_") and each.get_zorder() == 4
        ]
        return max(float(each.get_sizes().max()) for each in groups if each.get_sizes().size)

    assert largest(mercer.KernelLogisticRegression()) > 1.5 * largest(mercer.SVC())


def test_other_rows_are_grouped_by_their_margin():
    model = mercer.SVC().fit(X, y)
    display = BoundaryDisplay.from_estimator(model, X[::-1][:50], y[::-1][:50], grid_resolution=9)
    signed = np.where(y == 1, 1, -1) * model.decision_function(X)
    assert display.alpha is None
    assert np.array_equal(display.groups == 2, signed[::-1][:50] < 0.99)


def test_one_class_and_clusters():
    model = mercer.OneClassSVM(nu=0.2).fit(X)
    assert counts(BoundaryDisplay.from_estimator(model, X)) == of_certificate(model)
    clusters = mercer.KernelKMeans(3, random_state=0).fit(X)
    display = BoundaryDisplay.from_estimator(clusters, X, grid_resolution=9)
    assert np.array_equal(display.codes, clusters.labels_)
    two = mercer.KernelKMeans(2, random_state=0).fit(X)
    display = BoundaryDisplay.from_estimator(two, X, grid_resolution=9)
    rows = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
    assert display.values_are_classes
    assert np.array_equal(display.values.ravel(), two.predict(rows))


def test_a_loaded_model_is_drawn_as_the_saved_one(tmp_path):
    for machine in (mercer.SVC(), mercer.LinearSVC(loss="hinge")):
        model = machine.fit(X, y)
        mercer.save(model, tmp_path / "model")
        loaded = mercer.load(tmp_path / "model")
        first, second = (
            BoundaryDisplay.from_estimator(one, X, y, grid_resolution=9) for one in (model, loaded)
        )
        assert np.array_equal(first.values, second.values)
        assert np.array_equal(first.groups, second.groups)
        assert np.array_equal(first.alpha, second.alpha)


def test_probabilities_are_those_of_the_model():
    model = mercer.KernelLogisticRegression().fit(X, y)
    display = BoundaryDisplay.from_estimator(model, X, y, probabilities=True, grid_resolution=9)
    rows = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
    assert np.array_equal(display.probabilities.ravel(), model.predict_proba(rows)[:, 1])
    careful = mercer.KernelLogisticRegression(threshold=0.9).fit(X, y)
    display = BoundaryDisplay.from_estimator(careful, X, y, grid_resolution=9)
    assert np.array_equal(display.values.ravel() >= 0, careful.predict(rows) == 1)


def test_drawn_on_axes_given_and_settings_left_alone():
    import matplotlib.pyplot as plt

    before = dict(matplotlib.rcParams)
    _, axes = plt.subplots(1, 2)
    display = BoundaryDisplay.from_estimator(
        mercer.SVC().fit(X, y), X, y, ax=axes[1], grid_resolution=9, legend=False
    )
    assert display.ax_ is axes[1]
    assert display.figure_ is axes[1].figure
    assert not axes[0].has_data()
    assert axes[1].get_legend() is None
    again = display.plot(legend="best", areas=False, fill=False, margins=False)
    assert again.ax_ is not axes[1]
    assert dict(matplotlib.rcParams) == before


def test_a_model_is_left_as_it_is():
    model = mercer.SVC().fit(X, y)
    before = {name: id(value) for name, value in vars(model).items() if name != "_proof"}
    BoundaryDisplay.from_estimator(model, X, y, grid_resolution=9)
    assert {name: id(value) for name, value in vars(model).items() if name != "_proof"} == before


ERRORS = {
    "no y": (lambda: (mercer.SVC().fit(X, y), X), "y must be the targets of SVC"),
    "short y": (lambda: (mercer.SVC().fit(X, y), X, y[:5]), "one entry for each of 120 rows"),
    "labels": (lambda: (mercer.SVC().fit(X, y), X, y + 5), "does not know"),
    "regression": (lambda: (mercer.SVR().fit(X, y), X, y), "TubeDisplay draws it"),
    "PCA": (lambda: (mercer.KernelPCA(2).fit(X), X), "no classes"),
    "matrix": (
        lambda: (mercer.SVC(kernel="precomputed").fit(X @ X.T, y), X @ X.T, y),
        "needs coordinates",
    ),
    "one column": (lambda: (mercer.SVC().fit(X[:, :1], y), X[:, :1], y), "sees 1 feature"),
    "not an estimator": (lambda: (3, X, y), "got int"),
}


@pytest.mark.parametrize("what", ERRORS)
def test_errors_say_what_is_lacking(what):
    arguments, message = ERRORS[what]
    with pytest.raises((ValueError, TypeError), match=message):
        BoundaryDisplay.from_estimator(*arguments())


def test_other_errors():
    model = mercer.SVC().fit(X, y)
    with pytest.raises(ValueError, match="not fitted"):
        BoundaryDisplay.from_estimator(mercer.SVC(), X, y)
    with pytest.raises(ValueError, match="no column is called 'petal'"):
        BoundaryDisplay.from_estimator(model, X, y, features=["petal", "leaf"])
    with pytest.raises(ValueError, match="2 different columns"):
        BoundaryDisplay.from_estimator(model, X, y, features=[1, 1])
    with pytest.raises(ValueError, match=r"0\.\.1"):
        BoundaryDisplay.from_estimator(model, X, y, features=[0, 7])
    with pytest.raises(ValueError, match="no probabilities"):
        BoundaryDisplay.from_estimator(model, X, y, probabilities=True)
