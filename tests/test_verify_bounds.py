"""`mercer.verify` against 300-bit arithmetic: its bounds hold on data where rounding is large."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn import svm
from sklearn.exceptions import ConvergenceWarning

import mercer
from mercer import Status
from mercer.kernels import RBF, AllSubsets, Chi2, Cosine, Laplacian, Linear, Polynomial
from mercer.kernels import _double_double as dd
from mercer.kernels._reference import Sums, bounded_sums, precise_sums
from mercer.verification._sklearn import as_mercer
from mercer.verification._verify import verify
from tests.oracles.exact_certificate import exact_numbers, kernel_sums, mp_context, mpf

DATA = {
    "plain": lambda rng, X: X,
    "offset 1e6": lambda rng, X: X + 1e6,
    "offset 1e8": lambda rng, X: X + 1e8,
    "one column a year": lambda rng, X: X + np.array([2005.0, *[0.0] * (X.shape[1] - 1)]),
    "one huge column": lambda rng, X: X * np.array([1e7, *[1.0] * (X.shape[1] - 1)]),
    "far rows": lambda rng, X: X + 1e5 * (rng.random((len(X), 1)) < 0.2),
    "far cluster 1e9": lambda rng, X: X + 1e9 * (np.arange(len(X))[:, None] % 2),
    "duplicates": lambda rng, X: X[rng.integers(0, len(X) // 3, len(X))],
    "tiny": lambda rng, X: X * 1e-9,
}
KINDS = {
    "SVC": {"C": 3.0}, "NuSVC": {"nu": 0.5}, "SVR": {"C": 2.0, "epsilon": 0.1},
    "NuSVR": {"C": 2.0, "nu": 0.4}, "OneClassSVM": {"nu": 0.3},
}  # fmt: skip
KERNELS = {
    "linear": Linear(), "poly": Polynomial(2, 0.5, 1.0), "rbf": RBF(0.3), "narrow": RBF(30.0),
}  # fmt: skip


def libsvm(kind, kernel, X, y, weight, **params):
    """LIBSVM's answer to few steps, which is far from optimal on hard data."""
    model = getattr(svm, kind)(kernel=kernel, max_iter=300, **params)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y, sample_weight=weight)


def draw(kind, kernel, data, seed, n=24, d=3, **params):
    """A model of some kind on hard rows, its weights, and what it was fitted on."""
    rng = np.random.default_rng([seed, *map(ord, data)])
    X = DATA[data](rng, rng.normal(size=(n, d)))
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    y[:2] = 1, -1
    if kind in ("SVR", "NuSVR"):
        y = rng.normal(size=n)
    weight = np.where(rng.random(n) < 0.5, 1.0, rng.uniform(0.5, 2.0, n))
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(-1).clip(max=600)) + np.eye(n)
    model = as_mercer(libsvm(kind, "precomputed", K, y, weight, **params), K, y, weight)
    model.kernel_, model._gamma = kernel, 1.0
    model.support_vectors_ = X[model.support_]
    model.n_features_in_, model.shape_fit_ = d, X.shape
    scale = 10.0 ** rng.uniform(-1, 1)
    model.intercept_ = model.intercept_ * scale
    return model, X, y, weight


def check(kind, model, X, y, weight):
    params = model.get_params()
    beta = np.zeros(len(X))
    beta[model.support_] = model.dual_coef_[0]
    found = verify(model, X, None if kind == "OneClassSVM" else y, weight)
    signs = np.zeros(len(X)) if kind == "OneClassSVM" else y
    primal, gap, violation = exact_numbers(
        kind, params, model.kernel_, X, signs, beta, model.intercept_[0], weight
    )
    assert found.primal_low <= primal <= found.primal
    assert found.gap_low <= gap <= found.gap
    assert found.violation_low <= violation <= found.violation_high
    assert found.dual <= primal - gap
    return found, primal, gap


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_bounds_enclose_the_exact_numbers(kind, kernel, data):
    seed = (list(KINDS).index(kind) + list(KERNELS).index(kernel)) % 2  # each kind has both draws
    model, X, y, weight = draw(kind, KERNELS[kernel], data, seed, **KINDS[kind])
    found, primal, gap = check(kind, model, X, y, weight)
    # and they are useful: to a few percent of the gap, or 1e-9 of the objective
    room = 0.05 * gap + 1e-9 * max(abs(primal), 1)
    assert found.gap - found.gap_low <= room


