"""One page with all figures, and a browser, for the tests of a file."""

from __future__ import annotations

import pytest

from tests.companion.figures import whole_page
from tests.playground.browser import opened


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The address of the page."""
    file = tmp_path_factory.mktemp("figures") / "page.html"
    file.write_text(whole_page(), encoding="utf-8")
    return file.as_uri()


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    with opened(tmp_path_factory.mktemp("profile"), width=1000, height=800) as browser:
        yield browser.driver
