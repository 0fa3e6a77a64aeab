"""The server: this computer only, its own pages only, and a clear word where Bokeh is missing."""

from __future__ import annotations

import http.client
import re
import signal
import socket
import subprocess
import sys
from urllib.parse import urlsplit

import pytest

from tests.playground.browser import served


@pytest.fixture(scope="module")
def place():
    with served(may_complain=True) as address:
        yield urlsplit(address)


def _ask(place, path: str = "/", **headers: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection(place.hostname, place.port, timeout=60)
    try:
        connection.request(
            "GET", path, headers={k.replace("_", "-"): v for k, v in headers.items()}
        )
        answer = connection.getresponse()
        return answer.status, "" if answer.status == 101 else answer.read().decode()
    finally:
        connection.close()


def test_it_listens_on_the_loopback_address_only(place):
    assert place.hostname == "127.0.0.1"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # nothing is sent: it only tells our own address
        except OSError:
            pytest.skip("this machine has no other address than the loopback one")
        outside = probe.getsockname()[0]
    with socket.socket() as door:
        door.settimeout(5)
        assert door.connect_ex((outside, place.port)) != 0


def test_web_sockets_of_other_pages_are_refused(place):
    upgrade = {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec_WebSocket_Version": "13",
        "Sec_WebSocket_Key": "dGhlIHNhbXBsZSBub25jZQ==",
    }
    assert _ask(place, "/ws", Origin="http://example.org", **upgrade)[0] == 403
    assert _ask(place, "/ws", **upgrade)[0] == 403  # no browser: they always send an Origin
    for host in ("127.0.0.1", "localhost"):
        status, _ = _ask(place, "/ws", Origin=f"http://{host}:{place.port}", **upgrade)
        assert status != 403


@pytest.mark.parametrize("host", ["example.org", "127.0.0.1.example.org", "192.0.2.1"])
def test_requests_by_another_name_are_refused(host, place):
    """A name of another site that was made to mean this address (DNS rebinding)."""
    assert _ask(place, Host=f"{host}:{place.port}")[0] == 403
    for own in ("127.0.0.1", "localhost"):
        assert _ask(place, Host=f"{own}:{place.port}")[0] == 200


def test_the_page_loads_nothing_from_elsewhere(place):
    status, html = _ask(place)
    assert status == 200
    assert "Mercer" in html
    assert '<body class="busy">' in html  # the sign is there before anything is computed
    for source in re.findall(r'(?:src|href)="([^"]*)"', html):
        assert source.startswith(("static/", "/static/", "data:", f"http://{place.netloc}/"))


def test_a_port_in_use_is_named(place):
    command = [sys.executable, "-m", "mercer.playground", "--no-browser", "--port", str(place.port)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"port={place.port} of 127.0.0.1 cannot be bound" in done.stderr


def test_long_links_are_served(place):
    from mercer.playground import State

    many = tuple((k / 1000 * 4 - 2, k % 7 / 2, k % 2) for k in range(1000))
    query = State(points=many, machine="perceptron", kernel="linear").to_query()
    assert _ask(place, f"/?{query}")[0] == 200


def test_without_bokeh_the_install_command_is_named():
    code = (
        "import sys; sys.modules['bokeh'] = None\n"
        "from mercer.playground import serve\n"
        "try:\n    serve(open_browser=False)\n"
        "except ImportError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 'pip install "mercer[play]"' in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="asyncio has no signal handlers there")
def test_ctrl_c_ends_the_loop_between_two_callbacks():
    """Not within one: a thread that it has just started would be known to nobody."""
    from tornado.ioloop import IOLoop

    from mercer.playground._server import _interrupts_between_callbacks

    before, done = signal.getsignal(signal.SIGINT), []
    loop = IOLoop(make_current=False)

    def interrupted() -> None:
        signal.raise_signal(signal.SIGINT)
        done.append("all of the callback")

    try:
        with _interrupts_between_callbacks(loop):
            loop.add_callback(interrupted)
            loop.start()
    finally:
        loop.close()
    assert done == ["all of the callback"]
    assert signal.getsignal(signal.SIGINT) is before
