"""
Digits, and the ones it gets wrong
==================================

From pixels to a decision with its certificate: 1,797 images of 8 × 8 pixels that come with
scikit-learn, ten classes, 45 machines. All mistakes on the images kept aside are shown.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from mercer import SVC, verify
from mercer.plots import style

digits = load_digits()
images = digits.data / 16
train_X, test_X, train_y, test_y = train_test_split(
    images, digits.target, test_size=0.5, random_state=0, stratify=digits.target
)
model = SVC(C=10, gamma=0.05).fit(train_X, train_y)
found = model.certificate_
print(f"{len(found.tasks)} machines, {found.status}: relative gap at most {found.relative_gap:.1g}")

# %%
# The certificate can be recomputed by anyone who has the rows, without the solver's code.

print(f"recomputed: relative gap at most {verify(model, train_X, train_y).relative_gap:.1g}")
error = 1 - model.score(test_X, test_y)
spread = np.sqrt(error * (1 - error) / len(test_y))
print(f"error on {len(test_y)} images kept aside: {100 * error:.1f} % ± {100 * spread:.1f} %")

# %%
# Every mistake. Some could be anything; that is a limit of 64 pixels.

predicted = model.predict(test_X)
wrong = np.flatnonzero(predicted != test_y)
with style.context():
    columns = 6
    rows = max(1, -(-wrong.size // columns))
    figure, axes = style.pyplot().subplots(
        rows, columns, figsize=(8, 1.7 * rows), layout="constrained", squeeze=False
    )
    for ax in axes.flat:
        ax.axis("off")
    for ax, i in zip(axes.flat, wrong, strict=False):
        ax.imshow(test_X[i].reshape(8, 8), cmap="gray_r")
        ax.set_title(f"{test_y[i]}, said {predicted[i]}", fontsize=10)

# %%
# The decision: where a wrong digit is costly, images on which two classes have nearly the same
# number of votes are refused and looked at by eye. ``ahead`` is by how much the best leads.

votes = np.sort(model.decision_function(test_X), axis=1)
ahead = votes[:, -1] - votes[:, -2]
for least in (0.0, 0.7, 1.0):
    kept = ahead >= least
    left = np.sum(predicted[kept] != test_y[kept])
    print(f"refused if ahead < {least}: {(~kept).sum():2d} images, mistakes left: {left}")

# %%
# **What to conclude.** All 45 machines are solved, so the errors are not the solver's. They are
# few, and mostly between digits that share strokes. Nearly all of them are close: refuse one image
# in twenty, those on which no class leads by a vote, and next to no mistake is left.
