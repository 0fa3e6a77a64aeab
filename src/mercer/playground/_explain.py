"""One sentence on what the picture shows, read off the KKT groups and the certificate.

`why` goes through the rules in their order; the first that applies speaks. A rule is a situation
with a name: a condition on `Facts` and a sentence about them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mercer._result import Status
from mercer.playground._steps import Box

__all__ = ["Facts", "Why", "why"]

# With a smaller k to its nearest neighbour a point is an island.
ISLAND = 0.2
# Eigenvalues below minus this share of the largest are no rounding.
NEGATIVE = 1e-9
# Narrower than this share of the margin, the interval of b is rounding and tolerance.
WIDE = 5e-3
TINY = 1e-6


@dataclass(frozen=True)
class Why:
    """A situation and its sentence."""

    key: str
    text: str


@dataclass(frozen=True)
class Facts:
    """What a sentence may speak of.

    Attributes
    ----------
    machine, kernel, kind : str
    n, n_classes : int
    n_zero, n_free, n_bound : int
        Points by KKT group.
    C, nu, epsilon, gamma : float
    b_low, b_high : float
        The interval that KKT leaves b.
    n_wrong : int
        Points on the wrong side (one-class: outside; a curve: outside of the tube).
    n_inside : int
        Points between the margin's edge and the boundary, on their own side.
    margin : float
    neighbour : float
        k of a point and its nearest neighbour elsewhere, the median of all points.
    least_eigenvalue : float
        Of K against its largest; negative if the kernel is not PSD on these points.
    status : Status or None
    gap : float
        Relative.
    n_proof : int
        Points in the proof that the hulls meet, if they do.
    n_steps, bound_on_steps : float
        Of the perceptron: mistakes, and Novikoff's bound on them.
    n_empty, n_clusters : int
    sides : int
        How many classes the machine gives to its own points.
    residual : float
        Of a curve: the root of the mean squared error against the spread of the targets.
    step : int or None
        In step mode, how many were taken; the rest is about the last one.
    is_over : bool
    box : Box or None
    active : tuple of int
    pull : float
    names : tuple of str
        Classes present.
    """

    machine: str = "svc"
    kernel: str = "rbf"
    kind: str = "classes"
    n: int = 0
    n_classes: int = 0
    n_zero: int = 0
    n_free: int = 0
    n_bound: int = 0
    C: float = 1.0
    nu: float = 0.2
    epsilon: float = 0.2
    gamma: float = 0.5
    b_low: float = 0.0
    b_high: float = 0.0
    n_wrong: int = 0
    n_inside: int = 0
    margin: float = 0.0
    neighbour: float = 1.0
    least_eigenvalue: float = 0.0
    status: Status | None = None
    gap: float = 0.0
    n_proof: int = 0
    n_steps: float = 0
    bound_on_steps: float = float("inf")
    n_empty: int = 0
    n_clusters: int = 0
    sides: int = 2
    residual: float = 1.0
    step: int | None = None
    is_over: bool = False
    box: Box | None = None
    active: tuple[int, ...] = ()
    pull: float = 0.0
    names: tuple[str, ...] = ()

    @property
    def n_support(self) -> int:
        return self.n_free + self.n_bound

    @property
    def has_band(self) -> bool:
        """Whether b is left open by more than the tolerance."""
        return self.n_free == 0 and self.b_high - self.b_low > WIDE

    @property
    def is_svm(self) -> bool:
        return self.machine in ("svc", "svr", "oneclass")

    @property
    def is_local(self) -> bool:
        return self.kernel in ("rbf", "laplacian")


def why(facts: Facts) -> Why:
    """The first rule that applies, in words.

    Examples
    --------
    >>> from mercer.playground._explain import Facts, why
    >>> why(Facts(n=0)).text
    'Nothing to learn from yet: click into the plane to add points, or take a preset.'
    """
    for key, applies, sentence in RULES:
        if applies(facts):
            return Why(key, sentence(facts))
    raise AssertionError("the last rule of a machine applies always")


def _many(n: int, thing: str = "point") -> str:
    return f"{n:,} {thing}{'' if n == 1 else 's'}"


def _number(value: float) -> str:
    return f"{value:.3g}".replace("-", "−")


def _pair(f: Facts) -> str:
    assert f.box is not None
    return f"points {f.box.i + 1} and {f.box.j + 1}"


def _clipped(f: Facts) -> str:
    box = f.box
    assert box is not None
    end = "L" if abs(box.after[1] - box.low) <= abs(box.after[1] - box.high) else "H"
    return (
        f"SMO moves {_pair(f)} along the line that keeps Σ αy: its optimum lies outside of the "
        f"box, so the step is clipped to {end} = {_number(box.after[1])}."
    )


def _inside(f: Facts) -> str:
    assert f.box is not None
    return (
        f"SMO moves {_pair(f)} along the line that keeps Σ αy to its optimum, which lies inside of "
        f"the box: α goes from {_number(f.box.before[1])} to {_number(f.box.after[1])}."
    )


def _support(f: Facts) -> str:
    return f"{_many(f.n_support)} of {f.n:,}"


Rule = tuple[str, Callable[[Facts], Any], Callable[[Facts], str]]

_ANY: list[Rule] = [
    ("empty", lambda f: f.n == 0, lambda f:
        "Nothing to learn from yet: click into the plane to add points, or take a preset."),
    ("one-class-only", lambda f: f.kind == "classes" and f.n_classes < 2, lambda f:
        f"All points are of class {f.names[0]}, and a boundary needs two sides: choose another "
        "class and click some points of it."),
    ("too-few", lambda f: f.kind == "clusters" and f.n < f.n_clusters, lambda f:
        f"{_many(f.n)} cannot make {f.n_clusters} clusters: add points or ask for fewer."),
]  # fmt: skip

_STEPS: list[Rule] = [
    ("step-start", lambda f: f.step == 0 and f.is_svm and f.machine != "oneclass", lambda f:
        "Before the first step all α are 0 and so is f: each step now moves two of them."),
    ("step-start-oneclass", lambda f: f.step == 0 and f.machine == "oneclass", lambda f:
        "The first points share the sum that α must have; each step now moves two of them."),
    ("step-start-updates", lambda f: f.step == 0, lambda f:
        "Before the first step w = 0: every point is still to be met."),
    ("step-over", lambda f: f.step is not None and f.is_over and f.is_svm, lambda f:
        f"No pair violates its KKT conditions any more: SMO is done, the gap is {f.gap:.2g} of the "
        "objective."),
    ("step-over-mistakes", lambda f: f.step is not None and f.is_over, lambda f:
        "No mistake is left, or no patience: these are all the updates that the fit made."),
    ("step-clipped", lambda f: f.step is not None and f.box and f.box.is_clipped, _clipped),
    ("step-inside", lambda f: f.step is not None and f.box, _inside),
    ("step-mistake", lambda f: f.step is not None and f.machine == "perceptron", lambda f:
        f"Point {f.active[0] + 1} was on the wrong side, so the perceptron adds it: its count and "
        f"b move by one, and {_many(f.n_wrong)} {'is' if f.n_wrong == 1 else 'are'} wrong now."),
    ("step-pull", lambda f: f.step is not None and f.pull != 0, lambda f:
        f"Point {f.active[0] + 1} was within the margin: w shrinks by 1 − 1/t and moves towards "
        "it by 1/(λt)."),
    ("step-rest", lambda f: f.step is not None, lambda f:
        f"Point {f.active[0] + 1} was beyond the margin already: w only shrinks by 1 − 1/t."),
]  # fmt: skip

# Ends of a fit short of its tolerance.
UNFINISHED = (Status.ITERATION_LIMIT, Status.STALLED)

_SVM: list[Rule] = [
    ("not-separable", lambda f: f.is_svm and f.n_proof, lambda f:
        f"C = ∞ asks for no error at all, which is impossible: with the weights "
        f"of {_many(f.n_proof)} (ringed) one point lies in the convex hulls of both classes."),
    ("not-psd", lambda f: f.is_svm and f.least_eigenvalue < -NEGATIVE, lambda f:
        f"This is no kernel on these points: K has an eigenvalue of {_number(f.least_eigenvalue)} "
        "times its largest, so the problem is not convex and the answer only a stationary point."),
    ("not-converged", lambda f: f.is_svm and f.status in UNFINISHED, lambda f:
        f"The solver stopped with a gap of {f.gap:.2g} ({f.status}): a smaller C, or scaled "
        "columns, would let it finish."),
    ("all-at-C", lambda f: f.machine == "svc" and f.n_bound == f.n and f.has_band, lambda f:
        f"C = {_number(f.C)} is so small that every α is at C: w is C times the difference of the "
        f"class sums, and b may be anything in the band, from {_number(f.b_low)} to "
        f"{_number(f.b_high)}."),
    ("islands", lambda f: f.is_svm and f.is_local and f.n > 2 and f.neighbour < ISLAND, lambda f:
        f"γ = {_number(f.gamma)} is so large that points are islands (half of them have no "
        f"neighbour with k above {_number(f.neighbour)}): the machine remembers "
        "them and learns little between."),
    ("one-side", lambda f: f.machine == "svc" and f.n_classes == 2 and f.sides == 1, lambda f:
        "All points are put into one class: C is too small, or the kernel too smooth, to be worth "
        "a boundary between them."),
    ("no-free", lambda f: f.machine in ("svc", "svr") and f.n_support and f.has_band, lambda f:
        f"No support vector is free, so nothing pins b down: it may be anything from "
        f"{_number(f.b_low)} to {_number(f.b_high)} (the band) at the same objective."),
    ("hard-margin", lambda f: f.machine == "svc" and float("inf") == f.C and f.n_classes == 2,
     lambda f: f"The widest street between the classes, {_number(f.margin)} across in feature "
        f"space, rests on {_many(f.n_support)}: moving any other changes nothing."),
    ("several", lambda f: f.machine == "svc" and f.n_classes > 2, lambda f:
        f"{f.n_classes} classes are {f.n_classes * (f.n_classes - 1) // 2} duels; a region belongs "
        f"to the class that wins all of its own, and {_support(f)} are a "
        "support vector of some duel."),
    ("all-support", lambda f: f.machine == "svc" and f.n_zero == 0, lambda f:
        f"All {f.n:,} points are support vectors: none lies beyond the margin, so the machine says "
        "nothing shorter than its data. A larger C or another γ would leave some out."),
    ("margin-empty", lambda f: f.machine == "svc" and f.n_bound == 0, lambda f:
        f"No point is inside of the margin: C = {_number(f.C)} acts as a hard margin here, and "
        f"{_many(f.n_free)} on its edges hold it."),
    ("errors", lambda f: f.machine == "svc" and f.n_wrong, lambda f:
        f"{_many(f.n_wrong)} on the wrong side and {f.n_inside:,} inside of the margin pay with "
        f"α = C; the {_many(f.n_free, 'free vector')} on its edges fix b."),
    ("soft-margin", lambda f: f.machine == "svc", lambda f:
        f"All points are on their side, but {f.n_inside:,} are inside of the margin: at "
        f"C = {_number(f.C)} a wider street is worth their slack."),
    ("tube-holds-all", lambda f: f.machine == "svr" and f.n_support == 0, lambda f:
        f"The tube of ±ε = {_number(f.epsilon)} holds all points around a constant: no support "
        "vector, and nothing to learn. A smaller ε would see more."),
    ("curve", lambda f: f.machine == "svr", lambda f:
        f"The curve rests on {_support(f)}: those on the edge of the tube or outside of it "
        f"({f.n_bound:,} pull with full force C); the others could be left out."),
    ("half-plane", lambda f: f.machine == "oneclass" and f.kernel in ("linear", "cosine"), lambda f:
        "A linear one-class machine can only cut off a side of the plane, away from the origin: "
        "RBF draws a region."),
    ("region", lambda f: f.machine == "oneclass", lambda f:
        f"ν = {_number(f.nu)} lies between the share of points outside, {f.n_wrong / f.n:.0%}, and "
        f"that of support vectors, {f.n_support / f.n:.0%}."),
]  # fmt: skip

_OTHERS: list[Rule] = [
    ("perceptron-done", lambda f: f.machine == "perceptron" and f.n_wrong == 0, lambda f:
        f"The perceptron separates the classes after {_many(int(f.n_steps), 'mistake')}, of at "
        f"most {_number(f.bound_on_steps)} by Novikoff's bound; any "
        "boundary without mistakes would do."),
    ("perceptron-endless", lambda f: f.machine == "perceptron" and f.n_proof, lambda f:
        f"The perceptron will never end: {_many(f.n_proof)} (ringed) prove that no hyperplane of "
        "this kernel separates the classes; it has made "
        f"{_many(int(f.n_steps), 'mistake')} so far."),
    ("perceptron-late", lambda f: f.machine == "perceptron", lambda f:
        f"After {_many(int(f.n_steps), 'mistake')} {_many(f.n_wrong)} "
        f"{'is' if f.n_wrong == 1 else 'are'} still on the wrong side: the classes can be "
        "separated by this kernel, but by so thin a margin that it takes far more."),
    ("pegasos-done", lambda f: f.machine == "pegasos" and f.status is Status.SOLVED, lambda f:
        f"Pegasos met one example at a time and is proved to be within {f.gap:.1%} of the optimum "
        "of the SVM whose b costs b²/2."),
    ("pegasos-early", lambda f: f.machine == "pegasos", lambda f:
        f"Pegasos is proved to be within {f.gap:.0%} of the optimum only: with λ = 1/(nC) this "
        "small its steps 1/(λt) are still large. A smaller C settles sooner."),
    ("logistic-certain", lambda f: f.machine == "logistic" and f.n_wrong == 0, lambda f:
        "Every point is on its side, yet every one still pulls: the logistic cost never reaches "
        "zero, so there are no points that could be left out."),
    ("logistic", lambda f: f.machine == "logistic", lambda f:
        f"Every point pulls, the {_many(f.n_wrong)} on the wrong side most: lines are "
        "probabilities of 27 %, 50 % and 73 %, where f = −1, 0, 1."),
    ("kmeans-empty", lambda f: f.machine == "kmeans" and f.n_empty, lambda f:
        f"{f.n_empty} of {f.n_clusters} clusters {'is' if f.n_empty == 1 else 'are'} empty: there "
        "are fewer different points than clusters."),
    ("kmeans-one", lambda f: f.machine == "kmeans" and f.n_clusters == 1, lambda f:
        "One cluster is the mean of all points: there is nothing to decide."),
    ("kmeans", lambda f: f.machine == "kmeans", lambda f:
        f"{f.n_clusters} means in feature space, of the best of ten starts; labels play no part, "
        "colours are those of the nearest mean."),
    ("ridge-interpolates", lambda f: f.machine == "ridge" and f.residual < 0.1, lambda f:
        "The curve goes through almost all points: α is so small that noise counts as signal."),
    ("ridge-flat", lambda f: f.machine == "ridge" and f.residual > 0.9, lambda f:
        "The curve stays near zero: α (or the kernel) is too stiff to follow the points; note that "
        "ridge has no intercept."),
    ("ridge", lambda f: f.machine == "ridge", lambda f:
        f"Every point pulls with its residual: c = (y − f)/α, and {1 - f.residual**2:.0%} of the "
        "variance is explained. No point can be left out."),
]  # fmt: skip

RULES: list[Rule] = [*_ANY, *_STEPS, *_SVM, *_OTHERS]
