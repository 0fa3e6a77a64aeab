"""The playground: draw points, choose a machine, and see what it learns (`mercer play`).

=============  ==================================================================
catalogue.py   what can be chosen: machines, kernels, parameters and their ranges
presets.py     ready-made points
state.py       `State`: frozen, checks itself, travels in a link
upload.py      points out of a CSV file
machines.py    a state's estimator, fitted: coefficients by KKT group, certificate, trace
steps.py       the machine on its way: SMO pair by pair, Pegasos and perceptron update by update
facts.py       the numbers that the sentence below speaks of
why.py         one sentence on what the picture shows
code.py        the same as a Python program
contours.py    lines and regions of values on a grid
picture.py     `draw`: State → `Picture`, all numbers and words that are shown
session.py     one visitor: events change the state, with undo
page.py        the page (Bokeh) around it; assets/ has its HTML, CSS and JavaScript
server.py      the server, for this computer only
=============  ==================================================================

Only page.py and server.py need Bokeh (``pip install "mercer[play]"``).
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
