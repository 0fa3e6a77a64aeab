"""What `SVC` and `NuSVC` share: classes, one-vs-one tasks, votes, probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state, deprecated
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mercer._expansion import Expansion
from mercer._multiclass import (
    PosedTasks,
    Task,
    block_outputs,
    dual_layout,
    ovr_scores,
    pair_tasks,
    votes,
    winner_is_certain,
)
from mercer._result import Result
from mercer.calibration._coupling import agree, agree_in_pairs, couple, couple_as_libsvm
from mercer.calibration._cross_fit import held_out_values
from mercer.calibration._platt import fit_sigmoid, sigmoid
from mercer.calibration._step_maps import StepMaps, fit_steps
from mercer.estimators._validation import ONE_CLASS_LEFT, Data, class_codes, class_weights
from mercer.estimators.svm._base import KernelMachine
from mercer.exceptions import NotFittedError, warn_user
from mercer.gram._cached import MEGABYTE
from mercer.problems import BoxQP

__all__ = ["KernelClassifier"]

_DEPRECATED = (
    "Attribute `{}` was deprecated in version 1.9 of scikit-learn and goes in 1.11, as does "
    "`probability=True` of SVC and NuSVC."
)


def _has_probability(estimator: Any) -> bool:
    if estimator.probability == "deprecated" or not estimator.probability:
        raise AttributeError("predict_proba is not available when probability=False")
    return True


class KernelClassifier(ClassifierMixin, KernelMachine):
    """A kernel machine whose targets are classes."""

    _one_class_left = ONE_CLASS_LEFT
    _maps: StepMaps  # other maps to probabilities than Platt's sigmoids

    def _encode(self, data: Data) -> list[Task]:
        self._warn_probability()
        self.classes_, self._codes = class_codes(data, self._one_class_left)
        self.class_weight_ = class_weights(
            self.class_weight, self.classes_, self._codes, data.weight
        )
        return pair_tasks(self._codes, self.classes_.size)

    def _weights(self, task: Task, data: Data) -> float | np.ndarray:
        """Sample weight times class weight of a task's rows; the number 1 where all are 1."""
        weight: float | np.ndarray = 1.0
        if self.class_weight is not None:
            positive, negative = task.classes
            of_class = self.class_weight_
            weight = np.where(task.y > 0, of_class[positive], of_class[negative])
        if data.weight is not None:
            weight = weight * task.of_rows(data.weight)
        return weight

    def _keep(self, data: Data, posed: PosedTasks, results: Sequence[Result]) -> None:
        super()._keep(data, posed, results)
        self._probA = self._probB = np.empty(0)
        for name in ("_maps", "_agrees", "_vote_order", "_couples_as_libsvm"):  # an earlier fit's
            self.__dict__.pop(name, None)
        if self._is_calibrated:
            self._calibrate(data, posed, results)
        del self._codes

    @property
    def _is_calibrated(self) -> bool:
        return self.probability not in (False, "deprecated")

    def _calibrate(self, data: Data, posed: PosedTasks, results: Sequence[Result]) -> None:
        """Maps from the decision values of held-out folds: of every task, p(its first class)."""
        tasks = posed.tasks
        values = held_out_values(
            posed,
            results,
            partial(self._pose_fold, data=data),
            self._coefficients,
            self._make_solver(int(self.cache_size * MEGABYTE)),
            check_random_state(self.random_state),
            self.n_jobs,
        )
        values = [self._lean * f for f in values]
        positive = [self._lean * task.y > 0 for task in tasks]
        weight = data.weight
        weights = [None if weight is None else task.of_rows(weight) for task in tasks]
        given = zip(values, positive, weights, strict=True)
        self._probA, self._probB = np.array([fit_sigmoid(*each) for each in given]).T
        self._agrees = True  # which those of LIBSVM's models and of version 0.1 have not
        if self.probability in ("isotonic", "venn_abers"):
            self._maps = fit_steps(self.probability, values, positive, weights)

    @property
    def _lean(self) -> float:
        """−1 with two classes: the task's sign is the other way round than that of a class pair.

        LIBSVM's sigmoids have the first class of a pair as their positive one.
        """
        return -1.0 if self.classes_.size == 2 else 1.0

    def _pose_fold(self, task: Task, data: Data) -> BoxQP:
        return self._pose(task, data)

    def _warn_probability(self) -> None:
        if isinstance(self.probability, str):
            return
        name = type(self).__name__
        warn_user(
            "The `probability` parameter was deprecated in version 1.9 of scikit-learn and will be "
            f"removed in version 1.11. Use `CalibratedClassifierCV({name}(), ensemble=False)` "
            f"instead of `{name}(probability=True)`",
            FutureWarning,
        )

    # ------------------------------------------------------------------ layout and names

    def _layout(
        self, data: Data, tasks: Sequence[Task], coefs: Sequence[np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, Any]:
        support, dual_coef, n_support = dual_layout(tasks, coefs, self._codes, self.classes_.size)
        return support, dual_coef, n_support, block_outputs(n_support)

    def _iterations(self, results: Sequence[Result]) -> np.ndarray:
        return np.array([result.iterations for result in results], dtype=np.int32)

    def _task_name(self, task: Task) -> str:
        return "" if task.rows is None else " / ".join(self._class_names(task))

    def _class_names(self, task: Task) -> tuple[str, str]:
        return str(self.classes_[task.classes[0]]), str(self.classes_[task.classes[1]])

    @property
    def _dual_coef_(self) -> np.ndarray:
        """The coefficients with LIBSVM's signs: of two classes the first is its positive one.

        Programs that read or change scikit-learn's models know this name. Changed coefficients are
        another function, of which the certificate says nothing: it is dropped.
        """
        return self.expansion_.coef * (-1.0 if self.classes_.size == 2 else 1.0)

    @_dual_coef_.setter
    def _dual_coef_(self, coef: np.ndarray) -> None:
        old = self.expansion_
        coef = np.asarray(coef, np.float64) * (-1.0 if self.classes_.size == 2 else 1.0)
        self.expansion_ = Expansion(
            old.kernel, old.support, coef, old.b, old.blocks, columns=old.columns
        )
        self.__dict__.pop("_proof", None)

    # ------------------------------------------------------------------ predictions

    def _decide(self, X: Any, signs_only: bool = False) -> np.ndarray:
        check_is_fitted(self, "expansion_")
        if self._n_support.sum() != self.expansion_.n_support:
            raise ValueError(
                f"The internal representation of {type(self).__name__} was altered: n_support_ "
                f"counts {self._n_support.sum()} support vectors of {self.expansion_.n_support}."
            )
        return super()._decide(X, signs_only)

    def decision_function(self, X: Any) -> np.ndarray:
        """Decision values.

        Returns
        -------
        values : ndarray
            Two classes: shape (n_samples,), positive for ``classes_[1]``. More: one score per class
            (``decision_function_shape="ovr"``) or one value per pair of classes (``"ovo"``),
            positive for the first of the pair.
        """
        values = self._decide(X)
        k = self.classes_.size
        if k == 2:
            return values[:, 0]
        return ovr_scores(values, k) if self.decision_function_shape == "ovr" else values

    @property
    def margin_(self) -> np.ndarray:
        """Full width 2/‖w‖ between the edges f = ±1 in feature space, of each task."""
        certificate = self.certificate_
        return np.array([task.margin for task in certificate.tasks or (certificate,)])

    def distance(self, X: Any) -> np.ndarray:
        """Signed distances f(x)/‖w‖ from the hyperplane in feature space.

        Returns
        -------
        distances : ndarray of shape (n_samples,) for two classes, else (n_samples, n_tasks)
            Positive on the side of ``classes_[1]``; of a pair, on the side of its first class.
        """
        values = self._decide(X) * (self.margin_ / 2)
        return values[:, 0] if self.classes_.size == 2 else values

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row."""
        check_is_fitted(self, "expansion_")
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError("break_ties must be False when decision_function_shape is 'ovo'")
        return self.classes_[self._winners(self._decide(X, signs_only=not self.break_ties))]

    def _winners(self, values: np.ndarray) -> np.ndarray:
        """The number of the class that decision values predict."""
        k = self.classes_.size
        if k == 2:
            return (values[:, 0] > 0).astype(np.intp)
        score = ovr_scores(values, k) if self.break_ties else votes(values, k)
        order = getattr(self, "_vote_order", None)  # of a model of LIBSVM: that of its labels
        if order is None:
            return np.argmax(score, axis=1)
        return order[np.argmax(score[:, order], axis=1)]

    @property
    def _is_decided(self) -> Any:
        k = self.classes_.size
        return None if k == 2 else partial(winner_is_certain, n_classes=k)

    @available_if(_has_probability)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes, in the order of ``classes_``.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            The largest is that of the predicted class. With two classes they are in the order of
            the decision values; with more, pairwise probabilities are coupled into one
            distribution, and the nearest one is taken that agrees with `predict`. Those of a model
            of LIBSVM are as its program gives them.
        """
        values, low, high = self._pairwise_probabilities(X)
        k = self.classes_.size
        if hasattr(self, "_couples_as_libsvm"):  # a model of LIBSVM's, or of scikit-learn's
            order = getattr(self, "_vote_order", np.arange(k))
            return couple_as_libsvm(low, order, self._couples_as_libsvm == "pairs too")
        p = high / (1 - low + high)  # the two are equal but for Venn–Abers intervals
        p = np.column_stack([p[:, 0], 1.0 - p[:, 0]]) if k == 2 else couple(p, k)
        return agree(p, self._winners(values)) if hasattr(self, "_agrees") else p

    @available_if(_has_probability)
    def predict_proba_interval(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Venn–Abers intervals of the probability of ``classes_[1]``, of two classes.

        Returns
        -------
        lower, upper : ndarrays of shape (n_samples,)
            The probabilities if the row had the label ``classes_[0]`` and ``classes_[1]``: one of
            the two is calibrated. They are cut off at ½ where `predict` is on its other side.
        """
        if self.probability != "venn_abers" or self.classes_.size != 2:
            raise ValueError(
                "Intervals of probabilities are those of two classes and probability='venn_abers'; "
                f"here are {self.classes_.size} classes and probability={self.probability!r}."
            )
        _, low, high = self._pairwise_probabilities(X)
        return 1 - high[:, 0], 1 - low[:, 0]

    def _pairwise_probabilities(self, X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Decision values, and bounds on p(first class) of every pair."""
        values = self._decide(X)
        if self._probA.size == 0:
            raise NotFittedError(
                "predict_proba is not available when fitted with probability=False; "
                "fit again with probability=True."
            )
        f = self._lean * values
        if hasattr(self, "_maps"):
            low, high = self._maps(f)
        else:
            low = high = sigmoid(f, self._probA, self._probB)
        if self.classes_.size == 2 and hasattr(self, "_agrees"):
            low, high = agree_in_pairs(low, f), agree_in_pairs(high, f)
        return values, low, high

    @available_if(_has_probability)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of `predict_proba`."""
        return np.log(self.predict_proba(X))

    @deprecated(_DEPRECATED.format("probA_"))  # type: ignore[prop-decorator]
    @property
    def probA_(self) -> np.ndarray:
        """Slope of Platt's sigmoid, one per task; empty without ``probability=True``."""
        return self._probA

    @deprecated(_DEPRECATED.format("probB_"))  # type: ignore[prop-decorator]
    @property
    def probB_(self) -> np.ndarray:
        """Offset of Platt's sigmoid, one per task; empty without ``probability=True``."""
        return self._probB
