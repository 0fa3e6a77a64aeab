"""Multinomial `LogisticRegression`: oracles (scikit-learn, 50 digits), bounds, limits, files."""

from __future__ import annotations

import warnings

import mpmath as mp
import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from sklearn import linear_model
from sklearn.datasets import load_iris

import mercer
from mercer import LogisticRegression, Status, verify
from mercer.exceptions import ConvergenceWarning
from mercer.problems._multinomial import Multinomial
from tests.read_only import read_only

IRIS, SPECIES = read_only(*load_iris(return_X_y=True))
SMALL = np.random.default_rng(7).normal(size=(24, 2))
CLASSES = np.random.default_rng(8).integers(3, size=24)
read_only(SMALL, CLASSES)


# ---------------------------------------------------------------------- oracles


@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_coefficients_are_those_of_scikit_learn(C, fit_intercept):
    weight = np.where(np.arange(150) % 3 == 0, 2.5, 0.5)
    settings = {"C": C, "fit_intercept": fit_intercept, "class_weight": {0: 0.3, 1: 1.0, 2: 4.0}}
    theirs = linear_model.LogisticRegression(**settings, tol=1e-12, solver="newton-cholesky")
    theirs.fit(IRIS, SPECIES, sample_weight=weight)
    for X in (IRIS, sp.csr_matrix(IRIS)):
        mine = LogisticRegression(**settings, tol=1e-12).fit(X, SPECIES, sample_weight=weight)
        assert_allclose(mine.coef_, theirs.coef_, atol=2e-6 * abs(theirs.coef_).max())
        assert_allclose(mine.intercept_, theirs.intercept_, atol=1e-5)
        assert_allclose(mine.predict_proba(X), theirs.predict_proba(IRIS), atol=1e-6)
        assert_array_equal(mine.predict(X), theirs.predict(IRIS))


