"""Single kernels: worked numbers, parameters, errors, names."""

import itertools
import re
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import mercer
from mercer.kernels import (
    RBF,
    AllSubsets,
    Callable,
    Chi2,
    Constant,
    Cosine,
    IndefiniteKernelWarning,
    Laplacian,
    Linear,
    Polynomial,
    Power,
    Precomputed,
    Product,
    Samples,
    Scaled,
    Sigmoid,
    Sum,
    as_kernel,
)
from mercer.kernels._registry import KERNELS
from tests.read_only import read_only


def _data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 3))
    return read_only(X)


X = _data()


def quiet_sigmoid(**params):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IndefiniteKernelWarning)
        return Sigmoid(**params)


class TestWorkedNumbers:
    def test_tanh_is_not_psd(self):
        K = quiet_sigmoid(coef0=1.0)(np.array([[1.0], [2.0]]))
        assert np.linalg.eigvalsh(K)[0] == pytest.approx(-0.013, abs=5e-4)

    def test_quadratic_feature_map(self, rng):
        Z = rng.normal(size=(9, 2))
        x1, x2 = Z.T
        r = np.sqrt(2)
        phi = np.column_stack([np.ones(9), r * x1, r * x2, r * x1 * x2, x1**2, x2**2])
        np.testing.assert_allclose(
            Polynomial(degree=2, coef0=1.0)(Z), phi @ phi.T, rtol=1e-13, atol=1e-13
        )
        np.testing.assert_allclose(((Linear() + 1) ** 2)(Z), phi @ phi.T, rtol=1e-13, atol=1e-13)

    def test_all_subsets_is_a_sum_over_subsets(self, rng):
        D = 5
        Z = rng.normal(size=(6, D))
        subsets = itertools.chain.from_iterable(
            itertools.combinations(range(D), size) for size in range(D + 1)
        )
        phi = np.column_stack([Z[:, list(s)].prod(axis=1) for s in subsets])
        assert phi.shape[1] == 2**D
        size = (np.abs(phi) @ np.abs(phi).T).max()  # rounding is relative to the terms
        np.testing.assert_allclose(AllSubsets()(Z), phi @ phi.T, rtol=0, atol=1e-14 * size)

    def test_sigma_and_gamma(self):
        assert RBF(sigma=2.0) == RBF(gamma=0.125)
        assert RBF(gamma=0.125).sigma == 2.0
        assert RBF(0.3).set_params(sigma=1.0) == RBF(0.5)


