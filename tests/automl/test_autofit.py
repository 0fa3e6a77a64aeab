"""`mercer.autofit`: data of every kind, the code that it prints, limits, Ctrl-C."""

from __future__ import annotations

import os
import signal
import threading
import time
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_moons
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer.automl._autofit import run
from mercer.automl._code import code_of
from mercer.automl._families import Family, families, key_of
from mercer.automl._look import look, stratified_order
from mercer.automl._search import TimedSearch
from mercer.automl._settings import AutofitSettings
from mercer.automl._trials import Costs, Trial, is_better
from mercer.exceptions import InterruptWarning
from mercer.kernels._registry import KERNELS

SMALL = AutofitSettings(n_C=4, n_gamma=4, repeats=1, most_candidates=6)
MOONS = make_moons(240, noise=0.3, random_state=0)
SLOW = 1000.0  # a limit that is never reached, so that results do not depend on the machine


def quick(X, y, limit=SLOW, settings=SMALL, tell=None, **options):
    tell = tell or (lambda progress: None)
    return run(TimedSearch(settings, limit, tell=tell), X, y, **options)


def execute(code, X, y):
    """Run the code that autofit prints, as a user would."""
    scope = {"X": X, "y": y}
    exec(code, scope)
    return scope["model"]


TABLE = pd.DataFrame(
    {
        "size": np.random.default_rng(0).normal(size=120),
        "age": np.where(np.arange(120) % 9, np.arange(120.0), np.nan),
        "town": np.array(["a", "b", "c"])[np.arange(120) % 3],
    }
)
DATA = {
    "classes": MOONS,
    "three classes": load_iris(return_X_y=True),
    "names": (MOONS[0], np.array(["no", "yes"])[MOONS[1]]),
    "regression": tuple(part[:200] for part in load_diabetes(return_X_y=True)),
    "sparse": (sp.csr_matrix(np.maximum(MOONS[0], 0)), MOONS[1]),
    "table": (TABLE, (TABLE["size"] > 0).to_numpy() ^ (TABLE["town"] == "b").to_numpy()),
    "gaps": (np.where(np.arange(240)[:, None] % 7 == 0, np.nan, MOONS[0]), MOONS[1]),
    "texts": (["abab"[i % 2 :] * (2 + i % 3) + "cd"[i % 2] * 3 for i in range(60)],
              np.arange(60) % 2),
}  # fmt: skip


@pytest.mark.parametrize("name", DATA)
def test_the_printed_code_makes_the_same_model(name):
    X, y = DATA[name]
    model = quick(X, y)
    assert isinstance(model, Pipeline)
    again = execute(model.report_.code, X, y)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    if hasattr(model, "decision_function"):
        np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    report = model.report_
    assert report.rows == len(y)
    assert report.score > report.baseline
    assert report.best is not None
    assert repr(report).count("\n") > 4


def test_samples_that_are_no_rows():
    """Kernels on sets and graphs join by their entries in the registry."""
    sets = [{"a", "b", str(i % 5)} if i % 2 else {"c", "d", str(i % 7)} for i in range(60)]
    path, ring = [(0, 1), (1, 2)], [(0, 1), (1, 2), (0, 2)]
    graphs = [
        {"n": 3, "edges": path if i % 2 else ring, "node_labels": ["c", "h", "h"]}
        for i in range(40)
    ]
    for samples, kind in ((sets, "sets"), (graphs, "graphs")):
        y = np.arange(len(samples)) % 2
        model = quick(samples, y, sample_type=kind)
        assert model.score(samples, y) == 1
        again = execute(model.report_.code, samples, y)
        np.testing.assert_array_equal(again.predict(samples), model.predict(samples))
    with pytest.raises(ValueError, match="sample_type must be one of"):
        quick(sets, np.arange(60) % 2, sample_type="shapes")


