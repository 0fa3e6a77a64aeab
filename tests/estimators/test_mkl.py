"""Multiple kernel learning: the joint optimum, its certificate, and what is made of it."""

from __future__ import annotations

import os
import signal
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import mercer
from mercer import MKL, SVC, SVR
from mercer._result import Status
from mercer.estimators.mkl._estimator import weighted_sum
from mercer.estimators.mkl._point import dual_norm
from mercer.estimators.mkl._weight_search import WeightSearch
from mercer.exceptions import ConvergenceWarning
from mercer.gram._distinct import DistinctGram, DistinctGrams
from mercer.kernels import RBF, Equality, Linear, OnColumns, Polynomial, Sigmoid, Spectrum

clarabel = pytest.importorskip("clarabel")


def data(n=40, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).round(2)
    y = np.where(X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=n) > 0, 1, -1)
    return X, y


def kernel_list(d=3):
    whole = [OnColumns(RBF(0.1)), OnColumns(RBF(1.0)), OnColumns(Polynomial(2, 1.0, 1.0))]
    return whole + [OnColumns(k, c) for c in range(d) for k in (RBF(1.0), Linear())]


def joint_optimum(Ks, y, C, p):
    """max over 0 ≤ α ≤ C, yᵀα = 0 of Σα − ½ ‖q‖_p*, q_k = αᵀYK_kYα, by an interior-point method.

    For p = 1: max_k q_k ≤ 2t is a second-order cone for each k. For p = 2 (p* = 2): q_k ≤ s_k with
    rotated cones, and ‖s‖₂ ≤ 2t.
    """
    import scipy.sparse as sp

    n, m = len(y), len(Ks)
    roots = []
    for K in Ks:
        w, V = np.linalg.eigh(K)
        keep = w > 1e-12 * w.max()
        roots.append((V[:, keep] * np.sqrt(w[keep])).T @ np.diag(y.astype(float)))
    # variables: α (n), s (m), t; minimise −Σα + t/2
    size = n + m + 1
    rows, cones, rhs = [], [], []

    def add(A, b, cone):
        rows.append(sp.csc_matrix(A))
        rhs.append(b)
        cones.append(cone)

    eq = np.zeros((1, size))
    eq[0, :n] = y
    add(eq, np.zeros(1), clarabel.ZeroConeT(1))
    box = np.zeros((2 * n, size))
    box[:n, :n], box[n:, :n] = -np.eye(n), np.eye(n)
    add(box, np.concatenate([np.zeros(n), np.full(n, C)]), clarabel.NonnegativeConeT(2 * n))
    for k, L in enumerate(roots):  # ‖Lα‖² ≤ s_k: (s + 1, s − 1, 2Lα) in the second-order cone
        A = np.zeros((2 + len(L), size))
        A[0, n + k] = A[1, n + k] = -1.0
        A[2:, :n] = -2 * L
        b = np.zeros(2 + len(L))
        b[0], b[1] = 1.0, -1.0
        add(A, b, clarabel.SecondOrderConeT(2 + len(L)))
    if p == 1:
        A = np.zeros((m, size))
        A[:, n : n + m], A[:, -1] = np.eye(m), -1.0
        add(A, np.zeros(m), clarabel.NonnegativeConeT(m))
    else:
        A = np.zeros((m + 1, size))
        A[0, -1] = -1.0
        A[1:, n : n + m] = -np.eye(m)
        add(A, np.zeros(m + 1), clarabel.SecondOrderConeT(m + 1))
    q = np.concatenate([-np.ones(n), np.zeros(m), [0.5]])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    solver = clarabel.DefaultSolver(
        sp.csc_matrix((size, size)), q, sp.vstack(rows, format="csc"), np.concatenate(rhs), cones,
        settings,
    )  # fmt: skip
    return -solver.solve().obj_val


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("C", [0.3, 10.0])
def test_the_joint_optimum_lies_in_the_stated_interval(p, C):
    X, y = data()
    kernels = kernel_list()
    model = MKL(kernels, SVC(C=C), p=p, gap_tol=1e-4).fit(X, y)
    Ks = [K / np.diag(K).mean() for K in (kernel(X) for kernel in kernels)]
    optimum = joint_optimum(Ks, y, C, p)
    certificate = model.certificate_
    assert certificate
    assert certificate.dual - 1e-6 * optimum <= optimum <= certificate.primal + 1e-6 * optimum
    assert certificate.gap <= 1e-4 * certificate.primal
    assert np.linalg.norm(model.weights_, p) == pytest.approx(1.0, rel=1e-9)
    assert np.linalg.norm(model.weights_, p) <= 1
    assert (model.weights_ >= 0).all()