class TestAlgebra:
    k1, k2, k3 = RBF(0.5), Polynomial(2, 0.5, 1.0), Laplacian(0.3)

    def test_operators_build_values(self):
        assert self.k1 + self.k2 == Sum(self.k1, self.k2)
        assert self.k1 * self.k2 == Product(self.k1, self.k2)
        assert 3 * self.k1 == self.k1 * 3 == Scaled(3.0, self.k1)
        assert self.k1**2 == Power(self.k1, 2)
        assert self.k1 + 1 == Sum(self.k1, Constant(1))
        assert 1 + self.k1 == Sum(Constant(1), self.k1)
        assert np.float32(2) * self.k1 == Scaled(2.0, self.k1)

    def test_laws(self):
        a, b, c = self.k1(X), self.k2(X), self.k3(X)
        close = np.testing.assert_allclose
        close((self.k1 + self.k2)(X), a + b, rtol=1e-14)
        close((self.k1 * (self.k2 + self.k3))(X), (self.k1 * self.k2 + self.k1 * self.k3)(X))
        close((self.k1 * (self.k2 + self.k3))(X), a * (b + c), rtol=1e-13)
        close((self.k2**5)(X), (self.k2**2 * self.k2**3)(X), rtol=1e-12)
        close((2 * (3 * self.k1))(X), (6 * self.k1)(X), rtol=1e-14)

    @pytest.mark.parametrize(
        ("kernel", "text"),
        [
            (RBF(gamma=0.5) + 3 * Linear(), "RBF(gamma=0.5) + 3 * Linear()"),
            ((Linear() + 1) ** 2, "(Linear() + 1) ** 2"),
            (Linear() + (Cosine() + Linear()), "Linear() + (Cosine() + Linear())"),
            ((Linear() + Cosine()) * Linear(), "(Linear() + Cosine()) * Linear()"),
            (0.5 * Linear() * Cosine(), "0.5 * Linear() * Cosine()"),
            ((2 * Linear()) ** 3, "(2 * Linear()) ** 3"),
        ],
    )
    def test_repr_reads_like_the_expression(self, kernel, text):
        assert repr(kernel) == text

    def test_nested_params(self):
        k = RBF(0.5) + 3 * Polynomial()
        assert k.get_params()["k2__k__degree"] == 3
        assert set(k.get_params(deep=False)) == {"k1", "k2"}
        new = k.set_params(k1__gamma=2.0, k2__c=5, k2__k__degree=4)
        assert new == RBF(2.0) + 5 * Polynomial(degree=4)
        assert k == RBF(0.5) + 3 * Polynomial()
        assert k.set_params(k1=Polynomial(), k1__degree=5).k1 == Polynomial(degree=5)
        with pytest.raises(
            ValueError, match=r"RBF has no parameter 'nothing'; valid are \['gamma'\]"
        ):
            k.set_params(k1__nothing=1)

    def test_psd_and_shift_invariance_propagate(self):
        plain, unknown, indefinite = RBF(), Callable(np.dot), quiet_sigmoid()
        assert (plain * Linear() + 1).is_psd is True
        assert (plain + unknown).is_psd is None
        assert (indefinite * unknown).is_psd is False
        assert ((2 * indefinite) ** 2).is_psd is False
        assert Polynomial(coef0=-1.0).is_psd is False
        assert (2 * RBF() ** 2 * Laplacian() + 1).is_shift_invariant
        assert not (RBF() + Linear()).is_shift_invariant

    @pytest.mark.parametrize("build", [lambda k: -1 * k, lambda k: k + (-1), lambda k: np.nan * k])
    def test_negative_and_nan_factors_are_refused(self, build):
        with pytest.raises(ValueError, match="≥ 0"):
            build(RBF())

    @pytest.mark.parametrize("power", [0, -1, 0.5, 2.0, True])
    def test_powers_are_positive_integers(self, power):
        with pytest.raises(ValueError, match="integer ≥ 1"):
            RBF() ** power

    @pytest.mark.parametrize("other", ["x", None, [1]])
    def test_other_operands(self, other):
        with pytest.raises(TypeError):
            RBF() + other
        with pytest.raises(TypeError):
            other * RBF()

    def test_parts_must_be_kernels(self):
        with pytest.raises(ValueError, match="k2 must be a Kernel"):
            Sum(RBF(), 3)


class TestParameters:
    @pytest.mark.parametrize("gamma", [-1, np.nan, np.inf, "auto", True])
    @pytest.mark.parametrize("kind", [RBF, Laplacian, Chi2, lambda gamma: Polynomial(gamma=gamma)])
    def test_gamma(self, kind, gamma):
        with pytest.raises(ValueError, match="gamma must be a finite number ≥ 0"):
            kind(gamma=gamma)

    def test_rbf_takes_one_width(self):
        with pytest.raises(ValueError, match="not both"):
            RBF(gamma=1.0, sigma=1.0)
        with pytest.raises(ValueError, match="sigma must be a finite number > 0"):
            RBF(sigma=0)

    @pytest.mark.parametrize("degree", [-1, 2.5, "3"])
    def test_degree(self, degree):
        with pytest.raises(ValueError, match="degree must be an integer ≥ 0"):
            Polynomial(degree=degree)

    def test_numpy_numbers_become_plain_ones(self):
        k = Polynomial(np.int64(2), np.float32(0.5), np.float64(1))
        assert repr(k) == "Polynomial(degree=2, gamma=0.5, coef0=1.0)"

    def test_sigmoid_warns_when_built_and_only_then(self):
        with pytest.warns(IndefiniteKernelWarning, match="not positive semidefinite"):
            k = Sigmoid()
        k(X)
        k.check(Samples(X))