def test_probabilities_are_there_and_agree():
    model = quick(*MOONS)
    p = model.predict_proba(MOONS[0])
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(MOONS[0]))
    assert model.report_.has_probabilities


def test_the_best_is_about_the_best_of_its_trials():
    report = quick(*MOONS).report_
    last = [t for t in report.trials if t.rows == report.best.rows]
    most = max(len(t.scores) for t in last)
    top = max((t for t in last if len(t.scores) == most), key=lambda t: t.mean)
    assert report.score == top.mean or not is_better(top, report.best, 5)
    own = [t.mean for t in last if t.family is report.best.family and len(t.scores) == most]
    assert report.score == max(own)
    assert report.score == pytest.approx(np.mean(report.best.scores))
    model = make_pipeline(*report.best.family.steps, report.best.family.estimator)
    assert report.best.family.name.startswith(type(model[-1]).__name__)


@pytest.mark.parametrize(
    ("scores", "is_chosen"),
    [
        ([0.92, 0.82, 0.87, 0.85, 0.91], True),  # better by as much in every fold
        ([1.0, 0.8, 0.85, 0.83, 0.89], False),  # by what one fold gives
        ([0.8, 0.8, 0.8, 0.8, 0.8], False),
    ],
)
def test_another_family_than_the_usual_one_has_to_be_clearly_better(scores, is_chosen):
    search = TimedSearch(AutofitSettings(), 1.0)
    search.usual, other, search.rows = SimpleNamespace(), SimpleNamespace(), 100
    usual = Trial(search.usual, {"C": 1.0}, 100, [0.9, 0.8, 0.85, 0.83, 0.89])
    found = Trial(other, {"C": 1.0}, 100, scores)
    search.trials = {0: usual, 1: found, 2: Trial(other, {"C": 9.0}, 50, [1.0] * 5)}
    assert search.chosen() is (found if is_chosen else usual)


def test_not_below_a_grid_search():
    X, y = load_breast_cancer(return_X_y=True)
    grid = mercer.SVCCV(Cs=4, gammas=4, scale=True).fit(X, y)
    report = quick(X, y).report_
    assert report.score >= grid.best_score_ - report.error


def test_rounds_have_more_rows_and_fewer_candidates():
    X, y = make_moons(900, noise=0.3, random_state=0)
    settings = AutofitSettings(
        n_C=4, n_gamma=4, first_rows=100, growth=3, repeats=0, most_candidates=5
    )
    report = quick(X, y, settings=settings).report_
    rows = sorted({trial.rows for trial in report.trials})
    assert rows == [100, 300, 900]
    counts = [sum(trial.rows == m for trial in report.trials) for m in rows]
    assert counts[0] > counts[1]
    assert report.best.rows == 900
    few = AutofitSettings(n_C=3, n_gamma=3, first_rows=100, growth=3, most_rows=300, repeats=0)
    report = quick(X, y, settings=few).report_
    assert max(trial.rows for trial in report.trials) == 300
    assert report.rows == 900  # the last fit has all of them


def test_the_same_model_for_any_number_of_threads():
    models = []
    for n_jobs in (1, 2):
        search = TimedSearch(SMALL, SLOW, n_jobs=n_jobs)
        models.append(run(search, *MOONS))
    np.testing.assert_array_equal(*(model.decision_function(MOONS[0]) for model in models))


def test_a_callback_ends_the_search():
    seen = []

    def tell(progress):
        seen.append(progress)
        return len(seen) > 3

    model = quick(*MOONS, tell=tell)
    assert model.predict(MOONS[0]).shape == (240,)
    assert len(seen) <= 8
    assert all(a.seconds <= b.seconds for a, b in pairwise(seen))
    assert all(p.seconds_left <= SLOW for p in seen)


def test_no_time_at_all_still_gives_a_model():
    model = quick(*MOONS, limit=1e-9)
    assert model.predict(MOONS[0]).shape == (240,)
    assert model.report_.best is None
    assert any("raise time_limit" in note for note in model.report_.notes)
    with pytest.raises(ValueError, match="raise time_limit"):
        model.report_.landscape()