@pytest.mark.parametrize("C", [1e-6, 1e4, 1e8])
@pytest.mark.parametrize("gamma", [1e-6, 1.0])
@pytest.mark.parametrize("data", ["plain", "offset 1e6", "far rows", "duplicates"])
def test_wide_ranges_of_c_and_gamma(data, gamma, C):
    model, X, y, weight = draw("SVC", RBF(gamma), data, 7, C=C)
    found, primal, gap = check("SVC", model, X, y, weight)
    assert found.gap - found.gap_low <= 0.05 * gap + 1e-9 * abs(primal)


EVERY_KERNEL = [
    Linear(), Polynomial(3, 0.7, -0.5), RBF(0.4), Laplacian(0.5), Chi2(0.8), Cosine(), AllSubsets(),
    0.5 * RBF(0.3) + Linear(), RBF(2.0) * Polynomial(2, 1.0, 1.0) + 3.0, (Linear() + 1) ** 3,
]  # fmt: skip


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e7])
@pytest.mark.parametrize("kernel", EVERY_KERNEL, ids=repr)
def test_kernel_sums_are_within_their_error(kernel, offset):
    generator = np.random.default_rng(8)
    X = np.abs(generator.normal(size=(14, 3))) + offset
    X[3] = X[5]
    support, coef = np.arange(0, 14, 2), generator.normal(size=(7, 1)) * 1e3
    beta = np.zeros(14)
    beta[support] = coef[:, 0]
    expected = kernel_sums(kernel, X, beta)
    rows = np.arange(14)
    found = [
        None if sums is None else Sums(*(part[:, 0] for part in sums))
        for sums in (
            bounded_sums(kernel, X, rows, support, coef),
            precise_sums(kernel, X, rows, support, coef),
            bounded_sums(kernel, sp.csr_matrix(X), rows, support, coef),
        )
    ]
    for sums in found:
        if sums is not None:
            for i in range(14):
                off = abs(mpf(sums.high[i]) + mpf(sums.low[i]) - expected[i])
                assert off <= sums.error[i]
    if found[1] is not None:
        assert (found[1].error <= 1e-8 * found[0].error).all() or isinstance(kernel, Linear)


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e7])
@pytest.mark.parametrize("kernel", [Linear(), RBF(0.2)], ids=repr)
def test_hard_margins(kernel, offset):
    """½ t² βᵀKβ for the t that makes every row feasible, and its distance from the dual value."""
    generator = np.random.default_rng(6)
    X = generator.normal(size=(16, 2))
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    X[:, 0] += y
    K = X @ X.T if isinstance(kernel, Linear) else np.exp(-0.2 * cdist(X, X) ** 2)
    X = X + offset
    model = as_mercer(svm.SVC(kernel="precomputed", C=1e6).fit(K, y), K, y, np.ones(16))
    model.set_params(C=np.inf)
    model.kernel_, model.support_vectors_, model.n_features_in_ = kernel, X[model.support_], 2
    beta = np.zeros(16)
    beta[model.support_] = model.dual_coef_[0]
    f = kernel_sums(kernel, X, beta)
    middle = sum(f[i] - mpf(y[i]) for i in model.support_) / len(model.support_)
    model.intercept_ = np.array([-float(middle)])
    quad = sum(mpf(beta[i]) * f[i] for i in range(16))
    least = min(mpf(y[i]) * (f[i] + mpf(float(model.intercept_[0]))) for i in range(16))
    t, primal = 1 / least, quad / 2 / least**2
    slack = [t * mpf(y[i]) * (f[i] + mpf(float(model.intercept_[0]))) - 1 for i in range(16)]
    gap = (t - 1) ** 2 * quad / 2 + sum(abs(mpf(c)) * r for c, r in zip(beta, slack, strict=True))
    found = verify(model, X, y)
    assert least > 0
    assert found.primal_low <= primal <= found.primal
    assert found.gap_low <= gap <= found.gap
    assert found.gap <= 1.1 * gap + 1e-9 * primal
    model.intercept_ = model.intercept_ + 1e3
    assert verify(model, X, y).gap_low == np.inf


def test_double_double_is_as_accurate_as_stated():
    rng = np.random.default_rng(3)
    for d, offset in ((3, 0.0), (3, 1e8), (300, 5.0)):
        scale = 10.0 ** rng.uniform(-6, 6, d)
        A = rng.normal(size=(3, d)) * scale + offset
        B = rng.normal(size=(d, 4)) / scale[:, None] + offset
        high, low, error = dd.matmul(A, B)
        for i, j in np.ndindex(3, 4):
            true = sum(mpf(a) * mpf(b) for a, b in zip(A[i], B[:, j], strict=True))
            assert abs(true - mpf(high[i, j]) - mpf(low[i, j])) <= error[i, j]
            assert error[i, j] <= 1e-27 * d * abs(A[i]).max() * abs(B[:, j]).max()
    x = -np.concatenate([rng.uniform(0, 649, 60), 10.0 ** rng.uniform(-20, 0, 40)])
    high, low, relative = dd.exp_negative((x, x * 1e-17))
    for a, b, c in zip(high, low, x, strict=True):
        true = mp_context.exp(mpf(c) + mpf(c * 1e-17))
        assert abs(mpf(a) + mpf(b) - true) <= relative * true


