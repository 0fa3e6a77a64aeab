"""The server of the playground: on the loopback address, for its own pages only."""

from __future__ import annotations

import contextlib
import signal
import socket
import sys
from collections.abc import Iterator
from typing import Any

__all__ = ["make_server", "serve"]

ADDRESS = "127.0.0.1"
HOSTS = (ADDRESS, "localhost")
# The largest message of a page: a file of points, which `LIMITS.points` bounds further.
MESSAGE_BYTES = 4 << 20


def make_server(port: int = 0) -> Any:
    """A Bokeh server that is not started; ``server.port`` is where it will listen.

    It binds to the loopback address, takes web sockets from pages of this very server only (not
    without an Origin either), and refuses requests by another name than its own (a page whose name
    was made to mean this address).
    """
    try:
        from bokeh.application import Application
        from bokeh.application.handlers.function import FunctionHandler
        from bokeh.server.server import Server
    except ImportError as missing:
        raise ImportError('The playground needs Bokeh: pip install "mercer[play]"') from missing
    from mercer.playground._page import add_page

    if port == 0:
        port = _free_port()
    origins = [f"{host}:{port}" for host in HOSTS]
    pages = {"/": Application(FunctionHandler(add_page))}
    limits: dict[str, Any] = {
        "websocket_max_message_size": MESSAGE_BYTES,
        "allow_websocket_origin": origins,
    }
    try:
        server = Server(pages, address=ADDRESS, port=port, **limits)
        _refuse_others(server)
        return server
    except OSError as error:
        raise OSError(
            f"port={port} of {ADDRESS} cannot be bound: {error.strerror}. Give another, or 0."
        ) from error


def _refuse_others(server: Any) -> None:
    """Refuse requests by another name, and web sockets whose page does not say where it is from.

    Browsers always send an Origin with web sockets; Bokeh checks it where there is one.
    """
    from tornado.routing import Matcher, Rule
    from tornado.web import HTTPError, RequestHandler

    class Foreign(Matcher):
        def match(self, request: Any) -> dict[str, Any] | None:
            is_socket = request.headers.get("Upgrade", "").lower() == "websocket"
            lacks_origin = is_socket and "Origin" not in request.headers
            return {} if request.host_name not in HOSTS or lacks_origin else None

    class Refused(RequestHandler):
        def prepare(self) -> None:
            raise HTTPError(403, "the playground is served to this computer only")

    server._tornado.default_router.rules.insert(0, Rule(Foreign(), Refused))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((ADDRESS, 0))
        return probe.getsockname()[1]


def serve(port: int = 0, *, open_browser: bool = True, query: str = "") -> None:
    """Serve until Ctrl-C; see `mercer.playground.serve`."""
    server = make_server(port)
    path = f"/?{query}" if query else "/"
    server.start()
    if open_browser:
        server.io_loop.add_callback(server.show, path)
    try:
        with _interrupts_between_callbacks(server.io_loop):
            print(
                f"Mercer playground: http://{ADDRESS}:{server.port}{path}   (Ctrl-C ends it)",
                file=sys.stderr,
            )
            server.io_loop.start()
    except KeyboardInterrupt:
        pass
    finally:
        server.stop()


@contextlib.contextmanager
def _interrupts_between_callbacks(io_loop: Any) -> Iterator[None]:
    """Ctrl-C ends the loop between two callbacks; a second one ends the process at once.

    A KeyboardInterrupt can be raised anywhere: where it was raised between the start of a thread
    and its entry in the list of the pool that ends it, the process waited for that thread for ever.
    """
    loop = io_loop.asyncio_loop

    def end() -> None:
        loop.remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        io_loop.stop()

    try:
        loop.add_signal_handler(signal.SIGINT, end)
    except (NotImplementedError, RuntimeError, ValueError):  # Windows, or not the main thread
        yield
        return
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, signal.default_int_handler)
