"""Each finding on data made to have it, and not on clean ones; the estimated time."""

from __future__ import annotations

import numba
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as SklearnSVC

from mercer import SVC, SVR, KernelRidge, NuSVC, PegasosClassifier, doctor
from mercer.data._column_statistics import survey
from mercer.diagnostics._checks import first_equal
from mercer.diagnostics._doctor import _timed_fit, examine
from mercer.diagnostics._settings import Thresholds


def clean(n=400, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X[:, 0] + 0.5 * rng.normal(size=n) > 0).astype(int)


def found(report, word):
    """The findings that speak of this."""
    return [finding for finding in report.findings if word in finding.what]


# ---------------------------------------------------------------------- findings


def test_nothing_is_found_on_clean_data():
    X, y = clean()
    for rows in (X, X.astype(np.float32), sp.csr_matrix(X)):
        report = doctor(rows, y)
        assert report.findings == ()
        assert report.is_healthy
        assert "nothing found" in str(report)
    assert doctor(X, X[:, 0] + X[:, 1]).findings == ()
    assert doctor(X).findings == ()


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_columns_are_called_by_name(frame):
    X, y = clean()
    table = frame({"age": X[:, 0], "income": X[:, 1] * 1e6, "kind": np.ones(400), "b": X[:, 2]})
    report = doctor(table, y)
    (scales,) = found(report, "scales")
    assert scales.severity == "warning"
    assert scales.where.startswith("furthest off: income")
    (constant,) = found(report, "Constant")
    assert constant.where == "kind"


def test_either_even_ranges_or_even_deviations_are_even_scales():
    rng = np.random.default_rng(0)
    X = np.zeros((20_000, 3))
    X[:, 0] = rng.integers(0, 2, 20_000)
    X[:2, 1] = 1.0  # rare, but 0/1 like the others: deviations differ by a factor of 50
    X[:, 2] = rng.uniform(size=20_000)
    y = rng.integers(0, 2, 20_000)
    assert not found(doctor(X, y), "scales")
    assert not found(doctor(StandardScaler().fit_transform(X), y), "scales")
    assert found(doctor(X * [1, 1, 1000], y), "scales")
    X[:2, 1] = 0.001  # rare and small: as the pixels at the edge of a picture
    assert not found(doctor(X, y), "scales")
    X[:, 1] = 0.001 * rng.uniform(size=20_000)
    assert found(doctor(X, y), "scales")


