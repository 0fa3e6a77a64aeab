"""The playground: draw points, choose an estimator, and see its model (`mercer play`).

==============  ==============================================================================
_catalogue.py   what can be chosen: estimators and kernels
_formula.py     a kernel as it is typed: parsed, never evaluated as code
_presets.py     sets of points by name
_state.py       `State`: frozen, checks itself, travels in a link; parameters and their ranges
_upload.py      points, names and units from a CSV file
_fit.py         a state's estimator, fitted: duals by KKT group, certificate, progress
_held_out.py    held-out points, predicted by fits that have not seen them
_linked.py      linked views: bars of α, parts of the dual value, kernel matrix
_steps.py       `StepHistory`: the iterates of SMO, Pegasos and the perceptron
_explain.py     `Situation`, and by rules on it one sentence on what the picture shows
_words.py       tooltips, rows of the certificate, and the same as a Python program
_picture.py     `draw`: State → `Picture`, all numbers and words that are shown
_session.py     one open page: events change the state, with undo
_render.py      a `Picture` as columns for the figures
_render_map.py  held-out points and the map of errors, likewise
_figures.py     the figures (Bokeh)
_page.py        the page around them; assets/ has its HTML, CSS, JavaScript and sentences
_server.py      the server, for this computer only
==============  ==============================================================================

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
