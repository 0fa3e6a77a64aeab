"""What all estimators on Dask collections have: parameters, predictions by chunks, `to_local`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import compute_class_weight
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from mercer.dask._chunk import ChunkSummary
from mercer.dask._partitions import is_dask
from mercer.dask._rounds import Rounds
from mercer.estimators._fields import POSITIVE, estimator

__all__ = ["DistributedEstimator", "classes_of", "weights_of_classes"]


@estimator
class DistributedEstimator:
    """The cluster of a fit. Subclasses have the estimator of the same name as the other base."""

    _parameter_constraints: ClassVar[dict] = {
        "scheduler": "no_validation",
        "scheduler_timeout": [POSITIVE],
        "persist": ["boolean", StrOptions({"auto"})],
    }

    scheduler: Any = None
    scheduler_timeout: float = 60.0
    persist: Any = "auto"

    def to_local(self) -> Any:
        """The fitted model as the estimator of `mercer` with the same name.

        `mercer.save` writes that one, and it needs no Dask.

        Returns
        -------
        model : estimator
        """
        check_is_fitted(self)
        own: dict[str, Any] = self.get_params(deep=False)  # type: ignore[attr-defined]
        plain = self._plain()
        state = {key: value for key, value in vars(self).items() if key not in own}
        plain.__dict__.update(state)
        return plain

    def _plain(self) -> Any:
        """The estimator of `mercer` with the same parameters, not fitted, as workers take it."""
        cls = next(base for base in type(self).__mro__ if not base.__module__.startswith(_HERE))
        own: dict[str, Any] = self.get_params(deep=False)  # type: ignore[attr-defined]
        names = cls._get_param_names()  # type: ignore[attr-defined]
        return cls(**{name: own[name] for name in names if name != "callback"})

    def _by_chunks(self, method: str, X: Any) -> Any:
        """A method of the fitted model at the rows of a Dask collection, as a lazy Dask array."""
        model = self.to_local()
        model.__dict__.pop("feature_names_in_", None)
        if not hasattr(X, "map_blocks"):  # a data frame
            X = X.to_dask_array()
        if X.numblocks[1] > 1:
            X = X.rechunk({1: -1})
        probe = getattr(model, method)(np.zeros((1, self.n_features_in_)))
        shape = (
            {"chunks": (X.chunks[0], (probe.shape[1],))} if probe.ndim == 2 else {"drop_axis": 1}
        )
        meta = np.empty((0,) * probe.ndim, dtype=probe.dtype)
        return X.map_blocks(_apply, model, method, dtype=probe.dtype, meta=meta, **shape)

    def _or_by_chunks(self, method: str, X: Any) -> Any:
        """By chunks where X is a Dask collection, else the method of the other base."""
        if is_dask(X):
            check_is_fitted(self)
            return self._by_chunks(method, X)
        return getattr(super(), method)(X)

    def predict(self, X: Any) -> Any:
        """Predictions: an array, or of a Dask collection a lazy Dask array."""
        return self._or_by_chunks("predict", X)

    def _refuse(self, refused: dict[str, bool], how: str) -> None:
        """Raise for what a distributed fit cannot do, and check the other parameters."""
        model: Any = self
        for name, is_given in refused.items():
            if is_given:
                raise ValueError(
                    f"{name} is not solved {how}: use mercer.{type(self).__name__} for data in "
                    "memory, or leave it out."
                )
        model._check_parameters()

    def _bind_chunks(
        self, rounds: Rounds, names: Any, has_targets: bool, with_digest: bool = False
    ) -> list[ChunkSummary]:
        """Check all chunks, and keep what the columns are."""
        is_classifier = hasattr(self, "class_weight")
        summaries = rounds.bind(is_classifier, has_targets and not is_classifier, with_digest)
        if not sum(summary.n for summary in summaries):
            raise ValueError("X has no rows with a positive weight in any chunk.")
        self._keep_columns(summaries, names)
        return summaries

    def _encode_chunks(
        self, plain: Any, summaries: Sequence[ChunkSummary], rounds: Rounds
    ) -> np.ndarray | None:
        """The classes, whose numbers replace the labels on workers; None of other targets.

        This estimator and the plain one get the weights of the classes.
        """
        model: Any = self
        classes = None
        if hasattr(model, "class_weight"):
            classes, totals = classes_of(summaries)
            weights = weights_of_classes(model.class_weight, classes, totals)
            plain.class_weight_ = model.class_weight_ = weights
        rounds.encode(classes)
        return classes

    def _keep_columns(self, summaries: Sequence[ChunkSummary], names: Any) -> None:
        self.n_features_in_ = next((s.d for s in summaries if s.n_given), summaries[0].d)
        self.__dict__.pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = names


_HERE = __name__.rpartition(".")[0] + "."


def _apply(block: Any, model: Any, method: str) -> Any:
    if block.shape[0] == 0:
        probe = getattr(model, method)(np.zeros((1, model.n_features_in_)))
        return probe[:0]
    return getattr(model, method)(block)


def classes_of(summaries: Sequence[ChunkSummary]) -> tuple[np.ndarray, np.ndarray]:
    """The classes of all chunks in sorted order, and the weight of their rows; at least two."""
    found = [s for s in summaries if s.labels is not None and s.labels.size]
    if not found:
        raise ValueError("X has no rows with a positive weight in any chunk.")
    kinds = {s.labels.dtype.kind in "OSU" for s in found}  # type: ignore[union-attr]
    if len(kinds) > 1:
        raise ValueError(
            "y holds numbers in some chunks and text in others: give all labels one type "
            "(y.astype(str))."
        )
    classes = np.unique(np.concatenate([s.labels for s in found]))
    totals = np.zeros(classes.size)
    for summary in found:
        assert summary.labels is not None
        assert summary.label_weights is not None
        totals[np.searchsorted(classes, summary.labels)] += summary.label_weights
    if classes.size < 2:
        only = classes.tolist()[0]
        raise ValueError(
            f"The number of classes has to be greater than one; got {classes.size} class "
            f"({only!r}) in {len(summaries)} chunks."
        )
    return classes, totals


def weights_of_classes(class_weight: Any, classes: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """One factor per class; "balanced" counts rows by their weight."""
    if class_weight is None:
        return np.ones(classes.size)
    if class_weight == "balanced":
        return totals.sum() / (classes.size * totals)
    return compute_class_weight(class_weight, classes=classes, y=classes)
