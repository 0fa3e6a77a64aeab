"""A checkpoint is whole or refused, and never taken for another run's."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mercer.data import Checkpoint
from mercer.data._checkpoint import VERSION


def test_what_was_saved_comes_back(tmp_path):
    file = Checkpoint(tmp_path / "run.npz", {"lam": 0.1, "columns": ("a", "b")})
    assert file.load() is None
    state = np.random.default_rng(0).bit_generator.state
    for number in range(3):
        file.save({"w": np.full(3, number)}, {"state": state, "number": number})
    arrays, values = file.load()
    assert_array_equal(arrays["w"], 2)
    assert values == {"state": state, "number": 2}
    assert [path.name for path in tmp_path.iterdir()] == ["run.npz"]


def test_damage_is_told(tmp_path):
    path = tmp_path / "run.npz"
    file = Checkpoint(path, {})
    file.save({"w": np.arange(100.0)}, {})
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    cut = [whole[:size] for size in (0, 10, len(whole) // 2, len(whole) - 1)]
    flipped = []
    for place in rng.integers(100, 800, 20):  # within the arrays' bytes: their checksum tells
        changed = bytearray(whole)
        changed[whole.index(np.arange(100.0).tobytes()) + place - 100] ^= 1
        flipped.append(bytes(changed))
    for damaged in (*cut, *flipped, b"something else"):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"run.npz cannot be read .* delete it to begin anew"):
            file.load()


def test_other_runs_and_versions_are_refused(tmp_path):
    path = tmp_path / "run.npz"
    Checkpoint(path, {"lam": 0.1, "holdout": None}).save({}, {})
    with pytest.raises(ValueError, match=r"another run: lam was 0.1 and is now 0.2\. Give what"):
        Checkpoint(path, {"lam": 0.2, "holdout": None}).load()
    with np.load(path) as saved:
        head = json.loads(str(saved["head"]))
    np.savez(path, head=np.array(json.dumps({**head, "version": VERSION + 1})))
    with pytest.raises(ValueError, match=f"has version {VERSION + 1}, but this is {VERSION}"):
        Checkpoint(path, {"lam": 0.1, "holdout": None}).load()
    with pytest.raises(ValueError, match="there is no folder"):
        Checkpoint(tmp_path / "nowhere" / "run.npz", {})
