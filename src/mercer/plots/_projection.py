"""Two coordinates for rows of any number of features, and the way back.

Two features are themselves. Of more, either two are drawn and the others held at their median (a
slice), or the first two principal components of the rows that the model takes. In both, the
function drawn is that of the plane alone, while the points lie off it: the caveat says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.plots._fitted import FittedView

__all__ = ["Plane", "column_name", "make_plane", "numbers"]


@dataclass(frozen=True, eq=False)
class Plane:
    """Where the rows lie in the picture, and which rows its places are."""

    points: np.ndarray  # shape (n, 1 or 2)
    labels: Sequence[str]  # names of the axes
    caveat: str  # what the picture does not show; empty if it shows all
    lift: Callable[[np.ndarray], Any]  # places to rows
    is_transformed: bool  # whether those are rows of the last step of a pipeline, or of its first
    d: int

    def ticks(self, axis: int, size: int) -> np.ndarray:
        """Places along an axis, 7 % of the range of the points beyond them."""
        low, high = float(self.points[:, axis].min()), float(self.points[:, axis].max())
        pad = 0.07 * (high - low) or 1.0
        return np.linspace(low - pad, high + pad, size)

    def values(
        self, view: FittedView, places: np.ndarray, decide: Any = None, cells: int = 4_000_000
    ) -> np.ndarray:
        """The decision values at places, a block of ``cells`` numbers at a time."""
        decide = decide or view.decide
        step = max(1, cells // max(self.d, 1))
        parts = [
            decide(self.lift(places[i : i + step]), self.is_transformed)
            for i in range(0, len(places), step)
        ]
        return np.concatenate(parts)


def make_plane(view: FittedView, features: Any = None, dimensions: int = 2) -> Plane:
    """The plane (or line) of ``dimensions`` features given, of all, or of principal components."""
    d = view.X.shape[1]
    if features is None and d == dimensions:
        features = range(d)
    if features is not None:
        return _slice(view, features, dimensions)
    return _components(view, dimensions)


def numbers(X: Any, name: str) -> np.ndarray:
    """Rows as dense float64 numbers."""
    try:
        return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} was given columns that are not numbers, which have no place on an axis. Name "
            "two features that are, or leave features=None to draw principal components."
        ) from error


def column_name(view: FittedView, column: int) -> str:
    names = getattr(view.X, "columns", getattr(view.estimator, "feature_names_in_", None))
    return f"feature {column}" if names is None else str(names[column])


def _slice(view: FittedView, features: Any, dimensions: int) -> Plane:
    columns = [_column(view, feature) for feature in features]
    if len(columns) != dimensions or len(set(columns)) != dimensions:
        raise ValueError(f"features must be {dimensions} different columns, got {features!r}.")
    X = numbers(view.X, view.name)
    middle = np.median(X, axis=0)
    d = X.shape[1]

    def lift(places: np.ndarray) -> Any:
        rows = np.tile(middle, (len(places), 1))
        rows[:, columns] = places
        return _dress(rows, view.X)

    rest = d - dimensions
    others = f"the other {rest} features are held at their medians"
    if rest == 1:
        others = "the other feature is held at its median"
    caveat = f"A slice: {others}, while the points lie off it. Their markers count all features."
    labels = tuple(column_name(view, column) for column in columns)
    return Plane(X[:, columns], labels, caveat if rest else "", lift, False, d)


def _column(view: FittedView, feature: Any) -> int:
    d = view.X.shape[1]
    names = [column_name(view, column) for column in range(d)]
    if isinstance(feature, str):
        if feature not in names:
            raise ValueError(f"features: no column is called {feature!r}; there are {names[:12]}.")
        return names.index(feature)
    if not 0 <= int(feature) < d:
        raise ValueError(f"features must be names or numbers in 0..{d - 1}, got {feature!r}.")
    return int(feature)


def _components(view: FittedView, dimensions: int) -> Plane:
    from sklearn.decomposition import PCA

    X: Any = view.X_model if sp.issparse(view.X_model) else numbers(view.X_model, view.name)
    d = X.shape[1]
    if d < dimensions:
        raise ValueError(
            f"{view.name} sees {d} feature, the picture needs at least {dimensions}. "
            "KKTDisplay and LossDisplay can be drawn of any number."
        )
    solver = "arpack" if min(X.shape) > dimensions and (sp.issparse(X) or d > 500) else "full"
    X = X if solver == "arpack" or not sp.issparse(X) else X.toarray()
    components = PCA(dimensions, svd_solver=solver, random_state=0).fit(X)
    share = float(components.explained_variance_ratio_.sum())

    def lift(places: np.ndarray) -> Any:
        return _dress(components.inverse_transform(places), view.X_model)

    what = f"the first {dimensions} principal components"
    if dimensions == 1:
        what = "the first principal component"
    caveat = (
        f"A projection of {d} features to {what}, {share:.0%} of their variance. What is drawn is "
        "the model in that plane, while the points lie off it. Their markers count all features."
    )
    labels = tuple(f"principal component {i + 1}" for i in range(dimensions))
    return Plane(np.asarray(components.transform(X)), labels, caveat, lift, True, d)


def _dress(rows: np.ndarray, like: Any) -> Any:
    """Rows as a frame with the columns of ``like``, if it is one: models remember names."""
    if not hasattr(like, "columns"):
        return rows
    names = list(like.columns)
    if hasattr(like, "iloc"):
        return type(like)(rows, columns=names)
    return type(like)(rows, schema=names, orient="row")  # polars