@pytest.mark.parametrize("store", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_entries_that_are_no_numbers_are_counted_and_located(store, bad):
    X, y = clean()
    X[7, 2] = X[9, 2] = X[9, 3] = bad
    report = doctor(store(X), y)
    (finding,) = found(report, "NaN or infinite")
    assert finding.severity == "error"
    assert finding.what.endswith("infinite: 3")
    assert finding.where == "column 2, column 3; first in row 7"
    assert report.estimate is None
    assert "before the errors" in str(report)


def test_text_columns_and_huge_entries():
    X, y = clean()
    table = pd.DataFrame(X, columns=list("abcd")).assign(city="Rome")
    (finding,) = found(doctor(table, y), "other things than numbers")
    assert (finding.severity, finding.where) == ("error", "city")
    X[3, 1] = 1e300
    (finding,) = found(doctor(X, y), "1e+300")
    assert (finding.severity, finding.where) == ("error", "column 1")


def test_repeated_columns():
    X, y = clean()
    report = doctor(np.column_stack([X, 3 - 2 * X[:, 1]]), y)
    (finding,) = found(report, "repeat others")
    assert finding.where == "column 1 and column 4"


@pytest.mark.parametrize("store", [np.asarray, sp.csr_matrix])
def test_columns_that_agree_on_some_rows_only_do_not_repeat(store):
    X, y = clean(3000)
    pair = np.zeros((3000, 2))
    pair[::3] = 1.0
    pair[7, 0] = 1.0  # seldom among the rows that are compared first
    for seed in range(3):
        table = store(np.column_stack([X, pair]))
        assert not found(doctor(table, y, random_state=seed), "repeat others")


@pytest.mark.parametrize("store", [np.asarray, sp.csr_matrix])
def test_equal_rows_with_opposite_labels(store):
    X, y = clean()
    X[100], y[100] = X[5], 1 - y[5]
    X[200], y[200] = X[5], y[5]
    X[300], y[300] = X[6], y[6]  # agrees
    (finding,) = found(doctor(store(X), y), "another label")
    # Rows 5, 100 and 200 are one group; only one of two labels can be right: one row is wrong.
    assert "another label: 3, of which at least 1 cannot" in finding.what
    assert finding.where == "rows 5 and 100"


def test_equal_rows_with_different_targets_and_the_same_label():
    X, y = clean()
    target = X[:, 0] + X[:, 1]
    X[100] = X[5]
    (finding,) = found(doctor(X, target), "different targets")
    assert finding.severity == "note"
    twice = doctor(np.vstack([X, X]), np.concatenate([y, y]))
    assert "sample_weight" in found(twice, "occur again")[0].remedy


def test_imbalance_tiny_classes_one_class():
    X, y = clean()
    y[:] = 0
    y[:30] = 1
    (finding,) = found(doctor(X, y), "sizes differ")
    assert "class_weight" in finding.remedy
    assert not found(doctor(X, y, class_weight="balanced"), "sizes differ")
    assert not found(doctor(X, y), "fewer than")
    y[:3] = 2
    (finding,) = found(doctor(X, y), "fewer than")
    assert finding.where == "2: 3"
    (finding,) = found(doctor(X, np.zeros(400, int)), "one class")
    assert finding.severity == "error"
    X, _ = clean(1000)
    (finding,) = found(doctor(X, [f"row {i}" for i in range(1000)]), "1,000 classes")
    assert finding.severity == "error"


def test_gamma_against_the_distances():
    X, y = clean()
    distances = ((X[:, None] - X) ** 2).sum(axis=2)[np.triu_indices(400, 1)]
    for gamma, word in ((1e4, "too narrow"), (1e-6, "too wide")):
        (finding,) = found(doctor(X, y, gamma=gamma), word)
        suggested = float(finding.remedy.split("gamma=")[1].split()[0])
        assert suggested == pytest.approx(1 / np.median(distances), rel=0.2)
        assert not found(doctor(X, y, gamma=suggested), "too ")
    assert not found(doctor(X * 1e-3, y, gamma=1e4), "too ")


def test_C_against_the_kernel_and_the_targets():
    X, y = clean()
    assert found(doctor(X, y, estimator=SVC(C=1e6)), "very large")
    assert found(doctor(X, y, estimator=SVC(kernel="linear", C=1e-6)), "very small")
    # The same machine after scaling the columns by s and C by 1/s².
    assert not found(doctor(X * 1e3, y, kernel="linear", C=1e-6), "very")
    target = 1e6 * X[:, 0]
    assert found(doctor(X, target, estimator=SVR()), "very small")
    assert not found(doctor(X, target, estimator=SVR(C=1e6)), "very")
    assert found(doctor(X, X[:, 0], estimator=SVR(epsilon=10)), "epsilon")
    assert found(doctor(X, np.full(400, 2.5)), "constant")


def test_storage():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 3000)
    X = rng.uniform(size=(3000, 500))
    few = np.where(rng.uniform(size=X.shape) < 0.03, X, 0)
    assert "csr_matrix" in found(doctor(few, y), "dense array")[0].remedy
    assert not found(doctor(sp.csr_matrix(few), y), "stored")
    assert "toarray" in found(doctor(sp.csr_matrix(X), y), "sparse matrix")[0].remedy
    assert not found(doctor(X, y), "stored")


def test_what_a_fit_would_refuse_is_an_error():
    X, y = clean()
    (finding,) = found(doctor(X, y, kernel="chi2"), "refused")
    assert finding.severity == "error"
    assert "negative" in finding.remedy
    y[:] = 0
    y[:10] = 1
    assert doctor(X, y, estimator=NuSVC(nu=0.9)).findings[0].severity == "error"
    X, y = clean()
    X[1], y[1] = X[0], 1 - y[0]
    assert "hard margin" in found(doctor(X, y, C=np.inf), "refused")[0].remedy


