"""
A boundary and its support vectors
==================================

Two moons, a Gaussian kernel. The solid line is the boundary, the dashed ones are the margins.
Points are drawn by KKT group: beyond the margin (α = 0, they could be anywhere there), on it
(free), or within it (at the bound C). The area of a disc is α.
"""

from sklearn.datasets import make_moons

from mercer import SVC
from mercer.plots import BoundaryDisplay

X, y = make_moons(200, noise=0.25, random_state=0)
model = SVC(C=2.0, gamma=1.0).fit(X, y)
BoundaryDisplay.from_estimator(model, X, y)

# %%
# The certificate says that no other model of this kind is better by more than the gap.

print(model.certificate_)
