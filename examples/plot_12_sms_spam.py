"""
Spam, from the letters alone
============================

Text messages as they are, no words and no features: two messages are compared by the substrings of
three and four letters that they have in common. The data are the SMS Spam Collection, from the
folder MERCER_DATA; without it, a few made-up messages stand for them.
"""

import os
from itertools import pairwise
from pathlib import Path

import numpy as np

from mercer import SVC
from mercer.kernels import Normalize, Spectrum
from mercer.plots import KernelMatrixDisplay


def messages() -> tuple[list[str], np.ndarray]:
    """Texts, and for each "spam" or "ham"."""
    names = np.array(["ham", "spam"])
    file = Path(os.environ.get("MERCER_DATA", "")) / "sms_spam_text.npz"
    if file.is_file():
        with np.load(file) as parts:
            whole, cuts = parts["text_bytes"].tobytes(), parts["text_offsets"].tolist()
            return [whole[a:b].decode() for a, b in pairwise(cuts)], names[(parts["y"] > 0) * 1]
    rng = np.random.default_rng(0)
    words = ["win free cash prize call now text stop claim", "see you at home lunch later ok love"]
    labels = (rng.random(400) < 0.4) * 1
    return [" ".join(rng.choice(words[1 - s].split(), 7)) for s in labels], names[labels]


texts, y = messages()
train = np.random.default_rng(1).permutation(len(texts))[: len(texts) // 2]
test = np.setdiff1d(np.arange(len(texts)), train)
kernel = Normalize(Spectrum(k=(3, 4)))
model = SVC(kernel=kernel, C=10).fit([texts[i] for i in train], y[train])
print(model.certificate_)
held_out = model.score([texts[i] for i in test], y[test])
print(f"{len(texts)} messages, accuracy on the other half: {held_out:.3f}")

# %%
# The kernel matrix of some messages, spam last: spam resembles spam.

some = [*np.flatnonzero(y == "ham")[:60], *np.flatnonzero(y == "spam")[:60]]
KernelMatrixDisplay.from_kernel(kernel, [texts[i] for i in some], y[some])
