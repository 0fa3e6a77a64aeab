"""A visitor's session without a browser: drawing, undo, steps, files, and what goes wrong."""

from __future__ import annotations

import pytest

from mercer.playground import State, StateError
from mercer.playground._presets import preset
from mercer.playground._render import axes
from mercer.playground._session import ERASER, Session
from mercer.playground._upload import read_csv


def _do(session: Session, **event) -> Session:
    session.handle({"do": event.pop("do"), **event})
    session.refresh()
    return session


def test_drawing_and_undo():
    session = Session("data=" + State(points=()).to_query().partition("=")[2])
    assert session.picture.explanation.key == "empty"
    _do(session, do="tap", x=-1.0, y=0.0)
    _do(session, do="tool", value=1)
    _do(session, do="tap", x=1.0, y=0.0)
    assert session.state.points == ((-1.0, 0.0, 0), (1.0, 0.0, 1))
    _do(session, do="undo")
    assert session.state.points == ((-1.0, 0.0, 0),)
    _do(session, do="redo")
    assert len(session.state.points) == 2
    _do(session, do="tap", x=1.05, y=0.05)  # on a point: selected, not added
    assert session.selected == 1
    _do(session, do="tool", value=2)  # a selected point changes its class
    assert session.state.points[1][2] == 2
    _do(session, do="delete")
    assert session.state.points == ((-1.0, 0.0, 0),)
    _do(session, do="tool", value=ERASER)
    _do(session, do="tap", x=3.0, y=3.0)
    _do(session, do="tap", x=-1.0, y=0.0)
    assert session.state.points == ()


def test_a_drag_is_one_undo():
    session = Session()
    first = session.state
    x, y, label = first.points[0]
    _do(session, do="drag-start", x=x, y=y)
    for k in range(1, 6):
        _do(session, do="drag", x=x + k / 10, y=y)
    _do(session, do="drag-end")
    assert session.state.points[0] == (pytest.approx(x + 0.5), pytest.approx(y), label)
    _do(session, do="undo")
    assert session.state == first
    _do(session, do="drag-start", x=3.9, y=3.9)  # beside all points: nothing moves
    _do(session, do="drag", x=0.0, y=0.0)
    _do(session, do="drag-end")
    assert session.state == first


def test_a_movement_of_a_slider_is_one_undo():
    session = Session()
    _do(session, do="set", name="C", value=2.0)
    _do(session, do="set", name="C", value=5.0, more=True)
    assert session.state.C == 5.0
    _do(session, do="undo")
    assert session.state.C == 1.0
    _do(session, do="set", name="C", value=1e9)
    assert session.state.C == 1e4
    _do(session, do="set", name="C", value="inf")
    assert float("inf") == session.state.C
    _do(session, do="set", name="degree", value=4.0)
    assert session.state.degree == 4


def test_keyboard_draws():
    session = Session()
    _do(session, do="clear")
    _do(session, do="cursor", x=1, y=0)  # the first press shows the cross
    assert session.cursor == (0.0, 0.0)
    _do(session, do="cursor", x=1, y=-1)
    _do(session, do="press")
    assert session.state.points == ((0.2, -0.2, 0),)


def test_steps_forth_and_back():
    session = Session()
    _do(session, do="step")
    assert session.state.step == 0
    _do(session, do="step", by=10)
    assert session.state.step == 10
    _do(session, do="step", by=-1)
    assert session.state.step == 9
    _do(session, do="set", name="C", value=3.0)  # another problem: step mode ends
    assert session.state.step is None
    _do(session, do="run")
    assert session.is_running
    for _ in range(400):
        _do(session, do="step", by=50)
    assert not session.is_running  # the end was reached
    assert session.picture.explanation.key == "step-over"
    _do(session, do="finish")
    assert session.state.step is None


def test_no_steps_is_said():
    session = Session("machine=ridge&data=sine")
    _do(session, do="step")
    assert session.is_error
    assert "Step mode is for" in session.message


def test_presets_bring_a_machine_that_can_draw_them():
    session = Session()
    _do(session, do="preset", value="sine")
    assert session.state.machine == "svr"
    assert "SVR" in session.message
    _do(session, do="preset", value="xor")
    assert session.state.machine == "svc"
    assert session.state.points == preset("xor")


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"do": "fly"},
        {"do": "set"},
        {"do": "set", "name": "C", "value": "x"},
        {"do": "tool", "value": 9},
        {"do": "machine", "value": "tree"},
        {"do": "tap"},
        {"do": "preset", "value": "moon"},
        {"do": "upload", "text": 3},
        {"do": "set", "name": "C", "value": "nan"},
    ],
)
def test_nonsense_is_a_message(event):
    session = Session()
    session.handle(event)
    assert session.is_error
    assert session.message
    assert session.state == State()


