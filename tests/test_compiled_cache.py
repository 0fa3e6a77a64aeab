"""Where compiled code is cached: nowhere that another user could have put a file first."""

import os
import pickle
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from mercer._numba import compiled, private_folder

pytestmark = pytest.mark.skipif(not hasattr(os, "getuid"), reason="POSIX permissions")
NAME = f"mercer-numba-cache-{os.getuid() if hasattr(os, 'getuid') else 0}"


@pytest.fixture
def shared(tmp_path):
    """Like /tmp: all users write, none may remove the files of others."""
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    private_folder.cache_clear()
    yield folder
    private_folder.cache_clear()


def test_a_new_folder_is_for_this_user_alone(shared):
    found = private_folder(str(shared))
    assert found == str(shared / NAME)
    assert os.stat(found).st_mode & 0o777 == 0o700
    private_folder.cache_clear()
    assert private_folder(str(shared)) == found  # the second process uses it again


def test_a_link_is_refused(shared, tmp_path):
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (shared / NAME).symlink_to(tmp_path / "elsewhere")
    assert private_folder(str(shared)) is None


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o755, 0o1777])
def test_a_folder_open_to_others_is_refused(shared, mode):
    (shared / NAME).mkdir()
    (shared / NAME).chmod(mode)
    assert private_folder(str(shared)) is None


def test_a_file_in_its_place_is_refused(shared):
    (shared / NAME).write_text("")
    assert private_folder(str(shared)) is None


def test_a_parent_in_which_others_can_rename_is_refused(shared):
    shared.chmod(0o777)
    assert private_folder(str(shared)) is None


def test_a_folder_of_another_user_is_refused(shared, monkeypatch):
    (shared / NAME).mkdir(mode=0o700)
    another = os.lstat(shared / NAME).st_uid + 1
    if os.getuid() == 0:
        os.chown(shared / NAME, another, -1)
    else:  # the same seen from the other side
        (shared / NAME).rename(shared / f"mercer-numba-cache-{another}")
        monkeypatch.setattr(os, "getuid", lambda: another)
    assert private_folder(str(shared)) is None


SCRIPT = """
import sys, tempfile
from numba.core import caching
for name in ("InTreeCacheLocator", "UserWideCacheLocator"):
    locator = getattr(caching, name, None) or getattr(caching, "_" + name)  # older Numba
    locator.from_function = classmethod(lambda cls, f, path: None)
tempfile.tempdir = sys.argv[1] if len(sys.argv) > 1 else None
if tempfile.tempdir is None:  # as where all file systems are read-only
    tempfile._candidate_tempdir_list = lambda: []
import numpy as np
from mercer._numba import compiled

def double(x):
    return 2 * x

made = compiled(double)
assert made(np.float64(3.0)) == 6.0
print(type(made._cache).__name__, getattr(made._cache, "_cache_path", ""))
"""


def run(*folder, place=None):
    script = (place or folder[0].parent) / "script.py"
    script.write_text(textwrap.dedent(SCRIPT))
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}
    done = subprocess.run(
        [sys.executable, str(script), *map(str, folder)],
        capture_output=True, text=True, timeout=120, env=environment, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_a_process_without_writable_folders(shared):
    kind, path = run(shared)
    assert kind == "Cache"
    assert Path(path).is_relative_to(shared / NAME)
    assert list(Path(path).glob("*.nbi"))


def test_a_process_that_can_write_nowhere(tmp_path):
    assert run(place=tmp_path) == ["NullCache"]  # compiled in memory


class Bomb:
    def __reduce__(self):
        return (os._exit, (42,))


def test_files_that_were_there_first_are_not_executed(shared):
    kind, path = run(shared)  # the names of the files
    assert kind == "Cache"
    for index in Path(path).glob("*.nbi"):
        index.write_bytes(pickle.dumps("any version") + pickle.dumps(Bomb()))
    (shared / NAME).chmod(0o777)
    assert run(shared) == ["NullCache"]  # compiled in memory


PAIR = """
import numpy as np
from mercer._numba import compiled

@compiled(inner=True)
def square(x):
    return x * x

@compiled(inner=True)
def fourth(x):
    return square(square(x))

@compiled
def total(x):
    out = 0.0
    for k in range(x.size):
        out += fourth(x[k]) + square(x[k])
    return out

print(total(np.array([1.0, 2.0])), sum(total.stats.cache_hits.values()))
"""


def run_pair(folder, before=""):
    """The value of a compiled function, and how often it came from the cache."""
    script, limited = folder / "script.py", folder / "limited.py"
    if not script.exists():  # its time is part of what the cache compares
        script.write_text(PAIR)
    limited.write_text(f"import runpy\n{before}\nrunpy.run_path('script.py')\n")
    done = subprocess.run(
        [sys.executable, "limited.py"],
        capture_output=True, text=True, timeout=120, check=False, cwd=folder,
        env=os.environ | {"NUMBA_CACHE_DIR": str(folder / "cache")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_inner_functions_are_cached_within_their_callers(tmp_path):
    for hits in ("0", "1"):  # the second process compiles nothing
        assert run_pair(tmp_path) == ["22.0", hits]
    assert len(list((tmp_path / "cache").rglob("*.nbi"))) == 1


def test_a_full_disk_leaves_the_code_in_memory(tmp_path):
    full = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))"
    assert run_pair(tmp_path, full) == ["22.0", "0"]
    assert not list((tmp_path / "cache").rglob("*.nb*"))
    assert [run_pair(tmp_path) for _ in range(2)] == [["22.0", "0"], ["22.0", "1"]]


@pytest.mark.parametrize("kind", ["nbi", "nbc"])
def test_files_that_were_cut_off_are_written_again(kind, tmp_path):
    run_pair(tmp_path)
    for path in (tmp_path / "cache").rglob(f"*.{kind}"):
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert [run_pair(tmp_path) for _ in range(2)] == [["22.0", "0"], ["22.0", "1"]]


def test_a_general_function_may_have_closures_and_expressions_of_arrays():
    def weighted(x, z):
        scale = [2.0 * k for k in range(2)]

        def difference(a, b):
            return a - b

        return np.sum(difference(x, z) * difference(x, z) * scale[1])

    value = compiled(weighted, cached=False, general=True)
    assert value(np.array([1.0, 3.0]), np.array([0.0, 1.0])) == 10.0


CALLED = """
from mercer._numba import compiled

FACTOR = {factor}

@compiled(inner=True)
def scaled(x):
    return {term} * x
"""
CALLER = """
import sys
sys.path.insert(0, {folder!r})
from called import FACTOR, scaled
from mercer._numba import compiled

@compiled
def result(x):
    return FACTOR * scaled(x)

print(result(1.0), sum(result.stats.cache_hits.values()))
"""


def test_code_is_compiled_again_where_what_it_calls_has_changed(tmp_path):
    """Functions and constants of other files are part of the machine code of their callers."""
    caller = tmp_path / "caller.py"
    caller.write_text(CALLER.format(folder=str(tmp_path)))

    def outcome(factor, term):
        (tmp_path / "called.py").write_text(CALLED.format(factor=factor, term=term))
        command = [sys.executable, "-B", str(caller)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        value, hits = done.stdout.split()
        return float(value), int(hits)

    assert outcome(2.0, 3.0) == (6.0, 0)
    assert outcome(2.0, 4.0) == (8.0, 0)  # a function of as many bytes
    assert outcome(5.0, 4.0) == (20.0, 0)  # a constant
    again = [sys.executable, "-B", str(caller)]
    done = subprocess.run(again, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split() == ["20.0", "1"]  # and from the cache where nothing has