def test_ctrl_c_returns_the_best_so_far():
    told = threading.Event()

    def tell(progress):
        if progress.best and not told.is_set():
            told.set()
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)

    with pytest.warns(InterruptWarning, match="best so far"):
        model = quick(*MOONS, tell=tell)
    assert told.is_set()
    assert model.predict(MOONS[0]).shape == (240,)
    assert "Ctrl-C" in repr(model.report_)


def test_costs_are_predicted_by_the_measured_power():
    family = Family([], mercer.SVC(), {"C": [1.0]})
    costs = Costs(2.0)
    assert costs.predict(family, 10) == np.inf
    costs.add(family, 100, 1.0)
    assert costs.predict(family, 300) == pytest.approx(9.0)
    costs.add(family, 200, 2.0)
    assert costs.predict(family, 400) == pytest.approx(4.0)
    linear = Family([], mercer.LinearSVC(), {"C": [1.0]})
    costs.add(linear, 100, 1.0)
    assert costs.predict(linear, 300) == pytest.approx(3.0)


def test_preparations_suit_the_columns():
    def names(X):
        return [[type(s).__name__ for s in steps] for steps in _look(X).preparations]

    def _look(X):
        return look(X, np.arange(len(X)) % 2, None, SMALL)

    rng = np.random.default_rng(0)
    normal = rng.normal(size=(300, 3))
    assert names(normal) == [["StandardScaler"], []]
    assert names(normal * [1, 1, 1e6]) == [["StandardScaler"]]
    tail = normal.copy()
    tail[:, 0] = np.exp(3 * tail[:, 0])
    assert ["QuantileTransformer"] in names(tail)
    mixed = np.column_stack([normal, rng.integers(0, 2, 300)])
    assert ["MinMaxScaler"] in names(mixed)
    assert _look(mixed).kinds == ("numbers", "categories")
    assert _look(rng.integers(0, 2, (300, 3))).kinds == ("categories",)
    assert names(TABLE) == [["ColumnTransformer"], ["ColumnTransformer"]]


def test_kernels_come_from_the_registry():
    found = look(*MOONS, None, SMALL)
    kernels, linear = families(found, *MOONS, [StandardScaler()], SMALL)
    tried = {e.names[0] for e in KERNELS.values() if "numbers" in e.tried_on}
    assert {family.estimator.kernel for family in kernels} == tried
    assert kernels[0].estimator.kernel == "rbf"
    assert [type(f.estimator).__name__ for f in linear] == ["LogisticRegression", "LinearSVC"]


def test_neighbours_are_on_the_grid_or_between():
    found = look(*MOONS, None, SMALL)
    family = families(found, *MOONS, [], SMALL)[0][0]
    middle = {"C": family.grid["C"][1], "gamma": family.grid["gamma"][1]}
    on_grid = {key_of(params) for params in family.candidates()}
    whole = list(family.neighbours(middle, 1.0))
    assert len(whole) == 8
    assert all(key_of(params) in on_grid for params in whole)
    half = list(family.neighbours(middle, 0.5))
    assert len({key_of(params) for params in half} - on_grid) == 8
    ratio = max(p["C"] for p in half) / min(p["C"] for p in half)
    assert ratio == pytest.approx(family.steps_of["C"], rel=0.02)


@pytest.mark.parametrize("is_class", [True, False])
def test_the_order_begins_with_every_class(is_class):
    y = np.repeat([0, 1, 2], [900, 90, 10])
    order = stratified_order(y, is_class, 5, np.random.default_rng(0))
    assert np.array_equal(np.sort(order), np.arange(1000))
    if is_class:
        assert np.bincount(y[order[:15]]).tolist() == [5, 5, 5]
        counts = np.bincount(y[order[:515]], minlength=3)
        assert np.allclose(counts, [455, 50, 10], atol=12)