def test_the_result_is_a_plain_kernel_that_is_saved(tmp_path):
    X, y = data()
    model = MKL(kernel_list(), SVC(C=5)).fit(X, y)
    K = sum(
        w / s * k(X)
        for w, s, k in zip(model.weights_, model.scales_, model.kernels, strict=True)
        if w
    )
    np.testing.assert_allclose(model.kernel_(X), K, rtol=1e-12)
    given = SVC(kernel="precomputed", C=5).fit(K, y)
    np.testing.assert_allclose(model.decision_function(X), given.decision_function(K), atol=2e-2)
    assert mercer.verify(model.estimator_, X, y)
    mercer.save(model.estimator_, tmp_path / "model.mercer")
    loaded = mercer.load(tmp_path / "model.mercer")
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert loaded.kernel_ == model.kernel_


def test_a_kernel_that_matters_is_found():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 6))
    y = np.where(np.abs(X[:, 3]) > 0.7, 1, -1)
    model = MKL([OnColumns(RBF(1.0), c) for c in range(6)], SVC(C=10)).fit(X, y)
    assert model.shares_.argmax() == 3
    assert model.shares_[3] > 0.5
    assert model.shares_.sum() == pytest.approx(1.0)
    assert "OnColumns(RBF(gamma=1.0), 3)" in model.report().splitlines()[2]


@pytest.mark.parametrize("p", [1.0, 1.5, 4.0])
def test_regression(p):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=80)
    model = MKL(kernel_list(), SVR(C=10, epsilon=0.05), p=p).fit(X, y)
    assert model.certificate_
    assert model.score(X, y) > 0.8
    equal = SVR(C=10, epsilon=0.05, kernel=weighted_sum(1 / model.scales_ / 9, kernel_list()))
    if p == 1:  # weights 1/9 are feasible: the learned ones are better
        assert model.certificate_.dual <= equal.fit(X, y).certificate_.primal


def test_weighted_slack_classes_and_squared_slack():
    X, y = data(60)
    labels = np.digitize(X[:, 2], [-0.5, 0.5])
    for estimator, target in (
        (SVC(C=3), labels),
        (SVC(C=3, loss="squared_hinge"), y),
        (SVC(C=3, class_weight="balanced", fit_intercept=False), y),
    ):
        weight = np.linspace(0.5, 2, 60)
        model = MKL(kernel_list(), estimator).fit(X, target, weight)
        assert model.certificate_, estimator
        assert set(model.predict(X)) <= set(target)


def test_kernels_on_objects():
    texts = ["abba", "xyyx", "baba", "yxyx", "abab", "xxyy", "aabb", "xyxy", "abxy", "yyba"] * 2
    y = np.arange(20) % 2
    model = MKL([Spectrum(1), Spectrum(2), Spectrum(3)], SVC(C=1)).fit(texts, y)
    assert model.certificate_
    assert model.score(texts, y) >= 0.8


def test_is_an_estimator():
    X, y = data(60)
    model = MKL(kernel_list(), SVC(C=2))
    again = clone(model)
    assert again.get_params()["estimator__C"] == 2
    assert len(again.kernels) == len(model.kernels)
    assert cross_val_score(model, X, y, cv=3).shape == (3,)
    assert not hasattr(MKL(kernel_list(), SVR()), "decision_function")


def test_an_early_stop_warns_and_the_certificate_still_holds():
    X, y = data()
    with pytest.warns(mercer.exceptions.ConvergenceWarning, match="relative gap"):
        model = MKL(kernel_list(), SVC(C=10), max_iter=0, gap_tol=1e-6).fit(X, y)
    assert not model.certificate_
    Ks = [K / np.diag(K).mean() for K in (kernel(X) for kernel in kernel_list())]
    optimum = joint_optimum(Ks, y, 10.0, 1)
    assert model.certificate_.dual <= optimum <= model.certificate_.primal * (1 + 1e-6)


