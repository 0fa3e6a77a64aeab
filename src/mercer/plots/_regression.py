"""`TubeDisplay`: a regression, its ε-tube, and the points inside, on and outside of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.estimators._dual_view import KKTGroup
from mercer.plots import style
from mercer.plots._base import Display, halo
from mercer.plots._fitted import FittedView, groups_from_margin, max_over_tasks
from mercer.plots._projection import make_plane

__all__ = ["TubeDisplay"]

_NAMES = {
    KKTGroup.ZERO: "α = 0: inside the tube",
    KKTGroup.FREE: "0 < α < C: on its edge",
    KKTGroup.BOUND: "α = C: outside",
}
_NAMES_WITHOUT_DUALS = {
    KKTGroup.ZERO: "inside the tube",
    KKTGroup.FREE: "on its edge",
    KKTGroup.BOUND: "outside",
}


@dataclass(kw_only=True, eq=False, repr=False)
class TubeDisplay(Display):
    """A regression along one feature, with its tube f ± ε.

    Residuals up to ε cost nothing: samples inside the tube have α = 0, and the same model is
    optimal without them. Of ν-SVR the ε of its solution is drawn; estimators without a tube
    (ridge) are drawn without.

    Examples
    --------
    >>> import mercer
    >>> from mercer.plots import TubeDisplay
    >>> X, y = [[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0]
    >>> model = mercer.SVR(kernel="linear", epsilon=0.5, C=10).fit(X, y)
    >>> TubeDisplay.from_estimator(model, X, y).groups.tolist()
    [1, 0, 1]
    """

    figsize = (8.2, 4.4)
    legend_is_below = True

    x: np.ndarray  #: the curve is f along x
    f: np.ndarray
    points: np.ndarray  #: places of the rows along the axis, and their targets
    groups: np.ndarray  #: 0 inside of the tube, 1 on its edge, 2 outside
    group_names: dict[KKTGroup, str] = field(default_factory=lambda: _NAMES)
    epsilon: float = 0.0  #: half width of the tube; 0 for none
    labels: Sequence[str] = ("", "y")

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        feature: Any = None,
        grid_resolution: int = 400,
        ax: Any = None,
        **options: Any,
    ) -> TubeDisplay:
        """Draw a fitted regression view.

        Parameters
        ----------
        estimator : fitted regression estimator of Mercer, or a Pipeline that ends in one
        X, y, sample_weight
            What it was fitted on. On other samples groups follow from the residuals, not from α.
        feature : name or number of a column, optional
            Draw along it, all others at their median. By default the only one, or the first
            principal component.
        grid_resolution : int
        ax, **options
            Matplotlib axes; of ``plot``: legend (True).
        """
        view = FittedView(estimator, X, y, sample_weight)
        if not view.is_regressor:
            view.refuse("is no regression and has no tube", "BoundaryDisplay draws it.")
        if view.y.ndim != 1:
            view.refuse(f"has {view.y.shape[1]} targets", "Fit one of them to draw it.")
        view.require_coordinates("TubeDisplay")
        plane = make_plane(view, None if feature is None else [feature], dimensions=1)
        x = plane.ticks(0, grid_resolution)
        epsilon = view.epsilon
        if view.tasks:
            names, (groups, _) = _NAMES, max_over_tasks(view.tasks, view.n)
        elif epsilon:
            names = _NAMES_WITHOUT_DUALS
            groups = groups_from_margin(1 - np.abs(view.y - view.values) / epsilon)
        else:
            names, groups = {KKTGroup.ZERO: "points"}, np.zeros(view.n, dtype=np.int8)
        display = cls(
            x=x,
            f=plane.values(view, x[:, np.newaxis]),
            points=np.column_stack([plane.points[:, 0], view.y]),
            groups=groups,
            group_names=names,
            epsilon=epsilon,
            labels=(plane.labels[0], view.target_name),
            title=view.title,
            caveat=plane.caveat,
            certificate=view.certificate,
        )
        return display.plot(ax, **options)

    def _words(self) -> list[str]:
        counts = [f"{(self.groups == g).sum()} {name}" for g, name in self.group_names.items()]
        return [f"Regression by {self.title}, with its tube", *counts]

    def _draw(self, axes: list[Any], *, legend: bool | str = True) -> None:
        ax, is_crowd = axes[0], len(self.points) > style.SETTINGS.uncrowded
        codes = np.ones(len(self.points), np.intp)
        self._scatter_groups(ax, self.points, self.groups, codes, self.group_names)
        # Of many points the curve is drawn on top of them.
        outline = {"zorder": 8, "path_effects": halo()} if is_crowd else {"zorder": 2}
        if self.epsilon > 0:
            edges = self.f - self.epsilon, self.f + self.epsilon
            ax.fill_between(self.x, *edges, zorder=0, color=style.tint(style.GREY, 0.2), lw=0)
            dashed = {"color": style.INK, "linewidth": 1.2, "linestyle": "--", **outline}
            ax.plot(self.x, edges[0], **dashed)
            ax.plot(self.x, edges[1], label=f"f ± ε, ε = {self.epsilon:.3g}", **dashed)
        ax.plot(self.x, self.f, color=style.INK, linewidth=2.2, label="f", **outline)
        low = min(self.points[:, 1].min(), (self.f - self.epsilon).min())
        high = max(self.points[:, 1].max(), (self.f + self.epsilon).max())
        pad = 0.05 * (high - low) or 1.0
        ax.set(xlim=(self.x[0], self.x[-1]), ylim=(low - pad, high + pad))
        ax.set(xlabel=self.labels[0], ylabel=self.labels[1])
        self._legend(ax, legend)
