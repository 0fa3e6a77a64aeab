"""What rows may be: text is refused everywhere; sparse rows are taken wherever dense ones are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

import mercer
from mercer.embeddings import LocallyLinearEmbedding, Nystroem
from tests.read_only import read_only


def _data():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(40, 4)) * (rng.random((40, 4)) < 0.7)
    return read_only(X, (X[:, 0] > 0).astype(int))


X, Y = _data()
MODELS = [
    mercer.SVC(), mercer.NuSVC(nu=0.2), mercer.SVR(), mercer.NuSVR(), mercer.OneClassSVM(),
    mercer.LinearSVC(), mercer.LinearSVR(), mercer.LogisticRegression(), mercer.KernelRidge(),
    mercer.KernelPCA(2), mercer.KernelKMeans(2), mercer.KernelLogisticRegression(),
    mercer.KernelPerceptron(), mercer.PegasosClassifier(max_iter=5), Nystroem(n_components=5),
    LocallyLinearEmbedding(n_neighbors=5),
]  # fmt: skip
AS_TEXT = {
    "str": lambda A: A.astype(str),
    "object": lambda A: A.astype(str).astype(object),
    "frame": lambda A: pd.DataFrame(A).astype(str),
}
NAMES = [type(model).__name__ for model in MODELS]


@pytest.mark.filterwarnings("ignore::mercer.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", MODELS, ids=NAMES)
@pytest.mark.parametrize("as_text", AS_TEXT.values(), ids=AS_TEXT)
def test_text_is_refused(model, as_text):
    with pytest.raises(ValueError, match="X must hold numbers, but it holds text, such as"):
        model.fit(as_text(X), Y)
    model.fit(X, Y)
    for method in ("predict", "transform", "decision_function"):
        if hasattr(model, method):
            with pytest.raises(ValueError, match="X must hold numbers"):
                getattr(model, method)(as_text(X))


def _long(A):
    """CSR with indices of 64 bits, as `load_svmlight_file` makes them."""
    A = sp.csr_matrix(A)
    A.indices, A.indptr = A.indices.astype(np.int64), A.indptr.astype(np.int64)
    return A


TAKING_SPARSE = [
    mercer.SVC(gamma=0.5), mercer.SVR(gamma=0.5), mercer.OneClassSVM(gamma=0.5),
    mercer.LinearSVC(), mercer.KernelRidge(kernel="rbf", gamma=0.5), mercer.LogisticRegression(),
]  # fmt: skip


@pytest.mark.parametrize("model", TAKING_SPARSE, ids=lambda model: type(model).__name__)
def test_indices_of_64_bits(model):
    short = model.fit(sp.csr_matrix(X), Y).predict(sp.csr_matrix(X))
    long = _long(X)
    assert long.indices.dtype == np.int64
    assert_array_equal(model.fit(long, Y).predict(_long(X)), short)


@pytest.mark.parametrize("model", TAKING_SPARSE, ids=lambda model: type(model).__name__)
def test_sparse_rows_after_a_dense_fit_and_the_other_way_round(model):
    dense = model.fit(X, Y).predict(X)
    assert_array_equal(model.predict(sp.csr_matrix(X)), dense)
    assert_array_equal(model.predict(sp.coo_matrix(X)), dense)
    sparse = model.fit(sp.csr_matrix(X), Y).predict(sp.csr_matrix(X))
    assert_allclose(model.predict(X), sparse, rtol=1e-12)
