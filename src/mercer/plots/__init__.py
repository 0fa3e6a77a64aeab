"""Displays of fitted estimators, as in scikit-learn, on matplotlib.

``SomeDisplay.from_estimator(model, X, y)`` draws a fitted model and keeps the numbers that are
drawn; ``plot(ax)`` draws them again. matplotlib is imported when something is drawn. Colours,
markers and fonts are those of `mercer.plots.style`.

====================  ================================================================
_boundary.py          regions, margins, support vectors by KKT group, the bias interval
_regression.py        a regression with its ε-insensitive tube
_kkt.py               margins against duals
_gap.py               primal, dual and gap during a fit
_anytime.py           certified gap and held-out score by the time limit
_kernel_matrix.py     the kernel matrix by class, and its eigenvalues
_losses.py            loss functions
_weights.py           weights of linear models, and along C
_validation_curve.py  scores of a search along C or γ
_landscape.py         scores over C and γ, and the time of each cell
_learning.py          scores by the number of rows; support vectors and margin along C
_reliability.py       observed frequencies against predicted probabilities
_search_results.py    results of searches, fitted or made for the picture
_write.py             PNG, SVG, HTML
_fitted.py            `FittedView`: a fitted estimator with the data to draw
_projection.py        two coordinates for any number of features, and the caveat
_base.py              what displays share
style.py              colours, markers, fonts: public
====================  ================================================================

`KINDS` has them by name, as ``mercer plot KIND MODEL DATA`` draws them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mercer.certificates._anytime import AnytimeTrace
from mercer.certificates._trace import Trace
from mercer.plots._anytime import AnytimeDisplay
from mercer.plots._base import APART, Display
from mercer.plots._boundary import BoundaryDisplay
from mercer.plots._gap import GapDisplay
from mercer.plots._kernel_matrix import KernelMatrixDisplay, SpectrumDisplay
from mercer.plots._kkt import KKTDisplay
from mercer.plots._landscape import LandscapeDisplay
from mercer.plots._learning import LearningCurveDisplay, SupportDisplay
from mercer.plots._losses import LossDisplay
from mercer.plots._regression import TubeDisplay
from mercer.plots._reliability import ReliabilityDisplay
from mercer.plots._validation_curve import ValidationCurveDisplay
from mercer.plots._weights import PathDisplay, WeightsDisplay
from mercer.plots._write import write_figure

__all__ = [
    "KINDS",
    "AnytimeDisplay",
    "AnytimeTrace",
    "BoundaryDisplay",
    "GapDisplay",
    "KKTDisplay",
    "KernelMatrixDisplay",
    "Kind",
    "LandscapeDisplay",
    "LearningCurveDisplay",
    "LossDisplay",
    "PathDisplay",
    "ReliabilityDisplay",
    "SpectrumDisplay",
    "SupportDisplay",
    "Trace",
    "TubeDisplay",
    "ValidationCurveDisplay",
    "WeightsDisplay",
    "draw",
    "write_figure",
]


@dataclass(frozen=True)
class Kind:
    """One kind of picture: its name, a line on it, and its display.

    ``fits`` says whether drawing fits the estimator again, ``weighted`` whether it takes
    ``sample_weight``.
    """

    name: str
    summary: str
    display: Any
    fits: bool = False
    weighted: bool = True

    def draw(self, model: Any, X: Any, y: Any = None, **options: Any) -> Display:
        """Draw as ``from_estimator`` of the display does, on a figure apart from pyplot's."""
        if not self.weighted:
            options.pop("sample_weight", None)
        return self.display.from_estimator(model, X, y, ax=APART, **options)


#: Every kind of picture by its name.
KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("boundary", "regions, margins and support vectors of a classifier", BoundaryDisplay),
        Kind("tube", "a regression with its tube and support vectors", TubeDisplay),
        Kind("kkt", "margins against duals, on the staircase of the optimum", KKTDisplay),
        Kind("gap", "primal, dual and gap while it is fitted again", GapDisplay, fits=True),
        Kind("anytime", "gap and held-out score by time limit", AnytimeDisplay, fits=True),
        Kind("kernel", "the kernel matrix, ordered by class", KernelMatrixDisplay, weighted=False),
        Kind("spectrum", "eigenvalues of the kernel matrix", SpectrumDisplay, weighted=False),
        Kind("loss", "loss curves, and where the rows are", LossDisplay, weighted=False),
        Kind("weights", "the largest weights of a linear model", WeightsDisplay, weighted=False),
        Kind("path", "weights and support of a linear model along C", PathDisplay, fits=True),
        Kind("reliability", "frequencies against probabilities", ReliabilityDisplay, False, False),
        Kind("validation", "scores along C or γ", ValidationCurveDisplay, True, False),
        Kind("landscape", "scores over C and γ, and their time", LandscapeDisplay, True, False),
        Kind("learning", "scores by the number of rows", LearningCurveDisplay, True, False),
        Kind("support", "support vectors and margin along C", SupportDisplay, True, False),
    )
}


def draw(kind: str, model: Any, X: Any, y: Any = None, **options: Any) -> Display:
    """Draw a picture by the name of its kind, one of ``KINDS``.

    Parameters
    ----------
    kind : str
    model, X, y, **options
        Of the ``from_estimator`` of that kind's display.

    Returns
    -------
    display : with ``figure_``, which `write_figure` writes

    Examples
    --------
    >>> import mercer
    >>> from mercer.plots import draw
    >>> X, y = [[0.0, 1.0], [0.0, -1.0]], [1, -1]
    >>> draw("boundary", mercer.SVC().fit(X, y), X, y).classes
    ['-1', '1']
    """
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {kind!r}.")
    return KINDS[kind].draw(model, X, y, **options)