@pytest.mark.parametrize(
    "coef", [[3e-17, 1e-18, -2e-17], [2e-18, 5e-18], [-1e-30], [1e-12, -1e-12]]
)
def test_coefficients_of_nu_svr_that_are_rounding(coef):
    """Σα of the two sides differ by more than they are: β' = 0 is feasible, and D(0) = 0."""
    rng = np.random.default_rng(0)
    X, y, C, nu = rng.normal(size=(9, 2)), rng.normal(size=9), 2.0, 0.4
    model = svm.NuSVR(C=C, nu=nu).fit(X, y)
    model.support_ = np.arange(len(coef), dtype=np.int32)
    model.support_vectors_, model.dual_coef_ = X[: len(coef)], np.array([coef])
    model._dual_coef_, b = model.dual_coef_, model.intercept_[0]
    distance = np.abs(y - b)
    primal = min(C * nu * 9 * e + C * np.maximum(distance - e, 0).sum() for e in distance)
    found = verify(model, X, y)
    assert found.primal == pytest.approx(primal, rel=1e-9)
    assert primal * (1 - 1e-9) <= found.gap <= primal * (1 + 1e-6)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", ["OneClassSVM", "NuSVC"])
def test_solutions_with_every_coefficient_at_its_bound(name, seed):
    """ν is the largest there is: the sum of α, known up to its rounding, leaves no room to move."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(20, 3)) * 10.0**seed, np.where(np.arange(20) < 10, 1, -1)
    weight = rng.uniform(0.3, 3, 10)[np.arange(20) % 10]
    model = getattr(mercer, name)(nu=1.0, kernel="laplacian", gamma=0.3 / 10.0**seed)
    model.fit(X, y, sample_weight=weight)
    assert model.certificate_.status.is_solved
    found = verify(model, X, y, weight)
    assert found.status.is_solved
    assert found.gap <= 1e-9 * abs(found.primal)


@pytest.mark.parametrize("C", [1e6, 1e8])
@pytest.mark.parametrize("offset", [0.0, 1e4])
@pytest.mark.parametrize("seed", range(3))
def test_a_logistic_solution_of_large_C_is_not_refuted(seed, offset, C):
    """Rounding of f in float64 is above tol there: f is computed in double-double."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 4)) + offset
    y = rng.random(60) < 1 / (1 + np.exp(offset - X[:, 0]))
    model = mercer.KernelLogisticRegression(C=C, gamma=0.05).fit(X, y)
    assert model.certificate_.status.is_solved
    found = verify(model, X, y)
    assert found.status.is_solved
    assert found.gap_low <= model.certificate_.gap


def test_a_logistic_solution_is_not_refuted_by_another_dual_point():
    """Of long rows: the duals that `verify` finds are further away than those of the fit."""
    rng = np.random.default_rng(0)
    X = (1e4 + rng.normal(size=(24, 3))) * (rng.random((24, 3)) < 0.5)
    y, n_solved = rng.random(24) < 0.5, 0
    for C in np.geomspace(1, 100, 12):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = mercer.KernelLogisticRegression(C=C, kernel="linear").fit(X, y)
        found, proof = verify(model, X, y), model.certificate_
        assert proof.status in (Status.SOLVED, Status.STALLED)  # the kernel is linear
        assert found.gap_low <= proof.gap
        assert not proof.status.is_solved or found.status is not Status.NOT_REACHED
        n_solved += proof.status.is_solved
    assert n_solved > 0


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_a_solution_by_gap_tol_is_judged_by_it(loss):
    """Its violation is above tol, which the fit was not asked to reach."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), rng.integers(0, 3, 300)
    model = mercer.SVC(C=400.0, loss=loss, gamma=0.3, tol=1e-9, gap_tol=1e-2).fit(X, y)
    assert model.certificate_.kkt_violation > 1e-6
    assert model.certificate_.status is Status.SOLVED
    assert verify(model, X, y).status is Status.SOLVED
    model.dual_coef_ = 0.9 * model.dual_coef_
    assert verify(model, X, y).status is Status.NOT_REACHED
