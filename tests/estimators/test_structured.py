"""A kernel on strings in every kernel estimator, against the same counts as sparse rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone, is_regressor
from sklearn.model_selection import GridSearchCV

import mercer
from mercer.embeddings import EmpiricalKernelMap, Nystroem
from mercer.kernels import RBF, Callable, Linear, Normalize, Spectrum


def text(i):
    letters = list("abcd" if i % 2 else "abef")
    return "".join(np.random.default_rng(i).choice(letters, size=12))


TEXTS = [text(i) for i in range(60)]
Y = np.arange(60) % 2
NEW = [*TEXTS[:5], "", "zzz", "äöü"]

ESTIMATORS = [
    mercer.SVC(),
    mercer.NuSVC(nu=0.2),
    mercer.SVR(),
    mercer.NuSVR(),
    mercer.OneClassSVM(nu=0.3),
    mercer.KernelRidge(),
    mercer.KernelPCA(n_components=3),
    mercer.KernelKMeans(2, random_state=0),
    mercer.KernelPerceptron(average="averaged", max_iter=50, random_state=0),
    mercer.KernelLogisticRegression(),
    Nystroem(n_components=10, random_state=0),
    EmpiricalKernelMap(),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_same_model_as_from_the_counts(estimator, tmp_path):
    """A function that counts gives the kernel matrix a second time."""

    def counted(A, B):
        return np.array([[sum(a.count(c) * b.count(c) for c in set(a)) for b in B] for a in A])

    kernel = Spectrum(1) + 1
    model = clone(estimator).set_params(kernel=kernel).fit(TEXTS, Y)
    other = clone(estimator).set_params(kernel=Callable(counted) + 1).fit(TEXTS, Y)
    method = "transform" if not hasattr(model, "predict") else "predict"
    found, expected = (np.abs(getattr(each, method)(NEW)) for each in (model, other))
    if is_regressor(model) or method == "transform":
        np.testing.assert_allclose(found, expected, atol=2e-2 * np.abs(expected).max())
    else:
        assert (found == expected).mean() > 0.8  # values near the threshold may differ
    mercer.save(model, tmp_path / "m.mercer")
    loaded = mercer.load(tmp_path / "m.mercer")
    np.testing.assert_array_equal(getattr(loaded, method)(NEW), getattr(model, method)(NEW))


def test_data_frames_are_read_by_column():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    expected = mercer.SVC(kernel="spectrum").fit(TEXTS, Y)
    assert expected.kernel_ == Spectrum(3)
    for frame in (pd.DataFrame({"t": TEXTS}), pl.DataFrame({"t": TEXTS})):
        for given in (frame, frame["t"]):
            model = mercer.SVC(kernel="spectrum").fit(given, Y)
            np.testing.assert_array_equal(
                model.decision_function(given), expected.decision_function(TEXTS)
            )
            assert mercer.verify(model, given, Y)
    wide = pd.DataFrame({"t": TEXTS, "u": TEXTS})
    with pytest.raises(ValueError, match=r"2 columns \(t, u\).*X\['t'\]"):
        mercer.SVC(kernel="spectrum").fit(wide, Y)
    with pytest.raises(ValueError, match=r"row 1 is (None|nan)"):
        mercer.SVC(kernel="spectrum").fit(pd.Series(["a", None, "b"]), [0, 1, 0])


def test_errors_name_the_row_of_a_prediction():
    model = mercer.SVC(kernel=Spectrum(2)).fit(TEXTS, Y)
    with pytest.raises(ValueError, match="row 700 is 3"):
        model.predict([*["ab"] * 700, 3])
    with pytest.raises(ValueError, match=r"use \[text\]"):
        model.predict("abc")
    with pytest.raises(ValueError, match="0 sample"):
        model.predict([])


def test_searches_and_weights():
    search = GridSearchCV(
        mercer.SVC(kernel=Normalize(Spectrum(1))), {"kernel__k__k": [1, 2, (1, 2)], "C": [1, 10]}
    )
    assert search.fit(TEXTS, Y).best_score_ > 0.8
    weight = np.r_[0.0, np.ones(59)]
    model = mercer.SVC(kernel=Spectrum(2)).fit(TEXTS, Y, sample_weight=weight)
    without = mercer.SVC(kernel=Spectrum(2)).fit(TEXTS[1:], Y[1:])
    np.testing.assert_array_equal(model.decision_function(NEW), without.decision_function(NEW))
    assert 0 not in model.support_


def test_an_estimator_goes_from_rows_to_texts(rng):
    X = rng.normal(size=(60, 3))
    model = mercer.SVC().fit(X, Y)
    model.set_params(kernel=Spectrum(2)).fit(TEXTS, Y)
    assert not hasattr(model, "n_features_in_")
    model.set_params(kernel=RBF()).fit(X, Y)
    assert model.n_features_in_ == 3


def test_sequences_of_equal_length_are_sequences(rng):
    numbers = rng.integers(0, 4, size=(60, 8))
    model = mercer.SVC(kernel=Spectrum(1)).fit(numbers, Y)
    ragged = [row.tolist()[: 3 + i % 5] for i, row in enumerate(numbers)]
    assert model.predict(ragged).shape == (60,)
    counts = np.array([np.bincount(row, minlength=4) for row in numbers])
    np.testing.assert_array_equal(Spectrum(1)(numbers), Linear()(counts))


@pytest.mark.parametrize("kernel", [Spectrum((1, 2)), 3 * Normalize(2 * Spectrum(2))])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_predictions_by_features_are_kernel_sums(kernel, n_classes):
    """f(x) = Σ c k(z, x) + b for every task, from the kernel matrix."""
    model = mercer.SVC(kernel=kernel, decision_function_shape="ovo")
    model.fit(TEXTS, np.arange(60) % n_classes)
    expansion = model.expansion_
    K = kernel(NEW, model.support_vectors_)
    expected = np.tile(expansion.b, (len(NEW), 1))
    for start, stop, outputs in expansion.blocks:
        expected[:, outputs] += K[:, start:stop] @ expansion.coef[:, start:stop].T
    found = model.decision_function(NEW).reshape(len(NEW), -1)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
