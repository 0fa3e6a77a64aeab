"""State and its link: exact round trips, and a clear message for everything that is no state."""

from __future__ import annotations

import base64
import re
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.playground import State, StateError
from mercer.playground._catalogue import ESTIMATORS, KERNELS
from mercer.playground._presets import PRESETS, preset
from mercer.playground._session import Session
from mercer.playground._state import LIMITS, PARAMETERS


def _numbers(name: str) -> st.SearchStrategy:
    p = PARAMETERS[name]
    if p.is_whole:
        return st.integers(int(p.low), int(p.high))
    return st.floats(p.low, p.high)


thousandths = st.integers(-20_000, 20_000).map(lambda k: k / 1000)
points = st.lists(st.tuples(thousandths, thousandths, st.integers(0, 3)), max_size=60).map(tuple)
states = st.builds(
    State,
    points=st.one_of(points, st.sampled_from(sorted(PRESETS)).map(preset)),
    machine=st.sampled_from(sorted(ESTIMATORS)),
    kernel=st.sampled_from(sorted(KERNELS)),
    step=st.one_of(st.none(), st.integers(0, LIMITS.steps)),
    folds=st.one_of(st.just(0), st.integers(2, LIMITS.folds)),
    **{name: _numbers(name) for name in PARAMETERS},
)


@given(states)
def test_link_carries_the_state_exactly(state):
    assert State.from_query(state.to_query()) == state


def test_links_can_be_written_by_hand():
    state = State.from_query("data=xor&machine=svc&kernel=poly&degree=2&C=inf")
    assert state.points == preset("xor")
    assert (state.kernel, state.degree, state.C) == ("poly", 2, float("inf"))
    assert State().to_query() == ""
    assert State.from_query("").preset == "moons"


def test_largest_link_is_one_a_browser_takes():
    many = tuple((k / 1000, -k / 1000 * 3, k % 4) for k in range(LIMITS.points))
    assert len(State(points=many).to_query()) < 8000


CUT = State(points=((1.0, 2.0, 0),)).to_query()[:-4]
BOMB = "data=" + base64.urlsafe_b64encode(zlib.compress(bytes(50_000_000))).decode()
MALFORMED = {
    "machine=tree": "machine must be one of svc",
    "kernel=wave": "kernel must be one of linear",
    "C=abc": "C must be a number, got 'abc'",
    "C=-1": "C must be from 0.001 to 10000 or inf",
    "C=nan": "C must be from",
    "C=inf&machine=logistic": "logistic needs a finite C",
    "degree=2.5": "degree must be a whole number",
    "nu=2": "nu must be from 0.01 to 1",
    "gamma=inf": "gamma must be from",
    "step=-3": "step must be a number from 0",
    "step=x": "step must be a whole number",
    "data=moon": "data must be separable",
    "data=%00%ff": "data must be",
    CUT: "cut off",
    BOMB: "at most 1000 points",
    "colour=red": "unknown part 'colour'",
    "points=1": "unknown part 'points'",
}


@pytest.mark.parametrize("query", MALFORMED, ids=lambda query: query[:16])
def test_malformed_links_say_what_is_wrong(query):
    with pytest.raises(StateError, match=re.escape(MALFORMED[query])):
        State.from_query(query)
    visit = Session(query)  # the page shows the message and the default
    assert visit.is_error
    assert MALFORMED[query] in visit.message
    assert visit.state == State()


@given(st.text(max_size=40))
def test_no_text_breaks_a_session(text):
    assert Session(f"data={text}").picture.explanation.text


def test_data_follow_the_machine_until_they_are_drawn_by_hand():
    state = State().with_machine("svr")
    assert state.preset == "sine"
    assert state.with_machine("svc").preset == "moons"
    drawn = State().add(1.0, 1.0, 1)
    assert drawn.with_machine("svr").points == drawn.points
    assert PARAMETERS["C"].high == State(C=float("inf")).with_machine("logistic").C


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_presets_are_inside_of_the_picture(name):
    assert all(abs(x) < 4 and abs(y) < 4 for x, y, _ in preset(name))