class TestData:
    def test_chi2_refuses_negative_values(self):
        for data in (X, sp.csr_matrix(X)):
            with pytest.raises(ValueError, match=f"{(X < 0).sum()} negative"):
                Chi2()(data)

    @pytest.mark.parametrize("kernel", [Linear(), RBF(), Polynomial(), Cosine(), AllSubsets()])
    def test_overflow_is_named(self, kernel):
        for data in (np.full((3, 2), 1e300), sp.csr_matrix(np.full((3, 2), 1e300))):
            with pytest.raises(ValueError, match=r"squared norms of 3 rows .*Scale"):
                kernel(data)

    @pytest.mark.parametrize("kernel", [Polynomial(degree=9), (Linear() * Linear()) ** 4])
    def test_overflow_of_values_only(self, kernel):
        with pytest.raises(ValueError, match=r"reaches .* on this data \(row 0\).*Scale"):
            kernel(np.full((3, 2), 1e10))

    def test_mismatches(self):
        with pytest.raises(ValueError, match="got 3 and 2"):
            RBF()(X, X[:, :2])
        with pytest.raises(ValueError, match="both dense or both sparse"):
            RBF()(X, sp.csr_matrix(X))
        with pytest.raises(ValueError, match="two dimensions"):
            RBF()(X[0])
        with pytest.raises(ValueError, match="sequence of objects"):
            RBF()(["a", "b"])


