"""Kernels on graphs, nodes and series in every kernel estimator, against the same kernel as a
function of Python on objects.
"""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone, is_regressor

import mercer
from mercer.embeddings import Nystroem
from mercer.kernels import (
    Callable,
    Centre,
    Diffusion,
    GlobalAlignment,
    Normalize,
    RandomWalk,
    ShortestPath,
    WeisfeilerLehman,
)
from tests.kernels.structured_conformance import objects

Y = np.arange(40) % 2


def graph(i):
    n = 4 + i % 5
    edges = [[j, j + 1] for j in range(n - 1)] + ([[0, n - 1]] if i % 2 else [])
    labels = np.random.default_rng(i).choice(["C", "O"], n).tolist()
    return {"n": n, "edges": edges, "node_labels": labels}


def time_series(i):
    n = 8 + i % 5
    noise = np.random.default_rng(100 + i).normal(size=n)
    return np.sin(np.arange(n) * (0.4 + 0.4 * (i % 2))) + 0.2 * noise


GRAPHS = objects([graph(i) for i in range(40)])
SERIES = objects([time_series(i) for i in range(40)])
CASES = {"graphs": (GRAPHS, WeisfeilerLehman(1) + 1), "series": (SERIES, GlobalAlignment(1.0))}

ESTIMATORS = [
    mercer.SVC(),
    mercer.SVR(),
    mercer.OneClassSVM(nu=0.3),
    mercer.KernelRidge(),
    mercer.KernelPCA(n_components=3),
    mercer.KernelKMeans(2, random_state=0),
    mercer.KernelPerceptron(average="averaged", max_iter=50, random_state=0),
    mercer.KernelLogisticRegression(),
    Nystroem(n_components=10, random_state=0),
]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_same_model_as_from_a_function(estimator, case, tmp_path):
    X, kernel = CASES[case]

    def values(A, B):
        return kernel(list(A), list(B))

    model = clone(estimator).set_params(kernel=kernel).fit(X[:30], Y[:30])
    other = clone(estimator).set_params(kernel=Callable(values)).fit(X[:30], Y[:30])
    method = "transform" if not hasattr(model, "predict") else "predict"
    new = X[25:]
    found, expected = (np.abs(getattr(each, method)(new)) for each in (model, other))
    if is_regressor(model) or method == "transform":
        np.testing.assert_allclose(found, expected, atol=2e-2 * np.abs(expected).max())
    else:
        assert (found == expected).mean() > 0.8  # values near the threshold may differ
    mercer.save(model, tmp_path / "m.mercer")
    loaded = mercer.load(tmp_path / "m.mercer")
    np.testing.assert_array_equal(getattr(loaded, method)(new), getattr(model, method)(new))


@pytest.mark.parametrize("case", CASES)
def test_searches_verify_and_check(case):
    X, _ = CASES[case]
    kernels = {
        "graphs": [Normalize(WeisfeilerLehman(1)), Normalize(ShortestPath()), RandomWalk()],
        "series": [GlobalAlignment(), GlobalAlignment(1.0, band=6)],
    }[case]
    search = mercer.SVCCV(kernel=kernels, Cs=[0.1, 10.0], cv=3).fit(X, Y)
    assert search.best_score_ > 0.7
    grid = {"kernel__k__depth": [0, 1]} if case == "graphs" else {"kernel__sigma": [0.5, 2.0]}
    search = mercer.SVCCV(kernel=kernels[0], Cs=[1.0], param_grid=grid, cv=3).fit(X, Y)
    assert len(search.cv_results_["params"]) == 2
    model = mercer.SVC(kernel=Centre(kernels[0]) * 2).fit(X, Y)
    assert mercer.verify(model, X, Y)
    assert mercer.check_kernel(kernels[0], X).is_psd


def test_nodes_of_a_network():
    """Two rings that meet at an edge: the labels of two nodes each give those of all others."""
    ring = [[i, (i + 1) % 6] for i in range(6)]
    edges = ring + [[u + 6, v + 6] for u, v in ring] + [[0, 6]]
    kernel = Diffusion({"n": 12, "edges": edges}, time=2.0)
    train, y = [1, 4, 8, 10], [0, 0, 1, 1]
    for model in (mercer.SVC(kernel=kernel), mercer.KernelLogisticRegression(kernel=kernel)):
        model.fit(train, y)
        assert model.predict(list(range(12))).tolist() == [0] * 6 + [1] * 6
    search = mercer.SVCCV(kernel=kernel, param_grid={"kernel__time": [0.5, 2.0]}, Cs=[1.0], cv=2)
    assert search.fit(list(range(12)), [0] * 6 + [1] * 6).best_score_ > 0.8
    with pytest.raises(ValueError, match="row 1 is 12, not a node"):
        model.predict([0, 12])


def test_errors_name_the_row_of_a_prediction():
    model = mercer.SVC(kernel=WeisfeilerLehman(1)).fit(GRAPHS, Y)
    with pytest.raises(ValueError, match="row 2 has the edge"):
        model.predict([*GRAPHS[:2], {"n": 1, "edges": [[0, 1]], "node_labels": "C"}])
    with pytest.raises(ValueError, match="those they are compared with"):
        model.predict([{"n": 1, "edges": []}])
    model = mercer.SVC(kernel=GlobalAlignment(1.0)).fit(SERIES, Y)
    with pytest.raises(ValueError, match="row 1 holds NaN"):
        model.predict([[1.0], [np.nan]])
    with pytest.raises(ValueError, match="have 2 channels"):
        model.predict([np.zeros((3, 2))])
