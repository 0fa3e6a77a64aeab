"""How the columns of a file become the rows that a model was trained on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = ["Column", "Schema"]


@dataclass(frozen=True)
class Column:
    """A column of a file.

    Attributes
    ----------
    name : str
    categories : tuple of str, optional
        Of a column of words: each becomes a feature of zeros and ones. None: numbers.
    fill : float or str, optional
        What stands for a missing value; None: missing values are refused.
    """

    name: str
    categories: tuple[str, ...] | None = None
    fill: float | str | None = None


@dataclass(frozen=True, eq=False)
class Schema:
    """How new data are brought into the form that a model was trained on.

    Made by `read_table`, kept in the model's file by `mercer.save`, and applied to other files by
    ``read_table(…, schema=schema)``.

    Attributes
    ----------
    columns : tuple of Column, optional
        The columns of the file without the target; None where they have no names (svmlight,
        arrays).
    n_features : int
        Columns of X.
    sparse : bool
        Whether X is CSR.
    target : str, optional
        The name of the target's column.
    task : {"classification", "regression"}, optional
        What the target is; None without target.
    labels : tuple, optional
        The classes, sorted; None for regression.
    zero_based : bool
        Whether indices of svmlight files begin with 0.
    scaling : {"standard", "minmax", "maxabs"}, optional
    shift, factor : float64 array of shape (n_features,), optional
        Of the scaling: rows are (X − shift) · factor; no shift for sparse rows.

    Examples
    --------
    >>> schema = Schema((Column("age"), Column("colour", ("blue", "red"))), n_features=3)
    >>> schema.feature_names
    ['age', 'colour=blue', 'colour=red']
    """

    columns: tuple[Column, ...] | None
    n_features: int
    sparse: bool = False
    target: str | None = None
    task: str | None = None
    labels: tuple[Any, ...] | None = None
    zero_based: bool = False
    scaling: str | None = None
    shift: np.ndarray | None = None
    factor: np.ndarray | None = None

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the columns of X, such as ``colour=red``; None where columns have no names."""
        if self.columns is None:
            return None
        return [
            name
            for column in self.columns
            for name in (
                [column.name]
                if column.categories is None
                else [f"{column.name}={category}" for category in column.categories]
            )
        ]

    def scale(self, X: Any) -> Any:
        """The rows scaled as those of the training were; the array given may be changed."""
        if self.factor is None:
            return X
        if sp.issparse(X):
            X.data *= self.factor.astype(X.dtype)[X.indices]
            return X
        if self.shift is not None:
            X -= self.shift.astype(X.dtype)
        X *= self.factor.astype(X.dtype)
        return X

    def as_dict(self) -> dict[str, Any]:
        """All of it as JSON values, to be shown."""
        return {
            "columns": None
            if self.columns is None
            else [
                {"name": c.name, "categories": c.categories and list(c.categories), "fill": c.fill}
                for c in self.columns
            ],
            "n_features": self.n_features,
            "sparse": self.sparse,
            "target": self.target,
            "task": self.task,
            "labels": self.labels and list(self.labels),
            "zero_based": self.zero_based,
            "scaling": self.scaling,
            "shift": None if self.shift is None else self.shift.tolist(),
            "factor": None if self.factor is None else self.factor.tolist(),
        }
