"""The empirical kernel map and Nyström: dot products of features are the kernel."""

from __future__ import annotations

import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.kernel_approximation import Nystroem as SklearnNystroem
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.pipeline import make_pipeline

from mercer import SVC, nearest_psd
from mercer.embeddings import EmpiricalKernelMap, Nystroem
from mercer.kernels import RBF, Laplacian, Linear, Polynomial
from tests.read_only import read_only


def _data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    Z = rng.normal(size=(40, 3))
    return read_only(X, Z)


X, Z = _data()
KERNELS = [RBF(0.4), Linear(), Laplacian(0.5), Polynomial(2, coef0=1.0), RBF(0.1) + Linear()]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
def test_empirical_map_reproduces_the_kernel(kernel, container):
    """φ(xᵢ)·φ(xⱼ) = k(xᵢ, xⱼ), and φ(z)·φ(xᵢ) = k(z, xᵢ) for new rows."""
    model = EmpiricalKernelMap(kernel=kernel)
    phi = model.fit_transform(container(X))
    np.testing.assert_allclose(phi @ phi.T, kernel(X), atol=1e-9)
    np.testing.assert_allclose(model.transform(container(Z)) @ phi.T, kernel(Z, X), atol=1e-6)
    np.testing.assert_allclose(model.transform(container(X)), phi, atol=1e-6)
    assert model.n_components_ == phi.shape[1] <= 120
    assert model.get_feature_names_out()[0] == "empiricalkernelmap0"


@pytest.mark.parametrize("n", [120, 700])  # the second by Lanczos
def test_a_rank_cut_is_the_best_one_and_its_error_is_stated(n):
    """Eckart and Young: ‖K − ΦΦᵀ‖ = λ_{r+1}, and the trace of the rest is the sum of the rest."""
    A = np.random.default_rng(1).normal(size=(n, 2))
    model = EmpiricalKernelMap(8, kernel=RBF(0.3))
    phi = model.fit_transform(A)
    rest = RBF(0.3)(A) - phi @ phi.T
    values = np.linalg.eigvalsh(RBF(0.3)(A))[::-1]
    np.testing.assert_allclose(model.eigenvalues_, values[:8], rtol=1e-9)
    assert model.error_ == pytest.approx(np.linalg.norm(rest, 2), rel=1e-8)
    assert model.error_ == pytest.approx(values[8], rel=1e-8)
    assert model.trace_residual_ == pytest.approx(np.trace(rest), rel=1e-8)


@pytest.mark.parametrize("kernel", [RBF(0.5), Polynomial(2, coef0=1.0)], ids=repr)
def test_linear_machine_on_the_map_is_the_kernel_machine(kernel):
    A, y = make_moons(150, noise=0.25, random_state=0)
    new = np.random.default_rng(2).normal(size=(50, 2))
    direct = SVC(kernel=kernel, C=2.0, tol=1e-10).fit(A, y)
    piped = make_pipeline(
        EmpiricalKernelMap(kernel=kernel), SVC(kernel="linear", C=2.0, tol=1e-10)
    ).fit(A, y)
    for rows in (A, new):
        np.testing.assert_allclose(
            piped.decision_function(rows), direct.decision_function(rows), atol=1e-6
        )


def test_eigenfunctions_are_orthonormal_and_sum_to_the_kernel():
    model = EmpiricalKernelMap(10, kernel=RBF(0.4)).fit(X)
    psi = model.eigenfunctions(X)
    np.testing.assert_allclose(psi.T @ psi / 120, np.eye(10), atol=1e-9)
    full = EmpiricalKernelMap(kernel=RBF(0.05)).fit(X)
    at_new = full.eigenfunctions(Z) * (full.eigenvalues_ / 120)
    np.testing.assert_allclose(at_new @ full.eigenfunctions(X).T, RBF(0.05)(Z, X), atol=1e-5)


