"""`dual_view`: the dual variables of a fitted model, one `TaskDuals` for each of its binary tasks.

With the cost s = C · class weight · sample weight of a sample, its box follows from the loss
(`_task_duals`). ν-SVC is published divided by ρ = ν Σs / Σα, which makes it the hinge with s/ρ in
place of s. ν-SVR is the ε-insensitive loss with the ε that is best for its residuals.

All of it is read off fitted attributes, parameters and the data given; no step of ``fit`` is run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import _num_samples, check_is_fitted

from mercer._multiclass import block_outputs, pair_tasks
from mercer._precision import TINY
from mercer.estimators._task_duals import KKTGroup, Loss, TaskDuals
from mercer.estimators._validation import check_rows, class_weights, is_precomputed
from mercer.problems._multinomial import Multinomial

__all__ = ["HasDualView", "KKTGroup", "Loss", "TaskDuals", "codes_of", "is_fitted_on", "loss_of"]


class HasDualView:
    """An estimator whose dual variables can be shown."""

    def dual_view(self, X: Any, y: Any = None, sample_weight: Any = None) -> list[TaskDuals]:
        """The dual variables of the fitted model on its training data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or (n_samples, n_samples)
            What the model was fitted on; for a precomputed kernel, the kernel matrix.
        y : array-like of shape (n_samples,)
            Its labels or targets; not used by OneClassSVM.
        sample_weight : array-like of shape (n_samples,), optional
            Its weights.

        Returns
        -------
        tasks : list of TaskDuals
            One for each binary task: pairs of classes, or each class against the rest.

        Examples
        --------
        >>> from mercer import SVC
        >>> X, y = [[0.0, 1.0], [0.0, -1.0], [0.0, 3.0]], [1, -1, 1]
        >>> (task,) = SVC(kernel="linear").fit(X, y).dual_view(X, y)
        >>> task.beta, task.f.round(6), task.kkt_group
        (array([ 0.5, -0.5,  0. ]), array([ 1., -1.,  3.]), array([1, 1, 0], dtype=int8))
        """
        check_is_fitted(self)
        spec = _spec_of(self)
        if not is_fitted_on(self, X):
            raise ValueError(
                f"X is not what {type(self).__name__} was fitted on. Give the training samples in "
                "their order."
            )
        n = _num_samples(X)
        weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, np.float64)
        if weight.shape != (n,):
            raise ValueError(f"sample_weight must have {n} entries, got shape {weight.shape}.")
        tasks = list(spec.encode(self, y, weight))
        f = _values(self, X).reshape(n, -1)
        beta = _stored_duals(self, tasks, n)
        if loss_of(self) is Loss.MULTINOMIAL:
            beta = _multinomial_duals(self, tasks, f)
        b = np.broadcast_to(np.ravel(self.intercept_), f.shape[1])  # type: ignore[attr-defined]
        return [
            _view(self, task, f[task.rows, t], float(b[t]), None if beta is None else beta[t])
            for t, task in enumerate(tasks)
        ]


def loss_of(model: Any) -> Loss | None:
    """The loss that an estimator minimises, if it has a dual view."""
    spec = next((_SPECS[c.__name__] for c in type(model).__mro__ if c.__name__ in _SPECS), None)
    return None if spec is None else spec.loss(model)


def is_fitted_on(model: Any, X: Any, rtol: float = 1e-6) -> bool:
    """Whether these may be the samples of the fit, by their number and by the support vectors.

    Support vectors that differ by more than ``rtol`` of the largest entry belong to other data.
    """
    n = _num_samples(X)
    kept = getattr(model, "dual_coef_", None)
    if not _spec_of(model).is_kernel:
        return kept is None or kept.shape[1] == n
    if getattr(model, "shape_fit_", (n,))[0] != n or int(model.support_.max(initial=-1)) >= n:
        return False
    vectors = getattr(model, "support_vectors_", np.empty((0, 0)))
    if is_precomputed(model.kernel) or vectors.ndim == 1 or vectors.shape[0] == 0:
        return True
    rows = X if sp.issparse(X) else np.asarray(X, dtype=np.float64)
    difference = abs(rows[model.support_] - vectors).max()
    return bool(difference <= rtol * abs(vectors).max())


# ------------------------------------------------------------------ tasks of each estimator


@dataclass(frozen=True, eq=False)
class _Task:
    """Samples, labels ±1 (or targets) and costs of a task."""

    name: str
    rows: np.ndarray
    y: np.ndarray
    cost: np.ndarray


def _codes(model: Any, y: Any, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Samples with a weight, and the numbers of their classes."""
    rows, y = np.flatnonzero(weight > 0), _checked_targets(model, y, weight.size)
    return rows, codes_of(model, y[rows])


