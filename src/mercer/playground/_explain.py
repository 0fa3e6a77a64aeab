"""One sentence on what the picture shows, by rules on the numbers of a state and its fit.

`measure` gives the `Situation`, `explain` the first rule that applies. The sentences are in
assets/sentences.txt, a line each: ``key: sentence`` with fields ``{C!g}`` a number, ``{n:,}`` a
count, ``{n_wrong!p}`` "3 points", ``{n_steps!m}`` "3 mistakes", ``{n_wrong!i}`` "is" or "are".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from itertools import chain
from string import Formatter
from typing import Any, ClassVar

import numpy as np

from mercer._result import Status
from mercer.certificates._certificate import Certificate
from mercer.playground._catalogue import ESTIMATORS
from mercer.playground._fit import Fit, kernel_matrix, kernel_of, rows_and_targets
from mercer.playground._state import State
from mercer.playground._steps import Box, Step

__all__ = ["SENTENCES", "Explanation", "Situation", "explain", "measure"]

_ASSET = files("mercer.playground").joinpath("assets", "sentences.txt")
#: Sentences by the keys of their rules.
SENTENCES = dict(line.split(": ", 1) for line in _ASSET.read_text(encoding="utf-8").splitlines())


@dataclass(frozen=True)
class Explanation:
    """The key of a rule and its sentence."""

    key: str
    text: str


@dataclass(frozen=True)
class Situation:
    """What a sentence may be about."""

    wide: ClassVar[float] = 5e-3  # tolerance of a fit: a narrower interval of b is one number
    rounding: ClassVar[float] = 1e-9  # of an eigenvalue, over the largest

    machine: str = "svc"
    kernel: str = "rbf"
    kind: str = "classes"
    n: int = 0
    n_classes: int = 0
    names: tuple[str, ...] = ()  # classes present
    n_clusters: int = 0
    C: float = 1.0
    nu: float = 0.2
    epsilon: float = 0.2
    gamma: float = 0.5
    # Points by KKT group.
    n_zero: int = 0
    n_free: int = 0
    n_bound: int = 0
    # The interval of optimal b; if it is crossed, sorted, and as wide as the KKT violation.
    b_low: float = 0.0
    b_high: float = 0.0
    violation: float = 0.0
    margin: float = 0.0
    status: Status | None = None
    gap: float = 0.0  # relative
    n_wrong: int = 0  # points on the wrong side (one-class, curve: outside of region, of tube)
    n_inside: int = 0  # points between the margin's edge and the boundary, on their own side
    sides: int = 2  # number of classes that the model predicts for its own points
    neighbour: float = 1.0  # median of k of a point and its nearest neighbour elsewhere
    least_eigenvalue: float = 0.0  # of K over its largest; negative where K is not PSD
    n_proof: int = 0  # points in the proof that the convex hulls meet
    n_steps: float = 0  # mistakes of the perceptron, and Novikoff's bound on them
    bound_on_steps: float = float("inf")
    n_empty: int = 0  # clusters
    residual: float = 1.0  # root mean squared error over the standard deviation of the targets
    # In step mode: the number of steps taken; the rest is about the last one (`Step`).
    step: int | None = None
    is_over: bool = False
    box: Box | None = None
    active: tuple[int, ...] = ()
    pull: float = 0.0

    @property
    def n_support(self) -> int:
        return self.n_free + self.n_bound

    @property
    def is_crossed(self) -> bool:
        """Whether no b satisfies the KKT conditions: the interval is as wide as the violation."""
        return self.b_high - self.b_low <= 2 * self.violation

    @property
    def has_margin(self) -> bool:
        """Whether 2/‖w‖ is the width of a strip: two classes, a kernel, and w other than 0."""
        is_norm = not self.is_indefinite and 0 < self.margin < float("inf")
        return self.machine in ("svc", "pegasos") and self.n_classes == 2 and is_norm

    @property
    def is_indefinite(self) -> bool:
        """Whether K has a negative eigenvalue: then ‖w‖² need not be positive."""
        return self.least_eigenvalue < -self.rounding

    @property
    def has_band(self) -> bool:
        """Whether every b of an interval wider than ``wide`` is optimal."""
        return self.n_free == 0 and self.b_high - self.b_low > self.wide and not self.is_crossed

    @property
    def is_violated(self) -> bool:
        """Whether in step mode the interval of b is one in which every b violates a condition."""
        is_wide = self.b_high - self.b_low > self.wide
        return self.step is not None and is_wide and self.is_crossed


def measure(
    state: State, found: Fit | None, step: Step | None = None, is_over: bool = False
) -> Situation:
    """The situation of a state, and of its fit where there is one."""
    present = np.unique(state.labels)
    values: dict[str, Any] = {
        name: getattr(state, name) for name in ("machine", "kernel", "C", "nu", "epsilon", "gamma")
    }
    values |= {
        "kind": ESTIMATORS[state.machine].kind,
        "n": len(state.points),
        "n_classes": present.size,
        "n_clusters": state.clusters,
        "names": tuple(state.class_names[c] for c in present),
    }
    if found is None:
        return Situation(**values)
    values |= _of_kernel(state) | _of_fit(found)
    if found.decide is not None and state.machine != "kmeans":
        values |= _of_values(state, found)
    values |= _of_model(state, found)
    if step is not None:
        values |= {"step": state.step, "n_steps": state.step, "is_over": is_over}
        values |= {name: getattr(step, name) for name in ("box", "active", "pull", "gap")}
    return Situation(**values)


def _of_kernel(state: State, most: int = 150) -> dict[str, Any]:
    kernel = kernel_of(state)
    if kernel.is_psd is False:
        # K of a subset has a negative eigenvalue only if K of all points has (Cauchy interlacing).
        subset = state.with_(points=state.points[:: -(-len(state.points) // most)])
        spectrum = np.linalg.eigvalsh(kernel_matrix(subset))
        top = float(np.abs(spectrum).max())
        return {"least_eigenvalue": float(spectrum[0]) / top if top > 0 else 0.0}
    if state.kernel in ("rbf", "laplacian"):
        K = kernel_matrix(state)
        nearest = np.where(K < 1 - 1e-12, K, 0.0).max(axis=0)  # 1 is the same place
        return {"neighbour": float(np.median(nearest))}
    return {}


def _of_fit(found: Fit) -> dict[str, Any]:
    counts = np.bincount(found.group, minlength=3).tolist()
    values: dict[str, Any] = dict(zip(("n_zero", "n_free", "n_bound"), counts, strict=True))
    if found.proof is not None:
        values["n_proof"] = int(np.count_nonzero(found.proof))
    certificate = found.certificate
    if certificate is None:
        return values
    values |= {"status": certificate.status, "gap": certificate.relative_gap}
    if isinstance(certificate, Certificate):
        values |= {"margin": certificate.margin, "violation": certificate.kkt_violation}
        if not certificate.tasks:
            values["b_low"], values["b_high"] = certificate.bias_interval
    return values


def _of_values(state: State, found: Fit, edge: float = 1e-2) -> dict[str, Any]:
    """How many points are where; those within ``edge`` of an edge are on it."""
    assert found.decide is not None
    X, y = rows_and_targets(state)
    f = np.asarray(found.decide(X))
    kind = ESTIMATORS[state.machine].kind
    if kind == "curve":
        spread = float(np.std(y))
        residual = float(np.sqrt(np.mean((y - f) ** 2))) / spread if spread > 0 else 0.0
        tube = state.epsilon if state.machine == "svr" else 0.0
        return {"n_wrong": int((np.abs(y - f) > tube + edge).sum()), "residual": residual}
    if kind == "region":
        return {"n_wrong": int((f < -edge * max(1.0, float(np.abs(f).max()))).sum())}
    if f.ndim == 1:
        signed = np.where(y == y.max(), f, -f)
        return {
            "n_wrong": int((signed <= 0).sum()),
            "n_inside": int(((signed > 0) & (signed < 1 - edge)).sum()),
            "sides": int(np.unique(f > 0).size),
        }
    predicted = found.model.predict(X)
    return {"n_wrong": int((predicted != y).sum()), "sides": int(np.unique(predicted).size)}


def _of_model(state: State, found: Fit) -> dict[str, Any]:
    if found.model is None:
        return {}
    if state.machine == "perceptron":
        return {
            "n_steps": int(found.model.mistakes_.sum()),
            "bound_on_steps": float(found.model.mistake_bound_.max()),
        }
    if state.machine == "kmeans":
        return {"n_empty": int(np.isinf(found.model.center_norms_).sum())}
    return {}


# ------------------------------------------------------------------ rules


def explain(situation: Situation) -> Explanation:
    """The first rule that applies, in words.

    Examples
    --------
    >>> from mercer.playground._explain import Situation, explain
    >>> explain(Situation(n=0)).text
    'Nothing to learn from yet: click into the plane to add points, or take a preset.'
    """
    rules = chain(_too_little(situation), _stepping(situation), _svm(situation), _others(situation))
    key = next(key for key, applies in rules if applies)
    return Explanation(key, _Words().vformat(SENTENCES[key], (), _fields(situation)))


class _Words(Formatter):
    """Fields with the conversions g (number), p (points), m (mistakes), v (free vectors), i."""

    def convert_field(self, value: Any, conversion: str | None) -> Any:
        if conversion == "g":
            is_long = 1e3 <= abs(value) < 1e5  # not with an exponent
            return format(value, ",.0f" if is_long else ".3g").replace("-", "−")
        if conversion == "i":
            return "is" if value == 1 else "are"
        things = {"p": "point", "m": "mistake", "v": "free vector"}
        if conversion in things:
            return f"{int(value):,} {things[conversion]}{'' if value == 1 else 's'}"
        return super().convert_field(value, conversion)


def _fields(s: Situation) -> dict[str, Any]:
    """What sentences may use: the situation, and what follows from it."""
    fields: dict[str, Any] = {**vars(s), "n_support": s.n_support}
    fields["n_pairs"] = s.n_classes * (s.n_classes - 1) // 2
    fields["explained"] = 1 - s.residual**2
    if s.n:
        fields |= {"outside": s.n_wrong / s.n, "supporting": s.n_support / s.n}
    if s.active:
        fields["point"] = s.active[0] + 1
    if s.box is not None:
        to_low, to_high = (abs(s.box.after[1] - end) for end in (s.box.low, s.box.high))
        fields |= {"first": s.box.i + 1, "second": s.box.j + 1}
        fields |= {"before": s.box.before[1], "after": s.box.after[1]}
        fields["end"] = "L" if to_low <= to_high else "H"
    return fields


# A rule is its key and whether it applies.
Rules = Iterator[tuple[str, Any]]


def _too_little(s: Situation) -> Rules:
    yield "empty", s.n == 0
    yield "one-class-only", s.kind == "classes" and s.n_classes < 2
    yield "too-few", s.machine == "kmeans" and s.n < s.n_clusters


def _stepping(s: Situation) -> Rules:
    if s.step is None:
        return
    if s.step == 0:
        yield "step-start", s.machine in ("svc", "svr")
        yield "step-start-oneclass", s.machine == "oneclass"
        yield "step-start-updates", True
    yield "step-over", s.is_over and s.machine in ("svc", "svr", "oneclass")
    yield "step-over-mistakes", s.is_over
    yield "step-clipped", s.box and s.box.is_clipped
    yield "step-inside", s.box
    yield "step-mistake", s.machine == "perceptron"
    yield "step-pull", s.pull != 0
    yield "step-rest", True


def _svm(s: Situation) -> Rules:
    if s.machine not in ("svc", "svr", "oneclass"):
        return
    is_svc, is_svr = s.machine == "svc", s.machine == "svr"
    yield "not-separable", s.n_proof
    yield "not-psd", s.is_indefinite
    yield "not-converged", s.status in (Status.ITERATION_LIMIT, Status.STALLED)
    yield "all-at-C", is_svc and s.n_bound == s.n and s.has_band
    # Half of the points have no neighbour with k of at least 0.2.
    is_local = s.kernel in ("rbf", "laplacian")
    yield "isolated", is_local and s.n > 2 and s.neighbour < 0.2
    yield "one-side", is_svc and s.n_classes == 2 and s.sides == 1
    yield "no-free", s.machine != "oneclass" and s.n_support and s.has_band
    yield "hard-margin", is_svc and float("inf") == s.C and s.n_classes == 2
    yield "several", is_svc and s.n_classes > 2
    yield "all-support", is_svc and s.n_zero == 0
    yield "margin-empty", is_svc and s.n_bound == 0
    yield "errors", is_svc and s.n_wrong
    yield "soft-margin", is_svc
    yield "tube-holds-all", is_svr and s.n_support == 0
    yield "curve", is_svr
    yield "half-plane", s.kernel in ("linear", "cosine")
    yield "region", True


def _others(s: Situation) -> Rules:
    if s.machine == "perceptron":
        yield "perceptron-done", s.n_wrong == 0
        yield "perceptron-endless", s.n_proof
        yield "perceptron-late", True
    if s.machine == "pegasos":
        yield "pegasos-done", s.status is Status.SOLVED
        yield "pegasos-early", True
    if s.machine == "logistic":
        yield "logistic-certain", s.n_wrong == 0
        yield "logistic", True
    if s.machine == "kmeans":
        yield "kmeans-empty", s.n_empty
        yield "kmeans-one", s.n_clusters == 1
        yield "kmeans", True
    yield "ridge-interpolates", s.residual < 0.1
    yield "ridge-flat", s.residual > 0.9
    yield "ridge", True