def test_eigenfunctions_of_a_known_operator():
    """min(x, z) on [0, 1] has ψ_r = √2 sin((r − ½)πx) and λ_r = 1/((r − ½)π)²."""
    x = (np.arange(400) + 0.5)[:, None] / 400

    def brownian(A, B):
        return np.minimum(A, B.T)

    model = EmpiricalKernelMap(3, kernel=brownian).fit(x)
    frequency = (np.arange(3) + 0.5) * np.pi
    np.testing.assert_allclose(model.eigenvalues_ / 400, 1 / frequency**2, rtol=1e-4)
    new = np.array([[0.123], [0.5], [0.987]])
    found = np.abs(model.eigenfunctions(new))
    np.testing.assert_allclose(found, np.abs(np.sqrt(2) * np.sin(new * frequency)), atol=5e-3)


def test_indefinite_kernels_are_refused_or_clipped():
    def tanh(A, B):
        return np.tanh(1 + A @ B.T)

    with pytest.raises(ValueError, match="negative eigenvalue"):
        EmpiricalKernelMap(kernel=tanh).fit(X)
    phi = EmpiricalKernelMap(kernel=tanh, indefinite="clip").fit_transform(X)
    np.testing.assert_allclose(phi @ phi.T, nearest_psd(tanh(X, X)), atol=1e-9)
    with pytest.raises(ValueError, match="is no kernel"):
        Nystroem(kernel=tanh, landmarks="random", random_state=0).fit(X)


@pytest.mark.parametrize("landmarks", ["rpcholesky", "greedy", "kmeans++", "random"])
@pytest.mark.parametrize("kernel", KERNELS[:3], ids=repr)
def test_nystroem(landmarks, kernel):
    """ΦΦᵀ = K_nm K_mm⁺ K_mn, exact at landmarks, and the trace residual bounds the error."""
    model = Nystroem(n_components=30, kernel=kernel, landmarks=landmarks, random_state=1)
    phi = model.fit_transform(X)
    K, L = kernel(X), model.landmarks_
    assert len(set(L.tolist())) == L.size <= 30
    expected = K[:, L] @ np.linalg.pinv(K[np.ix_(L, L)], rcond=1e-13, hermitian=True) @ K[L]
    np.testing.assert_allclose(phi @ phi.T, expected, atol=1e-6)
    np.testing.assert_allclose((phi @ phi.T)[L], K[L], atol=1e-6)
    assert model.trace_residual_ == pytest.approx(np.trace(K - phi @ phi.T), abs=1e-9)
    assert np.linalg.norm(K - phi @ phi.T, "nuc") <= model.trace_residual_ + 1e-6
    again = clone(model).fit(X)
    np.testing.assert_array_equal(again.landmarks_, L)
    assert again.trace_residual_ == pytest.approx(model.trace_residual_, abs=1e-9)
    np.testing.assert_allclose(again.transform(X), phi, atol=1e-9)
    np.testing.assert_allclose(pickle.loads(pickle.dumps(again)).transform(Z), again.transform(Z))


def test_greedy_takes_the_worst_explained_row():
    model = Nystroem(n_components=15, kernel=RBF(0.4), landmarks="greedy").fit(X)
    K = RBF(0.4)(X)
    for m in range(1, 15):
        L = model.landmarks_[:m]
        residual = np.diag(K) - np.einsum("ij,ji->i", K[:, L], np.linalg.solve(K[L][:, L], K[L]))
        assert residual[model.landmarks_[m]] >= residual.max() - 1e-9


def test_rows_are_drawn_by_what_is_not_explained():
    """A heap of equal rows and two far ones: three landmarks, one of each, explain all."""
    A = np.zeros((100, 1))
    A[40], A[70] = 50.0, 90.0
    for landmarks in ("rpcholesky", "greedy", "kmeans++"):
        for seed in range(5):
            model = Nystroem(
                n_components=3, kernel=RBF(1.0), landmarks=landmarks, random_state=seed
            ).fit(A)
            assert {40, 70} < set(model.landmarks_.tolist())
            assert model.trace_residual_ < 1e-9
        assert (
            Nystroem(n_components=9, kernel=RBF(1.0), landmarks=landmarks).fit(A).n_components_ == 3
        )


