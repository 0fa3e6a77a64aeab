"""The page without a browser: there before its picture, and with no picture of other settings."""

from __future__ import annotations

import asyncio
import json

import pytest

pytest.importorskip("bokeh")

from bokeh.document import Document

from mercer.playground import State
from mercer.playground._page import Page
from mercer.playground._session import attempt


def told(page: Page) -> dict:
    return json.loads(page.outbox.data["json"][0])


def run_next(page: Page) -> None:
    """The next of the callbacks that wait."""
    callback = page.doc.session_callbacks[0]
    page.doc.remove_next_tick_callback(callback)
    found = callback.callback()
    if asyncio.iscoroutine(found):
        asyncio.run(found)


def run_all(page: Page) -> None:
    while page.doc.session_callbacks:
        run_next(page)


def test_the_page_is_sent_before_its_picture():
    page = Page(Document(), "data=xor")
    assert not told(page)["is_drawn"]
    assert told(page)["why"]["key"] == "computing"
    assert len(told(page)["columns"]["points"]["x"]) == 60  # the points are there already
    run_all(page)
    assert told(page)["is_drawn"]
    assert told(page)["why"]["key"] == "soft-margin"


def test_no_picture_of_other_settings_is_shown():
    """Settings change while a picture is drawn: that picture is dropped, the next one shown."""
    page = Page(Document(), "data=separable&kernel=linear")
    run_all(page)
    page.receive(json.dumps({"do": "set", "name": "C", "value": 0.01, "id": 1}))
    run_next(page)  # drawn, not taken yet
    page.receive(json.dumps({"do": "set", "name": "C", "value": 0.001, "id": 2}))
    shown = []
    while page.doc.session_callbacks:
        run_next(page)
        shown.append(told(page))
    for message in shown:
        (C,) = (each["value"] for each in message["parameters"] if each["name"] == "C")
        assert message["query"] == State.from_query(message["query"]).to_query()
        assert (message["echo"], C) in ((None, 1.0), (2, 0.001))
    last = attempt(page.session.state)
    assert shown[-1]["rows"] == [list(row) for row in last.rows]
    assert shown[-1]["echo"] == 2


def legend_of(query: str) -> list[str]:
    page = Page(Document(), query)
    run_all(page)
    return [text for _, text, _ in told(page)["legend"]]


def test_the_legend_says_what_is_drawn():
    iterate = legend_of("data=overlapping&machine=pegasos&kernel=linear&step=1")
    assert iterate[:2] == ["never met within its margin", "met within its margin"]
    assert "beyond the margin" not in iterate  # nearly all rows are wrong after one step
    assert legend_of("data=three&machine=kmeans") == ["equally near to two means"]


def test_what_needs_no_fit_is_answered_at_once():
    page = Page(Document(), "data=separable&kernel=linear")
    run_all(page)
    page.receive(json.dumps({"do": "tool", "value": 2, "id": 7}))
    assert not page.doc.session_callbacks
    assert (told(page)["tool"], told(page)["echo"]) == (2, 7)
