"""Pictures of fitted machines: Display objects in scikit-learn's manner, on matplotlib.

``SomeDisplay.from_estimator(model, X, y)`` draws a fitted model and keeps the numbers behind the
picture; ``plot(ax)`` draws them again. matplotlib is imported when something is drawn. Colours,
markers and fonts are those of `mercer.style`.
"""

from mercer.plots.boundary import BoundaryDisplay
from mercer.plots.gap import GapDisplay, Trace

__all__ = ["BoundaryDisplay", "GapDisplay", "Trace"]
