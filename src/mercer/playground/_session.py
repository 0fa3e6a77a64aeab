"""The session of one page: its state, the states before it, and the effect of events.

Events are small dictionaries (``{"do": "set", "name": "C", "value": 10}``), so that a session can
be driven without a browser. A session never raises: errors are its ``message``.
"""

from __future__ import annotations

import math
from typing import Any

from mercer.playground._catalogue import ESTIMATORS, FORMULA, LABELS
from mercer.playground._explain import Explanation, measure
from mercer.playground._picture import Picture, draw, outline
from mercer.playground._presets import PRESETS
from mercer.playground._state import LIMITS, PARAMETERS, State, StateError
from mercer.playground._upload import read_csv

__all__ = ["ERASER", "Session", "attempt"]

ERASER = len(LABELS)


def attempt(state: State) -> Picture | Exception:
    """The picture of a state, or the error that prevents it; may run in any thread."""
    try:
        return draw(state)
    except Exception as error:  # whatever it is: the page stays open
        return error


class Session:
    """The state of one open page, and its picture; ``message`` is for the page, or empty."""

    most_undo = 200  # states that can be restored
    cursor_step = 0.2  # movement of the cursor for one press of an arrow key

    def __init__(self, query: str = "", draws: bool = True):
        self.tool = 0  # the class that a click adds, or ERASER
        self.selected: int | None = None  # the point that Delete removes
        self.cursor: tuple[float, float] | None = None  # where Enter adds a point
        self.message, self.is_error = "", False
        self.is_running = False  # whether steps are taken by a timer
        self._past: list[State] = []
        self._future: list[State] = []
        self._drag: tuple[int, State] | None = None
        try:
            self.state = State.from_query(query)
        except StateError as error:
            self.state = State()
            self._say(f"This link could not be read: {error} Here is the default instead.", True)
        computing = Explanation("computing", "The first picture is being computed.")
        self.picture: Picture = outline(self.state, computing, measure(self.state, None))
        self._is_first = True
        if draws:
            self.refresh()

    # ------------------------------------------------------------------ events

    def handle(self, event: dict[str, Any]) -> None:
        """Do what an event asks for; `refresh` draws it."""
        self._say("")
        try:
            getattr(self, f"on_{event['do'].replace('-', '_')}")(event)
        except StateError as error:
            self._say(str(error)[:1].upper() + str(error)[1:], True)
        except (AttributeError, KeyError, TypeError, ValueError, IndexError, OverflowError):
            self._say(f"The page sent something this version does not know: {event!r:.120}", True)

    def refresh(self) -> Picture:
        """The picture of the present state, drawn again if that changed."""
        if self.is_stale:
            self.take(attempt(self.state))
        return self.picture

    @property
    def is_stale(self) -> bool:
        """Whether the picture is not that of the present state."""
        return self._is_first or self.state != self.picture.state

    def take(self, drawn: Picture | Exception) -> None:
        """What `attempt` made of the present state; after an error the last picture is kept."""
        if isinstance(drawn, Picture):
            self.picture = drawn
        else:
            kind = type(drawn).__name__
            self._say(f"This could not be drawn ({kind}: {drawn}). The last picture is kept.", True)
        self._is_first, self.state = False, self.picture.state

    @property
    def can_undo(self) -> bool:
        return bool(self._past)

    @property
    def can_redo(self) -> bool:
        return bool(self._future)

    def _say(self, message: str, is_error: bool = False) -> None:
        self.message, self.is_error = message, is_error

    def _go(self, state: State) -> None:
        """To another state; the present one can be restored."""
        if state == self.state:
            return
        self._past = [*self._past[-self.most_undo :], self.state]
        self._future = []
        self.state = state
        if self.selected is not None and self.selected >= len(state.points):
            self.selected = None

    # ------------------------------------------------------------------ effects of events

    def on_set(self, event: dict) -> None:
        """A parameter, from its slider; one movement of a slider is one undo."""
        name, value = event["name"], float(event["value"])
        parameter = PARAMETERS[name]
        if not (parameter.may_be_infinite and math.isinf(value)):
            value = min(max(value, parameter.low), parameter.high)
        following = self.state.with_(**{name: int(value) if parameter.is_whole else value})
        if event.get("more") and self._past:  # the same movement goes on
            self.state = following
        else:
            self._go(following)

    def on_machine(self, event: dict) -> None:
        self._go(self.state.with_machine(event["value"]))
        self.is_running = False

    def on_kernel(self, event: dict) -> None:
        self._go(self.state.with_(kernel=event["value"]))

    def on_formula(self, event: dict) -> None:
        """A kernel as it was typed."""
        self._go(self.state.with_(kernel=FORMULA, formula=str(event["value"])))

    def on_preset(self, event: dict) -> None:
        name = event["value"]
        machine = self.state.machine
        if name == "sine" and ESTIMATORS[machine].kind != "curve":
            machine = "svr"
        elif name != "sine" and ESTIMATORS[machine].kind == "curve":
            machine = "svc"
        self._go(self.state.with_machine(machine).with_(**State.preset_changes(name)))
        self.selected = None
        if machine != self.picture.state.machine:
            self._say(f"{PRESETS[name]} is shown with {ESTIMATORS[machine].title}.")

    def on_folds(self, event: dict) -> None:
        """Hold points out, or no longer."""
        self._go(self.state.with_(folds=int(event["value"])))

    def on_choose(self, event: dict) -> None:
        """A place of the map, in powers of ten: C and γ of its cell."""
        held_out = self.picture.held_out
        if held_out is None or held_out.map is None:
            raise StateError("there is no map to choose from.")
        errors = held_out.map
        row, column = errors.nearest(10.0 ** float(event["x"]), 10.0 ** float(event["y"]))
        changes = {"C": float(f"{errors.Cs[column]:.3g}")}
        if errors.gammas.size > 1:
            changes["gamma"] = float(f"{errors.gammas[row]:.3g}")
        self._go(self.state.with_(**changes))

    def on_upload(self, event: dict) -> None:
        found, note = read_csv(event["text"])
        self._go(self.state.with_(**found))
        self.selected = None
        self._say(note)

    def on_clear(self, event: dict) -> None:
        self._go(self.state.with_(**State.preset_changes("")))
        self.selected = None

    def on_tool(self, event: dict) -> None:
        tool = int(event["value"])
        if not 0 <= tool <= ERASER:
            raise StateError(f"there are {len(LABELS)} classes, got number {tool + 1}.")
        self.tool = tool
        if self.selected is not None and tool != ERASER:  # a selected point changes its class
            x, y, label = self.state.points[self.selected]
            if label != tool:
                index = self.selected
                points = list(self.state.points)
                points[index] = (x, y, tool)
                self._go(self.state.with_(points=tuple(points)))

    def on_tap(self, event: dict) -> None:
        """On a point: select or erase it; elsewhere: a new one."""
        x, y = float(event["x"]), float(event["y"])
        near = self._near(x, y, float(event.get("reach", 0.15)))
        if near is not None:
            if self.tool == ERASER:
                self.on_delete({"index": near})
            else:
                self.selected = None if self.selected == near else near
        elif self.tool != ERASER and max(abs(x), abs(y)) <= LIMITS.extent:
            self.selected = None
            self._go(self.state.add(x, y, self.tool))

    def _near(self, x: float, y: float, reach: float) -> int | None:
        distances = [(px - x) ** 2 + (py - y) ** 2 for px, py, _ in self.state.points]
        if not distances or min(distances) > reach**2:
            return None
        return distances.index(min(distances))

    def on_drag_start(self, event: dict) -> None:
        near = self._near(float(event["x"]), float(event["y"]), float(event.get("reach", 0.15)))
        self._drag = None if near is None else (near, self.state)

    def on_drag(self, event: dict) -> None:
        if self._drag is not None:
            self.state = self.state.move(self._drag[0], float(event["x"]), float(event["y"]))

    def on_drag_end(self, event: dict) -> None:
        """A whole drag is one undo."""
        if self._drag is None:
            return
        following, self.state = self.state, self._drag[1]
        self._drag = None
        self._go(following)

    def on_delete(self, event: dict) -> None:
        index = event.get("index", self.selected)
        if index is None:
            index = len(self.state.points) - 1
        if index >= 0:
            self.selected = None
            self._go(self.state.delete(index))

    def on_undo(self, event: dict) -> None:
        if self._past:
            self._future.append(self.state)
            self.state = self._past.pop()
            self.selected = None

    def on_redo(self, event: dict) -> None:
        if self._future:
            self._past.append(self.state)
            self.state = self._future.pop()

    def on_cursor(self, event: dict) -> None:
        """The first press shows the cross in the middle, others move it."""
        x, y = 0.0, 0.0
        if self.cursor is not None:
            x, y = (
                min(max(old + self.cursor_step * float(event[name]), -LIMITS.extent), LIMITS.extent)
                for old, name in zip(self.cursor, "xy", strict=True)
            )
        self.cursor = x, y

    def on_press(self, event: dict) -> None:
        """Enter: what a click at the cursor would do."""
        x, y = self.cursor or (0.0, 0.0)
        self.on_tap({"x": x, "y": y})

    # ------------------------------------------------------------------ step mode

    def on_step(self, event: dict) -> None:
        """Steps forward or back; the first press shows the start."""
        if self.picture.no_steps is not None:
            self.is_running = False
            raise StateError(self.picture.no_steps)
        now, by = self.state.step, int(event.get("by", 1))
        if by > 0 and self.picture.situation.is_over:
            self.is_running = False
            return
        self.state = self.state.with_(
            step=0 if now is None else min(max(now + by, 0), LIMITS.steps)
        )

    def on_run(self, event: dict) -> None:
        self.is_running = not self.is_running
        if self.is_running:
            self.on_step({"by": 1})

    def on_finish(self, event: dict) -> None:
        """Leave step mode: the finished fit."""
        self.is_running = False
        self.state = self.state.with_()
