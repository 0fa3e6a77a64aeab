"""
News articles, sorted by what they are about
============================================

Articles of twenty news groups as words with weights (tf-idf), one linear machine for each group
against the rest. The articles to be sorted were written after those of the training set. The raw
data are 20 Newsgroups by date, a file for each article in a folder for each group, if the folder
MERCER_DATA has them. If it has only the matrix of the weights, ``news20_tfidf.npz``, the story
begins there, and mistakes are known by their numbers; without either, a few articles are made up,
written into such folders and read from them.
"""

import os
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from matplotlib.colors import PowerNorm
from sklearn.datasets import load_files
from sklearn.feature_extraction.text import TfidfVectorizer

from mercer import LinearSVC

PARTS = ("20news-bydate-train", "20news-bydate-test")


def make_up(folder: Path) -> None:
    """Files of articles in four groups, of which two share most of their words."""
    words = {
        "rec.autos": "engine wheel brake road fuel dealer gear mile",
        "rec.boats": "sail wind harbour deck tide anchor crew mile",
        "sci.stars": "orbit planet light moon telescope dust mass sky",
        "sci.space": "orbit planet launch moon rocket crew mass sky",
    }
    common, rng = ["the", "a", "of", "and", "it", "was", "said", "not"], np.random.default_rng(0)
    for part, count in zip(PARTS, (300, 200), strict=True):
        for number, group in enumerate(rng.choice(list(words), count)):
            text = rng.choice([*words[group].split(), *common], 14)
            file = folder / part / group / f"{number:05}"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"Subject: {' '.join(text[:4])}\n\n{' '.join(text[4:])}\n")


def read_raw(folder: Path) -> list[tuple[list[str], np.ndarray]]:
    """Texts and groups, to train with and of later days."""
    found = [load_files(folder / part, encoding="latin-1") for part in PARTS]
    return [(part.data, np.array(part.target_names)[part.target]) for part in found]


def read_weights(file: Path) -> list[tuple[sp.csr_array, np.ndarray]]:
    """The same as rows of weights."""
    with np.load(file) as npz:
        parts = {name: npz[name] for name in npz.files}
    return [
        (
            sp.csr_array(
                tuple(parts[f"{start}{name}"] for name in ("data", "indices", "indptr")),
                shape=tuple(parts[f"{start}shape"]),
            ),
            parts["classes"][parts[y]],
        )
        for start, y in (("", "y"), ("test_", "y_test"))
    ]


data, weights = Path(os.environ.get("MERCER_DATA", "")), "news20_tfidf.npz"
later: list[str] = []  # the texts to be sorted, where they are known
if "MERCER_DATA" in os.environ and not (data / PARTS[0]).is_dir() and (data / weights).is_file():
    print(f"the folder has {weights}, and no texts: the story begins with the weights of words")
    (X, y), (X_later, y_later) = read_weights(data / weights)
else:
    with TemporaryDirectory() as made:
        if not (data / PARTS[0]).is_dir():
            print("MERCER_DATA names no folder with 20 Newsgroups: the articles are made up")
            data = Path(made)
            make_up(data)
        (texts, y), (later, y_later) = read_raw(data)
    vectorizer = TfidfVectorizer(sublinear_tf=True).fit(texts)
    X, X_later = (sp.csr_array(vectorizer.transform(each)) for each in (texts, later))

print(f"{X.shape[0]:,} articles to train with, {X.shape[1]:,} words, {X.nnz / X.shape[0]:.0f} each")
model = LinearSVC(C=1).fit(X, y)
print(model.certificate_)

# %%
# A new article goes to the group with the largest decision value.

f = model.decision_function(X_later)
sorted_to = model.classes_[f.argmax(axis=1)]
wrong = np.flatnonzero(sorted_to != y_later)
most = Counter(y.tolist()).most_common(1)[0][0]
print(f"{len(y_later):,} later articles: {1 - wrong.size / len(y_later):.1%} in their group")
print(f"all put into the largest group, {most}: {np.mean(y_later == most):.1%}")