# ---------------------------------------------------------------------- reading


def test_other_estimators_are_read_as_what_they_mean():
    X, y = clean()
    assert found(doctor(X, y, estimator=SklearnSVC(C=1e7)), "very large")
    assert doctor(X, y, estimator=PegasosClassifier()).estimate.rows == 400
    assert "regression" in str(doctor(X, y, estimator=KernelRidge()))
    assert "2 classes" in str(doctor(X, y))
    assert "2 classes" in str(doctor(X, np.where(y > 0, "yes", "no")))
    assert "regression" in str(doctor(X, np.arange(400)))


def test_bad_input_is_refused_clearly():
    X, y = clean()
    with pytest.raises(TypeError, match="last step"):
        doctor(X, y, estimator=make_pipeline(StandardScaler(), SVC()))
    with pytest.raises(TypeError, match="estimator object"):
        doctor(X, y, estimator=SVC)
    with pytest.raises(ValueError, match="check_kernel"):
        doctor(X @ X.T, y, kernel="precomputed")
    with pytest.raises(ValueError, match="'C' parameter"):
        doctor(X, y, C=-1.0)
    with pytest.raises(ValueError, match="Unknown label type"):
        doctor(X, X[:, 0], estimator=SVC())
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        doctor(X, y[1:])
    with pytest.raises(ValueError, match="Expected 2D array"):
        doctor(X[:, 0], y)
    (finding,) = found(doctor(X, np.where(y > 0, np.nan, 1.5)), "missing")
    assert finding.severity == "error"


def test_the_report_does_not_depend_on_the_order_of_rows():
    X, y = clean(1200, 3)
    X[:, 1] *= 1e4
    X[7], y[7] = X[8], 1 - y[8]
    y[X[:, 2] > 1.9] = 2
    order = np.random.default_rng(1).permutation(1200)
    one, other = doctor(X, y), doctor(X[order], y[order])
    assert len(one.findings) >= 3
    assert [f.what for f in one.findings] == [f.what for f in other.findings]


def test_a_report_is_repeatable_and_only_a_part_of_large_data_is_checked():
    X, y = clean(3000)
    settings = Thresholds(max_entries=4000)
    X[:, 1] *= 1e4
    one, other = (examine(X, y, random_state=3, settings=settings) for _ in range(2))
    assert one.findings == other.findings
    assert "checked 1,000 random rows" in one.subject
    assert found(one, "scales")
    X[::2, 0] = np.nan  # rows are numbered as in X
    where = found(examine(X, y, settings=settings), "NaN")[0].where
    assert int(where.split()[-1]) % 2 == 0


def test_rows_of_a_part_are_numbered_as_in_the_whole():
    X, y = clean(2000)
    X[1::2] = X[::2]
    y[1::2] = 1 - y[::2]  # each pair of rows contradicts itself
    report = examine(X, y, settings=Thresholds(max_entries=6000))
    for pair in found(report, "another label")[0].where.split(", ")[:3]:
        first, second = (int(word) for word in pair.split() if word.isdigit())
        assert second == first + 1
        assert first % 2 == 0


# ---------------------------------------------------------------------- parts against plain NumPy


@given(st.integers(0, 10_000))
def test_survey_against_numpy(seed):
    rng = np.random.default_rng(seed)
    X = np.where(rng.uniform(size=(30, 4)) < 0.5, 0.0, rng.normal(size=(30, 4)) + 1e3)
    for rows in (X, sp.csr_matrix(X), (X + 0.5).astype(np.int32), X.astype(np.float32)):
        dense = rows.toarray() if sp.issparse(rows) else rows
        seen = survey(rows)
        np.testing.assert_allclose(seen.low, dense.min(axis=0))
        np.testing.assert_allclose(seen.high, dense.max(axis=0))
        np.testing.assert_allclose(seen.sd, dense.std(axis=0, dtype=float), rtol=1e-6, atol=1e-4)
        assert (seen.n_nonzero == np.count_nonzero(dense, axis=0)).all()


