"""Build the package twice, compare, look inside, and install it in a new environment.

    python .ci/package.py [--no-install]

The two wheels and the two source distributions must be equal byte for byte: their times come from
SOURCE_DATE_EPOCH (the time of the last commit). The wheel must hold the package and nothing else;
in an environment that has only the wheel and its dependencies, a model is fitted, saved, loaded and
inspected by the command.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# What a source distribution must have.
NEEDED = ("src/mercer/__init__.py", "tests/conftest.py", "pyproject.toml", "LICENSE", "README.md")
TRIAL = """
import numpy as np, mercer
X = np.random.default_rng(0).normal(size=(60, 3)); y = X[:, 0] > 0
model = mercer.SVC().fit(X, y)
mercer.save(model, "trial.mercer")
assert (mercer.load("trial.mercer").predict(X) == model.predict(X)).all()
assert model.certificate_.status.is_solved
print(mercer.__file__)
"""


def build(destination: Path) -> list[Path]:
    """The wheel and the source distribution, with times of the last commit."""
    seconds = subprocess.run(
        ["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()
    environment = {**os.environ, "SOURCE_DATE_EPOCH": seconds or "1700000000"}
    subprocess.run(
        [sys.executable, "-m", "build", "--outdir", str(destination), str(ROOT)],
        check=True,
        env=environment,
        stdout=subprocess.DEVNULL,
    )
    return sorted(destination.iterdir())


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def look_inside(wheel: Path, sdist: Path) -> None:
    """Refuse files that do not belong there, and the absence of those that do."""
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    strange = [top for top in tops if top != "mercer" and not top.startswith("mercer-")]
    if strange or "mercer/py.typed" not in names:
        raise SystemExit(f"{wheel.name}: {strange or 'no mercer/py.typed'}")
    bad = [n for n in names if n.endswith((".pyc", ".nbi", ".nbc", ".so")) or "__pycache__" in n]
    if bad:
        raise SystemExit(f"{wheel.name} has {bad[0]}")
    with tarfile.open(sdist) as archive:
        inside = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    missing = [name for name in NEEDED if name not in inside]
    cached = [n for n in inside if "__pycache__" in n]
    if missing or cached:
        raise SystemExit(f"{sdist.name}: {missing or cached[:1]}")


def try_it(wheel: Path, folder: Path) -> None:
    """Install the wheel in a new environment and use it there."""
    venv.create(folder / "env", with_pip=True)
    python = folder / "env" / "bin" / "python"
    install = [python, "-m", "pip", "install", "--quiet", str(wheel)]
    subprocess.run(install, check=True)
    plain = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [python, "-c", TRIAL], cwd=folder, env=plain, check=True, capture_output=True, text=True
    )
    if str(folder) not in done.stdout:
        raise SystemExit(f"another mercer was imported: {done.stdout}")
    command = [str(folder / "env" / "bin" / "mercer"), "inspect", "trial.mercer"]
    subprocess.run(command, cwd=folder, env=plain, check=True, stdout=subprocess.DEVNULL)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--no-install", action="store_true", help="only build and look inside")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        both = [build(folder / name) for name in ("first", "second")]
        for one, other in zip(*both, strict=True):
            if digest(one) != digest(other):
                raise SystemExit(f"two builds of {one.name} differ")
            print(f"{one.name}: {one.stat().st_size:,} bytes, sha256 {digest(one)}")
        sdist, wheel = sorted(both[0], key=lambda path: path.suffix == ".whl")
        look_inside(wheel, sdist)
        if not options.no_install:
            try_it(wheel, folder)
            print("installed and used in a new environment")


if __name__ == "__main__":
    main()
