"""Tables of several kinds of columns in every kernel estimator, from any container."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_regressor
from sklearn.model_selection import cross_val_score

import mercer
from mercer.embeddings import EmpiricalKernelMap, Nystroem
from mercer.kernels import (
    RBF,
    Category,
    Cyclic,
    Equality,
    Linear,
    Normalize,
    Number,
    OnColumns,
    Ordered,
    Spectrum,
    TableKernel,
)

N = 80


def draw():
    rng = np.random.default_rng(0)
    age = np.where(rng.random(N) < 0.1, np.nan, rng.normal(40, 12, N).round())
    income = np.exp(rng.normal(7, 1.2, N)).round(2)
    home = rng.choice(np.array(["rent", "own", "other", None], dtype=object), N)
    month = rng.integers(1, 13, N)
    y = np.nan_to_num(age, nan=35) + 10 * (home == "own") + rng.normal(0, 5, N) > 42
    return {"age": age, "income": income, "home": home, "month": month}, y.astype(int)


COLUMNS, Y = draw()
ROWS = [list(row) for row in zip(*(column.tolist() for column in COLUMNS.values()), strict=True)]
NEW = {
    "home": ["castle", None, "own"],
    "age": [30.0, np.nan, None],
    "month": [1, 12, 6],
    "income": [100.0, 1e6, 0.0],
}
KERNEL = TableKernel.from_frame(COLUMNS)

ESTIMATORS = [
    mercer.SVC(),
    mercer.NuSVC(nu=0.2),
    mercer.SVR(),
    mercer.OneClassSVM(nu=0.3),
    mercer.KernelRidge(),
    mercer.KernelPCA(n_components=3),
    mercer.KernelKMeans(2, random_state=0),
    mercer.KernelPerceptron(average="averaged", max_iter=50, random_state=0),
    mercer.KernelLogisticRegression(),
    Nystroem(n_components=10, random_state=0),
    EmpiricalKernelMap(),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_same_model_as_from_the_matrix(estimator, tmp_path):
    model = clone(estimator).set_params(kernel=KERNEL).fit(COLUMNS, Y)
    method = "transform" if not hasattr(model, "predict") else "predict"
    found = getattr(model, method)(NEW)
    assert np.isfinite(np.asarray(found, dtype=float)).all()
    mercer.save(model, tmp_path / "m.mercer")
    loaded = mercer.load(tmp_path / "m.mercer")
    np.testing.assert_array_equal(getattr(loaded, method)(NEW), found)
    if is_regressor(model):
        given = clone(estimator).set_params(kernel="precomputed").fit(KERNEL(COLUMNS), Y)
        np.testing.assert_allclose(found, given.predict(KERNEL(NEW, COLUMNS)), atol=5e-3)


def test_containers_are_read_alike():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    pa = pytest.importorskip("pyarrow")
    K = KERNEL(COLUMNS)
    frame = pd.DataFrame(COLUMNS)
    arrow = pa.table({name: pa.array(frame[name], from_pandas=True) for name in frame})
    typed = frame.assign(
        age=frame["age"].astype("Int64"),
        home=frame["home"].astype("category"),
        month=frame["month"].astype("int8"),
    )
    polars = pl.DataFrame({name: frame[name].tolist() for name in frame}, strict=False)
    polars = polars.with_columns(pl.col("age").fill_nan(None), pl.col("home").cast(pl.Categorical))
    for given in (frame, frame[["month", "home", "income", "age"]], arrow, typed, polars):
        np.testing.assert_allclose(KERNEL(given), K, rtol=0, atol=1e-15)
    records = frame.to_dict("records")
    np.testing.assert_allclose(KERNEL(records), K, rtol=0, atol=1e-15)
    by_number = TableKernel(tuple((j, kind) for j, (_, kind) in enumerate(KERNEL.columns)))
    for given in (ROWS, np.array(ROWS, dtype=object)):
        np.testing.assert_allclose(by_number(given), K, rtol=0, atol=1e-15)


def test_frames_are_not_iterated_by_row():
    pd = pytest.importorskip("pandas")

    class Guarded(pd.DataFrame):
        def iterrows(self):
            raise AssertionError

        itertuples = to_records = iterrows

    np.testing.assert_array_equal(KERNEL(Guarded(COLUMNS)), KERNEL(COLUMNS))


def test_booleans_dates_and_durations_are_numbers():
    pd = pytest.importorskip("pandas")
    days = pd.to_datetime(["2020-01-01", None, "2020-01-11"])
    expected = Number(0.01)([0.0, None, 10.0])
    for column in (
        days,
        pd.Series(days),
        np.array(days),
        [None if d is pd.NaT else d.date() for d in days],
    ):
        np.testing.assert_allclose(Number(0.01, centre=18262.0)(column), expected)
    np.testing.assert_allclose(Number()([True, False]), Number()([1.0, 0.0]))
    np.testing.assert_allclose(
        Category()([True, None]), np.array([[1, np.exp(-1)], [np.exp(-1), 1]])
    )


def test_the_proposal_and_its_explanation():
    assert dict(KERNEL.columns)["home"] == Category(1.0)
    assert dict(KERNEL.columns)["month"] == Cyclic(12.0, 2.0)
    assert dict(KERNEL.columns)["income"].squash
    age = dict(KERNEL.columns)["age"]
    assert age.centre == pytest.approx(np.nanmean(COLUMNS["age"]))
    assert age.scale == pytest.approx(np.nanstd(COLUMNS["age"]))
    lines = str(KERNEL).splitlines()
    assert lines[1].split() == ["column", "kind", "kernel", "why"]
    assert any(line.startswith("home") and "3 categories" in line for line in lines)
    table = COLUMNS | {
        "id": [f"customer {i}" for i in range(N)],
        "same": np.ones(N),
        "bag": [[1]] * N,
    }
    proposed = TableKernel.from_frame(table, gamma=3.0)
    assert proposed.gamma == 3.0
    assert proposed.columns == KERNEL.columns
    text = str(proposed)
    for name, reason in (
        ("id", "identifiers"),
        ("same", "one value only"),
        ("bag", "no categories"),
    ):
        (line,) = (line for line in text.splitlines() if line.startswith(name))
        assert "left out" in line
        assert reason in line
    with pytest.raises(ValueError, match="no column"):
        TableKernel.from_frame({"a": [1.0, 1.0]})
    with pytest.raises(ValueError, match="at least one row"):
        TableKernel.from_frame([])


def test_kinds_can_be_changed():
    changed = KERNEL.with_columns({"home": Ordered(("rent", "own")), "month": None})
    assert [name for name, _ in changed.columns] == ["age", "income", "home"]
    assert "Ordered" in str(changed)
    same = TableKernel(dict(KERNEL.columns))
    assert same == KERNEL
    with pytest.raises(ValueError, match=r"'home' must be a Number.*OnColumns"):
        KERNEL.with_columns({"home": Spectrum(2)})
    written = 0.5 * KERNEL.k.k1.k + 0.5 * KERNEL.k.k2.k
    np.testing.assert_allclose(written(COLUMNS), KERNEL(COLUMNS), rtol=1e-14)


def test_without_columns_a_fit_proposes_them():
    model = mercer.SVC(kernel="table").fit(COLUMNS, Y)
    assert model.kernel_ == KERNEL
    assert mercer.verify(model, COLUMNS, Y)
    assert model.score(COLUMNS, Y) > 0.7
    with pytest.raises(ValueError, match="from_frame"):
        TableKernel()(COLUMNS)


def test_unseen_categories_and_missing_values_have_values():
    """An unseen category is as far from all of training's as these from each other."""
    kernel = Category(0.7)
    model = mercer.SVR(kernel=kernel).fit(["a", "b", "c", "a"], [1.0, 2.0, 3.0, 1.0])
    f = model.predict(["zebra", "yak", None])
    assert f[0] == f[1] == f[2]
    expected = model.dual_coef_.sum() * np.exp(-0.7) + model.intercept_[0]
    assert f[0] == pytest.approx(expected)