@given(st.integers(0, 10_000))
def test_equal_rows_against_all_pairs(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, size=(40, 3)) * rng.choice([1.0, 0.5])
    X[rng.integers(0, 40)] *= -0.0
    equal = (X[:, None] == X).all(axis=2)
    for rows in (X, sp.csr_matrix(X), X.astype(np.float32)):
        assert (first_equal(rows) == equal.argmax(axis=1)).all()


def test_the_rows_of_the_caller_are_not_changed():
    X, y = clean()
    stored = sp.csr_matrix(X)
    stored.data[::7] = 0.0  # explicit zeros
    before = stored.copy()
    doctor(stored, y)
    assert stored.nnz == before.nnz
    assert (stored.data == before.data).all()


# ---------------------------------------------------------------------- time


def test_the_estimate_grows_with_the_rows_and_says_what_it_rests_on():
    X, y = clean(3000)
    settings = Thresholds(sample_rows=500, sample_seconds=60.0)
    report = examine(X, y, settings=settings)
    estimate = report.estimate
    assert estimate.is_solved
    assert estimate.rows == 3000
    assert 500 <= estimate.sample_rows <= 502  # one row of each class is added
    factor = 3000 / estimate.sample_rows
    low, high = estimate.seconds
    # Between n/m and (n/m)² times the seconds of the sample, and the factor of the timing.
    assert low == pytest.approx(estimate.sample_seconds * factor / settings.timing_factor)
    assert high == pytest.approx(estimate.sample_seconds * factor**2 * settings.timing_factor)
    support = SVC().fit(X[:500], y[:500]).n_support_.sum() / 500
    assert estimate.support_fraction == pytest.approx(support, abs=0.1)
    text = str(report)
    assert "estimated time of an exact fit on 3,000 rows" in text
    assert f"extrapolated from {estimate.sample_rows} rows" in text


def test_the_time_of_all_rows_is_not_extrapolated():
    X, y = clean()
    estimate = examine(X, y, settings=Thresholds(sample_seconds=60.0)).estimate
    assert estimate.seconds == pytest.approx((estimate.sample_seconds, estimate.sample_seconds))
    assert f"time of an exact fit on all {len(y):,} rows" in repr(estimate)
    assert "extrapolated" not in repr(estimate)


def test_a_sample_that_is_not_solved_gives_a_lower_bound_only():
    X, y = clean(1000)
    report = examine(X, y, params={"C": 1e3}, settings=Thresholds(sample_seconds=0.0))
    assert not report.estimate.is_solved
    assert report.estimate.seconds[1] == np.inf
    assert "more than" in str(report)
    assert "not solved" in str(report)


def test_a_long_fit_is_reported_with_alternatives():
    X, y = clean(600)
    settings = Thresholds(sample_rows=200, sample_seconds=60.0, long_seconds=0.0)
    (finding,) = found(examine(X, y, settings=settings), "minutes")
    assert finding.severity == "note"
    assert "a linear estimator" in finding.remedy  # low rank is judged by its residual


def test_the_sample_has_every_class():
    X, y = clean(900)
    y[X[:, 2] > 2.4] = 2
    report = examine(X, y, settings=Thresholds(sample_rows=30, sample_seconds=60.0))
    assert 30 <= report.estimate.sample_rows <= 33


def test_compiling_is_not_counted_as_time_of_the_fit():
    class CompilesFirst(SVC):
        fits = 0

        def fit(self, X, y):
            type(self).fits += 1
            if type(self).fits == 1:
                numba.njit(lambda x: x + 1)(1.0)
            return super().fit(X, y)

    X, y = clean(60)
    SVC().fit(X, y)  # its own code is compiled
    _timed_fit(CompilesFirst(), X, y, 10.0)
    assert CompilesFirst.fits == 2  # the fit that compiled was not the one that was measured
    _timed_fit(CompilesFirst(), X, y, 10.0)
    assert CompilesFirst.fits == 3