def test_pivots_explain_more_than_scikit_learns_landmarks(rng):
    """On clusters of very different sizes, at the same number of components."""
    A = np.concatenate([rng.normal(size=(900, 5)) * 0.05, rng.normal(size=(100, 5)) * 2])
    K = RBF(0.5)(A)

    def error(phi):
        return np.trace(K - phi @ phi.T)

    ours = [
        error(Nystroem(n_components=60, kernel=RBF(0.5), random_state=s).fit_transform(A))
        for s in range(3)
    ]
    theirs = [
        error(SklearnNystroem(gamma=0.5, n_components=60, random_state=s).fit_transform(A))
        for s in range(3)
    ]
    assert np.mean(ours) < 0.7 * np.mean(theirs)


def test_data_frames_precomputed_and_strings():
    frame = pd.DataFrame(X, columns=list("abc"))
    model = Nystroem(n_components=10, random_state=0).fit(frame)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    K = RBF(0.4)(X)
    pre = Nystroem(n_components=20, kernel="precomputed", random_state=0).fit(K)
    direct = Nystroem(n_components=20, kernel=RBF(0.4), random_state=0).fit(X)
    np.testing.assert_allclose(
        np.abs(pre.transform(RBF(0.4)(Z, X))), np.abs(direct.transform(Z)), atol=1e-6
    )
    words = ["ab", "abc", "b", "a", "abcd"]

    def common(A, B):
        return np.array([[len(set(a) & set(b)) for b in B] for a in A], dtype=float)

    phi = EmpiricalKernelMap(kernel=common).fit(words)
    np.testing.assert_allclose(phi.transform(words) @ phi.transform(["cd"]).T,
                               common(words, ["cd"]), atol=1e-9)  # fmt: skip


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Nystroem(n_components=0).fit(X), "n_components"),
        (lambda: Nystroem(landmarks="best").fit(X), "landmarks"),
        (lambda: Nystroem(gamma=2.0, kernel=RBF()).fit(X), "cannot be combined"),
        (lambda: EmpiricalKernelMap(indefinite="no").fit(X), "indefinite"),
        (lambda: EmpiricalKernelMap(kernel="linear").fit(np.zeros((3, 2))), "no features"),
        (lambda: Nystroem(kernel="linear").fit(np.zeros((3, 2))), "no features"),
        (lambda: Nystroem().fit(X).transform(X[:, :2]), "features"),
        (lambda: Nystroem(kernel="precomputed").fit(X), "square"),
        (lambda: EmpiricalKernelMap().fit(1e300 * X), "Scale the columns"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_kernel_parameters_can_be_searched():
    model = Nystroem(kernel=RBF(1.0)).set_params(kernel__gamma=3.0)
    assert model.kernel == RBF(3.0)
    with pytest.raises(ValueError, match="needs a Kernel object"):
        Nystroem().set_params(kernel__gamma=3.0)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"kernel": "rbf", "gamma": 0.3},
        {"kernel": "polynomial"},
        {"kernel": "poly", "degree": 2, "coef0": 0.5, "gamma": 0.1},
        {"kernel": "chi2"},
        {"kernel": "laplacian"},
        {"kernel": "cosine"},
    ],
    ids=repr,
)
def test_scikit_learns_interface_of_nystroem(parameters):
    theirs = inspect.signature(SklearnNystroem).parameters
    mine = inspect.signature(Nystroem).parameters
    assert next(iter(theirs)) == next(iter(mine)) == "kernel"
    for name, parameter in theirs.items():
        assert (mine[name].default, mine[name].kind) == (parameter.default, parameter.kind)
    A = np.abs(X)
    ours = Nystroem(n_components=12, random_state=0, **parameters).fit(A)
    sklearns = SklearnNystroem(n_components=12, random_state=0, **parameters).fit(A)
    given = {name: value for name, value in parameters.items() if name != "kernel"}
    K = pairwise_kernels(A, A[ours.component_indices_], ours.kernel, **given)
    np.testing.assert_allclose(K @ ours.normalization_.T, ours.transform(A), atol=1e-6)
    np.testing.assert_array_equal(ours.components_, A[ours.component_indices_])
    assert {name for name in vars(sklearns) if name.endswith("_")} <= set(dir(ours))


def test_a_kernel_without_features_says_so():
    with pytest.raises(ValueError, match=r"additive_chi2.*Use kernel='chi2'"):
        Nystroem(kernel="additive_chi2").fit(np.abs(X))