# %%
# Where the others go. Groups on one subject exchange articles; the diagonal is left out.

groups = model.classes_
confused = np.zeros((groups.size, groups.size), dtype=int)
np.add.at(confused, tuple(np.searchsorted(groups, each[wrong]) for each in (y_later, sorted_to)), 1)
fig, ax = plt.subplots(figsize=(7.2, 6.4), layout="constrained")
image = ax.imshow(np.where(confused > 0, confused, np.nan), cmap="Blues", norm=PowerNorm(0.5, 0))
ax.set_xticks(range(groups.size), groups, rotation=90)
ax.set_yticks(range(groups.size), groups)
ax.set(xlabel="sorted to", ylabel="posted in", title="Articles in a wrong group")
fig.colorbar(image, label="articles", shrink=0.8)

for (own, other), count in Counter(
    zip(y_later[wrong].tolist(), sorted_to[wrong].tolist(), strict=True)
).most_common(5):
    print(f"{count:4d}  {own} -> {other}")
SUBJECTS = {"soc": "religion", "alt": "religion", "talk.religion": "religion", "talk": "politics"}
subjects = [
    next((name for start, name in SUBJECTS.items() if g.startswith(start)), g.split(".")[0])
    for g in groups.tolist()
]
same = np.equal.outer(subjects, subjects)
print(f"{confused[same].sum() / wrong.size:.0%} of the mistakes stay within a subject")

# %%
# The mistakes, one by one, the surest first. ``ahead`` is by how much the decision value of the
# wrong group exceeds the next one. Rows of tf-idf have length 1, so the linear kernel of two
# articles is the cosine between them: below each mistake stands the most similar article of the
# training set.


def name(number: int) -> str:
    """The line with the subject of an article, or its number where the texts are not known."""
    lines = later[number].splitlines() if later else []
    return next((line for line in lines if line.startswith("Subject:")), f"Article {number}")


ahead = np.diff(np.sort(f, axis=1)[:, -2:]).ravel()
surest = wrong[np.argsort(-ahead[wrong])]
similar = (X_later[surest] @ X.T).tocsr()
nearest, cosine = similar.argmax(axis=1).ravel(), similar.max(axis=1).toarray().ravel()
for i, neighbour, k in list(zip(surest, nearest, cosine, strict=True))[:8]:
    print(f"{name(i)[:90]}")
    print(f"    posted in {y_later[i]}, sorted to {sorted_to[i]}, ahead {ahead[i]:.2f};")
    print(f"    most similar (cosine {k:.2f}): article {neighbour} of {y[neighbour]}")
copies = cosine > 0.8
elsewhere = copies & (y[nearest] == sorted_to[surest])
print(f"{copies.sum()} mistakes are near copies (cosine above 0.8) of a training article,")
print(f"{elsewhere.sum()} of these of one in the group they were sorted to")

# %%
# Not every article must be sorted by the machine: where two groups are close, a reader decides.

for least in (0.0, 0.1, 0.25, 0.5, 1.0):
    kept = ahead > least
    right = np.mean(sorted_to[kept] == y_later[kept])
    print(f"sorted if ahead > {least:4.2f}: {kept.mean():4.0%} of the articles, {right:.1%} right")

# %%
# **What to conclude.** The certificate says that all machines are optimal to the tolerance, so
# another solver or more iterations would change nothing. In the collection half of the mistakes
# stay within a subject (the groups on politics, on religion, on computers), where readers differ as
# well. Read one by one, some of the surest mistakes are sorted by what they say and were posted
# elsewhere: an offer of memory in a group on hardware, a debate on encryption in one on guns. A
# dozen are near copies of articles in the very group they were sorted to: no machine that sees
# words alone can sort these otherwise. Merge groups that readers would not tell apart, allow more
# than one group for an article, or leave what is close to a reader: the table says how many
# articles that are.