def test_ctrl_c_keeps_the_best_weights_so_far():
    X, y = data(60)
    told = []

    def interrupt(progress):
        told.append(progress)
        os.kill(os.getpid(), signal.SIGINT)

    model = MKL(kernel_list(), SVC(C=10), gap_tol=1e-9, callback=interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert len(told) == 1
    assert told[0].tol == 1e-9
    assert model.certificate_.status is Status.STOPPED
    before = model.certificate_.relative_gap
    model.set_params(on_interrupt="return")
    with pytest.warns(mercer.exceptions.InterruptWarning):
        model.fit(X, y)
    assert model.certificate_.relative_gap == before
    assert set(model.predict(X)) <= {-1, 1}


def test_a_callback_ends_the_search_and_time_limits_are_named():
    X, y = data(60)
    for change in ({"callback": lambda progress: True}, {"time_limit": 1e-9}):
        with pytest.warns(mercer.exceptions.ConvergenceWarning):
            model = MKL(kernel_list(), SVC(C=10), gap_tol=1e-9, **change).fit(X, y)
        expected = Status.STOPPED if "callback" in change else Status.TIME_LIMIT
        assert model.certificate_.status is expected
        assert model.n_iter_ <= 1


@pytest.mark.parametrize("estimator", [None, SVC(C=10, class_weight="balanced"), SVR(C=3)])
def test_saved_and_loaded(estimator, tmp_path):
    X, y = data()
    model = MKL(kernel_list(), estimator, p=1.5, gap_tol=1e-2).fit(X, y)
    mercer.save(model, tmp_path / "m.mercer")
    again = mercer.load(tmp_path / "m.mercer")
    assert type(again) is MKL
    assert again.certificate_ == model.certificate_
    assert again.kernel_ == model.kernel_
    assert again.report() == model.report()
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.weights_, model.weights_)
    refit = clone(again).fit(X, y)  # its parameters came back, too
    np.testing.assert_array_equal(refit.weights_, model.weights_)
    mercer.save(again, tmp_path / "n.mercer")
    assert (tmp_path / "m.mercer").read_bytes() == (tmp_path / "n.mercer").read_bytes()


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"kernels": []}, "one or more"),
        ({"kernels": ["rbf"]}, "Kernel objects"),
        ({"p": 0.5}, "p must be"),
        ({"gap_tol": 0}, "gap_tol"),
        ({"scale": "max"}, "scale"),
        ({"on_interrupt": "stop"}, "on_interrupt"),
        ({"estimator": mercer.OneClassSVM()}, "SVC or an SVR"),
        ({"kernels": [OnColumns(RBF()), RBF()]}, "no sample is both"),
    ],
)
def test_bad_parameters(change, match):
    X, y = data()
    with pytest.raises(ValueError, match=match):
        MKL(**({"kernels": kernel_list()} | change)).fit(X, y)


def test_kernels_must_be_positive_semidefinite():
    X, y = data()
    with pytest.warns(mercer.kernels.IndefiniteKernelWarning):
        kernel = OnColumns(Sigmoid(1.0, -1.0))
    with pytest.raises(ValueError, match="positive semidefinite"):
        MKL([kernel, OnColumns(RBF())]).fit(X, y)


# ---------------------------------------------------------------------- distinct samples


@pytest.mark.parametrize("cache_bytes", [0, 20_000, 1e9])
def test_matrices_by_distinct_samples(cache_bytes):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, size=(70, 3)).astype(float)
    kernels = [*kernel_list(), OnColumns(Equality(), (0, 1))]
    table = kernels[0].read(X)
    grams = DistinctGrams(kernels, table, cache_bytes)
    weights = rng.random(len(kernels))
    weights[2] = 0.0
    out = np.empty((70, 70))
    grams.combined(weights, out)
    Ks = [kernel(X) for kernel in kernels]
    expected = sum(w * K for w, K in zip(weights, Ks, strict=True))
    np.testing.assert_allclose(out, expected, rtol=1e-6)
    coef = rng.normal(size=70)
    for member, K, sums in zip(grams.members, Ks, grams.sums(coef), strict=True):
        np.testing.assert_allclose(sums[member.index], K @ coef, rtol=1e-5, atol=1e-4)
        value, bound = member.bounded_form(coef)
        assert abs(value - coef @ K @ coef) <= bound + 1e-12 * abs(coef) @ abs(K) @ abs(coef)
        assert bound <= 1e-10 * abs(coef) @ abs(K) @ abs(coef)
    assert DistinctGram(kernels[3], table).n_distinct == 5