def test_code_of_nested_steps_and_kernels():
    from mercer.kernels import Normalize, Spectrum

    model = make_pipeline(mercer.SVC(kernel=Normalize(Spectrum(k=(1, 2))), C=2.5))
    texts, y = ["ab", "ba", "aa", "bb"], [0, 0, 1, 1]
    code = code_of(model.fit(texts, y), "a comment", "another")
    assert code.startswith("from mercer import SVC\nfrom mercer.kernels import Normalize, Spectrum")
    assert "# a comment" in code
    again = execute(code, texts, y)
    np.testing.assert_array_equal(again.decision_function(texts), model.decision_function(texts))


@pytest.mark.parametrize(
    ("X", "y", "options", "message"),
    [
        (MOONS[0], None, {}, "needs y"),
        (MOONS[0], MOONS[1][:5], {}, "inconsistent numbers"),
        (MOONS[0], np.zeros(240, int), {}, "one class only"),
        (MOONS[0], np.arange(240) // 239, {}, "class 1 has one row"),
        (MOONS[0], MOONS[1], {"task": "ranking"}, "task must be"),
        (MOONS[0], np.where(MOONS[1], np.nan, 0.5), {"task": "regression"}, "first in row"),
        (np.where(MOONS[0] > 2, np.inf, MOONS[0] * 9), MOONS[1], {}, "infinite entries"),
        (MOONS[0][0], MOONS[1][:2], {}, "dimension"),
    ],
)
def test_bad_input_is_refused_before_the_search(X, y, options, message):
    with pytest.raises(ValueError, match=message):
        quick(X, y, **options)


def test_a_time_limit_must_be_positive():
    with pytest.raises(ValueError, match="time_limit must be a positive number"):
        mercer.autofit(*MOONS, time_limit=0)


def test_it_prints_its_progress_and_the_code(capsys):
    model = mercer.autofit(MOONS[0][:60], MOONS[1][:60], time_limit=2)
    out = capsys.readouterr().out
    assert out.startswith("[autofit]")
    assert model.report_.code in out
    mercer.autofit(MOONS[0][:60], MOONS[1][:60], time_limit=1, verbose=False)
    assert capsys.readouterr().out == ""


def test_pictures_of_the_search():
    pytest.importorskip("matplotlib")
    from mercer.plots._base import APART

    report = quick(*MOONS).report_
    curve = report.validation_curve(ax=APART)
    assert curve.values.size == 4
    if "gamma" in report.best.params:
        display = report.landscape(ax=APART)
        assert display.scores.shape == (4, 4)
        assert display.best == (report.best.params["C"], report.best.params["gamma"])
    else:
        with pytest.raises(ValueError, match="along C"):
            report.landscape()


@pytest.mark.parametrize("names", [None, ["height", "width", "height in feet"]])
def test_findings_name_the_columns(names):
    X, y = MOONS
    X = np.c_[X, 3 * X[:, 0]]
    X = pd.DataFrame(X, columns=["a", "b", "c"]) if names is None else X
    found = " ".join(map(str, quick(X, y, feature_names=names).report_.findings))
    assert ("a and c" if names is None else "height and height in feet") in found


def test_a_frame_with_missing_integers():
    X, y = MOONS
    whole = pd.array([None, *range(1, X.shape[0])], dtype="Int64")
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": whole})
    assert quick(frame, y).predict(frame).shape == y.shape


def test_dates_are_refused_by_name():
    X, y = MOONS
    frame = pd.DataFrame({"a": X[:, 0], "day": pd.date_range("2024-01-01", periods=y.size)})
    with pytest.raises(ValueError, match="Columns that hold dates: day"):
        quick(frame, y)
    assert any("other things than numbers" in str(f) for f in mercer.doctor(frame, y).findings)
