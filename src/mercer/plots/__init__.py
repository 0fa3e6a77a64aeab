"""Pictures of fitted machines: Display objects in scikit-learn's manner, on matplotlib.

``SomeDisplay.from_estimator(model, X, y)`` draws a fitted model and keeps the numbers behind the
picture; ``plot(ax)`` draws them again. matplotlib is imported when something is drawn. Colours,
markers and fonts are those of `mercer.plots._style`.

============  ======================================================================
boundary.py   regions, margins, support vectors by KKT group, the bias interval
tube.py       a regression with its ε-tube
kkt.py        margins against duals
gap.py        primal, dual and gap along a fit, and the callback that records them
matrix.py     the kernel matrix by class, and its eigenvalues
losses.py     loss curves
weights.py    weights of linear machines, and along C
kinds.py      all of them by name
writing.py    PNG, SVG, HTML
_machine.py   a fitted estimator as pictures see it
_plane.py     two coordinates for any number of features, and the caveat
_base.py      what displays share
============  ======================================================================
"""

from mercer.plots._boundary import BoundaryDisplay
from mercer.plots._gap import GapDisplay, Trace
from mercer.plots._kernel_matrix import KernelMatrixDisplay, SpectrumDisplay
from mercer.plots._kinds import KINDS, Kind, draw
from mercer.plots._kkt import KKTDisplay
from mercer.plots._losses import LossDisplay
from mercer.plots._regression import TubeDisplay
from mercer.plots._weights import PathDisplay, WeightsDisplay
from mercer.plots._write import write_figure

__all__ = [
    "KINDS",
    "BoundaryDisplay",
    "GapDisplay",
    "KKTDisplay",
    "KernelMatrixDisplay",
    "Kind",
    "LossDisplay",
    "PathDisplay",
    "SpectrumDisplay",
    "Trace",
    "TubeDisplay",
    "WeightsDisplay",
    "draw",
    "write_figure",
]
