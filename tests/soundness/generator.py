"""Problems drawn to be hard, each from one number.

``problem(seed)`` is a frozen description; ``data(problem)`` its rows, targets and weights, and
``estimator(problem)`` the machine, always the same for the same seed. ``as_code(problem)`` is the
same as a script.

Rows are offset, pulled apart, multiplied, rounded, repeated with the opposite label; C and γ run
over sixteen decades, weights over eight; tolerances from 1e-2 to 1e-8. Most problems have fewer
than 60 rows, some up to 300, a few have enough variables for the decomposition solver.
"""

from __future__ import annotations

import importlib.util
import warnings
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp

from tests.soundness.rows import data, first_data
from tests.soundness.variations import varied

__all__ = [
    "Problem", "as_code", "code_of", "data", "estimator", "first_data", "is_linear", "kind_of",
    "problem",
]  # fmt: skip

SVMS = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")
CLASSIFIERS = ("SVC", "NuSVC", "KernelLogisticRegression")
# The part of each estimator, in per cent.
PARTS = {
    "SVC": 42, "NuSVC": 8, "SVR": 12, "NuSVR": 6, "OneClassSVM": 9, "KernelRidge": 8,
    "KernelLogisticRegression": 6, "KernelPCA": 5, "KernelKMeans": 4,
}  # fmt: skip
LARGE_PART = 0.003
# One seed in ten is a problem of the linear machines' own generator.
LINEAR_EVERY = 10


@dataclass(frozen=True)
class Problem:
    """Everything that is needed to write the problem down again.

    Attributes
    ----------
    seed : int
    estimator : str
        Name of the class in `mercer`.
    params : tuple of (name, value)
        A kernel that starts with "=" is an expression over `mercer.kernels`.
    n, d : int
    steps : tuple of (name, number)
        What is done to normal rows, in this order.
    labels : str
        How targets follow from the rows before the steps.
    n_classes : int
    weights : str
        "none", "decades" or "zeros".
    storage : str
        "float64", "float32", "int" or "csr".
    gram : str
        With kernel="precomputed": "rbf", "linear", "noise" or "asymmetric".
    warm : str
        What changes between a first fit and the one that is looked at: "", "y", "C", "X", "weight".
    """

    seed: int
    estimator: str
    params: tuple[tuple[str, Any], ...]
    n: int
    d: int
    steps: tuple[tuple[str, float], ...]
    labels: str
    n_classes: int = 2
    weights: str = "none"
    storage: str = "float64"
    gram: str = ""
    warm: str = ""

    @property
    def is_squared(self) -> bool:
        return str(self.param("loss", "")).startswith("squared")

    def param(self, name: str, default: Any = None) -> Any:
        return dict(self.params).get(name, default)

    @property
    def is_svm(self) -> bool:
        return self.estimator in SVMS

    @property
    def is_classifier(self) -> bool:
        return self.estimator in CLASSIFIERS

    @property
    def is_hard_margin(self) -> bool:
        return self.param("C") == np.inf

    @property
    def kind(self) -> str:
        """A short name under which failures are counted."""
        name = self.estimator
        if name == "SVC" and self.n_classes > 2:
            name += f" of {self.n_classes}"
        if self.is_hard_margin:
            name += " hard"
        if self.is_squared:
            name += " squared"
        if "solver" in dict(self.params) and self.is_svm:
            name += ", other solvers"
        return name + (" large" if self.n > 400 else "")


def is_linear(seed: int) -> bool:
    """Whether this number stands for a problem of `tests.linear.hard_problems`."""
    return seed % LINEAR_EVERY == LINEAR_EVERY - 1 and _has_linear()


@cache
def _has_linear() -> bool:
    return importlib.util.find_spec("tests.linear.hard_problems") is not None


def kind_of(seed: int) -> str:
    """The name under which the problem of this number is counted."""
    return "linear models" if is_linear(seed) else problem(seed).kind


