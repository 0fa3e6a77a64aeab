"""The Dask client of a fit: an existing one, one for an address, or a local cluster.

A local cluster is started at the first fit that finds no client, and is kept for later ones. It
listens on the loopback interface only.
"""

from __future__ import annotations

import atexit
import logging
import os
from typing import Any

__all__ = ["close_local_cluster", "find_client", "require_dask"]

_clients: dict[str, Any] = {}


def require_dask() -> Any:
    """`distributed`, or an ImportError that says what to install."""
    try:
        import dask.array
        import dask.dataframe  # noqa: F401
        import distributed
    except ImportError as error:
        raise ImportError(
            f'mercer.dask needs Dask ({error}): pip install "mercer[dask]".'
        ) from error
    return distributed


def find_client(scheduler: Any, timeout: float) -> Any:
    """The client of a fit.

    ``scheduler`` is a Client, an address such as "tcp://10.0.0.1:8786", or None: the current
    client, if there is one, or a local cluster.
    """
    distributed = require_dask()
    if scheduler is not None and not isinstance(scheduler, str):
        return scheduler
    if scheduler is None:
        try:
            return distributed.Client.current()
        except ValueError:
            return _local_client(distributed)
    client = _clients.get(scheduler)
    if client is None or client.status != "running":
        client = _clients[scheduler] = _connect(distributed, scheduler, timeout)
    return client


def _connect(distributed: Any, address: str, timeout: float) -> Any:
    try:
        client = distributed.Client(address, timeout=timeout, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise ConnectionError(
            f"No Dask scheduler answers at {address} within {timeout:g} s ({error}). Start one "
            "with `dask scheduler`, give its address (tcp://host:port), or leave it out for a "
            "local cluster."
        ) from error
    atexit.register(_close, client)
    return client


def _local_client(distributed: Any) -> Any:
    client = _clients.get("")
    if client is None or client.status != "running":
        cluster = distributed.LocalCluster(
            n_workers=os.cpu_count() or 1,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,  # what fails on a worker is raised here
        )
        client = _clients[""] = distributed.Client(cluster, set_as_default=False)
        atexit.register(close_local_cluster)
    return client


def close_local_cluster() -> None:
    """Stop the local cluster that a fit started, if there is one."""
    client = _clients.pop("", None)
    if client is not None:
        cluster = client.cluster
        _close(client)
        cluster.close(timeout=10)


def _close(client: Any) -> None:
    if client.status == "running":
        client.close(timeout=5)