def codes_of(model: Any, y: np.ndarray) -> np.ndarray:
    """The numbers of the classes of labels that the model knows."""
    unknown = np.setdiff1d(y, model.classes_)
    if unknown.size:
        raise ValueError(
            f"y has labels {type(model).__name__} does not know: {unknown[:5].tolist()}."
        )
    return np.searchsorted(model.classes_, y)


def _checked_targets(model: Any, y: Any, n: int) -> np.ndarray:
    if y is None:
        raise ValueError(f"y must be the targets of {type(model).__name__}, got None.")
    y = np.asarray(y)
    y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
    if y.shape != (n,):
        raise ValueError(f"y must have one entry for each of {n} rows, got {y.shape}.")
    return y


def _pairs(model: Any, y: Any, weight: np.ndarray) -> Iterator[_Task]:
    """SVC, NuSVC: every pair of classes."""
    rows, codes = _codes(model, y, weight)
    scale = model.class_weight_[codes] * weight[rows]
    for task in pair_tasks(codes, model.classes_.size):
        first, second = (model.classes_[c] for c in task.classes)
        name = "" if task.rows is None else f"{first} / {second}"
        cost = getattr(model, "C", 1.0) * task.of_rows(scale)
        yield _Task(name, task.of_rows(rows), task.y, cost)


def _rest(model: Any, y: Any, weight: np.ndarray) -> Iterator[_Task]:
    """Every class against the rest; one task where there are two classes."""
    rows, codes = _codes(model, y, weight)
    spec, k = _spec_of(model), model.classes_.size
    for positive in [1] if k == 2 else range(k):
        label = np.where(codes == positive, 1.0, -1.0)
        name = "" if k == 2 else f"{model.classes_[positive]} / rest"
        yield _Task(name, rows, label, spec.cost(model, codes, label, weight[rows]))


def _targets(model: Any, y: Any, weight: np.ndarray) -> Iterator[_Task]:
    rows = np.flatnonzero(weight > 0)
    target = _checked_targets(model, y, weight.size)[rows].astype(np.float64)
    yield _Task("", rows, target, _spec_of(model).cost(model, None, target, weight[rows]))


def _one_class(model: Any, y: Any, weight: np.ndarray) -> Iterator[_Task]:
    rows = np.flatnonzero(weight > 0)
    yield _Task("", rows, np.ones(rows.size), weight[rows])