def code_of(seed: int) -> str:
    """The problem of this number as a script."""
    if not is_linear(seed):
        return as_code(problem(seed))
    return f"# seed {seed}\nfrom tests.linear.hard_problems import check\n\ncheck({seed})"


# ---------------------------------------------------------------------- drawing a description


def problem(seed: int) -> Problem:
    """The problem of this number."""
    return varied(_drawn(seed))


def _drawn(seed: int) -> Problem:
    """What is drawn first: estimator, kernel, rows."""
    rng = np.random.default_rng([int(seed), 0])
    names, parts = list(PARTS), np.array(list(PARTS.values()), dtype=float)
    name = str(rng.choice(names, p=parts / parts.sum()))
    if rng.random() < LARGE_PART:
        return _large(seed, rng)
    n = _rows(rng, name)
    d = int(rng.integers(1, 7))
    gram = _gram(rng) if name in SVMS and rng.random() < 0.12 else ""
    hard = name == "SVC" and not gram and rng.random() < 0.1
    params = _machine(rng, name, hard)
    params |= {"kernel": "precomputed"} if gram else _kernel(rng, name, hard)
    three = name in ("SVC", "NuSVC", "KernelLogisticRegression") and rng.random() < 0.25
    return Problem(
        seed=int(seed),
        estimator=name,
        params=tuple(params.items()),
        n=max(n, 6) if three else n,
        d=d,
        steps=_steps(rng),
        labels=_labels(rng, name),
        n_classes=3 if three else 2,
        weights=_pick(rng, {"none": 6, "decades": 2, "zeros": 1}),
        storage="float64" if gram else _pick(rng, {"float64": 7, "float32": 1, "int": 1, "csr": 1}),
        gram=gram,
        warm=_pick(rng, {"y": 1, "C": 1, "X": 1, "weight": 1})
        if name in SVMS and rng.random() < 0.12
        else "",
    )


def _pick(rng: np.random.Generator, parts: dict[str, float]) -> Any:
    p = np.array(list(parts.values()), dtype=float)
    return list(parts)[int(rng.choice(len(p), p=p / p.sum()))]


def _power(rng: np.random.Generator, low: float, high: float) -> float:
    """10 to a uniform power, with few digits so that it can be read."""
    return float(f"{10 ** rng.uniform(low, high):.3g}")


def _rows(rng: np.random.Generator, name: str) -> int:
    if name in SVMS and rng.random() < 0.02:
        return int(rng.integers(100, 301))
    most = 25 if name in ("KernelPCA", "KernelKMeans", "KernelLogisticRegression") else 60
    return int(rng.integers(2, 1 + (12 if rng.random() < 0.4 else most)))


def _gram(rng: np.random.Generator) -> str:
    return _pick(rng, {"rbf": 3, "linear": 3, "noise": 3, "asymmetric": 1})


def _machine(rng: np.random.Generator, name: str, hard: bool) -> dict[str, Any]:
    wide = rng.random() < 0.4
    params: dict[str, Any] = {}
    if name in ("SVC", "SVR", "NuSVR", "KernelLogisticRegression"):
        params["C"] = _power(rng, -8, 8) if wide else _power(rng, -2, 4)
        if hard:
            params["C"] = np.inf
    if name in ("NuSVC", "NuSVR", "OneClassSVM"):
        params["nu"] = float(rng.choice([0.01, 0.1, 0.3, 0.5, 0.75, 1.0]))
    if name == "SVR":
        params["epsilon"] = float(rng.choice([0.0, 0.1, 0.1, _power(rng, -6, 2)]))
    if name in ("SVC", "SVR") and rng.random() < 0.12:
        params["fit_intercept"] = False
    if name in SVMS:
        if rng.random() < 0.6:
            params["tol"] = _power(rng, -8, -2)
        params["time_limit"] = float(rng.choice([0.25, 0.25, 0.25, 0.02, 1.0]))
        if not hard and rng.random() < 0.15:
            del params["time_limit"]
        if rng.random() < 0.03:
            params["max_iter"] = int(rng.integers(1, 50))
    if name == "KernelRidge":
        params["alpha"] = _power(rng, -8, 8) if wide else _power(rng, -4, 2)
        params["solver"] = str(rng.choice(["auto", "auto", "cholesky", "cg", "eigen"]))
        params["time_limit"] = 1.0
    if name == "KernelPCA":
        params["n_components"] = int(rng.integers(1, 4))
        params["eigen_solver"] = str(rng.choice(["auto", "krylov"]))
    if name == "KernelKMeans":
        params |= {"n_clusters": int(rng.integers(1, 4)), "n_init": 2, "random_state": 0}
    return params


