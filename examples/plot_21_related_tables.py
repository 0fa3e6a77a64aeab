"""
Two tables, joined by a key
===========================

Customers have any number of orders, in a table of their own. The orders of a customer are a bag:
``related_rows`` finds them by the key, and ``MeanEmbedding`` compares two bags by the mean similarity
of their rows. No sums or counts have to be invented. The data are made up.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import MKL, SVC
from mercer.kernels import MeanEmbedding, Normalize, OnColumns, TableKernel, related_rows

rng = np.random.default_rng(0)
n = 240
will_return = rng.random(n) < 0.5
customers = {"id": np.arange(n), "age": rng.normal(45, 15, n).round()}

# Those who return order small things of one kind; the others order as much, but otherwise.
owner = np.repeat(np.arange(n), rng.integers(0, 8, n))
amount = np.exp(rng.normal(3, 0.4 + 0.8 * ~will_return[owner])).round(2)
kind = np.where(rng.random(owner.size) < 0.5 + 0.3 * will_return[owner], "book", "game")
orders = {"customer": owner, "amount": amount, "kind": kind}

# %%
# The bags are one more column of the main table.

main = {"age": customers["age"], "orders": related_rows(customers["id"], orders, on="customer")}
of_order = TableKernel.from_frame({"amount": amount, "kind": kind}, gamma=4)
print(of_order)

of_orders = OnColumns(Normalize(MeanEmbedding(of_order)), "orders")
of_age = OnColumns(TableKernel.from_frame({"age": customers["age"]}), "age")
train, test = np.arange(n) % 2 == 0, np.arange(n) % 2 == 1


def rows(which: np.ndarray) -> dict[str, np.ndarray]:
    """Some of the customers."""
    return {name: column[which] for name, column in main.items()}


scores = {}
for name, kernel in {"age": of_age, "orders": of_orders, "both": of_age + of_orders}.items():
    model = SVC(kernel=kernel, C=3).fit(rows(train), will_return[train])
    scores[name] = model.score(rows(test), will_return[test])
    print(f"{name}: accuracy {scores[name]:.3f}, {model.certificate_.status}")

# %%
# Which of the two matters can be learned as well.

model = MKL([of_age, of_orders], SVC(C=3)).fit(rows(train), will_return[train])
print(model.report())
print(model.certificate_)

fig, ax = plt.subplots()
ax.bar(list(scores), list(scores.values()))
ax.set_ylabel("accuracy on the other half")
ax.set_ylim(0.4, 1)
