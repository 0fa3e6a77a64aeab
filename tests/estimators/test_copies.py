"""Estimators through copy, pickle, joblib and skops: the same predictions and certificate.

skops, which is not needed by Mercer, rebuilds an object from JSON: by its constructor where
``__reduce__`` names that and nothing else, else by ``__new__`` and its state, in which dictionaries
have texts as keys. That is done here without it.
"""

from __future__ import annotations

import copy
import io
import json
import pickle

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

import mercer
from mercer import embeddings

X = load_iris().data / 3
Y = (load_iris().target == 1).astype(int)

MODELS = [
    mercer.SVC(),
    mercer.SVC(kernel=2 * mercer.kernels.RBF(0.5) + 1),
    mercer.NuSVC(nu=0.2),
    mercer.SVR(),
    mercer.NuSVR(),
    mercer.OneClassSVM(),
    mercer.LinearSVC(),
    mercer.LinearSVC(loss="hinge", tol=1e-2),
    mercer.LinearSVR(),
    mercer.LogisticRegression(),
    mercer.KernelLogisticRegression(),
    mercer.KernelPerceptron(gamma=30.0, random_state=0),
    mercer.PegasosClassifier(tol=0.1, random_state=0),
    mercer.PegasosClassifier(kernel="rbf", tol=0.1, random_state=0),
    mercer.PegasosRegressor(tol=0.2, random_state=0),
    mercer.KernelRidge(),
    mercer.KernelPCA(2),
    mercer.KernelKMeans(3, random_state=0),
    embeddings.EmpiricalKernelMap(5),
    embeddings.Nystroem(n_components=5, random_state=0),
    embeddings.LaplacianEigenmaps(n_neighbors=60),
    embeddings.LocallyLinearEmbedding(n_neighbors=60),
]


def by_pickle(model):
    return pickle.loads(pickle.dumps(model))


def by_joblib(model):
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    return joblib.load(file)


def by_state(value):
    """As skops rebuilds objects."""
    if isinstance(value, (np.ndarray, np.generic, np.random.RandomState)) or sp.issparse(value):
        return copy.deepcopy(value)
    if isinstance(value, dict):
        assert all(isinstance(key, (str, int, float, bool, type(None))) for key in value)
        return {key: by_state(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(by_state(item) for item in value)
    if isinstance(value, (type, slice)) or callable(getattr(value, "__func__", None)):
        return value
    try:
        return json.loads(json.dumps(value))
    except (TypeError, ValueError):
        pass
    reduced = value.__reduce__()
    if reduced[0] is type(value) and all(part is None for part in reduced[2:]):
        return type(value)(*by_state(reduced[1]))
    made = type(value).__new__(type(value))
    state = value.__getstate__()
    if state is not None and hasattr(made, "__setstate__"):
        made.__setstate__(by_state(state))
    elif state is not None:
        made.__dict__.update(by_state(state))
    return made


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, by_pickle, by_joblib, by_state])
def test_a_copy_is_the_same_model(model, way):
    model.fit(X, Y)
    again = way(model)
    assert repr(again) == repr(model)
    ask = "predict" if hasattr(model, "predict") else "transform"
    np.testing.assert_array_equal(getattr(again, ask)(X), getattr(model, ask)(X))
    if hasattr(model, "certificate_"):
        assert again.certificate_ == model.certificate_
        assert again.certificate_.status is model.certificate_.status
        mine, copied = mercer.verify(model, X, Y), mercer.verify(again, X, Y)
        assert copied.status is mine.status
    if hasattr(model, "status_"):
        assert again.status_ is model.status_


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_skops_rebuilds_the_same_model(model):
    """The library itself, whose list of types to trust is what a user would look at."""
    skops = pytest.importorskip("skops.io")
    model.fit(X, Y)
    content = skops.dumps(model)
    unknown = skops.get_untrusted_types(data=content)
    assert all(name.startswith(("mercer.", "numpy.", "sklearn.", "scipy.")) for name in unknown)
    again = skops.loads(content, trusted=unknown)
    ask = "predict" if hasattr(model, "predict") else "transform"
    np.testing.assert_array_equal(getattr(again, ask)(X), getattr(model, ask)(X))
    if hasattr(model, "certificate_"):
        assert again.certificate_ == model.certificate_
