"""`LossDisplay`: what an error costs, by the library's own losses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.plots import _style as style
from mercer.plots._base import Display
from mercer.plots._fitted import Machine
from mercer.problems._losses import loss_and_gap
from mercer.problems._regularized_loss import LinearPrimal, classification, logistic, regression

__all__ = ["LossDisplay"]

_ONE = np.ones(1)
_LOOKS = {
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
    """A loss with C = 1 at margins y f, or at residuals y − f for a regression."""
    if name == "zero-one":
        return (np.asarray(at) <= 0).astype(float)
    problem = _problem(name, epsilon)
    g = at if name in CLASSIFICATION else -at  # f of a row with y = 1, or with y = 0
    beta = np.zeros(1) if name != "logistic" else 0.5 * _ONE  # any in the domain of the conjugate
    return np.array(
        [loss_and_gap(problem.kind, np.array([v]), beta, *problem.arrays)[0] for v in g]
    )


def _problem(name: str, epsilon: float) -> LinearPrimal:
    squared = name.startswith("squared")
    if name == "logistic":
        return logistic(_ONE, _ONE, intercept_penalty=None)
    if name in CLASSIFICATION:
        return classification(_ONE, _ONE, squared=squared, intercept_penalty=None)
    return regression(np.zeros(1), _ONE, epsilon, squared=squared, intercept_penalty=None)


class LossDisplay(Display):
    """Loss curves: of the margin y f for classes, of the residual y − f for a regression.

    The hinge is the convex curve closest to the zero-one loss from above; its kink at 1 is why only
    the rows at or within the margin are support vectors. Of a fitted machine its own loss is drawn
    strong, with the rows' places below it.

    Parameters
    ----------
    at : ndarray
        Margins or residuals.
    curves : dict of name to ndarray
    own : str
        The curve of the machine, if there is one.
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

    def __init__(
        self,
        *,
        at: np.ndarray,
        curves: dict[str, np.ndarray],
        own: str = "",
        rows: np.ndarray | None = None,
        title: str = "",
    ):
        self.at, self.curves, self.own, self.rows, self.title = at, curves, own, rows, title

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
        unknown = [name for name in names if name not in _LOOKS]
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
        """Draw the loss of a fitted machine among the others, and where its rows are.

        Parameters
        ----------
        estimator : fitted classifier of two classes or regression machine, or a Pipeline
        X, y
            Rows with their labels or targets.
        ax : matplotlib axes, optional
        **options
            Of ``plot``: legend, rug (both True).

        Returns
        -------
        LossDisplay
        """
        machine = Machine(estimator, X, y)
        own = _own_loss(machine)
        names: Sequence[str] = REGRESSION if machine.is_regressor else CLASSIFICATION
        epsilon = 0.0
        if machine.is_regressor:
            epsilon = machine.readings[0].epsilon if machine.readings else machine.model.epsilon
            rows = machine.y - machine.values
        else:
            rows = np.where(machine.codes == 1, 1.0, -1.0) * machine.values
        low, high = np.quantile(rows, [0.005, 0.995])
        at = np.linspace(min(low, -1.0), max(high, 1.6), 331)
        if machine.is_regressor:
            reach = max(abs(low), abs(high), 2 * epsilon)
            at = np.linspace(-reach, reach, 331)
        curves = {name: loss_values(name, at, epsilon) for name in names}
        display = cls(at=at, curves=curves, own=own, rows=rows, title=machine.title)
        display.certificate = machine.certificate
        return display.plot(ax, **options)

    def _words(self) -> list[str]:
        return [f"Loss curves: {', '.join(self.curves)}"]

    def _draw(self, axes: list[Any], *, legend: bool | str = True, rug: bool = True) -> None:
        ax = axes[0]
        for name, values in self.curves.items():
            colour, dash = _LOOKS[name]
            faint = self.own and name != self.own
            label = f"{name} (this machine's)" if name == self.own else name
            ax.plot(self.at, values, color=colour, linestyle=dash, label=label,
                    linewidth=1.2 if faint else 2.4, alpha=0.75 if faint else 1.0)  # fmt: skip
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
            ax.plot(inside, np.full(inside.size, -0.02 * top), "|", color=style.INK, alpha=0.4,
                    markersize=7, label=f"the {self.rows.size:,} rows")  # fmt: skip
        ax.set(xlabel="margin y f" if margins else "residual y − f", ylabel="loss")
        free = "upper right" if margins else "upper center"
        self._legend(ax, free if legend is True else legend)


def _own_loss(machine: Machine) -> str:
    name, loss = machine.name, str(getattr(machine.model, "loss", ""))
    if machine.is_classifier and len(machine.classes) != 2:
        machine.refuse("has more than two classes and so no single margin", "Use two of them.")
    if "Logistic" in name:
        return "logistic"
    if machine.has_margin:
        return "squared hinge" if loss.startswith("squared") else "hinge"
    if machine.is_regressor and ("SVR" in name or "Pegasos" in name):
        return "squared ε-insensitive" if loss.startswith("squared") else "ε-insensitive"
    machine.refuse("minimises none of these losses", "LossDisplay.from_names draws them.")
    return ""
