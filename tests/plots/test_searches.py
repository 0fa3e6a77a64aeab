"""Displays of searches and of fits along C and the rows: their numbers, and what is readable."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris, make_moons
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer.plots import (
    LandscapeDisplay,
    LearningCurveDisplay,
    SupportDisplay,
    ValidationCurveDisplay,
    draw,
)
from mercer.plots._base import APART

X, y = make_moons(120, noise=0.3, random_state=0)
Cs, GAMMAS = [0.1, 1.0, 10.0], [0.01, 0.1, 1.0, 10.0]


@pytest.fixture(scope="module")
def search():
    return mercer.SVCCV(Cs=Cs, gammas=GAMMAS, return_train_score=True).fit(X, y)


def overlap(texts, figure):
    figure.canvas.draw()
    boxes = [text.get_window_extent() for text in texts if text.get_text()]
    return any(one.overlaps(two) for one, two in combinations(boxes, 2))


class TestValidationCurve:
    @pytest.mark.parametrize(("param", "values"), [("C", Cs), ("gamma", GAMMAS)])
    def test_the_best_candidate_at_each_value(self, search, param, values):
        display = ValidationCurveDisplay.from_estimator(search, param=param, ax=APART)
        results = search.cv_results_
        assert display.values.tolist() == values
        for value, mean, spread, train in zip(
            values, display.mean, display.spread, display.train, strict=True
        ):
            here = [i for i, p in enumerate(results["params"]) if p[param] == value]
            best = max(here, key=lambda i: results["mean_test_score"][i])
            assert mean == results["mean_test_score"][best]
            assert spread == results["std_test_score"][best]
            assert train == results["mean_train_score"][best]
        assert display.mean.max() == pytest.approx(search.best_score_)
        low, high = display.ax_.get_ylim()
        assert low < display.mean.min() <= display.mean.max() < high
        assert "held-out rows along" in display.description

    def test_of_scikit_learn_s_search_in_a_pipeline(self):
        pipeline = make_pipeline(StandardScaler(), mercer.SVC())
        search = GridSearchCV(pipeline, {"svc__C": Cs, "svc__gamma": GAMMAS}).fit(X, y)
        display = ValidationCurveDisplay.from_estimator(search, ax=APART)
        assert display.values.tolist() == Cs
        assert display.train is None
        assert display.param == "C"

    def test_of_an_estimator_that_is_no_search(self):
        model = make_pipeline(StandardScaler(), mercer.SVC(C=2.0, probability="platt")).fit(X, y)
        display = draw("validation", model, X, y, values=Cs)
        assert display.own == 2.0
        cv = StratifiedKFold(5, shuffle=True, random_state=0)
        plain = clone(model).set_params(svc__probability="deprecated")
        expected = GridSearchCV(plain, {"svc__C": Cs}, cv=cv).fit(X, y)
        assert np.allclose(display.mean, expected.cv_results_["mean_test_score"])

    def test_errors(self, search):
        with pytest.raises(ValueError, match="no epsilon; it has C, gamma"):
            ValidationCurveDisplay.from_estimator(search, param="epsilon", ax=APART)
        with pytest.raises(ValueError, match="X and y are needed"):
            ValidationCurveDisplay.from_estimator(mercer.SVC(), ax=APART)


class TestLandscape:
    def test_scores_and_times_of_cells(self, search):
        display = LandscapeDisplay.from_estimator(search, ax=APART)
        results = search.cv_results_
        assert display.scores.shape == (3, 4)
        for i, params in enumerate(results["params"]):
            cell = Cs.index(params["C"]), GAMMAS.index(params["gamma"])
            assert display.scores[cell] == results["mean_test_score"][i]
            assert display.seconds[cell] == results["mean_fit_time"][i]
        assert display.scores[Cs.index(display.best[0]), GAMMAS.index(display.best[1])] == (
            pytest.approx(search.best_score_)
        )
        assert len(display.axes_) == 2

    def test_of_other_candidates_in_a_cell_the_best(self):
        rows, targets = load_diabetes(return_X_y=True)
        search = mercer.SVRCV(Cs=[10.0, 100.0], gammas=[1.0, 10.0], epsilons=[1.0, 20.0], cv=3)
        search.fit(rows[:150], targets[:150])
        display = LandscapeDisplay.from_estimator(search, ax=APART)
        assert display.scores.shape == (2, 2)
        assert np.nanmax(display.scores) == search.best_score_
        assert display.score_name == "R²"

    def test_cells_that_were_not_searched(self):
        params = [{"C": 1.0, "gamma": 0.1}, {"C": 10.0, "gamma": 1.0}, {"C": 1.0, "gamma": 1.0}]
        results = {"params": params, "mean_test_score": np.array([0.5, 0.7, np.nan]),
                   "std_test_score": np.zeros(3), "mean_fit_time": np.ones(3)}  # fmt: skip
        display = LandscapeDisplay.from_results(results, ax=APART)
        assert np.isnan(display.scores).sum() == 2
        assert display.best == (10.0, 1.0)
        chosen = LandscapeDisplay.from_results(results, best=params[0], ax=APART)
        assert chosen.best == (1.0, 0.1)
        assert "chosen: C = 1" in chosen.description

    def test_names_and_numbers_do_not_overlap(self):
        search = mercer.SVCCV(cv=3).fit(X, y)
        display = LandscapeDisplay.from_estimator(search, ax=APART)
        for ax in display.axes_:
            assert not overlap(ax.get_yticklabels(), display.figure_)
            cells = [text for text in ax.texts if "□" not in text.get_text()]
            assert len(cells) == 100
            assert not overlap(cells, display.figure_)
        star = next(t for t in display.axes_[-1].texts if "□" in t.get_text())
        labels = [*display.axes_[-1].get_xticklabels(), display.axes_[-1].xaxis.label]
        assert not any(
            star.get_window_extent().overlaps(label.get_window_extent()) for label in labels
        )

    def test_errors(self):
        linear = mercer.LinearSVC().fit(X, y)
        with pytest.raises(ValueError, match="validation curve along C"):
            LandscapeDisplay.from_estimator(linear, X, y, ax=APART)
        only_C = mercer.LinearSVCCV(Cs=Cs).fit(X, y)
        with pytest.raises(ValueError, match="no gamma"):
            LandscapeDisplay.from_estimator(only_C, ax=APART)


class TestLearningCurve:
    def test_scores_are_those_of_fits(self):
        model = mercer.SVC(C=3.0, gamma=1.0).fit(X, y)
        display = LearningCurveDisplay.from_estimator(model, X, y, sizes=[40, 96], ax=APART)
        assert display.rows.tolist() == [40, 96]
        assert display.test.shape == (2, 5)
        cv = StratifiedKFold(5, shuffle=True, random_state=0)
        expected = [
            clone(model).fit(X[train], y[train]).score(X[test], y[test])
            for train, test in cv.split(X, y)
        ]
        assert np.allclose(display.test[-1], expected)  # all training rows of a fold

    def test_many_rows_are_sampled_and_it_is_said(self):
        display = draw("learning", mercer.LinearSVC(), X, y, max_rows=50)
        assert display.rows[-1] <= 50
        assert "Of 120 rows 50 are used" in display.caveat
        rows, targets = load_diabetes(return_X_y=True)
        curve = draw("learning", mercer.KernelRidge(), rows, targets, sizes=[50, 200])
        assert curve.score_name == "R²"


class TestSupport:
    def test_numbers_are_those_of_the_certificates(self):
        found = mercer.path(X, y, Cs=Cs, estimator=mercer.SVC(gamma=1.0))
        display = SupportDisplay.from_path(found, ax=APART)
        for k, model in enumerate(found.models):
            assert display.support[k] == model.n_support_.sum()
            norm = 2 / display.margins[k]
            K = model.kernel_(model.support_vectors_)
            beta = model.dual_coef_.ravel()
            assert norm**2 == pytest.approx(beta @ K @ beta, rel=1e-6)
            assert display.bound[k] == np.isclose(np.abs(beta), Cs[k]).sum()
        assert display.n == 120
        assert (np.diff(display.margins) < 0).all()

    def test_of_an_estimator_in_a_pipeline(self):
        model = make_pipeline(StandardScaler(), mercer.SVC(C=5.0)).fit(X, y)
        display = draw("support", model, X, y, Cs=Cs)
        assert display.own == 5.0
        assert display.values.tolist() == Cs
        rows, codes = load_iris(return_X_y=True)
        many = draw("support", mercer.SVC().fit(rows, codes), rows, codes, Cs=Cs)
        assert many.n == 300  # of three pairs of classes
        labels = [text.get_text() for text in many.axes_[0].get_legend().get_texts()]
        assert "all 300 rows of 3 tasks" in labels
        linear = draw("support", mercer.LinearSVC(loss="hinge").fit(X, y), X, y, Cs=Cs)
        assert linear.support.shape == (3,)
        with pytest.raises(ValueError, match="KernelRidge has no C"):
            draw("support", mercer.KernelRidge().fit(X, y), X, y)
