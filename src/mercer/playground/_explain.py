"""One sentence on what the picture shows, from KKT groups and certificate: a table of rules.

`explain` takes the first rule that applies. A rule has a name, the estimators it is about, a
condition on the `Situation`, and a sentence with fields: ``{C!g}`` a number, ``{n:,}`` a count,
``{n_wrong!p}`` "3 points", ``{n_steps!m}`` "3 mistakes", ``{n_wrong!i}`` "is" or "are".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from string import Formatter
from typing import Any

from mercer._result import Status
from mercer.playground._situation import Situation

__all__ = ["RULES", "Explanation", "Rule", "explain"]


@dataclass(frozen=True)
class Explanation:
    """The name of a rule and its sentence."""

    key: str
    text: str


@dataclass(frozen=True)
class Rule:
    """A sentence, and when it applies.

    Attributes
    ----------
    name : str
        Its key, after the estimators it is about: ``"svc svr: no-free"``; without, about all.
    text : str
        The sentence with its fields.
    applies : the condition; by default always true
    """

    name: str
    text: str
    applies: Callable[[Situation], Any] = lambda situation: True

    @property
    def key(self) -> str:
        return self.name.rpartition(": ")[2]

    def explain(self, situation: Situation) -> Explanation | None:
        machines = self.name.rpartition(": ")[0].split()
        if (machines and situation.machine not in machines) or not self.applies(situation):
            return None
        return Explanation(self.key, _Words().vformat(self.text, (), _fields(situation)))


class _Words(Formatter):
    """Fields with the conversions g (number), p (points), m (mistakes), v (free vectors), i."""

    def convert_field(self, value: Any, conversion: str | None) -> Any:
        if conversion == "g":
            return f"{value:.3g}".replace("-", "−")
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


def explain(situation: Situation) -> Explanation:
    """The first rule that applies, in words.

    Examples
    --------
    >>> from mercer.playground._explain import explain
    >>> from mercer.playground._situation import Situation
    >>> explain(Situation(n=0)).text
    'Nothing to learn from yet: click into the plane to add points, or take a preset.'
    """
    return next(filter(None, (rule.explain(situation) for rule in RULES)))


def _stepping(s: Situation) -> bool:
    return s.step is not None


def _is_isolated(s: Situation) -> bool:
    """Half of the points have no neighbour with k of at least 0.2."""
    return s.kernel in ("rbf", "laplacian") and s.n > 2 and s.neighbour < 0.2


RULES: tuple[Rule, ...] = (
    Rule(
        "empty",
        "Nothing to learn from yet: click into the plane to add points, or take a preset.",
        lambda s: s.n == 0,
    ),
    Rule(
        "one-class-only",
        "All points are of class {names[0]}, and a boundary needs two sides: choose another "
        "class and click some points of it.",
        lambda s: s.kind == "classes" and s.n_classes < 2,
    ),
    Rule(
        "kmeans: too-few",
        "{n!p} cannot make {n_clusters} clusters: add points or choose fewer clusters.",
        lambda s: s.n < s.n_clusters,
    ),
    # ------------------------------------------------------------------ step mode
    Rule(
        "svc svr: step-start",
        "Before the first step all α are 0 and so is f: each step now moves two of them.",
        lambda s: s.step == 0,
    ),
    Rule(
        "oneclass: step-start-oneclass",
        "The first points have the sum that α must have; each step now moves two of them.",
        lambda s: s.step == 0,
    ),
    Rule(
        "step-start-updates",
        "Before the first step w = 0: no point has been visited yet.",
        lambda s: s.step == 0,
    ),
    Rule(
        "svc svr oneclass: step-over",
        "No pair violates its KKT conditions any more: SMO is done, the gap is {gap:.2g} of the "
        "objective.",
        lambda s: _stepping(s) and s.is_over,
    ),
    Rule(
        "step-over-mistakes",
        "No mistake is left, or the iteration limit was reached: these are all updates of the fit.",
        lambda s: _stepping(s) and s.is_over,
    ),
    Rule(
        "step-clipped",
        "SMO moves points {first} and {second} along the line that keeps Σ αy: its optimum lies "
        "outside of the box, so the step is clipped to {end} = {after!g}.",
        lambda s: _stepping(s) and s.box and s.box.is_clipped,
    ),
    Rule(
        "step-inside",
        "SMO moves points {first} and {second} along the line that keeps Σ αy to its optimum, "
        "which lies inside of the box: α goes from {before!g} to {after!g}.",
        lambda s: _stepping(s) and s.box,
    ),
    Rule(
        "perceptron: step-mistake",
        "Point {point} was on the wrong side, so the perceptron adds it: its count and b move by "
        "one, and {n_wrong!p} {n_wrong!i} wrong now.",
        _stepping,
    ),
    Rule(
        "step-pull",
        "Point {point} was within the margin: w shrinks by 1 − 1/t and moves towards it by 1/(λt).",
        lambda s: _stepping(s) and s.pull != 0,
    ),
    Rule(
        "step-rest",
        "Point {point} was beyond the margin already: w only shrinks by 1 − 1/t.",
        _stepping,
    ),
    # ------------------------------------------------------------------ support vector machines
    Rule(
        "svc svr oneclass: not-separable",
        "C = ∞ admits no error, which is impossible here: with the weights of {n_proof!p} "
        "(ringed) one point lies in the convex hulls of both classes.",
        lambda s: s.n_proof,
    ),
    Rule(
        "svc svr oneclass: not-psd",
        "This is no kernel on these points: K has an eigenvalue of {least_eigenvalue!g} times its "
        "largest, so the problem is not convex and the solution only a stationary point.",
        lambda s: s.least_eigenvalue < -1e-9,
    ),
    Rule(
        "svc svr oneclass: not-converged",
        "The solver stopped with a gap of {gap:.2g} ({status}): a smaller C, or scaled columns, "
        "would let it converge.",
        lambda s: s.status in (Status.ITERATION_LIMIT, Status.STALLED),
    ),
    Rule(
        "svc: all-at-C",
        "C = {C!g} is so small that every α is at C: w is C times the difference of the class "
        "sums, and every b in the band, from {b_low!g} to {b_high!g}, is optimal.",
        lambda s: s.n_bound == s.n and s.has_band,
    ),
    Rule(
        "svc svr oneclass: isolated",
        "γ = {gamma!g} is so large that most points are isolated (half of them have no neighbour "
        "with k above {neighbour!g}): f is determined at the points and nearly constant between.",
        _is_isolated,
    ),
    Rule(
        "svc: one-side",
        "All points are put into one class: C is too small, or the kernel too smooth, for a "
        "boundary between them.",
        lambda s: s.n_classes == 2 and s.sides == 1,
    ),
    Rule(
        "svc svr: no-free",
        "No support vector is free, so b is not unique: every b from {b_low!g} to {b_high!g} (the "
        "band) has the same objective.",
        lambda s: s.n_support and s.has_band,
    ),
    Rule(
        "svc: hard-margin",
        "The largest margin between the classes, {margin!g} wide in feature space, depends on "
        "{n_support!p} only: moving any other changes nothing.",
        lambda s: float("inf") == s.C and s.n_classes == 2,
    ),
    Rule(
        "svc: several",
        "{n_classes} classes are {n_pairs} problems of two; a region belongs to the class that "
        "wins all of its own, and {n_support!p} of {n:,} are a support vector of some problem.",
        lambda s: s.n_classes > 2,
    ),
    Rule(
        "svc: all-support",
        "All {n:,} points are support vectors: none lies beyond the margin, so the model needs all "
        "of the data. With a larger C or another γ some would have α = 0.",
        lambda s: s.n_zero == 0,
    ),
    Rule(
        "svc: margin-empty",
        "No point is inside of the margin: C = {C!g} acts as a hard margin here, given by "
        "{n_free!p} on its edges.",
        lambda s: s.n_bound == 0,
    ),
    Rule(
        "svc: errors",
        "{n_wrong!p} on the wrong side and {n_inside:,} inside of the margin have α = C; the "
        "{n_free!v} on its edges determine b.",
        lambda s: s.n_wrong,
    ),
    Rule(
        "svc: soft-margin",
        "All points are on their side, but {n_inside:,} are inside of the margin: at C = {C!g} the "
        "wider margin outweighs their slack.",
    ),
    Rule(
        "svr: tube-holds-all",
        "The tube of ±ε = {epsilon!g} contains all points around a constant: no support vector, "
        "and f is constant. A smaller ε would follow the points.",
        lambda s: s.n_support == 0,
    ),
    Rule(
        "svr: curve",
        "The curve depends on {n_support!p} of {n:,}: those on the edge of the tube or outside of "
        "it ({n_bound:,} with α = C); the others could be left out.",
    ),
    Rule(
        "oneclass: half-plane",
        "A linear one-class SVM can only cut off a half-plane, away from the origin: RBF gives a "
        "bounded region.",
        lambda s: s.kernel in ("linear", "cosine"),
    ),
    Rule(
        "oneclass: region",
        "ν = {nu!g} lies between the fraction of points outside, {outside:.0%}, and that of "
        "support vectors, {supporting:.0%}.",
    ),
    # ------------------------------------------------------------------ other estimators
    Rule(
        "perceptron: perceptron-done",
        "The perceptron separates the classes after {n_steps!m}, of at most {bound_on_steps!g} by "
        "Novikoff's bound; any boundary without mistakes would do.",
        lambda s: s.n_wrong == 0,
    ),
    Rule(
        "perceptron: perceptron-endless",
        "The perceptron will never end: {n_proof!p} (ringed) prove that no hyperplane of this "
        "kernel separates the classes; it has made {n_steps!m} so far.",
        lambda s: s.n_proof,
    ),
    Rule(
        "perceptron: perceptron-late",
        "After {n_steps!m} {n_wrong!p} {n_wrong!i} still on the wrong side: the classes can be "
        "separated by this kernel, but with a margin so small that it takes many more.",
    ),
    Rule(
        "pegasos: pegasos-done",
        "Pegasos took one example at a time and is proved to be within {gap:.1%} of the optimum of "
        "the SVM with the penalty b²/2.",
        lambda s: s.status is Status.SOLVED,
    ),
    Rule(
        "pegasos: pegasos-early",
        "Pegasos is proved to be within {gap:.0%} of the optimum only: with λ = 1/(nC) this small "
        "its steps 1/(λt) are still large. With a smaller C it converges sooner.",
    ),
    Rule(
        "logistic: logistic-certain",
        "Every point is on its side, yet every α is positive: the logistic loss never reaches "
        "zero, so no point could be left out.",
        lambda s: s.n_wrong == 0,
    ),
    Rule(
        "logistic: logistic",
        "Every α is positive, the largest are those of the {n_wrong!p} on the wrong side: lines "
        "are probabilities of 27 %, 50 % and 73 %, where f = −1, 0, 1.",
    ),
    Rule(
        "kmeans: kmeans-empty",
        "{n_empty} of {n_clusters} clusters {n_empty!i} empty: there are fewer different points "
        "than clusters.",
        lambda s: s.n_empty,
    ),
    Rule(
        "kmeans: kmeans-one",
        "One cluster is the mean of all points: there is nothing to decide.",
        lambda s: s.n_clusters == 1,
    ),
    Rule(
        "kmeans: kmeans",
        "{n_clusters} means in feature space, the best of ten starts; labels are not used, "
        "colours are those of the nearest mean.",
    ),
    Rule(
        "ridge: ridge-interpolates",
        "The curve goes through almost all points: α is so small that noise is fitted as well.",
        lambda s: s.residual < 0.1,
    ),
    Rule(
        "ridge: ridge-flat",
        "The curve stays near zero: α is too large (or the kernel too smooth) to follow the "
        "points; note that ridge has no intercept.",
        lambda s: s.residual > 0.9,
    ),
    Rule(
        "ridge: ridge",
        "Every coefficient is a residual over α, c = (y − f)/α, and {explained:.0%} of the "
        "variance is explained. No point can be left out.",
    ),
)
