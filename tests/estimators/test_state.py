"""What a fitted estimator may keep besides its parameters and public attributes: one list."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.estimators._registry import ESTIMATORS
from mercer.solvers import Choice

N = 97  # no other size in the data: an array of this length holds something of every row
KERNEL = {"_gamma"}  # the number that gamma="scale" stood for
# Sizes of the classes' support vectors, the certificate, and the duals for a warm start.
SVM = {*KERNEL, "_n_support", "_proof", "_support_rows", "_duals"}
SEARCHES = [name for name, entry in ESTIMATORS.items() if "model_selection" in entry.module]
# Sigmoids of probability=True, empty without; other maps; whether they agree with predict.
PLATT = {"_probA", "_probB", "_maps", "_agrees"}
PRIVATE = {
    "SVC": SVM | PLATT,
    "NuSVC": SVM | PLATT,
    "SVR": SVM,
    "NuSVR": SVM,
    "OneClassSVM": SVM,
    "LinearSVC": {"_last"},  # the last solution, with warm_start=True
    "LinearSVR": {"_last"},
    "LogisticRegression": {"_last"},
    "KernelLogisticRegression": KERNEL,
    "KernelPerceptron": {*KERNEL, "_steps"},  # the updates, for voted predictions
    "KernelRidge": {*KERNEL, "_one_target"},
    "KernelPCA": KERNEL,
    "KernelKMeans": KERNEL,
    "PegasosClassifier": {"_states"},  # iterates, for partial_fit
    "PegasosRegressor": {"_states"},
    "EmpiricalKernelMap": KERNEL,
    **dict.fromkeys(("Nystroem", "RandomFourierFeatures", "TensorSketch"), KERNEL),
    # How many features; samples that are objects, whose features are the columns.
    "ExplicitFeatures": {*KERNEL, "_count", "_seen"},
    **{name: set() for name in SEARCHES},
    "LaplacianEigenmaps": {"_k", "_rows", "_search"},  # the neighbours of new rows are searched
    "LocallyLinearEmbedding": {"_k", "_rows", "_search"},
}


def fitted(name: str):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    y = np.digitize(X[:, 0], [-0.5, 0.5]) + 5  # no array of labels looks like it by chance
    entry = ESTIMATORS[name]
    model = entry.load()(**({"nu": 0.2} if name == "NuSVC" else {}))
    if name in SEARCHES:
        small = {"Cs": 2, "gammas": 2, "nus": 2, "cv": 3}
        model.set_params(**{k: v for k, v in small.items() if k in model.get_params()})
    targets = y if entry.task == "classification" else X[:, 0] + rng.normal(size=N)
    model.fit(X, np.where(y == 5, -1, 1) if name == "OneClassSVMCV" else targets)
    _ = getattr(model, "certificate_", None)  # made when it is first read, from more than it keeps
    return model, X, y


@pytest.mark.parametrize("name", ESTIMATORS)
def test_private_state_is_what_is_listed(name):
    model, _, _ = fitted(name)
    private = {key for key in vars(model) if not key.endswith("_")} - set(model.get_params())
    assert private <= PRIVATE[name]
    # One type everywhere: what states a certificate also says what solved it, and why.
    assert (
        hasattr(model, "certificate_") == hasattr(model, "solver_") == bool(ESTIMATORS[name].verify)
    )
    assert type(getattr(model, "solver_", Choice("", ""))) is Choice


@pytest.mark.parametrize("name", [n for n, e in ESTIMATORS.items() if e.task == "classification"])
def test_training_labels_are_not_kept(name):
    model, _, y = fitted(name)
    codes = np.searchsorted(np.unique(y), y)
    for key, value in vars(model).items():
        if isinstance(value, np.ndarray) and value.shape == (N,):
            assert not np.array_equal(value, y), key
            assert not np.array_equal(value, codes), key
