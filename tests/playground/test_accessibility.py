"""The playground against WCAG 2.2 A and AA, by axe-core: names, roles, contrast."""

from __future__ import annotations

import pytest

from tests.playground.browser import Browser, axe_missing, opened

pytestmark = pytest.mark.skipif(axe_missing() is not None, reason=str(axe_missing()))

PAGES = (
    "",
    "kernel=formula&folds=5&data=overlapping",
    "data=overlapping&step=5",
    "data=overlapping&kernel=linear&C=inf",
    "machine=svr&data=sine",
    "machine=kmeans",
    "C=abc",
)
# Each page in both colour schemes and at both widths; all four combinations of the default page.
SCREENS = {"light-desk": ("light", 1400), "dark-phone": ("dark", 375)}
OTHERS = {"dark-desk": ("dark", 1400), "light-phone": ("light", 375)}
CASES = [(query, screen) for query in PAGES for screen in SCREENS] + [("", each) for each in OTHERS]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with opened(tmp_path_factory.mktemp("profile")) as found:
        yield found


def _show(browser: Browser, address: str, scheme: str, width: int) -> None:
    """A page with all of its texts."""
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.open(address)
    browser.run("for (const each of document.querySelectorAll('details')) each.open = true")


@pytest.mark.parametrize(("query", "screen"), CASES)
def test_no_rule_is_violated(browser, address, query, screen):
    _show(browser, f"{address}?{query}", *(SCREENS | OTHERS)[screen])
    assert browser.violations() == []


@pytest.mark.parametrize(
    ("html", "rule"),
    [
        ("<button></button>", "button-name"),
        ("<input type=range>", "label"),
        ("<p style='color: #999; background: #fff'>pale</p>", "color-contrast"),
        ("<canvas role=img></canvas>", "role-img-alt"),
    ],
)
def test_the_check_finds_what_is_wrong(browser, address, html, rule):
    """Each of the rules that matter here fails where an element violates it."""
    _show(browser, address, "light", 1400)
    browser.run(
        "document.querySelector('main').insertAdjacentHTML('beforeend', arguments[0])", html
    )
    (found,) = browser.violations()
    assert found.startswith(f"{rule}: ")