def _kernel(rng: np.random.Generator, name: str, hard: bool) -> dict[str, Any]:
    gamma = _power(rng, -8, 8) if rng.random() < 0.4 else _power(rng, -3, 1)
    names = {"linear": 4, "rbf": 5, "poly": 2, "laplacian": 1, "composed": 2, "sigmoid": 1}
    if hard:
        names = {"linear": 6, "rbf": 3, "poly": 1}
    if name not in SVMS:
        names.pop("sigmoid")
    kernel = _pick(rng, names)
    if kernel == "composed":
        return {"kernel": "=" + _expression(rng, gamma)}
    if kernel == "linear":
        return {"kernel": "linear"}
    scale = None if name in ("KernelRidge", "KernelPCA") else "scale"
    params: dict[str, Any] = {"kernel": kernel, "gamma": scale if rng.random() < 0.25 else gamma}
    if kernel in ("poly", "sigmoid"):
        if rng.random() < 0.5:
            params["gamma"] = _power(rng, -3, 0)
        params["coef0"] = float(rng.choice([0.0, 1.0, _power(rng, -3, 3)]))
    if kernel == "poly":
        params["degree"] = int(rng.integers(1, 4))
    return params


def _expression(rng: np.random.Generator, gamma: float) -> str:
    c = _power(rng, -3, 3)
    return str(
        rng.choice(
            [
                f"RBF(gamma={gamma!r}) + {c!r} * Linear()",
                f"{c!r} * RBF(gamma={gamma!r})",
                f"RBF(gamma={gamma!r}) * Polynomial(degree=2, gamma=0.5, coef0=1.0)",
                f"(Linear() + {c!r}) ** 2",
                f"Laplacian(gamma={gamma!r}) + Constant({c!r})",
                "Cosine() + RBF(gamma=0.5)",
            ]
        )
    )


def _steps(rng: np.random.Generator) -> tuple[tuple[str, float], ...]:
    draws = {
        "offset": (3, 9), "clusters": (3, 9), "far_rows": (3, 6), "huge_column": (3, 9),
        "tiny_column": (-12, -3), "constant_column": (-3, 8), "year_column": (0, 0),
        "duplicates": (0, 0), "equal_rows": (0, 0), "scale": (-20, 12), "round": (0, 0),
    }  # fmt: skip
    likely = [3, 3, 2, 2, 2, 1, 2, 3, 0.5, 2, 2]
    count = int(rng.choice([0, 1, 2, 3], p=[0.15, 0.5, 0.25, 0.1]))
    chosen = rng.choice(list(draws), size=count, replace=False, p=np.array(likely) / np.sum(likely))
    return tuple((str(step), _power(rng, *draws[str(step)])) for step in chosen)


def _labels(rng: np.random.Generator, name: str) -> str:
    if name in CLASSIFIERS:
        return _pick(rng, {"separable": 4, "noisy": 4, "random": 2, "single": 1})
    return _pick(rng, {"smooth": 5, "constant": 1, "large": 2, "steps": 1})


