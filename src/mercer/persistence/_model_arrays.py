"""What the arrays of a fitted model are: dimensions, types, ranges of indices.

Files are checked against these tables before anything is computed with them (`_validity`). A new
fitted attribute that is an array, and a new class that holds arrays, are added here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = ["ATTRIBUTES", "PARTS", "REQUIRED", "SHARED", "Array"]


@dataclass(frozen=True)
class Array:
    """What an array of a model may be.

    Attributes
    ----------
    shapes : str
        Alternatives separated by ``|``, each of names of dimensions. The same name is the same size
        everywhere in a model (in `PARTS`, but for those of `SHARED`, in one object); ``*`` is any
        size, ``…`` any shape, 0 is 0.
    kind : {"number", "float", "float64", "count", "any"}
        Counts are integers that are not negative. All but "any" are finite.
    below : str
        The dimension that all entries of a count are below, where it is known.
    """

    shapes: str
    kind: str = "number"
    below: str = ""

    def check(self, name: str, value: Any, sizes: dict[str, int]) -> None:
        """Raise a ValueError if ``value`` is something else; adds new dimensions to ``sizes``."""
        shape = getattr(value, "shape", None)
        if shape is None:
            raise ValueError(f"{name} is no array")
        if not any(_unify(form.split(), shape, sizes) for form in self.shapes.split("|")):
            raise ValueError(f"{name} of shape {shape} does not fit the other arrays")
        value = value.data if sp.issparse(value) else value
        if self.kind == "any" or value.dtype == object:
            return
        if value.dtype.kind not in _DTYPE_KINDS[self.kind] or not np.isfinite(value).all():
            raise ValueError(f"{name} holds something else than finite numbers of its type")
        if self.kind == "float64" and value.dtype != np.float64:
            raise ValueError(f"{name} must hold floats of 64 bits")
        if self.kind == "count":
            end = sizes.get(self.below)
            if np.min(value, initial=0) < 0:
                raise ValueError(f"{name} must hold whole numbers that are not negative")
            if end is not None and np.max(value, initial=-1) >= end:
                raise ValueError(f"{name} goes beyond its {end}")


_DTYPE_KINDS = {"number": "fiu", "float": "f", "float64": "f", "count": "i"}


def _unify(form: list[str], shape: tuple[int, ...], sizes: dict[str, int]) -> bool:
    """Whether a shape is of this form; if it is, ``sizes`` has its dimensions afterwards."""
    if form == ["…"]:
        return True
    found = {**sizes, "0": 0}
    if len(form) != len(shape) or not all(
        dim == "*" or found.setdefault(dim, size) == size
        for dim, size in zip(form, shape, strict=True)
    ):
        return False
    sizes.update({dim: found[dim] for dim in form if dim not in ("*", "0")})
    return True


# Fitted attributes. k classes, t tasks, s support vectors, d columns, n training rows that are
# kept, r rows of the fit, c components, p pairs of classes.
ATTRIBUTES = {
    "classes_": Array("k", "any"),
    "class_weight_": Array("k"),
    "_vote_order": Array("k", "count", below="k"),
    "support_": Array("s", "count", below="r"),
    "_support_rows": Array("s", "count", below="r"),
    "support_vectors_": Array("s d | s | 0 0"),
    "intercept_": Array("t"),
    "offset_": Array("t"),
    "coef_": Array("t d | d", "float"),
    "dual_coef_": Array("…"),
    "duals_": Array("…"),
    "bound_duals_": Array("…"),
    "_n_support": Array("*", "count"),
    "n_support_": Array("*", "count"),
    "_probA": Array("p"),
    "_probB": Array("p"),
    "_density_marks": Array("*"),
    "X_fit_": Array("n d | n"),
    "eigenvectors_": Array("n c"),
    "eigenvalues_": Array("c"),
    "_rows": Array("n d"),
    "embedding_": Array("n c"),
    "center_norms_": Array("c"),
    "landmarks_": Array("*", "count"),
    "labels_": Array("n", "count"),
    "_codes": Array("n", "count", below="k"),
}
# Arrays of the objects in fitted attributes, by class. m terms of an expansion, v nonzero duals,
# q coefficients of a descent; of a stored linear solution N rows and h columns, one for each class.
PARTS = {
    "Expansion": {"b": Array("t", "float64"), "coef": Array("w m", "float64")},
    "FeatureFunction": {"b": Array("t", "float64"), "coef": Array("w m", "float64")},
    "FourierMap": {"frequencies": Array("d D", "float64")},
    "SketchMap": {"columns": Array("p D", "count"), "signs": Array("p D", "float64")},
    "Duals": {"values": Array("v", "float64"), "index": Array("v", "count", below="V")},
    "PegasosState": {
        "u": Array("q", "float64"),
        "total": Array("q", "float64"),
        "sign_sums": Array("*", "float64"),
    },
    "StepMaps": {
        "knots": Array("K", "float64"),
        "lower": Array("K", "float64"),
        "upper": Array("K", "float64"),
        "starts": Array("*", "count"),
    },
    "LinearResult": {
        "beta": Array("N | N h", "float64"),
        "g": Array("N | N h", "float64"),
        "w": Array("d | h d", "float64"),
        "w_beta": Array("d | h d", "float64"),
    },
}
SHARED = ("d", "t", "N")

_KERNEL_MODEL = ("kernel_", "expansion_", "intercept_", "_n_support")
_LINEAR_MODEL = ("n_features_in_", "coef_", "intercept_")
_CLASSIFIER = ("classes_", "class_weight_")
# What a fitted estimator has in any case.
REQUIRED: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("SVC", "NuSVC"), _KERNEL_MODEL + _CLASSIFIER),
    **dict.fromkeys(("SVR", "NuSVR", "OneClassSVM"), _KERNEL_MODEL),
    **dict.fromkeys(("LinearSVC", "LogisticRegression"), _LINEAR_MODEL + _CLASSIFIER),
    "LinearSVR": _LINEAR_MODEL,
    "MKL": ("estimator_", "kernel_", "weights_", "scales_", "shares_", "certificate_"),
    "KernelRidge": ("kernel_", "expansion_", "X_fit_", "dual_coef_", "alpha_"),
    "KernelPCA": ("kernel_", "expansion_", "X_fit_", "eigenvectors_", "eigenvalues_"),
    "KernelLogisticRegression": (
        *("kernel_", "expansion_", "support_", "dual_coef_", "intercept_"),
        *_CLASSIFIER,
    ),
    **dict.fromkeys(("PegasosClassifier", "PegasosRegressor"), ("lam_", "kernel_", "intercept_")),
}