def test_columns_that_are_not_there_or_of_another_kind():
    pd = pytest.importorskip("pandas")
    model = mercer.SVC(kernel=KERNEL).fit(COLUMNS, Y)
    with pytest.raises(ValueError, match=r"no column 'income'; it has 'age'"):
        model.predict(pd.DataFrame({"age": [1.0]}))
    with pytest.raises(ValueError, match=r"no column 'age'.*data frame"):
        model.predict(np.zeros((2, 4)))
    wrong = dict(NEW) | {"income": [1.0, "much", 2.0]}
    with pytest.raises(
        ValueError, match=r"column 'income' has 'much' in row 1, which is no number"
    ):
        model.predict(wrong)
    with pytest.raises(ValueError, match=r"column 'age' has no value in row 1.*TableKernel"):
        OnColumns(RBF(), "age")(NEW)
    with pytest.raises(ValueError, match="row 1 of X"):
        KERNEL([{"age": 1.0}, 3.0])
    with pytest.raises(ValueError, match="different lengths"):
        KERNEL({"age": [1.0], "home": ["a", "b"]})
    with pytest.raises(ValueError, match="toarray"):
        KERNEL(sp.csr_matrix(np.eye(3)))
    with pytest.raises(ValueError, match="choose one column"):
        OnColumns(Spectrum(2), ("home", "age"))(COLUMNS)