def _kernel_cost(model: Any, codes: Any, label: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return model.C * (1.0 if codes is None else model.class_weight_[codes]) * weight


def _linear_cost(model: Any, codes: Any, label: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """As in LIBLINEAR: against the rest, the class weight counts for the task's own class only."""
    loss = loss_of(model)
    if codes is None or model.classes_.size == 2 or (loss and loss.is_of_all_classes):
        return _kernel_cost(model, codes, label, weight)
    return model.C * np.where(label > 0, model.class_weight_[codes], 1.0) * weight


def _pegasos_cost(model: Any, codes: Any, label: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """C = 1/(λ Σ weight), or 1/(λ n) of a stream, whose weights are known only at its end."""
    given = None if codes is None else model.class_weight
    if given is not None:
        weight = weight * class_weights(given, model.classes_, codes, weight)[codes]
    is_stream = getattr(model, "stream_", None) is not None
    return weight / (model.lam_ * (weight.size if is_stream else weight.sum()))


# ------------------------------------------------------------------ duals, boxes and edges


def _values(model: Any, X: Any) -> np.ndarray:
    """Decision values of every task, in float64."""
    spec = _spec_of(model)
    if spec.is_kernel:
        return model.expansion_.exact(check_rows(model, X), model.n_jobs)
    ask = model.predict if spec.encode is _targets else model.decision_function
    return np.asarray(ask(X), dtype=np.float64)


def _stored_duals(model: Any, tasks: list[_Task], n: int) -> np.ndarray | None:
    """β of every task over all samples, where the model keeps it: shape (tasks, n)."""
    coef = getattr(model, "dual_coef_", None)
    if coef is None:
        return None
    if hasattr(model, "duals_"):  # of a low-rank model, beside its coefficients
        return model.duals_.toarray()
    coef = coef.toarray() if sp.issparse(coef) else np.asarray(coef)
    spec = _spec_of(model)
    if not spec.is_kernel:  # one column for every sample; two classes at once have a row for each
        return coef[-len(tasks) :]
    beta = np.zeros((len(tasks), n))
    every = np.arange(len(tasks))
    blocks = block_outputs(model.n_support_) if spec.encode is _pairs else [(0, n, every)]
    for start, stop, outputs in blocks:
        beta[np.ix_(outputs, model.support_[start:stop])] = coef[:, start:stop]
    return beta


def _multinomial_duals(model: Any, tasks: list[_Task], f: np.ndarray) -> np.ndarray:
    """C ([y = r] − p_r) of every class r, at the best intercepts where these are free."""
    rows, cost = tasks[0].rows, tasks[0].cost
    codes = np.argmax([task.y for task in tasks], axis=0)
    problem = Multinomial(codes, cost, len(tasks), 0.0 if _has_zero_sum(model) else None)
    shift = problem.best_intercepts(f[rows]) if _has_zero_sum(model) else None
    beta = np.zeros((len(tasks), len(f)))
    beta[:, rows] = problem.gradient_duals(f[rows], shift).T
    return beta


def _view(model: Any, task: _Task, f: np.ndarray, b: float, beta: np.ndarray | None) -> TaskDuals:
    loss = _spec_of(model).loss(model)
    bound, epsilon = task.cost, float(getattr(model, "epsilon", 0.0))
    is_stored = beta is not None and loss is not Loss.MULTINOMIAL
    if beta is not None:
        beta = beta[task.rows]
    else:
        beta = loss.negative_gradient(task.y, f, task.cost, epsilon)
        if _has_zero_sum(model):
            beta = _balanced(beta)
    if _spec_of(model).is_nu and loss is Loss.HINGE:  # published divided by ρ = ν Σs / Σα
        bound = task.cost / (model.nu * task.cost.sum() / np.abs(beta).sum())
    elif _spec_of(model).is_nu and loss is Loss.EPSILON_INSENSITIVE:
        epsilon = _best_epsilon(np.abs(task.y - f), task.cost, model.nu)
    if loss.is_squared:
        bound = np.full(task.cost.size, np.inf)
    lower = np.where(task.y > 0, 0.0, -bound) if not loss.is_of_residual else -bound
    upper = np.where(task.y > 0, bound, 0.0) if not loss.is_of_residual else bound
    edges = _edges(loss, epsilon)
    return TaskDuals(task.name, loss, task.rows, task.y, beta, lower, upper, f, b, edges, is_stored)


def _edges(loss: Loss, epsilon: float) -> tuple[float, ...]:
    if loss.is_of_residual:
        return -epsilon, epsilon
    if loss is Loss.LOGISTIC or loss.is_of_all_classes:
        return ()
    return (0.0,) if loss is Loss.ONE_CLASS else (1.0,)


def _has_zero_sum(model: Any) -> bool:
    """Whether Σβ = 0 belongs to the dual: the intercept is there and not penalised."""
    if not hasattr(model, "intercept_scaling"):
        return False
    is_penalised = model.intercept_scaling is not None and bool(np.isfinite(model.C))
    return bool(model.fit_intercept) and not is_penalised


def _balanced(beta: np.ndarray) -> np.ndarray:
    """β with the sign that has the larger sum scaled down until Σβ = 0."""
    positive, negative = beta[beta > 0].sum(), -beta[beta < 0].sum()
    factor = min(positive, negative) / max(positive, negative, TINY)
    return np.where((beta > 0) == (positive > negative), factor * beta, beta)


def _best_epsilon(residual: np.ndarray, cost: np.ndarray, nu: float) -> float:
    """ε of ν-SVR: the largest ε beyond which residuals have a cost of at least ν Σ cost."""
    order = np.argsort(-residual)
    outside = np.cumsum(cost[order])
    return float(residual[order[min(np.searchsorted(outside, nu * cost.sum()), cost.size - 1)]])


# ------------------------------------------------------------------ the table


def _loss_parameter(model: Any) -> Loss:
    if getattr(model, "multi_class", "ovr") == "crammer_singer":
        return Loss.HINGE if model.classes_.size == 2 else Loss.MULTICLASS_HINGE
    return {
        "hinge": Loss.HINGE,
        "squared_hinge": Loss.SQUARED_HINGE,
        "epsilon_insensitive": Loss.EPSILON_INSENSITIVE,
        "squared_epsilon_insensitive": Loss.SQUARED_EPSILON_INSENSITIVE,
    }[model.loss]


def _logistic_loss(model: Any) -> Loss:
    is_joint = model.multi_class == "multinomial" and len(getattr(model, "classes_", ())) > 2
    return Loss.MULTINOMIAL if is_joint else Loss.LOGISTIC


@dataclass(frozen=True)
class _Spec:
    """How the tasks of an estimator are made.

    Attributes
    ----------
    loss : Loss, or a function of the estimator where it is a parameter
    encode : its tasks from y and the weights
    cost : C of each sample of a task
    is_kernel : whether it has an expansion over support vectors
    is_nu : whether ν takes the place of C, or of ε
    """

    loss_is: Loss | Callable[[Any], Loss]
    encode: Callable[[Any, Any, np.ndarray], Iterator[_Task]]
    cost: Callable[[Any, Any, np.ndarray, np.ndarray], np.ndarray] = _kernel_cost
    is_kernel: bool = True
    is_nu: bool = False

    def loss(self, model: Any) -> Loss:
        return self.loss_is if isinstance(self.loss_is, Loss) else self.loss_is(model)


# By the name of the class: the classes import this module.
_SPECS = {
    "SVC": _Spec(_loss_parameter, _pairs),
    "NuSVC": _Spec(Loss.HINGE, _pairs, is_nu=True),
    "SVR": _Spec(_loss_parameter, _targets),
    "NuSVR": _Spec(Loss.EPSILON_INSENSITIVE, _targets, is_nu=True),
    "OneClassSVM": _Spec(Loss.ONE_CLASS, _one_class),
    "KernelLogisticRegression": _Spec(Loss.LOGISTIC, _rest),
    "LinearSVC": _Spec(_loss_parameter, _rest, _linear_cost, is_kernel=False),
    "LinearSVR": _Spec(_loss_parameter, _targets, _linear_cost, is_kernel=False),
    "LogisticRegression": _Spec(_logistic_loss, _rest, _linear_cost, is_kernel=False),
    "PegasosClassifier": _Spec(Loss.HINGE, _rest, _pegasos_cost, is_kernel=False),
    "PegasosRegressor": _Spec(Loss.EPSILON_INSENSITIVE, _targets, _pegasos_cost, is_kernel=False),
}


def _spec_of(model: Any) -> _Spec:
    return next(_SPECS[c.__name__] for c in type(model).__mro__ if c.__name__ in _SPECS)