def _large(seed: int, rng: np.random.Generator) -> Problem:
    """More variables than the direct solver takes."""
    name = str(rng.choice(["SVC", "SVR", "OneClassSVM", "NuSVR"]))
    variables = int(rng.integers(1600, 2501))
    params = _machine(rng, name, False)
    params |= {"time_limit": 5.0, "tol": float(rng.choice([1e-3, 1e-4, 1e-5]))}
    if "C" in params:
        params["C"] = _power(rng, -1, 2)
    params["kernel"] = str(rng.choice(["rbf", "rbf", "linear"]))
    d = int(rng.integers(2, 21))
    if params["kernel"] == "rbf":
        params["gamma"] = float(f"{rng.choice([0.1, 1.0, 5.0]) / d:.3g}")
    steps = _pick(rng, {"far_rows": 4, "offset": 1, "clusters": 1, "year_column": 1, "": 1})
    return Problem(
        seed=int(seed),
        estimator=name,
        params=tuple(params.items()),
        n=variables // 2 if name in ("SVR", "NuSVR") else variables,
        d=d,
        steps=((steps, _power(rng, 3, 5)),) if steps else (),
        labels="noisy" if name == "SVC" else "smooth",
        weights=_pick(rng, {"none": 4, "decades": 1}),
        storage=_pick(rng, {"float64": 3, "float32": 1}),
    )


def estimator(p: Problem, **changes: Any) -> Any:
    """The machine, not fitted."""
    import mercer
    import mercer.kernels

    params = dict(p.params) | changes
    if p.warm:
        params["warm_start"] = True
    kernel = params.get("kernel")
    if isinstance(kernel, str) and kernel.startswith("="):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            names = {name: getattr(mercer.kernels, name) for name in mercer.kernels.__all__}
            params["kernel"] = eval(kernel[1:], names)
    return getattr(mercer, p.estimator)(**params)


# ---------------------------------------------------------------------- as a script


def as_code(p: Problem) -> str:
    """A script that fits this problem and prints its certificate."""
    lines = [f"# seed {p.seed}: {p.kind}, {', '.join(f'{s} {v:g}' for s, v in p.steps) or 'plain'}"]
    lines += ["import numpy as np", "import mercer", "from mercer.kernels import *", ""]
    params = dict(p.params) | ({"warm_start": True} if p.warm else {})
    words = ", ".join(f"{name}={_literal(name, value)}" for name, value in params.items())
    X, y, weight = data(p)
    if p.n * (p.n if p.gram else p.d) <= 600:
        lines += [f"X = {_array(X)}", f"y = {_array(y)}", f"weight = {_array(weight)}"]
    else:
        lines += [
            "from tests.soundness.generator import data, problem",
            f"X, y, weight = data(problem({p.seed}))",
        ]
    lines += [f"model = mercer.{p.estimator}({words})"]
    if p.warm == "C" and "C" in params:
        lines += [
            "model.C *= 10",
            "model.fit(X, y, sample_weight=weight)",
            "model.C /= 10",
        ]
    elif p.warm:
        lines += [
            "from tests.soundness.generator import first_data, problem",
            f"X0, y0, weight0 = first_data(problem({p.seed}))",
            "model.fit(X0, y0, sample_weight=weight0)",
        ]
    takes_weight = p.estimator != "KernelPCA"
    lines += [f"model.fit(X, y{', sample_weight=weight' if takes_weight else ''})"]
    if p.estimator != "KernelKMeans":
        lines += ["print(model.certificate_)"]
        extra = ", weight" if takes_weight else ""
        lines += [f"print(mercer.verify(model, X, y{extra}))"]
    return "\n".join(lines)


def _literal(name: str, value: Any) -> str:
    if name == "kernel" and value.startswith("="):
        return value[1:]
    return "np.inf" if isinstance(value, float) and value == np.inf else repr(value)


def _array(values: Any) -> str:
    if values is None:
        return "None"
    if sp.issparse(values):
        return f"__import__('scipy.sparse').sparse.csr_matrix({_array(values.toarray())})"
    return f"np.array({values.tolist()!r}, dtype=np.{values.dtype})"
