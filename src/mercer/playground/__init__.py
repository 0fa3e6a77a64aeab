"""The playground: draw points, choose an estimator, and see its model (`mercer play`).

==============  ====================================================================
_catalogue.py   what can be chosen: estimators, kernels, parameters and their ranges
_presets.py     sets of points by name
_state.py       `State`: frozen, checks itself, travels in a link
_upload.py      points from a CSV file
_fit.py         a state's estimator, fitted: duals by KKT group, certificate, progress
_steps.py       `StepHistory`: the iterates of SMO, Pegasos and the perceptron
_situation.py   `Situation`: the numbers that an explanation is chosen by
_explain.py     one sentence on what the picture shows, from a table of rules
_export.py      the same as a Python program
_contours.py    lines and regions of values on a grid
_picture.py     `draw`: State → `Picture`, all numbers and words that are shown
_session.py     one open page: events change the state, with undo
_render.py      a `Picture` as columns for the figures
_figures.py     the figures (Bokeh)
_page.py        the page around them; assets/ has its HTML, CSS and JavaScript
_server.py      the server, for this computer only
==============  ====================================================================

Only _figures.py, _page.py and _server.py need Bokeh (``pip install "mercer[play]"``).
"""

from typing import Any

from mercer.playground._picture import Picture, draw
from mercer.playground._state import State, StateError

__all__ = ["Picture", "State", "StateError", "draw", "serve"]


def serve(port: int = 0, *, open_browser: bool = True, query: str = "") -> Any:
    """Serve the playground on this computer until Ctrl-C.

    Parameters
    ----------
    port : int, default=0
        0 takes a free one.
    open_browser : bool, default=True
    query : str, default=""
        The state to open with, as in a shared link after its question mark.
    """
    from mercer.playground._server import serve as run

    return run(port, open_browser=open_browser, query=query)
