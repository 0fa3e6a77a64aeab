"""`GapDisplay`: how a fit closes the gap between primal and dual value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from mercer.certificates._certificate import Certificate
from mercer.certificates._trace import Trace
from mercer.plots import style
from mercer.plots._base import Display, shortened
from mercer.plots._fitted import title_of

__all__ = ["GapDisplay"]


@dataclass(kw_only=True, eq=False, repr=False)
class GapDisplay(Display):
    """The duality gap during a fit, on a logarithmic axis; primal and dual value above it.

    The optimal value lies between primal and dual at every moment. Estimators whose solver has
    no duals before its end (k-means, the perceptron, ridge, PCA, the QP library) are drawn by the
    measure that they stop at.

    Examples
    --------
    >>> import numpy as np, mercer
    >>> from mercer.plots import GapDisplay
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> display = GapDisplay.from_estimator(mercer.SVC(), X, X[:, 0] * X[:, 1] > 0)
    >>> len(display.axes_)
    2
    """

    figsize = (6.8, 5.4)

    trace: Trace
    names: Sequence[str] = ("",)  #: of the tasks
    words: tuple[str, str] = ("steps", "violation")  #: ``iterations``, and the solver's measure

    def __post_init__(self) -> None:
        # Solvers without duals before their end leave one point only.
        self.has_gaps = 2 * len(self.trace.points) >= len(self.trace.violation)
        self.panels = 2 if self.has_gaps and len(self.names) == 1 else 1

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        ax: Any = None,
        **options: Any,
    ) -> GapDisplay:
        """Fit a copy of an estimator and draw its gap; the estimator itself is not fitted.

        Parameters
        ----------
        estimator : estimator of Mercer, fitted or not, or a Pipeline that ends in one
        X, y, sample_weight
            As for ``fit``.
        ax, **options
            Matplotlib axes (one: the gap alone) or a pair; of ``plot``: against ("iterations" or
            "seconds"), legend.
        """
        fitted = clone(estimator)
        if isinstance(fitted, Pipeline):
            if len(fitted) > 1:
                X = fitted[:-1].fit_transform(X, y)
            fitted = fitted[-1]
        name = type(fitted).__name__
        if "callback" not in fitted.get_params():
            raise ValueError(
                f"{name} has no parameter callback, so its fit cannot be followed. Draw an "
                "estimator that has one, such as SVC, SVR, LinearSVC or KernelLogisticRegression."
            )
        trace = Trace()
        weight = {} if sample_weight is None else {"sample_weight": sample_weight}
        fitted.set_params(callback=trace).fit(X, y, **weight)
        proof = getattr(fitted, "certificate_", None)
        names, words = [""], getattr(fitted, "_progress_words", ("steps", "relative gap"))
        if isinstance(proof, Certificate) and trace.points:
            trace.finish(proof)
            names = [task.name for task in proof.tasks] or [""]
        elif not trace.violation:
            raise ValueError(
                f"{name} was fitted without iterations that could be drawn; a solver that iterates "
                "reports them."
            )
        proof = proof if isinstance(proof, Certificate) else None
        texts: dict[str, Any] = {"words": words, "title": title_of(fitted), "certificate": proof}
        return cls(trace=trace, names=names, **texts).plot(ax, **options)

    def _words(self) -> list[str]:
        ends = f"{len(self.trace.violation)} reports"
        if self.has_gaps:
            ends += f", relative gap {self.trace.points[-1].relative_gap:.2g} in the end"
        return [f"Duality gap along a fit of {self.title}", ends]

    def _draw(
        self, axes: list[Any], *, against: str = "iterations", legend: bool | str = "best"
    ) -> None:
        if against not in ("iterations", "seconds"):
            raise ValueError(f"against must be 'iterations' or 'seconds', got {against!r}.")
        below = axes[-1]
        if not self.has_gaps:
            self._draw_violation(below, against)
        else:
            if len(self.names) > style.SETTINGS.most_lines:
                self._draw_bundle(below, against)
            else:
                for task in range(len(self.names)):
                    self._draw_task(axes, task, against)
            if self.trace.tol_is_of_gap:
                self._draw_tol(below)
            elif len(self.names) == 1:
                self._draw_violation(below, against, beside_gap=True)
        below.set_yscale("log")
        below.grid(True, axis="y")
        if against == "iterations":
            below.locator_params(axis="x", integer=True)
        below.set_xlabel(self.words[0] if against == "iterations" else "seconds, without recording")
        if below.get_legend_handles_labels()[0]:
            self._legend(below, legend)
        if len(axes) > 1:
            axes[0].set_ylabel("value")
            axes[0].tick_params(labelbottom=False)
            axes[0].sharex(below)
            self._legend(axes[0], legend)

    def _draw_bundle(self, ax: Any, against: str) -> None:
        """Many tasks: all as thin lines, the one with the most steps and the median on top."""
        runs = [[p for p in self.trace.points if p.task == t] for t in range(len(self.names))]
        lines = [
            (np.array([getattr(p, against) for p in run]), np.array([p.relative_gap for p in run]))
            for run in runs
            if run
        ]
        for x, gaps in lines:
            ax.plot(x, np.where(gaps > 0, gaps, np.nan), color=style.PALE, linewidth=0.9)
        self._legend_line(ax, f"{len(self.names)} tasks", color=style.PALE, linewidth=0.9)
        longest = max(range(len(lines)), key=lambda t: lines[t][0][-1])
        x = np.unique(np.concatenate([x for x, _ in lines]))  # where one of the lines bends
        logs = [np.interp(x, at, np.log(np.maximum(gaps, 1e-300))) for at, gaps in lines]
        ax.plot(x, np.exp(np.median(logs, axis=0)), color=style.BLUE, label="median of the tasks")
        name = shortened([self.names[longest]], 2 * style.SETTINGS.longest_name)[0]
        label = f"{name}: the most {against}"
        ax.plot(*lines[longest], color=style.VERMILION, linestyle="--", label=label)
        ax.set_ylabel("relative gap")

    def _draw_task(self, axes: list[Any], task: int, against: str) -> None:
        points = [point for point in self.trace.points if point.task == task]
        x = [getattr(point, against) for point in points]
        names, several = shortened(self.names), len(self.names) > 1
        colour, marker = style.class_colour(task + 1), style.class_marker(task + 1)
        line = {"color": colour, "marker": marker, "markersize": 3.5, "linewidth": 1.5}
        gaps = np.array([point.relative_gap for point in points])
        shown = np.where(np.isfinite(gaps) & (gaps > 0), gaps, np.nan)
        axes[-1].plot(x, shown, label=names[task] if several else "relative gap", **line)
        axes[-1].set_ylabel("relative gap")
        if len(axes) > 1:
            primal, dual = [p.primal for p in points], [p.dual for p in points]
            axes[0].fill_between(x, dual, primal, color=style.tint(colour, 0.18), linewidth=0)
            line = {"color": colour, "linewidth": 1.6}
            axes[0].plot(x, primal, label="primal: the model's objective", **line)
            axes[0].plot(x, dual, linestyle="--", label="dual: no model is below it", **line)
            self._frame_values(axes[0])

    def _frame_values(self, ax: Any) -> None:
        """The first values are far off: the axis ends at the median of what they are later."""
        values = np.array([(p.primal, p.dual) for p in self.trace.points])
        values = values[np.isfinite(values).all(axis=1)]
        if len(values) < 3:
            return
        late = values[len(values) // 4 :]
        low, high = float(late.min()), float(late.max())
        pad = 0.08 * (high - low) or 1.0
        ax.set_ylim(low - pad, high + pad)

    def _draw_violation(self, ax: Any, against: str, beside_gap: bool = False) -> None:
        """The solver's own measure, and where it stops."""
        seconds, iterations, violation = np.transpose(self.trace.violation)
        x = seconds if against == "seconds" else iterations
        shown = np.where(violation > 0, violation, np.nan)
        if beside_gap:
            ax.plot(x, shown, color=style.GREY, linewidth=1.1, linestyle="--", label=self.words[1])
            ax.set_ylabel(f"relative gap · {self.words[1]}")
        else:
            ax.plot(x, shown, color=style.BLUE, marker="o", markersize=3.5)
            ax.set_ylabel(self.words[1])
        self._draw_tol(ax)

    def _draw_tol(self, ax: Any) -> None:
        if np.isfinite(self.trace.tol) and self.trace.tol > 0:
            measure = "relative gap" if self.trace.tol_is_of_gap else self.words[1]
            line = {"color": style.VERMILION, "linestyle": ":", "linewidth": 1.4}
            ax.axhline(self.trace.tol, label=f"tol of the {measure} = {self.trace.tol:.2g}", **line)
