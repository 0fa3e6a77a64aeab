"""
Where a protein binds to DNA
============================

A transcription factor binds to a short pattern that may lie anywhere in a window of a hundred
letters, and some of its positions do not matter. Gapped k-mers count such patterns: all windows of
``g`` letters, of which any ``m`` are ignored. The data are sites of CTCF (those of FastSK), from
the folder MERCER_DATA; without it, made-up sequences.
"""

import os
from itertools import pairwise
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score, roc_curve

from mercer import SVC
from mercer.kernels import GappedKmer, Normalize, Spectrum
from mercer.plots import style


def texts(parts, prefix: str) -> list[str]:
    whole, cuts = parts[f"{prefix}text_bytes"].tobytes(), parts[f"{prefix}text_offsets"].tolist()
    return [whole[a:b].decode() for a, b in pairwise(cuts)]


def sites(n: int, rng: np.random.Generator) -> tuple[list[str], np.ndarray]:
    """Sequences of which half have the pattern CCA-CAG-GGCG somewhere, with errors."""
    letters, y = rng.choice(list("ACGT"), size=(n, 100)), np.where(np.arange(n) % 2, 1, -1)
    pattern, matters = list("CCANCAGNGGCG"), [0, 1, 2, 4, 5, 6, 8, 9, 10, 11]
    for row in np.flatnonzero(y > 0):
        start = rng.integers(0, 88)
        for j in matters:
            if rng.random() > 0.15:
                letters[row, start + j] = pattern[j]
    return ["".join(row) for row in letters], y


file = Path(os.environ.get("MERCER_DATA", "")) / "gkm_CTCF.npz"
if file.is_file():
    with np.load(file) as parts:
        X, y, new, truth = texts(parts, ""), parts["y"], texts(parts, "test_"), parts["y_test"]
    some = np.random.default_rng(0).permutation(len(X))[:600]
    X, y, new, truth = [X[i] for i in some], y[some], new[::4], truth[::4]
else:
    rng = np.random.default_rng(0)
    (X, y), (new, truth) = sites(300, rng), sites(200, rng)

# %%
# Longer windows with ignored positions find what contiguous pieces do not. The kernel is exact: it
# is the sum over all pairs of windows of the number of ways to choose equal positions.

kernels = {
    "Spectrum(6)": Normalize(Spectrum(6)),
    "GappedKmer(8, 2)": Normalize(GappedKmer(8, 2)),
    "GappedKmer(13, 7)": Normalize(GappedKmer(13, 7)),
}
with style.context():
    figure, axes = style.pyplot().subplots(layout="constrained")
    for name, kernel in kernels.items():
        values = SVC(kernel=kernel, C=1).fit(X, y).decision_function(new)
        area = roc_auc_score(truth, values)
        print(f"{name:18} AUC {area:.3f}")
        axes.plot(*roc_curve(truth, values)[:2], label=f"{name}, AUC {area:.3f}")
    axes.set(xlabel="sequences without a site that are reported", ylabel="sites that are found")
    axes.legend(loc="lower right")
