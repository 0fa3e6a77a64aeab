"""`LossDisplay`: the losses of the estimators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.estimators._dual_view import Loss
from mercer.plots import style
from mercer.plots._base import Display
from mercer.plots._fitted import FittedView

__all__ = ["LossDisplay"]

# Colour and dash of each curve.
_LINES = {
    "zero-one": (style.INK, ":"),
    "hinge": (style.BLUE, "-"),
    "squared hinge": (style.VERMILION, "--"),
    "logistic": (style.GREEN, "-."),
    "ε-insensitive": (style.BLUE, "-"),
    "squared ε-insensitive": (style.VERMILION, "--"),
}
CLASSIFICATION = ("zero-one", "hinge", "squared hinge", "logistic")
REGRESSION = ("ε-insensitive", "squared ε-insensitive")


def loss_values(name: str, at: np.ndarray, epsilon: float = 0.1) -> np.ndarray:
    """A loss with cost 1 at margins y f, or at residuals y − f for a regression."""
    if name == "zero-one":
        return (np.asarray(at) <= 0).astype(float)
    return Loss(name).evaluate(at, epsilon)


@dataclass(kw_only=True, eq=False, repr=False)
class LossDisplay(Display):
    """Loss functions: of the margin y f for classes, of the residual y − f for a regression.

    Hinge and squared hinge are convex upper bounds of the zero-one loss (1 where y f ≤ 0). The
    logistic loss log(1 + exp(−y f)) is convex but no upper bound: it is log 2 ≈ 0.69 at y f = 0 and
    below 1 for y f > −log(e − 1) ≈ −0.54. Divided by log 2 it is one.

    The hinge is zero beyond its kink at y f = 1, so that only samples on or within the margin are
    support vectors. Of a fitted model its own loss is drawn as a thick line, and the positions of
    the samples below it.

    Parameters
    ----------
    at : ndarray
        Margins or residuals.
    curves : dict of name to ndarray
    own : str
        The curve of the model, if there is one.
    rows : ndarray, optional
        Margins or residuals of the rows.
    title : str

    Attributes
    ----------
    ax_, figure_

    Examples
    --------
    >>> from mercer.plots import LossDisplay
    >>> display = LossDisplay.from_names(["hinge"], at=[-1.0, 0.0, 1.0, 2.0])
    >>> display.curves["hinge"].tolist()
    [2.0, 1.0, 0.0, 0.0]
    """

    figsize = (6.4, 4.4)

    at: np.ndarray
    curves: dict[str, np.ndarray]
    own: str = ""
    rows: np.ndarray | None = None
    title: str = ""

    @classmethod
    def from_names(
        cls,
        names: Sequence[str] = CLASSIFICATION,
        *,
        at: Any = None,
        epsilon: float = 0.5,
        ax: Any = None,
        **options: Any,
    ) -> LossDisplay:
        """Draw losses by name.

        Parameters
        ----------
        names : "zero-one", "hinge", "squared hinge", "logistic"; or "ε-insensitive", \
