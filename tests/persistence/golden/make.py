"""Writes model files with the Mercer that is imported, and what it predicts, beside this script.

    PYTHONPATH=<checkout of a version>/src python tests/persistence/golden/make.py VERSION

Files of a released version are never made again: `test_golden.py` loads them with the present code
and compares its predictions with those of the version that wrote them. The data are
exact in binary, so that no platform's rounding enters.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import mercer
from mercer.embeddings import (
    EmpiricalKernelMap,
    LaplacianEigenmaps,
    LocallyLinearEmbedding,
    Nystroem,
)
from mercer.kernels import RBF, Constant, Linear, Polynomial

METHODS = ("predict", "decision_function", "predict_proba", "transform", "score_samples")


def rows(n: int, first: int = 0) -> np.ndarray:
    """n rows of three multiples of 1/8 from −2 to 2."""
    i, j = np.arange(first, first + n)[:, None], np.arange(3)[None, :]
    return ((i * (7 + 4 * j) + 5 * i * i + 3 * j) % 33 - 16) / 8.0


X, NEW = rows(20), rows(6, first=40)
BINARY = np.where(X[:, 0] + X[:, 1] ** 2 > 1, 1, -1)
CLASSES = np.digitize(X[:, 0] - 0.5 * X[:, 2], [-0.75, 0.75])
WORDS = np.array(["blue", "green", "red"])[CLASSES]
TARGETS = X[:, 0] - 0.5 * X[:, 1] + X[:, 2] ** 2
SPARSE = sp.csr_matrix(np.where(abs(X) > 0.5, X, 0.0))
COMPOSED = 2 * RBF(0.25) + Polynomial(2, 0.5, 1.0) * Constant(0.5) + Linear()


def models() -> dict[str, tuple]:
    """name → estimator, rows, targets, new rows."""
    m = mercer
    return {
        "svc-binary": (m.SVC(gamma=0.5), X, BINARY, NEW),
        "svc-multiclass": (m.SVC(kernel="poly", degree=2), X, CLASSES, NEW),
        "svc-probability": (m.SVC(probability=True, random_state=0), X, CLASSES, NEW),
        "svc-sparse": (m.SVC(gamma=0.5), SPARSE, BINARY, sp.csr_matrix(NEW)),
        "svc-words": (m.SVC(class_weight={"red": 2.0}), X, WORDS, NEW),
        "svc-composed": (m.SVC(kernel=COMPOSED, C=2.0), X, BINARY, NEW),
        "svc-precomputed": (m.SVC(kernel="precomputed"), X @ X.T, BINARY, NEW @ X.T),
        "svc-linear": (m.SVC(kernel="linear"), X, CLASSES, NEW),
        "svc-warm-start": (m.SVC(warm_start=True), X, CLASSES, NEW),
        "nusvc": (m.NuSVC(nu=0.3), X, BINARY, NEW),
        "svr": (m.SVR(kernel="laplacian", epsilon=0.25), X, TARGETS, NEW),
        "nusvr": (m.NuSVR(nu=0.4), X, TARGETS, NEW),
        "one-class": (m.OneClassSVM(nu=0.25), X, None, NEW),
        "kernel-ridge": (m.KernelRidge(kernel="rbf", gamma=0.5), X, TARGETS, NEW),
        "kernel-pca": (m.KernelPCA(2, kernel="rbf", gamma=0.5), X, None, NEW),
        "kernel-kmeans": (m.KernelKMeans(3, random_state=0), X, None, NEW),
        "kernel-perceptron": (m.KernelPerceptron(random_state=0), X, CLASSES, NEW),
        "kernel-logistic": (m.KernelLogisticRegression(), X, BINARY, NEW),
        "linear-svc": (m.LinearSVC(), X, CLASSES, NEW),
        "linear-svc-hinge": (m.LinearSVC(loss="hinge"), SPARSE, BINARY, sp.csr_matrix(NEW)),
        "linear-svc-warm-start": (m.LinearSVC(warm_start=True), X, CLASSES, NEW),
        "crammer-singer": (m.LinearSVC(multi_class="crammer_singer"), X, CLASSES, NEW),
        "linear-svr": (m.LinearSVR(epsilon=0.25), X, TARGETS, NEW),
        "logistic": (m.LogisticRegression(), X, CLASSES, NEW),
        "logistic-warm-start": (m.LogisticRegression(warm_start=True), X, BINARY, NEW),
        "pegasos": (m.PegasosClassifier(lam=0.1, random_state=0), X, CLASSES, NEW),
        "pegasos-kernel": (
            m.PegasosClassifier(lam=0.1, kernel="rbf", random_state=0), X, BINARY, NEW,
        ),
        "pegasos-regression": (m.PegasosRegressor(lam=0.1, random_state=0), X, TARGETS, NEW),
        "nystroem": (Nystroem(n_components=8, random_state=0), X, None, NEW),
        "empirical-map": (EmpiricalKernelMap(kernel="rbf"), X, None, NEW),
        "laplacian-eigenmaps": (LaplacianEigenmaps(n_neighbors=6), X, None, NEW),
        "lle": (LocallyLinearEmbedding(n_neighbors=6), X, None, NEW),
    }  # fmt: skip


def main(version: str) -> None:
    assert mercer.__version__.startswith(version), mercer.__version__
    folder = Path(__file__).parent / version
    folder.mkdir()
    expected = {}
    for name, (model, training, y, new) in models().items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about fits on twenty rows
            model.fit(training) if y is None else model.fit(training, y)
            mercer.save(model, folder / f"{name}.mercer")
            expected[name] = {
                "sparse": sp.issparse(new),
                "rows": (new.toarray() if sp.issparse(new) else new).tolist(),
                "values": {
                    method: getattr(model, method)(new).tolist()
                    for method in METHODS
                    if hasattr(model, method)
                },
            }
    text = json.dumps(expected, separators=(",", ":")).replace('},"', '},\n"')
    (folder / "expected.json").write_text(text + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
