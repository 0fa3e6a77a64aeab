"""The page: a Bokeh document around a `Session`.

Bokeh draws the figures and carries messages; controls and words are plain HTML (assets/page.html),
so that they have labels, work by keyboard and fit a phone. The page sends events as JSON through
one data source and receives all that it shows through another, in one message.
"""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from importlib.resources import files
from typing import Any

from bokeh.core.templates import get_env
from bokeh.document import Document, without_document_lock
from bokeh.models import ColumnDataSource, CustomJS

from mercer.playground._catalogue import ESTIMATORS, FORMULA, KERNELS, LABELS
from mercer.playground._figures import Figures
from mercer.playground._fit import kernel_of
from mercer.playground._linked import lift_message, linked_message
from mercer.playground._picture import Picture
from mercer.playground._presets import PRESETS
from mercer.playground._render import axes, columns
from mercer.playground._session import ERASER, Session, attempt
from mercer.playground._state import PARAMETERS, State
from mercer.plots import style

__all__ = ["Page", "add_page"]

# All pages share a thread: `warnings` are process-wide, and histories of steps are kept.
_POOL = ThreadPoolExecutor(max_workers=1, thread_name_prefix="playground")
_SCRIPTS = ("linked.js", "lift.js", "page.js")
# What the KKT groups (zero, free, at the bound) are called.
_GROUPS = {
    "svc": ("α = 0", "0 < α < C: free", "α = C: at the bound"),
    "svr": ("α = 0", "0 < α < C: free", "α = C: at the bound"),
    "oneclass": ("α = 0", "0 < α < 1: free", "α = 1: at the bound"),
    "pegasos": ("beyond the margin", "on its edge", "within it, or wrong"),
    "perceptron": ("never a mistake", "mistaken", ""),
}
# Of an iterate of Pegasos: rows that its sum does not have, and rows that it has.
_ITERATE = ("never met within its margin", "met within its margin", "")


@lru_cache
def _template() -> Any:
    assets = files("mercer.playground").joinpath("assets")
    return get_env().from_string(assets.joinpath("page.html").read_text(encoding="utf-8"))


def _catalogue() -> dict[str, Any]:
    """What the HTML is filled with."""
    assets = files("mercer.playground").joinpath("assets")
    return {
        "machines": ESTIMATORS,
        "kernels": KERNELS,
        "formula": FORMULA,
        "presets": PRESETS,
        "labels": LABELS,
        "eraser": ERASER,
        "hues": [style.class_colour(c) for c in range(len(LABELS))],
        "css": assets.joinpath("page.css").read_text(encoding="utf-8"),
        "js": "".join(assets.joinpath(f).read_text(encoding="utf-8") for f in _SCRIPTS),
        "style": style,
    }