@pytest.mark.parametrize("scaling", [0.5, 2.0, 10.0, 100.0])
@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-8])
def test_a_penalised_intercept_is_solved_to_tol(scaling, tol):
    """Its part of the gap is the squared derivative over the penalty, however small that is."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(24, 2)), rng.integers(3, size=24)
        model = LogisticRegression(C=3.0, intercept_scaling=scaling, tol=tol).fit(X, y)
        assert model.certificate_.status is Status.SOLVED
        assert model.certificate_.relative_gap <= tol


def _exact_value(W, b, X, codes, C, kappa) -> mp.mpf:
    """P of a model in 50 digits."""
    total = sum(mp.mpf(float(w)) ** 2 for w in np.ravel(W)) / 2
    total += mp.mpf(kappa or 0) * sum(mp.mpf(float(v)) ** 2 for v in b) / 2
    for x, y, c in zip(X, codes, C, strict=True):
        g = [
            mp.fdot(map(mp.mpf, map(float, w)), map(mp.mpf, map(float, x))) + mp.mpf(float(v))
            for w, v in zip(W, b, strict=True)
        ]
        top = max(g)
        total += mp.mpf(float(c)) * (mp.log(sum(mp.exp(v - top) for v in g)) + top - g[y])
    return total


def _exact_optimum(X, codes, C, kappa, start) -> mp.mpf:
    """The least P, by Newton's method in 50 digits from a model near it.

    Where intercepts are free those of the first class are held at their value: only differences
    count.
    """
    k, d = 3, X.shape[1]
    rows = [[*map(mp.mpf, map(float, x)), mp.mpf(1)] for x in X]
    if kappa is None:
        rows = [x[:d] for x in rows]
    m = len(rows[0])
    free = [(r, j) for r in range(k) for j in range(m) if not (j == d and r == 0 and kappa == 0)]
    point = [[mp.mpf(float(v)) for v in (*w, b)][:m] for w, b in zip(*start, strict=True)]
    ridge = [mp.mpf(1)] * d + [mp.mpf(kappa or 0)] * (m - d)
    for _ in range(12):
        gradient = [[ridge[j] * point[r][j] for j in range(m)] for r in range(k)]
        H = mp.zeros(len(free))
        for q, (_, j) in enumerate(free):
            H[q, q] += ridge[j]
        for x, y, c in zip(rows, codes, C, strict=True):
            g = [mp.fdot(w, x) for w in point]
            top = max(g)
            e = [mp.exp(v - top) for v in g]
            p = [v / sum(e) for v in e]
            for r in range(k):
                for j in range(m):
                    gradient[r][j] += mp.mpf(float(c)) * (p[r] - (r == y)) * x[j]
            for q, (r, j) in enumerate(free):
                for s, (t, i) in enumerate(free):
                    H[q, s] += mp.mpf(float(c)) * p[r] * ((r == t) - p[t]) * x[j] * x[i]
        step = mp.lu_solve(H, mp.matrix([gradient[r][j] for r, j in free]))
        for q, (r, j) in enumerate(free):
            point[r][j] -= step[q]
        if mp.norm(step) < mp.mpf(10) ** -30:
            break
    assert mp.norm(step) < mp.mpf(10) ** -15
    W = [w[:d] for w in point]
    b = [w[d] if m > d else mp.mpf(0) for w in point]
    total = sum(v**2 for w in W for v in w) / 2 + mp.mpf(kappa or 0) * sum(v**2 for v in b) / 2
    for x, y, c in zip(rows, codes, C, strict=True):
        g = [mp.fdot(w, x) for w in point]
        total += mp.mpf(float(c)) * (mp.log(sum(mp.exp(v - max(g)) for v in g)) + max(g) - g[y])
    return total


def _shifted(X):
    return X + np.array([1e6, 0.0])


HARD = {
    "plain": (SMALL, CLASSES),
    "offset": (_shifted(SMALL), CLASSES),
    "tiny": (1e-7 * SMALL, CLASSES),
    "uneven": (SMALL * np.array([1e4, 1e-4]), CLASSES),
    "duplicates": (np.repeat(SMALL[:8], 3, axis=0), np.repeat(CLASSES[:8], 3)),
    "conflicting duplicates": (np.tile(SMALL[:8], (3, 1)), CLASSES),
    "a class with one row": (SMALL, np.where(np.arange(24) == 5, 2, CLASSES % 2)),
    "float32": (SMALL.astype(np.float32), CLASSES),
    "separable": (50 * SMALL, np.digitize(SMALL[:, 0], [-0.5, 0.5])),
}


@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize("scaling", [None, 2.0, "no intercept"])
def test_bounds_hold_in_exact_arithmetic(name, scaling):
    """dual ≤ optimum ≤ value ≤ primal, whatever the fit reached."""
    X, codes = HARD[name]
    kappa = {None: 0.0, 2.0: 0.25, "no intercept": None}[scaling]
    settings = {"fit_intercept": kappa is not None, "C": 3.0}
    settings["intercept_scaling"] = scaling if scaling == 2.0 else None
    weight = 0.5 + (np.arange(24) % 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fits = [
            LogisticRegression(**settings, tol=tol, max_iter=limit).fit(X, codes, weight)
            for tol, limit in ((1e-12, 200), (1e-4, 100), (1e-4, 1))
        ]
    with mp.workdps(50):
        C = 3.0 * weight
        best = fits[0]
        start = best.coef_, np.broadcast_to(best.intercept_, 3)
        optimum = _exact_optimum(X, codes, C, kappa, start)
        for model in fits:
            b = np.broadcast_to(model.intercept_, 3)
            value = _exact_value(model.coef_, b, X, codes, C, kappa)
            for proof in (model.certificate_, verify(model, X, codes, weight)):
                assert proof.dual <= optimum <= value * (1 + mp.mpf(10) ** -25) <= proof.primal
                assert value - optimum <= proof.gap
                assert proof.gap >= proof.primal - proof.dual - 1e-12 * proof.primal
    if name not in ("float32", "offset"):  # there rounding of the stored model is most of it
        assert fits[0].certificate_.relative_gap < 1e-9
    assert fits[1].certificate_.status is Status.SOLVED


def test_gap_terms_are_relative_entropies():
    """Against 50 digits, for duals near the gradient's and far from it; never below the truth."""
    rng = np.random.default_rng(0)
    codes, C = rng.integers(4, size=40), rng.uniform(0.1, 10, size=40)
    g = 8 * rng.normal(size=(40, 4))
    problem = Multinomial(codes, C, 4)
    for spread in (0.0, 1e-9, 1e-3, 3.0):
        given = problem.gradient_duals(g + spread * rng.normal(size=g.shape))
        beta = problem.within_bounds(given)
        least, most, gap = problem.gap_terms(beta, g, np.zeros_like(g))
        with mp.workdps(50):
            exact = loss = mp.mpf(0)
            for i in range(40):
                c, row = mp.mpf(C[i]), [mp.mpf(v) for v in g[i]]
                lse = mp.log(sum(map(mp.exp, row)))
                a = [(mp.mpf(int(r == codes[i])) - mp.mpf(beta[i, r]) / c) for r in range(4)]
                assert mp.fabs(sum(a) - 1) < mp.mpf(10) ** -40
                terms = [v * (mp.log(v) - row[r] + lse) if v > 0 else 0 for r, v in enumerate(a)]
                exact += c * sum(terms)
                loss += c * (lse - row[codes[i]])
            assert exact >= 0
            assert least <= loss <= most <= loss * (1 + mp.mpf("1e-13"))
            assert exact <= gap <= exact * (1 + mp.mpf("1e-6")) + mp.mpf("1e-12")