"squared ε-insensitive"
        at : array-like, optional
            Margins, or residuals.
        epsilon : float
            Of the last two.
        ax : matplotlib axes, optional
        **options
            Of ``plot``: legend, rug (both True).

        Returns
        -------
        LossDisplay
        """
        unknown = [name for name in names if name not in _LINES]
        if unknown or len({name in CLASSIFICATION for name in names}) != 1:
            raise ValueError(
                f"names must be some of {CLASSIFICATION} or some of {REGRESSION}, got {names!r}."
            )
        reach = (-2.5, 3.0) if names[0] in CLASSIFICATION else (-2.5, 2.5)
        at = np.linspace(*reach, 331) if at is None else np.asarray(at, dtype=np.float64)
        curves = {name: loss_values(name, at, epsilon) for name in names}
        return cls(at=at, curves=curves).plot(ax, **options)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any = None, *, ax: Any = None, **options: Any
    ) -> LossDisplay:
        """Draw the loss of a fitted model among the others, and where its samples are.

        Parameters
        ----------
        estimator : fitted classifier of two classes or regression, or a Pipeline
        X, y
            Rows with their labels or targets.
        ax : matplotlib axes, optional
        **options
            Of ``plot``: legend, rug (both True).

        Returns
        -------
        LossDisplay
        """
        view = FittedView(estimator, X, y)
        own = _own_loss(view)
        names: Sequence[str] = REGRESSION if view.is_regressor else CLASSIFICATION
        epsilon = 0.0
        if view.is_regressor:
            epsilon = view.epsilon
            rows = view.y - view.values
        else:
            rows = np.where(view.codes == 1, 1.0, -1.0) * view.values
        low, high = np.quantile(rows, [0.005, 0.995])
        at = np.linspace(min(low, -1.0), max(high, 1.6), 331)
        if view.is_regressor:
            reach = max(abs(low), abs(high), 2 * epsilon)
            at = np.linspace(-reach, reach, 331)
        curves = {name: loss_values(name, at, epsilon) for name in names}
        display = cls(at=at, curves=curves, own=own, rows=rows, title=view.title)
        display.certificate = view.certificate
        return display.plot(ax, **options)

    @property
    def upper_bounds(self) -> list[str]:
        """Names of the losses that are nowhere below the zero-one loss, of those drawn."""
        if next(iter(self.curves)) not in CLASSIFICATION:
            return []
        zero_one = loss_values("zero-one", self.at)
        return [
            name
            for name, values in self.curves.items()
            if name != "zero-one" and (values >= zero_one).all()
        ]

    def _words(self) -> list[str]:
        words, bounds = [f"Loss curves: {', '.join(self.curves)}"], ", ".join(self.upper_bounds)
        return [*words, f"Nowhere below the zero-one loss: {bounds}"] if bounds else words

    def _draw(self, axes: list[Any], *, legend: bool | str = True, rug: bool = True) -> None:
        ax = axes[0]
        for name, values in self.curves.items():
            colour, dash = _LINES[name]
            label = f"{name} (this model's)" if name == self.own else name
            is_thin = self.own and name != self.own
            width = {"linewidth": 1.2, "alpha": 0.75} if is_thin else {"linewidth": 2.4}
            x = self.at
            if name == "zero-one" and x[0] < 0 < x[-1]:  # upright at 0
                x, values = np.array([x[0], 0.0, 0.0, x[-1]]), np.array([1.0, 1.0, 0.0, 0.0])
            ax.plot(x, values, color=colour, linestyle=dash, label=label, **width)
        margins = next(iter(self.curves)) in CLASSIFICATION
        straight = [values for name, values in self.curves.items() if "squared" not in name]
        top = 1.3 * float(np.max(straight or list(self.curves.values())))
        ax.set_ylim(-0.04 * top, top)
        ax.set_xlim(self.at[0], self.at[-1])
        if margins:
            for place in (0, 1):
                ax.axvline(place, color=style.PALE, linewidth=1, zorder=0)
        if rug and self.rows is not None:
            inside = self.rows[(self.rows >= self.at[0]) & (self.rows <= self.at[-1])]
            dashes = {"color": style.INK, "alpha": 0.4, "markersize": 7}
            height, label = np.full(inside.size, -0.02 * top), f"the {self.rows.size:,} rows"
            ax.plot(inside, height, "|", label=label, **dashes)
        ax.set(xlabel="margin y f" if margins else "residual y − f", ylabel="loss")
        free = "upper right" if margins else "upper center"
        self._legend(ax, free if legend is True else legend)


def _own_loss(view: FittedView) -> str:
    if view.is_classifier and len(view.classes) != 2:
        view.refuse("has more than two classes and so no single margin", "Use two of them.")
    if view.loss not in _LINES:
        view.refuse("minimises none of these losses", "LossDisplay.from_names draws them.")
    return str(view.loss)
