"""
A table as it is
================

Categories, amounts with a long tail, missing values: no imputation, no one-hot columns, no scaling.
``TableKernel.from_frame`` proposes a kind for each column and explains it; any of them can be
changed. The data are loan applications (credit_data of R's modeldata), from the folder MERCER_DATA;
without it, made-up applications stand for them.
"""

import csv
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVCCV
from mercer.kernels import TableKernel


def applications() -> tuple[dict[str, list], np.ndarray]:
    """Columns by name, and whether the loan was paid back."""
    file = Path(os.environ.get("MERCER_DATA", "")) / "tables" / "credit_data.csv"
    if file.is_file():
        with file.open(newline="", encoding="utf-8") as lines:
            rows = list(csv.DictReader(lines))[:1500]
        names = [name for name in rows[0] if name not in ("rownames", "Status")]
        table = {name: [_value(row[name]) for row in rows] for name in names}
        return table, np.array([row["Status"] == "good" for row in rows])
    rng = np.random.default_rng(0)
    n = 400
    income = np.exp(rng.normal(5, 0.6, n)).round()
    job = rng.choice(["fixed", "freelance", "partime"], n, p=[0.6, 0.25, 0.15])
    amount = np.exp(rng.normal(6.8, 0.5, n)).round()
    is_good = np.log(income) + (job == "fixed") - np.log(amount) / 2 + rng.normal(0, 0.6, n) > 2.1
    table = {"Income": income.tolist(), "Job": job.tolist(), "Amount": amount.tolist()}
    for i in rng.choice(n, 40, replace=False):
        table["Income"][i] = None
    return table, is_good


def _value(cell: str) -> float | str | None:
    try:
        return None if cell in ("", "NA") else float(cell)
    except ValueError:
        return cell


table, is_good = applications()
train = np.random.default_rng(1).permutation(len(is_good))[: len(is_good) // 2]
test = np.setdiff1d(np.arange(len(is_good)), train)


def rows(index: np.ndarray) -> dict[str, list]:
    """Some of the applications."""
    return {name: [column[i] for i in index] for name, column in table.items()}


kernel = TableKernel.from_frame(rows(train))
print(kernel)

# %%
# γ and C are chosen by cross-validation; the kernel matrix of each γ is computed once.

grid = {"kernel__gamma": [0.5, 1.0, 2.0]}
model = SVCCV(kernel=kernel, Cs=[0.3, 1, 3], param_grid=grid, cv=3, scoring="roc_auc")
model.fit(rows(train), is_good[train])
print(model.best_estimator_.certificate_)
held_out = model.score(rows(test), is_good[test])
print(f"{len(is_good)} applications, AUC on the other half: {held_out:.3f}")

# %%
# Decision values of loans that were paid back and of those that were not.

values = model.decision_function(rows(test))
fig, ax = plt.subplots()
for was_good, label in ((True, "paid back"), (False, "not paid back")):
    ax.hist(values[is_good[test] == was_good], bins=30, alpha=0.6, density=True, label=label)
ax.set_xlabel("decision value")
ax.legend()
