"""Pipelines in model files, kernel functions given again, and equality of what was saved."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import VarianceThreshold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    Binarizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

import mercer
from mercer.exceptions import FileError
from mercer.persistence._registry import TRANSFORMERS

X, Y = load_iris(return_X_y=True)
STEPS = [
    StandardScaler(),
    MinMaxScaler(feature_range=(-1, 1)),
    MaxAbsScaler(),
    RobustScaler(),
    Normalizer(),
    Binarizer(threshold=3.0),
    QuantileTransformer(n_quantiles=50, random_state=0),
    PolynomialFeatures(2),
    PCA(3),
    TruncatedSVD(2, random_state=0),
    VarianceThreshold(0.1),
]


def dot(A, B):
    """A kernel function."""
    return A @ B.T


class Scaled:
    """An object that is called as a kernel."""

    def __init__(self, factor):
        self.factor = factor

    def __call__(self, A, B):
        return self.factor * (A @ B.T)


@pytest.mark.parametrize("step", STEPS, ids=lambda step: type(step).__name__)
def test_a_pipeline_is_read_as_it_was_saved(step, tmp_path):
    model = make_pipeline(step, mercer.SVC()).fit(X, Y)
    mercer.save(model, tmp_path / "model")
    again = mercer.load(tmp_path / "model")
    assert isinstance(again, Pipeline)
    assert [name for name, _ in again.steps] == [name for name, _ in model.steps]
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert mercer.verify(again, X, Y).gap == mercer.verify(model, X, Y).gap
    mercer.save(again, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


def test_all_transformers_are_tried():
    assert {type(step).__name__ for step in STEPS} == set(TRANSFORMERS)


def test_steps_of_other_estimators_of_mercer(tmp_path):
    steps = [StandardScaler(), "passthrough", mercer.embeddings.Nystroem(n_components=20)]
    model = make_pipeline(*steps, mercer.LinearSVC()).fit(X, Y)
    mercer.save(model, tmp_path / "model")
    np.testing.assert_array_equal(mercer.load(tmp_path / "model").predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("steps", "name"),
    [
        ([PowerTransformer(), mercer.SVC()], "PowerTransformer"),
        ([StandardScaler(), RandomForestClassifier(5, random_state=0)], "RandomForestClassifier"),
    ],
)
def test_other_steps_are_refused_by_name(steps, name, tmp_path):
    model = make_pipeline(*steps).fit(X, Y)
    with pytest.raises(TypeError, match=f"got {name}.*StandardScaler"):
        mercer.save(model, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_model_alone_must_be_of_mercer(tmp_path):
    with pytest.raises(TypeError, match="got StandardScaler"):
        mercer.save(StandardScaler().fit(X), tmp_path / "model")


def test_objects_that_are_called_as_kernels(tmp_path):
    model = mercer.SVC(kernel=Scaled(0.5)).fit(X, Y)
    mercer.save(model, tmp_path / "model")
    with pytest.raises(FileError, match="'Scaled'"):
        mercer.load(tmp_path / "model")
    again = mercer.load(tmp_path / "model", callables={"Scaled": Scaled(0.5)})
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_another_function_under_the_saved_name_warns(tmp_path):
    mercer.save(mercer.SVC(kernel=dot).fit(X, Y), tmp_path / "model")

    def other(A, B):
        return (A @ B.T) ** 2

    with pytest.warns(UserWarning, match="'dot' given to mercer.load has another source") as told:
        mercer.load(tmp_path / "model", callables={"dot": other})
    assert len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mercer.load(tmp_path / "model", callables={"dot": dot})
        mercer.load(tmp_path / "model", callables={"dot": np.dot})  # has no source to compare


@pytest.mark.parametrize(
    "model",
    [
        mercer.LinearSVC(multi_class="crammer_singer", loss="hinge", max_iter=-1),
        mercer.PegasosClassifier(tol=0.1, random_state=0),
        mercer.SVC(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_loaded_certificate_equals_the_saved_one(model, tmp_path):
    mercer.save(model.fit(X, Y), tmp_path / "model")
    assert mercer.load(tmp_path / "model").certificate_ == model.certificate_