def test_weights_by_frequency_are_learned():
    table = {"a": ["x", "x", "x", "y"], "b": ["u", "v", "u", "v"]}
    kernel = Equality(weighted=True).resolved(Equality().read(table))
    K = kernel(table)
    weight = {"x": 1 - 0.75**2, "y": 1 - 0.25**2, "u": 0.75, "v": 0.75}
    assert K[0, 2] == pytest.approx((weight["x"] + weight["u"]) / 2)
    assert K[3, 3] == pytest.approx((weight["y"] + weight["v"]) / 2)
    model = mercer.SVC(kernel=Equality(weighted=True)).fit(table, [0, 1, 0, 1])
    assert model.kernel_ == kernel


def test_searches_and_weights():
    search = mercer.SVCCV(
        kernel=KERNEL, Cs=[1, 10], param_grid={"kernel__gamma": [1.0, 4.0]}, cv=3
    ).fit(frame_of_columns(), Y)
    expected = [
        cross_val_score(
            mercer.SVC(kernel=KERNEL.set_params(gamma=gamma), C=C), frame_of_columns(), Y, cv=3
        ).mean()
        for C in (1, 10)
        for gamma in (1.0, 4.0)
    ]
    assert search.best_score_ == pytest.approx(max(expected), abs=1e-9)
    product = TableKernel(KERNEL.columns, interaction=1.0)
    search = mercer.SVCCV(
        kernel=product, Cs=[1, 10], param_grid={"kernel__gamma": [1.0, 4.0]}, cv=3
    ).fit(frame_of_columns(), Y)  # γ share the products of the encoded rows
    assert search.best_score_ > 0.6
    weight = np.r_[0.0, np.ones(N - 1)]
    model = mercer.SVC(kernel=KERNEL).fit(COLUMNS, Y, sample_weight=weight)
    without = mercer.SVC(kernel=KERNEL).fit(frame_of_columns().iloc[1:], Y[1:])
    np.testing.assert_array_equal(model.decision_function(NEW), without.decision_function(NEW))


def frame_of_columns():
    return pytest.importorskip("pandas").DataFrame(COLUMNS)


def test_searches_split_a_mapping_of_columns():
    grid = {"kernel__gamma": [0.5, 2.0], "C": [1, 10]}
    pd = pytest.importorskip("pandas")
    found = []
    for X in (COLUMNS, pd.DataFrame(COLUMNS)):
        search = mercer.model_selection.GridSearchCV(mercer.SVC(kernel=KERNEL), grid, cv=3).fit(
            X, Y
        )
        other = mercer.SVCCV(kernel=KERNEL, param_grid={"kernel__gamma": [0.5, 2.0]}, Cs=[1, 10])
        other.fit(X, Y)
        found.append((search, other))
    for mine, frames in zip(*found, strict=True):
        assert mine.best_params_ == frames.best_params_
        np.testing.assert_array_equal(
            mine.cv_results_["mean_test_score"], frames.cv_results_["mean_test_score"]
        )
        np.testing.assert_array_equal(mine.predict(NEW), frames.predict(pd.DataFrame(NEW)))


def test_check_kernel_and_many_categories():
    assert mercer.check_kernel(KERNEL, COLUMNS).is_psd
    values = np.arange(900) % 700  # more than dense columns are made for
    K = Category(1.0)([f"c{v}" for v in values])
    np.testing.assert_allclose(K, np.where(np.equal.outer(values, values), 1.0, np.exp(-1)))


def test_normalized_and_composed_with_texts():
    kernel = KERNEL * OnColumns(Normalize(Spectrum(2)), "note") + OnColumns(Linear(), "month")
    table = COLUMNS | {"note": [f"note {i % 7}" for i in range(N)]}
    model = mercer.SVC(kernel=kernel).fit(table, Y)
    assert model.certificate_
    assert mercer.verify(model, table, Y)


def test_an_error_of_a_sample_names_its_column():
    with pytest.raises(ValueError, match=r"column 'note': Spectrum\(k=2\): row 1 is None"):
        OnColumns(Spectrum(2), "note")({"note": ["a", None], "age": [1, 2]})
