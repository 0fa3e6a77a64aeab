"""
Molecules as graphs
===================

Atoms are nodes with labels, bonds are edges, and two molecules are compared by the neighbourhoods
of atoms that they have in common: the Weisfeiler–Lehman kernel. The data are MUTAG, nitroaromatic
compounds that are mutagenic or not, from the folder MERCER_DATA; without it, made-up chains and
rings.
"""

import os
from pathlib import Path

import numpy as np

from mercer import SVC, SVCCV
from mercer.kernels import Normalize, ShortestPath, WeisfeilerLehman, WeisfeilerLehmanOA
from mercer.plots import KernelMatrixDisplay


def molecules() -> tuple[np.ndarray, np.ndarray]:
    """Records of graphs, and their classes."""
    file = Path(os.environ.get("MERCER_DATA", "")) / "graph_MUTAG.npz"
    out = []
    if file.is_file():
        with np.load(file) as parts:
            owner, edges, labels, y = (
                parts[name] for name in ("graph_indicator", "edges", "node_labels", "y")
            )
        for i in range(len(y)):
            nodes = np.flatnonzero(owner == i)
            own = edges[owner[edges[:, 0]] == i] - nodes[0]
            out.append({"n": nodes.size, "edges": own, "node_labels": labels[nodes]})
    else:
        rng = np.random.default_rng(0)
        y = rng.integers(0, 2, size=120)
        for has_ring in y:
            n = int(rng.integers(8, 16))
            chain = [[i, i + 1] for i in range(n - 1)]
            ring = [[0, 5]] if has_ring else [[0, 2 + int(rng.integers(2))]]
            labels = rng.choice(["C", "N", "O"], size=n, p=[0.8, 0.1, 0.1]).tolist()
            out.append({"n": n, "edges": chain + ring, "node_labels": labels})
    graphs = np.empty(len(out), dtype=object)
    graphs[:] = out
    return graphs, y


graphs, y = molecules()
order = np.random.default_rng(1).permutation(len(y))
train, test = order[: 2 * len(y) // 3], order[2 * len(y) // 3 :]
print(f"{len(y)} molecules of {np.mean([graph['n'] for graph in graphs]):.0f} atoms")

# %%
# How deep should neighbourhoods be? Kernels are values: a search takes a list of them, and chooses
# C along with the kernel.

kernels = [Normalize(WeisfeilerLehman(depth)) for depth in range(5)]
kernels += [Normalize(WeisfeilerLehmanOA(depth)) for depth in range(5)]
kernels += [Normalize(ShortestPath())]
search = SVCCV(kernel=kernels, Cs=[0.1, 1, 10, 100], cv=5).fit(graphs[train], y[train])
print(search.best_params_)
print(f"accuracy on other molecules: {search.score(graphs[test], y[test]):.3f}")

# %%
# The fit has a certificate as any other, and the model keeps its support graphs.

model = SVC(kernel=search.best_params_["kernel"], C=search.best_params_["C"])
model.fit(graphs[train], y[train])
print(model.certificate_)
print(model.support_vectors_[0])

# %%
# The kernel matrix, ordered by class.

some = train[np.argsort(y[train], kind="stable")]
KernelMatrixDisplay.from_kernel(model.kernel, graphs[some], y[some])
