"""Workers that are killed, that join, and a scheduler that pauses: the same model."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")
from mercer.dask import LinearSVC  # noqa: E402

pytestmark = pytest.mark.serial


@pytest.fixture(scope="module")
def cluster():
    """Two workers in processes of their own."""
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
    ) as cluster:
        yield cluster


def process_number():
    return os.getpid()


def test_killed_and_joining_workers(cluster, rows):
    X, y = rows
    chunks = da.from_array(X, chunks=(75, 5))
    happened = []
    with distributed.Client(cluster) as client:
        numbers = list(client.run(process_number).values())

        def disturb(progress):
            if progress.rounds == 2:
                os.kill(numbers[0], signal.SIGKILL)
                happened.append("killed")
            if progress.rounds == 4:
                cluster.scale(3)
                happened.append("joined")

        model = LinearSVC(loss="hinge", tol=1e-4, callback=disturb).fit(chunks, y)
        assert happened == ["killed", "joined"]
        assert set(client.run(process_number).values()) != set(numbers)
        again = LinearSVC(loss="hinge", tol=1e-4).fit(chunks, y)
    assert model.certificate_.status.is_solved
    assert np.array_equal(model.coef_, again.coef_)
    assert np.array_equal(model.intercept_, again.intercept_)
    assert model.certificate_.gap == again.certificate_.gap


SCHEDULER = """
import asyncio
from distributed import Scheduler

async def main():
    async with Scheduler(host="127.0.0.1", port=0, dashboard_address="127.0.0.1:0") as scheduler:
        print(scheduler.address, flush=True)
        await asyncio.sleep(3600)

asyncio.run(main())
"""


def test_a_scheduler_that_pauses_and_one_that_does_not_answer(rows):
    X, y = rows
    chunks = da.from_array(X, chunks=(150, 5))
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    scheduler = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", SCHEDULER],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    worker = None
    try:
        address = scheduler.stdout.readline().strip()
        given = [address, "--no-dashboard", "--no-nanny", "--nthreads=1"]
        code = f"from distributed.cli.dask_worker import main; main({given})"
        worker = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", code],
            stderr=subprocess.DEVNULL,
            env=environment,
        )

        def pause(progress):
            if progress.rounds == 2:
                scheduler.send_signal(signal.SIGSTOP)
                threading.Timer(1.0, scheduler.send_signal, (signal.SIGCONT,)).start()

        with distributed.Client(address) as client:
            model = LinearSVC(tol=1e-6, callback=pause).fit(chunks, y)
            again = LinearSVC(tol=1e-6).fit(chunks, y)
            assert model.certificate_.status.is_solved
            assert np.array_equal(model.coef_, again.coef_)

            def stop(progress):
                scheduler.send_signal(signal.SIGSTOP)

            with pytest.raises(TimeoutError, match=r"has not answered for 0\.5 s"):
                LinearSVC(tol=1e-6, callback=stop, scheduler_timeout=0.5).fit(chunks, y)
            scheduler.send_signal(signal.SIGCONT)
            client.close()
    finally:
        for process in (worker, scheduler):
            if process is not None:
                process.kill()
                process.wait()
        scheduler.stdout.close()