def test_a_picture_that_fails_is_a_message(monkeypatch):
    def fail(state):
        raise RuntimeError("no memory")

    session = Session()
    monkeypatch.setattr("mercer.playground._session.draw", fail)
    _do(session, do="kernel", value="linear")
    assert "RuntimeError: no memory" in session.message
    assert session.state == State()


def test_full_plane_is_a_message():
    many = tuple((k / 1000, 0.0, k % 2) for k in range(1000))
    session = Session(State(points=many, kernel="linear", machine="perceptron").to_query())
    _do(session, do="tap", x=3.0, y=3.0)
    assert "t most 1000 points" in session.message


# ------------------------------------------------------------------ files


def test_csv_with_and_without_header_and_class():
    found, note = read_csv("a;b\n1;2\n3;6\n")
    assert found["points"] == ((-3.2, -3.2, 0), (3.2, 3.2, 0))
    assert [column.name for column in found["columns"]] == ["a", "b"]
    assert found["classes"] == ()
    assert "a and b" in note
    found, _ = read_csv("1,2,yes\n\n3,6,no\n2,4,no\n")
    assert [label for *_, label in found["points"]] == [1, 0, 0]
    assert found["classes"] == ("no", "yes")


@pytest.mark.parametrize("mark", [";", "\t"])
def test_decimal_commas(mark):
    """As many of them as of the marks between cells; words keep theirs."""
    lines = ["Länge,Breite;Art".replace(",", ";"), "1,5;2,5;oak, old", "3,5;6,5;elm"]
    found, note = read_csv("\n".join(lines).replace(";", mark) + "\n")
    assert found["points"] == ((-3.2, -3.2, 1), (3.2, 3.2, 0))
    assert [column.middle for column in found["columns"]] == [2.5, 4.5]
    assert found["classes"] == ("elm", "oak, old")
    assert "Länge and Breite" in note


TREES = "width (cm),height (m),kind\n10,1,oak\n20,1,oak\n10,2,elm\n20,3,elm\n"


def test_names_and_units_of_a_file_are_kept():
    session = _do(Session(), do="upload", text=TREES)
    state = session.state
    assert State.from_query(state.to_query()) == state  # they travel in the link
    _do(session, do="set", name="C", value=5.0)
    assert session.state.columns == state.columns
    shown = axes(session.picture)
    assert (shown["plane-x"]["name"], shown["plane-y"]["name"]) == ("width (cm)", "height (m)")
    # A tick is where its value is: 10 and 20 cm are the first and the last point's coordinates.
    ticks = dict(zip(shown["plane-x"]["texts"], shown["plane-x"]["ticks"], strict=True))
    assert (ticks["10"], ticks["20"]) == pytest.approx((-3.2, 3.2))
    assert session.picture.notes[0].startswith("point 1, class oak")
    assert set(session.picture.situation.names) == {"elm", "oak"}
    made: dict = {}
    exec(session.picture.code.replace("print(", "str("), made)
    assert list(made["model"].classes_) == ["elm", "oak"]
    assert "# x is (width (cm) - 15) / 1.5625" in session.picture.code
    _do(session, do="preset", value="xor")
    assert (session.state.columns, session.state.classes) == ((), ())
    _do(session, do="undo")
    assert session.state.classes == ("elm", "oak")


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("x=a|0|1", "both columns"),
        ("x=a|0|1&y=b|0|0", "a unit"),
        ("x=a|0|1&y=b|nan|1", "finite middle"),
        ("x=a|0|1&y=b", "y must be a number"),
        ("x=|0|1&y=b|0|1", "1 to 40 letters"),
        ("&".join(f"class={k}" for k in range(5)), "at most 4 classes"),
    ],
)
def test_names_in_a_link_are_checked(query, says):
    with pytest.raises(StateError, match=says):
        State.from_query(query)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no rows"),
        ("a,b\n", "no rows"),
        ("1,2\n3,oak\n", "line 2 of the file has 'oak'"),
        ("1,2\n3\n", "line 2 of the file has one column"),
        ("x\n1\n", "one column"),
        ("1,2\n3,inf\n", "line 2"),
        ("1,nan\n", "line 1"),
        ("\n".join(f"{k},{k},{k}" for k in range(9)), "9 different values"),
        ("\n".join("1,2" for _ in range(1001)), "1001 rows"),
    ],
)
def test_bad_files_say_where(text, says):
    with pytest.raises(StateError, match=says):
        read_csv(text)


def test_the_command_opens_files_and_links(tmp_path):
    from mercer.cli._commands import _query
    from mercer.cli._errors import CommandError

    assert State.from_query(_query("?data=xor&C=10")) == State(points=preset("xor"), C=10.0)
    (tmp_path / "trees.csv").write_text(TREES)
    opened = State.from_query(_query(str(tmp_path / "trees.csv")))
    assert (opened.classes, opened.columns[0].name) == (("elm", "oak"), "width (cm)")
    with pytest.raises(CommandError, match="C must be a number"):
        _query("?C=abc")
