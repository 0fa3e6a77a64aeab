"""How the columns of a file become the rows that a model was trained on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

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

    Attributes
    ----------
    columns : tuple of Column, optional
        The columns of the file without the target; None where they have no names (svmlight, arrays).
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
        Of the scaling: rows are (X − shift) · factor.
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
        raise NotImplementedError

    def as_dict(self) -> dict[str, Any]:
        """All of it as JSON values, to be shown."""
        raise NotImplementedError
