"""``python -m mercer.app [PORT]``: the playground, without opening a browser if a port is given."""

import sys

from mercer.app import serve

if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    serve(port, open_browser=not port)