def test_dual_norms():
    q = np.array([3.0, 4.0, 0.0])
    assert dual_norm(q, 1) == 4.0
    assert dual_norm(q, 2) == pytest.approx(5.0)
    assert dual_norm(q, 1.5) == pytest.approx((3**3 + 4**3) ** (1 / 3))


def test_a_sum_of_hundreds_of_kernels_is_shallow():
    kernels = [OnColumns(RBF(1.0), c) for c in range(700)]
    kernel = weighted_sum(np.full(700, 0.5), kernels)
    X = np.random.default_rng(0).normal(size=(4, 700))
    expected = sum(0.5 * np.exp(-(np.subtract.outer(x, x) ** 2)) for x in X.T)
    np.testing.assert_allclose(kernel(X), expected)
    assert len(repr(kernel)) > 700
    hash(kernel)


def test_rows_of_weight_zero_keep_their_numbers():
    rng = np.random.default_rng(7)
    X, weight = rng.normal(size=(60, 2)), np.r_[np.zeros(20), np.ones(40)]
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    model = MKL([RBF(1.0), Linear()], SVC(C=3.0)).fit(X, y, weight)
    assert model.estimator_.support_.min() >= 20
    assert mercer.verify(model.estimator_, X, y, weight).holds


def test_a_fit_that_is_stopped_at_once_keeps_its_limit():
    """The last fit is bound by the limit, too: it has not left its start."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(50, 2))
    with pytest.warns(ConvergenceWarning, match="relative gap"):
        model = MKL([RBF(1.0), Linear()], time_limit=1e-9).fit(X, X[:, 0] > 0)
    assert model.estimator_.certificate_.status is Status.TIME_LIMIT
    assert model.certificate_.primal >= model.certificate_.dual >= 0
    assert model.predict(X).shape == (50,)


@pytest.mark.parametrize("cache_size", [0, 1000])
@pytest.mark.parametrize("asked", [1, 5, 40])
def test_no_kernel_value_is_computed_once_the_search_is_stopped(cache_size, asked):
    """Of 3,000 rows a matrix has many tiles, and at most one strip is begun for each question."""
    X = np.random.default_rng(9).normal(size=(3000, 2))
    kernels = [_Counting(1.0), _Counting(2.0)]
    _Counting.entries, questions = 0, 0

    def stop():
        nonlocal questions
        questions += 1
        return questions > asked

    grams = DistinctGrams(kernels, X, 1e6 * cache_size, stop=stop)
    out = np.empty((3000, 3000))
    grams.combined(np.ones(2), out, stop)
    sums = grams.sums(np.ones(3000), stop)
    assert [len(each) for each in sums] == [3000, 3000]
    largest = grams.members[0].gram.machine.tile_rows * 3000  # a strip of all columns
    assert _Counting.entries <= asked * largest
    for kernel, member in zip(kernels, grams.members, strict=True):  # what is stored is whole
        if member.values is not None:
            np.testing.assert_allclose(member.values, RBF(kernel.gamma)(X), rtol=1e-12)


class _Counting(RBF):
    entries = 0

    def tile(self, A, B, out):
        _Counting.entries += out.size
        super().tile(A, B, out)


def test_a_step_without_descent_is_none():
    """Where all kernels have the same slope, q·step is zero: the search goes on with its cuts."""
    search = object.__new__(WeightSearch)
    point = SimpleNamespace(d=np.array([0.4, 0.6]), q=np.ones(2))
    search._step = lambda point: np.array([0.1, -0.1])  # within the simplex
    search._multiplied = lambda point: point.d
    assert search._newton(point) is point