# ---------------------------------------------------------------------- properties


def test_weights_are_repetitions():
    weight = np.arange(24) % 4
    settings = {"tol": 1e-12, "C": 2.0}
    weighted = LogisticRegression(**settings).fit(SMALL, CLASSES, sample_weight=weight)
    rows = np.repeat(np.arange(24), weight)
    repeated = LogisticRegression(**settings).fit(SMALL[rows], CLASSES[rows])
    assert_allclose(weighted.coef_, repeated.coef_, atol=1e-5)
    assert weighted.certificate_.primal == pytest.approx(repeated.certificate_.primal, rel=1e-10)


def test_a_class_without_weight_leaves_the_problem_of_the_others():
    """Its intercept has no finite optimum; value and bounds are those of the other classes."""
    weight = {0: 1.0, 1: 0.0, 2: 2.0, 3: 1.5}
    y = np.where(np.arange(150) % 5 == 0, 3, SPECIES)
    model = LogisticRegression(class_weight=weight, tol=1e-8).fit(IRIS, y)
    kept = y != 1
    others = LogisticRegression(class_weight={0: 1.0, 2: 2.0, 3: 1.5}, tol=1e-8)
    others.fit(IRIS[kept], y[kept])
    assert model.certificate_.status is Status.SOLVED
    assert model.certificate_.primal == pytest.approx(others.certificate_.primal, rel=1e-7)
    assert (model.predict(IRIS) != 1).all()
    assert verify(model, IRIS, y).holds


def test_models_sum_to_zero_and_scores_are_log_probabilities():
    model = LogisticRegression(tol=1e-10).fit(IRIS, SPECIES)
    assert_allclose(model.coef_.sum(axis=0), 0, atol=1e-12)
    assert_allclose(model.intercept_.sum(), 0, atol=1e-12)
    assert_allclose(model.predict_proba(IRIS), softmax(model.decision_function(IRIS), axis=1))
    far = 1e4 * IRIS[:3]
    assert np.isfinite(model.predict_log_proba(far)).all()
    assert_allclose(np.exp(model.predict_log_proba(IRIS)), model.predict_proba(IRIS))


def test_intercept_scaling_is_a_penalised_column():
    column = LogisticRegression(fit_intercept=False, tol=1e-12)
    column.fit(np.column_stack([IRIS, np.full(150, 2.0)]), SPECIES)
    model = LogisticRegression(intercept_scaling=2.0, tol=1e-12).fit(IRIS, SPECIES)
    assert_allclose(model.coef_, column.coef_[:, :-1], atol=1e-5)
    assert_allclose(model.intercept_, 2 * column.coef_[:, -1], atol=1e-5)


def test_two_classes_and_one_against_the_rest_are_binary_problems():
    codes = SPECIES[50:]
    default, rest = (LogisticRegression(**kw).fit(IRIS[50:], codes) for kw in ({}, REST))
    assert_array_equal(default.coef_, rest.coef_)
    several = LogisticRegression(**REST).fit(IRIS, SPECIES)
    for c in range(3):
        one = LogisticRegression().fit(IRIS, c == SPECIES)
        assert_array_equal(several.coef_[c], one.coef_[0])
        assert several.intercept_[c] == one.intercept_[0]
    assert len(several.certificate_.tasks) == 3
    assert_allclose(several.predict_proba(IRIS).sum(axis=1), 1)


REST = {"multi_class": "ovr"}


def test_parameter_is_checked():
    with pytest.raises(ValueError, match="multi_class"):
        LogisticRegression(multi_class="softmax").fit(IRIS, SPECIES)


def test_many_rows_start_from_a_subsample_and_do_not_depend_on_threads():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(9000, 30))
    y = np.argmax(X[:, :4] + rng.gumbel(size=(9000, 4)), axis=1)
    one, two = (LogisticRegression(n_jobs=jobs, tol=1e-9).fit(X, y) for jobs in (1, 2))
    assert_array_equal(one.coef_, two.coef_)
    assert one.certificate_.status is Status.SOLVED
    theirs = linear_model.LogisticRegression(tol=1e-10, max_iter=1000).fit(X, y)
    assert_allclose(one.coef_, theirs.coef_, atol=1e-4)


def test_wide_sparse_rows():
    """More columns than the Newton equations are factorised for: the diagonal preconditioner."""
    X = sp.random(300, 2000, density=0.02, random_state=0, format="csr")
    y = np.arange(300) % 5
    model = LogisticRegression(tol=1e-8, C=10.0).fit(X, y)
    assert model.certificate_.status is Status.SOLVED
    dense = LogisticRegression(tol=1e-8, C=10.0).fit(X.toarray(), y)
    assert model.certificate_.primal == pytest.approx(dense.certificate_.primal, rel=1e-7)
    assert verify(model, X, y).holds


