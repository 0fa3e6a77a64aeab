"""Short versions of the long runs (`python -m benchmarks trust`)."""

from __future__ import annotations

import queue

import numpy as np
import pytest

from benchmarks.trust import work
from benchmarks.trust_kills import kill_fits

pytestmark = pytest.mark.serial


def test_killed_fits_end_at_the_undisturbed_optimum(tmp_path):
    done = kill_fits(
        lambda now: now.fits.total() >= 3 and now.ended >= 2, tmp_path, np.random.default_rng(3)
    )
    assert done.problems == []
    assert list(tmp_path.glob("fit.npz")) == []


def test_a_mixed_load_has_no_problems(tmp_path):
    results = queue.SimpleQueue()
    work(0, 3.0, str(tmp_path), results)
    done, problems, memory = results.get_nowait()
    assert problems == []
    assert sum(done.values()) == len(memory) > 0
