"""A playground and a browser for the tests of a file."""

from __future__ import annotations

import pytest

from tests.playground.browser import opened, served


@pytest.fixture(scope="module")
def address():
    with served() as found:
        yield found


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    with opened(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture
def browser(chromium):
    """For tests that open a page of their own; none may write to the console."""
    yield chromium
    assert chromium.complaints() == []


@pytest.fixture
def page(browser, address):
    """The page in its default state."""
    browser.open(address)
    return browser