# ---------------------------------------------------------------------- limits, warm starts


def test_limits_have_their_status_and_a_sound_gap():
    reports = []

    def stop(progress):
        reports.append(progress)
        return True

    with pytest.warns(ConvergenceWarning, match="iteration limit"):
        limited = LogisticRegression(max_iter=1, tol=1e-9).fit(IRIS, SPECIES)
    with pytest.warns(ConvergenceWarning, match="time limit"):
        timed = LogisticRegression(time_limit=1e-9, tol=1e-9).fit(IRIS, SPECIES)
    stopped = LogisticRegression(callback=stop, tol=1e-9).fit(IRIS, SPECIES)
    best = LogisticRegression(tol=1e-12).fit(IRIS, SPECIES).certificate_.dual
    expected = Status.ITERATION_LIMIT, Status.TIME_LIMIT, Status.STOPPED
    for model, status in zip((limited, timed, stopped), expected, strict=True):
        proof = model.certificate_
        assert proof.status is status
        assert proof.primal - best <= proof.gap
        assert not verify(model, IRIS, SPECIES).holds
    assert len(reports) == 1
    ((problem, result),) = reports[0].state()
    assert problem.primal_and_gap(
        result.w, result.b, result.beta, result.g, result.w_beta
    ) == pytest.approx((result.primal, result.gap), rel=1e-9)


def test_warm_start_goes_on_and_a_path_meets_its_tolerance():
    model = LogisticRegression(warm_start=True, tol=1e-8).fit(IRIS, SPECIES)
    assert model.n_iter_ > 2
    assert model.fit(IRIS, SPECIES).n_iter_ == 0
    assert model.set_params(C=1.1).fit(IRIS, SPECIES).n_iter_ <= 4
    Cs = [0.01, 0.1, 1.0]
    found = mercer.path(IRIS, SPECIES, Cs=Cs, estimator=LogisticRegression(tol=1e-8))
    for C, along in zip(Cs, found.models, strict=True):
        alone = LogisticRegression(C=C, tol=1e-8).fit(IRIS, SPECIES)
        assert along.certificate_.status is Status.SOLVED
        assert along.certificate_.primal == pytest.approx(alone.certificate_.primal, rel=2e-8)


# ---------------------------------------------------------------------- verify, files, duals


def test_verify_finds_what_is_wrong():
    model = LogisticRegression(tol=1e-6).fit(IRIS, SPECIES)
    proof = verify(model, IRIS, SPECIES)
    assert proof.holds
    assert proof.primal == pytest.approx(model.certificate_.primal, rel=1e-12)
    assert proof.gap == pytest.approx(model.certificate_.gap, rel=1e-3)
    model.coef_ = model.coef_ * 1.05
    assert not verify(model, IRIS, SPECIES).holds


def test_files_keep_it_and_earlier_files_are_one_against_the_rest(tmp_path):
    model = LogisticRegression(warm_start=True).fit(IRIS, SPECIES)
    mercer.save(model, tmp_path / "softmax.mercer")
    again = mercer.load(tmp_path / "softmax.mercer")
    assert_array_equal(again.predict_proba(IRIS), model.predict_proba(IRIS))
    assert verify(again, IRIS, SPECIES).holds
    assert again.fit(IRIS, SPECIES).n_iter_ == 0
    with pytest.raises(ValueError, match='multi_class="ovr"'):
        mercer.persistence.write_liblinear(model, tmp_path / "softmax.model")
    rest = LogisticRegression(**REST).fit(IRIS, SPECIES)
    mercer.persistence.write_liblinear(rest, tmp_path / "rest.model")
    read, _ = mercer.persistence.read_liblinear(tmp_path / "rest.model")
    assert_allclose(read.predict_proba(IRIS), rest.predict_proba(IRIS))


def test_dual_view_is_the_dual_point():
    weight = 0.5 + np.arange(150) % 3
    model = LogisticRegression(tol=1e-12).fit(IRIS, SPECIES, sample_weight=weight)
    tasks = model.dual_view(IRIS, SPECIES, weight)
    beta = np.array([task.beta for task in tasks])
    assert_allclose(beta @ IRIS, model.coef_, atol=1e-6)
    assert_allclose(beta.sum(axis=0), 0, atol=1e-12)
    assert_allclose(beta.sum(axis=1), 0, atol=1e-9)
    expected = weight * ((np.arange(3)[:, None] == SPECIES) - model.predict_proba(IRIS).T)
    assert_allclose(beta, expected, atol=1e-6)
