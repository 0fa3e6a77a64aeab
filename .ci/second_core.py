"""Name an OpenBLAS core type that this processor runs and that rounds differently from its own.

``OPENBLAS_CORETYPE=$(python .ci/second_core.py) pytest`` then computes as on another machine. The
name is found by trial, since OpenBLAS does as it is told and a core type with instructions that the
processor lacks ends the process. Nothing is printed where NumPy has no OpenBLAS to choose from.
"""

from __future__ import annotations

import os
import subprocess
import sys

# From the newest on: nearest to what users have. x86-64 first, then 64-bit ARM.
CANDIDATES = ("SkylakeX", "Haswell", "Sandybridge", "Nehalem", "NEOVERSEN1", "ARMV8")
# Its architecture, and the bits of a product in both precisions.
TRIAL = """
import hashlib
import numpy as np
from threadpoolctl import threadpool_info
A = np.random.default_rng(0).normal(size=(200, 60))
bits = b"".join((B @ B.T).tobytes() for B in (A, A.astype(np.float32)))
names = [i["architecture"] for i in threadpool_info() if i["internal_api"] == "openblas"]
print(*sorted(set(names)), hashlib.sha256(bits).hexdigest())
"""


def trial(core: str | None = None) -> list[str]:
    """Architectures in use and a digest of what they compute; empty where the process dies."""
    environment = {k: v for k, v in os.environ.items() if k != "OPENBLAS_CORETYPE"}
    if core is not None:
        environment["OPENBLAS_CORETYPE"] = core
    done = subprocess.run(
        [sys.executable, "-c", TRIAL], env=environment, capture_output=True, text=True, check=False
    )
    return done.stdout.split() if done.returncode == 0 else []


def main() -> None:
    own = trial()
    if len(own) < 2:
        return
    for core in CANDIDATES:
        found = trial(core)
        if found and found[0].lower() == core.lower() and found[-1] != own[-1]:
            print(core)
            return


if __name__ == "__main__":
    main()
