"""The page: a Bokeh document around a `Session`.

Bokeh draws the figures and carries messages; controls and words are plain HTML (assets/page.html),
so that they have labels, work by keyboard and fit a phone. The page sends events as JSON through
one data source and is told what to show through another.
"""

from __future__ import annotations

import json
from functools import lru_cache
from importlib.resources import files
from typing import Any

from bokeh.document import Document
from bokeh.events import Pan, PanEnd, PanStart, Tap
from bokeh.models import ColumnDataSource, CustomJS
from jinja2 import Environment

from mercer import style
from mercer.app.catalogue import KERNELS, LABELS, MACHINES, PARAMETERS
from mercer.app.figures import BoxFigure, Plane, TraceFigure
from mercer.app.presets import PRESETS
from mercer.app.session import ERASER, Session

__all__ = ["Page", "add_page"]

# Between two steps that go by themselves.
RUN_MS = 160
# Messages that come together are drawn together: the last state counts.
GATHER_MS = 4


@lru_cache
def _template() -> Any:
    from bokeh.core.templates import get_env

    assets = files("mercer.app").joinpath("assets")
    environment: Environment = get_env()
    return environment.from_string(assets.joinpath("page.html").read_text(encoding="utf-8"))


def _catalogue() -> dict[str, Any]:
    """What the HTML is filled with."""
    assets = files("mercer.app").joinpath("assets")
    return {
        "machines": MACHINES, "kernels": KERNELS, "presets": PRESETS, "labels": LABELS,
        "eraser": ERASER, "hues": [style.class_colour(c) for c in range(len(LABELS))],
        "css": assets.joinpath("page.css").read_text(encoding="utf-8"),
        "js": assets.joinpath("page.js").read_text(encoding="utf-8"),
        "style": style,
    }  # fmt: skip


class Page:
    """One open page.

    Parameters
    ----------
    doc : Document
    query : str
        The state to open with.
    """

    def __init__(self, doc: Document, query: str):
        self.doc, self.session = doc, Session(query)
        self.plane, self.trace, self.box = Plane(), TraceFigure(), BoxFigure()
        self.inbox = ColumnDataSource({"json": [""]}, name="inbox")
        self.outbox = ColumnDataSource({"json": [""]}, name="outbox")
        self.echo: Any = None
        self.is_waiting = False
        self.running: Any = None
        self.inbox.on_change("data", lambda attr, old, new: self.receive(new["json"][0]))
        for event, name in ((Tap, "tap"), (PanStart, "drag-start"), (Pan, "drag"),
                            (PanEnd, "drag-end")):  # fmt: skip
            self.plane.plot.on_event(event, lambda e, name=name: self.touch(name, e))
        self.paint()

    def receive(self, text: str) -> None:
        """An event of the page's own controls."""
        event = json.loads(text)
        self.echo = event.get("id", self.echo)
        self.session.handle(event)
        self.paint_soon()

    def touch(self, name: str, event: Any) -> None:
        """An event of the plane."""
        if event.x is None or event.y is None:
            return
        self.session.handle({"do": name, "x": event.x, "y": event.y, "reach": self.plane.reach})
        self.paint_soon()

    def paint_soon(self) -> None:
        if not self.is_waiting:
            self.is_waiting = True
            self.doc.add_timeout_callback(self.paint, GATHER_MS)

    def paint(self) -> None:
        """Bring figures and words up to the session's state."""
        self.is_waiting = False
        session = self.session
        picture = session.refresh()
        self.plane.paint(picture, session.selected, session.cursor)
        self.trace.paint(picture.trace, picture.state.step is not None)
        self.box.paint(picture.box)
        self.outbox.data = {"json": [json.dumps(self.words())]}
        self.keep_running()

    def keep_running(self) -> None:
        if self.session.is_running and self.running is None:
            self.running = self.doc.add_periodic_callback(self.run_on, RUN_MS)
        elif not self.session.is_running and self.running is not None:
            self.doc.remove_periodic_callback(self.running)
            self.running = None

    def run_on(self) -> None:
        """Faster, the longer it goes."""
        done = self.session.state.step or 0
        self.session.handle({"do": "step", "by": 1 + done // 25})
        self.paint()

    def words(self) -> dict[str, Any]:
        """What the HTML shows."""
        session, picture = self.session, self.session.picture
        state = session.state
        return {
            "query": state.to_query(),
            "machine": state.machine,
            "kernel": state.kernel,
            "formula": KERNELS[state.kernel].formula,
            "preset": state.preset or "",
            "parameters": [self._parameter(name) for name in state.parameters],
            "hard": "C" in state.parameters and state.C == float("inf"),
            "why": {"key": picture.why.key, "text": picture.why.text},
            "rows": picture.rows,
            "code": picture.code,
            "groups": self._groups(),
            "has_trace": bool(picture.trace.steps.size),
            "step": state.step,
            "unit": MACHINES[state.machine].step,
            "no_steps": picture.no_steps or "",
            "has_box": picture.box is not None,
            "is_running": session.is_running,
            "tool": session.tool,
            "selected": session.selected,
            "n": len(state.points),
            "can_undo": session.can_undo,
            "can_redo": session.can_redo,
            "message": session.message,
            "is_error": session.is_error,
            "milliseconds": round(1000 * picture.seconds, 1),
            "echo": self.echo,
        }

    def _parameter(self, name: str) -> dict[str, Any]:
        parameter, value = PARAMETERS[name], getattr(self.session.state, name)
        return {
            "name": name, "title": parameter.title, "help": parameter.help, "low": parameter.low,
            "high": parameter.high, "step": parameter.step, "is_log": parameter.is_log,
            "value": None if value == float("inf") else value,
            "can_be_hard": parameter.may_be_infinite and self.session.state.machine == "svc",
        }  # fmt: skip

    def _groups(self) -> list[tuple[str, str, int]]:
        """The legend: how a group is drawn, its name, and how many are in it."""
        facts, machine = self.session.picture.facts, self.session.state.machine
        if machine in ("svc", "svr", "oneclass") and not facts.n_proof and facts.n:
            bound = "1" if machine == "oneclass" else "C"
            return [
                ("zero", "α = 0", facts.n_zero), ("free", f"0 < α < {bound}, free", facts.n_free),
                ("bound", f"α = {bound}, at the bound", facts.n_bound),
            ]  # fmt: skip
        if machine == "pegasos" and facts.n_support:
            return [("zero", "beyond the margin", facts.n_zero), ("free", "on it", facts.n_free),
                    ("bound", "within it, or wrong", facts.n_bound)]  # fmt: skip
        if machine == "perceptron" and facts.n_support:
            return [("zero", "never a mistake", facts.n_zero), ("free", "mistaken", facts.n_free)]
        return []


def add_page(doc: Document) -> None:
    """Fill a new document: what Bokeh calls for every visitor."""
    request = doc.session_context.request if doc.session_context is not None else None
    query = request.uri.partition("?")[2] if request is not None and request.uri else ""
    page = Page(doc, query)
    doc.title = "Mercer playground"
    doc.template = _template()
    doc.template_variables.update(_catalogue())
    for figure in (page.plane, page.trace, page.box):
        doc.add_root(figure.plot)
    page.plane.plot.tags = [page.inbox, page.outbox]
    doc.js_on_event("document_ready", CustomJS(
        args={"inbox": page.inbox, "outbox": page.outbox},
        code="window.playground.start(inbox, outbox)",
    ))  # fmt: skip