class TestCustom:
    def test_callable_on_arrays_gets_the_rows_as_they_came(self):
        seen = []

        def dot(A, B):
            seen.append(A.dtype)
            return A @ B.T

        Z = np.arange(12, dtype=np.int64).reshape(4, 3)
        block = Samples(Z).take(np.array([2, 0]), np.float32)
        out = np.empty((2, 2), np.float32)
        Callable(dot).tile(block, block, out)
        assert seen == [np.int64]
        assert (out == Z[[2, 0]] @ Z[[2, 0]].T).all()
        np.testing.assert_array_equal(
            Callable(dot).diag(Samples(X).take(slice(0, 12))), (X @ X.T).diagonal()
        )

    @pytest.mark.parametrize("box", [list, lambda words: np.array(words, dtype=object)])
    def test_callable_on_words(self, box):
        def shared_letters(A, B):
            return [[len(set(a) & set(b)) for b in B] for a in A]

        words = box(["abc", "cd", "", "abcd"])
        expected = [[3, 1, 0, 3], [1, 2, 0, 2], [0, 0, 0, 0], [3, 2, 0, 4]]
        k = Callable(shared_letters)
        np.testing.assert_array_equal(k(words), expected)
        np.testing.assert_array_equal((2 * k + 1)(words), 2 * np.array(expected) + 1)
        points = Samples(words)
        assert points.n == 4
        block = points.take(np.array([3, 1]))
        np.testing.assert_array_equal(k.diag(block), [4, 2])
        np.testing.assert_array_equal(k.diag(block[1:2]), [2])
        assert not points.sq_norms.any()

    def test_callable_of_wrong_shape(self):
        with pytest.raises(ValueError, match=r"shape \(12, 12\); got \(12, 1\)"):
            Callable(lambda A, B: np.ones((len(A), 1))).tile(
                Samples(X).take(slice(0, 12)), Samples(X).take(slice(0, 12)), np.empty((12, 12))
            )
        with pytest.raises(ValueError, match="returned NaN"):
            Callable(lambda A, B: np.full((len(A), len(B)), np.nan))(X)
        with pytest.raises(ValueError, match="must be callable"):
            Callable(3)

    @pytest.mark.parametrize("value", [1j, "a", b"a", object()])
    @pytest.mark.parametrize("on_pairs", [False, True])
    def test_callable_of_other_values_than_real_numbers(self, value, on_pairs):
        """Complex numbers lost their imaginary part; others raised an error of NumPy's."""

        def k(A, B):
            return value if on_pairs else np.full((len(A), len(B)), value)

        with pytest.raises(ValueError, match=r"k must return real numbers; got values of type"):
            Callable(k, on_pairs)(X)

    def test_callable_of_objects_that_are_numbers(self):
        k = Callable(lambda A, B: (A @ B.T).astype(object))
        np.testing.assert_array_equal(k(X), X @ X.T)

    @pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix])
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_precomputed_picks_rows_and_columns(self, container, dtype):
        K = RBF(0.3)(X)
        points = Samples(container(K))
        some, other = np.array([7, 0, 3]), np.array([1, 1, 11, 4])
        for rows, columns in itertools.product([slice(2, 5), some], [slice(3, 9), other]):
            A, B = points.take(rows, dtype), points.take(columns, dtype)
            out = np.empty((len(A), len(B)), dtype)
            Precomputed().tile(A, B, out)
            np.testing.assert_array_equal(out, K[rows][:, columns].astype(dtype))
        np.testing.assert_array_equal(Precomputed().diag(points.take(some)), K.diagonal()[some])
        np.testing.assert_array_equal(Precomputed()(container(K)), K)
        assert Precomputed().is_psd is None

    def test_precomputed_composes(self):
        K = RBF(0.3)(X)
        block = Samples(K).take(slice(0, 12))
        out = np.empty((12, 12))
        (2 * Precomputed() + 1).check(Samples(np.vstack([K, K])))  # more rows than columns: predict
        (2 * Precomputed() + 1).tile(block, block, out)
        np.testing.assert_allclose(out, 2 * K + 1)

    def test_precomputed_checks_values(self):
        with pytest.raises(ValueError, match="holds NaN"):
            Precomputed().check(Samples(np.array([[1.0, np.nan], [0, 1]])))
        with pytest.raises(ValueError, match="must hold numbers"):
            Precomputed().check(Samples(["a", "b"]))


class TestNames:
    @pytest.mark.parametrize(
        ("name", "kernel"),
        [
            ("linear", Linear()),
            ("poly", Polynomial(4, 0.5, 2.0)),
            ("rbf", RBF(0.5)),
            ("laplacian", Laplacian(0.5)),
            ("cosine", Cosine()),
            ("chi2", Chi2(0.5)),
            ("precomputed", Precomputed()),
            ("sigmoid", quiet_sigmoid(gamma=0.5, coef0=2.0)),
        ],
    )
    @pytest.mark.filterwarnings("ignore::mercer.kernels.IndefiniteKernelWarning")
    def test_scikit_learn_names(self, name, kernel):
        assert as_kernel(name, gamma=0.5, degree=4, coef0=2.0) == kernel

    def test_kernels_and_functions(self):
        k = RBF(3.0)
        assert as_kernel(k, 0.5, 4, 2.0) is k
        assert as_kernel(np.dot, 0.5, 4, 2.0) == Callable(np.dot)

    @pytest.mark.parametrize("bad", ["gauss", 3, None])
    def test_unknown(self, bad):
        with pytest.raises(ValueError, match=r"one of .*'rbf'"):
            as_kernel(bad, 1.0, 3, 0.0)


@pytest.mark.parametrize("name", [name for name in mercer.kernels.__all__ if name in KERNELS])
def test_every_kernel_states_its_formula_its_cost_and_when_to_use_it(name):
    text = getattr(mercer.kernels, name).__doc__
    assert "**Cost.**" in text
    assert "**When.**" in text
    given = name in ("Callable", "Precomputed")  # whose values are the user's
    assert given or re.match(r"k\((x, z|i, j)\) = ", text)