class Page:
    """One open page, which begins with the state of a query."""

    run_ms = 160  # between two steps of the timer

    def __init__(self, doc: Document, query: str):
        self.doc, self.session = doc, Session(query, draws=False)
        self.figures = Figures(self.session.picture)
        self.inbox = ColumnDataSource({"json": [""]}, name="inbox")
        self.outbox = ColumnDataSource({"json": [""]}, name="outbox")
        self.echo: Any = None
        self.is_drawing = False
        self.running: Any = None
        self.inbox.on_change("data", lambda attr, old, new: self.receive(new["json"][0]))
        self.send()
        self.update()

    def receive(self, text: str) -> None:
        """An event of the page."""
        event = json.loads(text)
        self.echo = event.get("id", self.echo)
        self.session.handle(event)
        self.update()

    def update(self) -> None:
        """Show the session's state: at once, or when its picture is drawn."""
        if not self.session.is_stale:
            self.send()
        elif not self.is_drawing:
            self.is_drawing = True
            self.doc.add_next_tick_callback(self.draw)  # type: ignore[arg-type]

    @without_document_lock
    async def draw(self) -> None:
        """Draw in a thread: the page takes events meanwhile, and only the last state is shown."""
        state = self.session.state
        drawn = await asyncio.get_running_loop().run_in_executor(_POOL, attempt, state)
        self.doc.add_next_tick_callback(partial(self.take, state, drawn))

    def take(self, state: State, drawn: Picture | Exception) -> None:
        self.is_drawing = False
        if state == self.session.state:
            self.session.take(drawn)
        self.update()

    def send(self) -> None:
        """Figures and words of the session's picture to the page, in one message."""
        session = self.session
        message = {
            **self.words(),
            "columns": columns(session.picture, session.selected, session.cursor),
            "axes": axes(session.picture),
            "linked": linked_message(session.picture.linked, session.picture.shown),
            "lift": lift_message(session.picture.lift, session.picture.shown),
        }
        self.outbox.data = {"json": [json.dumps(message)]}
        if session.is_running and self.running is None:
            self.running = self.doc.add_periodic_callback(self.run_on, self.run_ms)
        elif not session.is_running and self.running is not None:
            self.doc.remove_periodic_callback(self.running)
            self.running = None

    def run_on(self) -> None:
        """Some steps of the timer: more of them, the more were taken."""
        if not self.is_drawing:
            done = self.session.state.step or 0
            self.session.handle({"do": "step", "by": 1 + done // 25})
            self.update()

    def words(self) -> dict[str, Any]:
        """What the HTML shows."""
        session, picture = self.session, self.session.picture
        state = session.state
        return {
            "query": state.to_query(),
            "machine": state.machine,
            "kernel": state.kernel,
            "formula": "" if state.kernel == FORMULA else KERNELS[state.kernel].formula,
            "written": state.formula,
            "is_written": state.kernel == FORMULA,
            "understood": repr(kernel_of(state)) if state.kernel == FORMULA else "",
            "preset": state.preset or "",
            "parameters": [self._parameter(name) for name in state.parameters],
            "why": {"key": picture.explanation.key, "text": picture.explanation.text},
            "rows": picture.rows,
            "code": picture.code,
            "legend": self._legend(),
            "has_trace": picture.progress.steps.size > 1,
            "step": state.step,
            "unit": ESTIMATORS[state.machine].step,
            "no_steps": picture.no_steps or "",
            "has_box": picture.box is not None,
            "folds": state.folds,
            "held_out": self._held_out(),
            "is_running": session.is_running,
            "tool": session.tool,
            "n": len(state.points),
            "can_undo": session.can_undo,
            "can_redo": session.can_redo,
            "message": session.message,
            "is_error": session.is_error,
            "took": _duration(picture.seconds),
            "echo": self.echo,
            "is_drawn": not session.is_stale,
            "classes": state.class_names,
        }

    def _held_out(self) -> dict[str, Any]:
        """Errors, and a sentence on them."""
        found = self.session.picture.held_out
        if found is None:
            return {"rows": [], "text": "", "has_map": False}
        text = found.refusal or found.verdict
        return {"rows": found.rows, "text": text, "has_map": found.map is not None}

    def _parameter(self, name: str) -> dict[str, Any]:
        parameter, value = PARAMETERS[name], getattr(self.session.state, name)
        keys = ("title", "help", "low", "high", "step", "is_log")
        return {
            "name": name,
            **{key: getattr(parameter, key) for key in keys},
            "value": None if value == float("inf") else value,
            "can_be_hard": parameter.may_be_infinite and self.session.state.machine == "svc",
        }

    def _legend(self) -> list[tuple[str, str, int | None]]:
        """Style, text and count of each entry."""
        picture = self.session.picture
        situation, machine = picture.situation, self.session.state.machine
        items: list[tuple[str, str, int | None]] = []
        counts = (situation.n_zero, situation.n_free, situation.n_bound)
        is_iterate = machine == "pegasos" and self.session.state.step is not None
        names = _ITERATE if is_iterate else _GROUPS.get(machine, ("", "", ""))
        for marker, name, count in zip(("zero", "free", "bound"), names, counts, strict=True):
            if situation.n_support and name:
                items.append((marker, name, count))
        if picture.boundary or picture.curve is not None:
            line = {"kmeans": "equally near to two means"}.get(machine, "f = 0")
            items.append(("solid", line if picture.curve is None else "f", None))
        if picture.meeting is not None:
            items.append(("dashed", "convex hulls of the ringed points", None))
            items.append(("shared", "what the hulls of both classes share", None))
            items.append(("star", "a point in both", None))
        elif picture.edges or (picture.curve is not None and picture.curve.epsilon):
            items.append(("dashed", "f = ±1" if picture.curve is None else "f ± ε", None))
        if situation.has_band and situation.n_support:
            items.append(("band", "any b here is optimal", None))
        if situation.is_violated:
            low, high = (f"{b:.3g}".replace("-", "−") for b in (situation.b_low, situation.b_high))
            items.append(("none", f"no b is optimal yet: from {low} to {high} all violate", None))
        if ESTIMATORS[machine].has_box and situation.n_support:
            items.append(("disc", "area: α", None))
        held_out = picture.held_out
        if held_out is not None and not held_out.refusal:
            if held_out.is_regression:
                items.append(("residual", "to the prediction when held out", None))
            else:
                items.append(("wrong", "wrong when held out", int(held_out.wrong.sum())))
        return items


def _duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{1000 * seconds:.3g} ms" if seconds else ""


def add_page(doc: Document) -> None:
    """Fill a new document: called by Bokeh for every page that is opened."""
    context: Any = doc.session_context
    uri = context.request.uri if context is not None and context.request is not None else ""
    query = (uri or "").partition("?")[2]
    page = Page(doc, query)
    doc.title = "Mercer playground"
    doc.template = _template()
    doc.template_variables.update(_catalogue())
    figures = page.figures
    for figure in (figures.plane, figures.trace, figures.box, figures.map):
        doc.add_root(figure)
    figures.plane.tags = [page.inbox, page.outbox]  # part of the document, though not drawn
    models = {
        "inbox": page.inbox,
        "outbox": page.outbox,
        "plane": figures.plane,
        "map": figures.map,
        "sources": figures.sources,
        "axes": figures.axes,
    }
    code = f"window.playground.start({{{', '.join(models)}}})"
    doc.js_on_event("document_ready", CustomJS(args=models, code=code))
