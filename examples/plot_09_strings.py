"""
Strings, by a kernel that counts words
======================================

No vectors here: sequences of letters, compared by the pieces of length three that they have in
common. The kernel matrix is all that the estimator needs. Ordered by class it shows why it works.
"""

from collections import Counter

import numpy as np

from mercer import SVC, check_kernel
from mercer.kernels import Precomputed
from mercer.plots import KernelMatrixDisplay

rng = np.random.default_rng(0)


def grow(table: dict[str, str], length: int = 80) -> str:
    """A sequence in which each letter is mostly followed by those of the table."""
    text = "A"
    while len(text) < length:
        text += rng.choice(list(table[text[-1]] if rng.random() < 0.45 else "ACGT"))
    return text


one = {"A": "C", "C": "G", "G": "T", "T": "A"}
other = {"A": "G", "C": "A", "G": "C", "T": "T"}
texts = [grow(one) for _ in range(40)] + [grow(other) for _ in range(40)]
y = np.repeat([0, 1], 40)


def similarity(s: str, t: str) -> float:
    """Pieces of length three in common, each counted as often as it occurs in both."""
    a, b = (Counter(u[i : i + 3] for i in range(len(u) - 2)) for u in (s, t))
    return sum(a[piece] * b[piece] for piece in a)


K = np.array([[similarity(s, t) for t in texts] for s in texts])
K = K / np.sqrt(np.outer(np.diag(K), np.diag(K)))
print("a kernel:", check_kernel(K).is_psd)

# %%
# Learn from half of them; new strings are described by their kernel values with those.

train, test = np.arange(0, 80, 2), np.arange(1, 80, 2)
model = SVC(kernel="precomputed", C=10).fit(K[np.ix_(train, train)], y[train])
print("held out:", model.score(K[np.ix_(test, train)], y[test]))

KernelMatrixDisplay.from_kernel(Precomputed(), K, y)
