"""Targets of regressions that are text: numbers are read, words refused with the word."""

from __future__ import annotations

import numpy as np
import pytest

import mercer

X = np.random.default_rng(0).normal(size=(20, 2))
WORDS = np.array(["ham", "spam"] * 10)
REGRESSORS = [
    mercer.SVR(),
    mercer.NuSVR(),
    mercer.KernelRidge(),
    mercer.LinearSVR(),
    mercer.PegasosRegressor(),
]


@pytest.mark.parametrize("model", REGRESSORS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("y", [WORDS, WORDS.tolist(), WORDS.astype(object)], ids=["U", "list", "O"])
def test_words_are_named(model, y):
    with pytest.raises(ValueError, match=r"y must hold numbers, .* such as 'ham'\."):
        model.fit(X, y)
