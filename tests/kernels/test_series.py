"""Kernels on time series, from their definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mercer
from mercer.kernels import DTW, GlobalAlignment, Normalize, Samples
from tests.kernels.structured_conformance import StructuredConformance

NUMBERS = st.integers(-8, 8).map(lambda v: v / 4)


def series(channels=None, most=6):
    step = NUMBERS if channels is None else st.lists(NUMBERS, min_size=channels, max_size=channels)
    shape = (-1,) if channels is None else (-1, channels)
    steps = st.lists(step, max_size=most)
    return steps.map(lambda s: np.array(s, dtype=np.float64).reshape(shape))


def waves(channels=None):
    """Waves of two frequencies by turns, ragged; the last is empty."""
    rng = np.random.default_rng(0)
    out = []
    for i in range(22):
        t = np.arange(4 + i % 7) / 3
        wave = np.sin(t * (1 + i % 2)) + rng.normal(scale=0.1, size=t.size)
        out.append(wave if channels is None else np.stack([wave * c for c in range(channels)], 1))
    out.append(out[0][:0])
    return out


BAD = [
    None,
    3.0,
    "abc",
    [1.0, np.nan],
    [np.inf],
    np.zeros((2, 2, 2)),
    [[1.0], [1.0, 2.0]],
    ["a", "b"],
    np.zeros((2, 5)),
]


def steps_of(x):
    x = np.asarray(x, dtype=np.float64)
    return x[:, None] if x.ndim == 1 else x


def alignments(x, z, sigma, band=None):
    """The sum over all alignments, path by path."""
    x, z = steps_of(x), steps_of(z)

    def factor(i, j):
        g = math.exp(-((x[i] - z[j]) ** 2).sum() / (2 * sigma**2))
        g *= 1.0 if band is None else max(0.0, 1 - abs(i - j) / band)
        return g / (2 - g)

    M = np.zeros((len(x) + 1, len(z) + 1))
    M[0, 0] = 1.0
    for i in range(len(x)):
        for j in range(len(z)):
            M[i + 1, j + 1] = factor(i, j) * (M[i, j] + M[i, j + 1] + M[i + 1, j])
    return M[-1, -1]


def normalised(x, z, *parameters):
    sizes = alignments(x, x, *parameters) * alignments(z, z, *parameters)
    return alignments(x, z, *parameters) / sizes**0.5


def test_the_recursion_is_the_sum_over_paths():
    """Delannoy numbers: κ = 1 for equal steps."""
    ones = [np.zeros(n) for n in (1, 2, 3, 4)]
    found = [[alignments(a, b, 1.0) for b in ones] for a in ones]
    assert found == [[1, 1, 1, 1], [1, 3, 5, 7], [1, 5, 13, 25], [1, 7, 25, 63]]


class TestGlobalAlignment(StructuredConformance):
    kernel = GlobalAlignment(sigma=0.7)
    samples, examples, bad = series(), waves(), BAD
    condition = 100.0

    @staticmethod
    def naive(x, z):
        return normalised(x, z, 0.7)


class TestSmallExponents(StructuredConformance):
    """All of them above −3, for which there are rows of their own."""

    kernel = GlobalAlignment(sigma=2.5)
    samples, examples, bad = series(), waves(), BAD
    condition = 100.0

    @staticmethod
    def naive(x, z):
        return normalised(x, z, 2.5)


class TestChannels(StructuredConformance):
    kernel = GlobalAlignment(sigma=1.5)
    samples, examples, bad = series(3), waves(3), BAD
    condition = 100.0

    @staticmethod
    def naive(x, z):
        return normalised(x, z, 1.5)


class TestBand(StructuredConformance):
    kernel = GlobalAlignment(sigma=0.7, band=3)
    samples, examples, bad = series(most=9), waves(), BAD
    condition = 100.0

    @staticmethod
    def naive(x, z):
        return normalised(x, z, 0.7, 3)


def warped(x, z, window=None):
    """The least cost of an alignment."""
    x, z = steps_of(x), steps_of(z)
    width = math.inf if window is None else max(window, abs(len(x) - len(z)))
    D = np.full((len(x) + 1, len(z) + 1), np.inf)
    D[0, 0] = 0.0
    for i in range(len(x)):
        for j in range(len(z)):
            if abs(i - j) <= width:
                cost = ((x[i] - z[j]) ** 2).sum()
                D[i + 1, j + 1] = cost + min(D[i, j], D[i, j + 1], D[i + 1, j])
    return D[-1, -1]


class TestDTW(StructuredConformance):
    kernel = DTW(gamma=20.0)
    samples, examples, bad = series(), waves(), BAD
    condition = 10.0

    @staticmethod
    def naive(x, z):
        return math.exp(-20 * warped(x, z))


class TestWindow(StructuredConformance):
    kernel = DTW(gamma=20.0, window=1)
    samples, examples, bad = series(2, most=9), waves(2), BAD
    condition = 10.0

    @staticmethod
    def naive(x, z):
        return math.exp(-20 * warped(x, z, 1))


@pytest.mark.parametrize("n", [40, 500])
@pytest.mark.parametrize("band", [None, 25])
def test_long_series_neither_overflow_nor_underflow(n, band):
    """Logarithms of sums far beyond the range of floats, against a recursion in logarithms."""
    from mercer.kernels._compiled.series_alignment import (
        Reach,
        alignment_logs,
        alignment_logs_of_pairs,
    )

    rng = np.random.default_rng(0)
    flat, rough = np.zeros((n, 1)), rng.normal(size=(n, 1)) * 9
    wrong = rough.copy()
    wrong[n // 3], wrong[n // 2] = rough[n // 3] + 20, rough[n // 2] - 20
    # Many paths; small exponents; paths along the diagonal, with other cells down to e^-500; two
    # steps that are far.
    pairs = (flat, flat), (rough / 40, -rough / 40), (rough, rough + 0.8), (rough, wrong)
    for x, other in pairs:
        expected = _log_alignments(x[:, 0], other[:, 0], 1.0, band)
        offsets, rows = np.array([0, n]), np.zeros(1, np.int64)
        both, pair = np.array([0, n, 2 * n]), (rows, rows + 1)
        # Rows rescaled one by one, and as few as the farthest steps allow.
        least, most = min(x.min(), other.min()), max(x.max(), other.max())
        for reach in (Reach(), Reach((most - least) ** 2, (least + most) / 2)):
            out = np.empty((1, 1))
            alignment_logs((x, offsets, rows, other, offsets, rows), 0.5, band or 0, out, reach)
            assert out[0, 0] == pytest.approx(expected, rel=1e-12)
            values = np.concatenate([x, other])
            alone = alignment_logs_of_pairs(values, both, pair, 0.5, band or 0, reach)
            assert alone[0] == out[0, 0]


def _log_alignments(x, z, sigma, band):
    """The recursion in logarithms, cell by cell."""

    def add(*logs):
        top = max(logs)
        return top if top == -math.inf else top + math.log(sum(math.exp(v - top) for v in logs))

    before = [0.0] + [-math.inf] * len(z)
    for i in range(len(x)):
        after = [-math.inf]
        for j in range(len(z)):
            weight = 1.0 if band is None else max(0.0, 1 - abs(i - j) / band)
            if weight == 0:
                after.append(-math.inf)
                continue
            log_g = math.log(weight) - (x[i] - z[j]) ** 2 / (2 * sigma**2)
            factor = log_g - math.log(2 - math.exp(log_g))
            after.append(factor + add(before[j], before[j + 1], after[j]))
        before = after
    return before[-1]


@pytest.mark.parametrize("channels", [1, 3, 6])
@pytest.mark.parametrize("band", [None, 9])
@pytest.mark.parametrize("far", [0, 40])
def test_values_depend_on_the_pair_alone(channels, band, far):
    """To the last bit: whatever the tile, its place in the matrix and the order of the two."""
    kernel, rng = GlobalAlignment(1.5, band), np.random.default_rng(0)
    series = [rng.normal(size=(rng.integers(1, 30), channels)) for _ in range(37)]
    series[5] = series[5] + far  # one row at a time if it is far, and two of one channel if not
    points = kernel.prepare(Samples(kernel.read(series)))
    every = points.take(slice(0, 37))
    K = np.empty((37, 37))
    kernel.tile(every, every, K)
    assert (K == K.T).all()
    for rows, columns in ((slice(0, 37), slice(3, 8)), (slice(20, 37), slice(0, 37))):
        part = np.empty((len(every[rows]), len(every[columns])))
        kernel.tile(every[rows], every[columns], part)
        assert (part == K[rows, columns]).all()
    strips = np.empty((37, 37))
    kernel.matrix(every, strips, 8)
    assert (strips == K).all()


def test_containers_are_read_alike():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    X = np.random.default_rng(0).normal(size=(9, 5))
    kernel = GlobalAlignment(sigma=1.0)
    K = kernel(X)
    frame = pd.DataFrame(X)
    for form in (
        X[:, :, None], list(X), X.tolist(), [row[:, None] for row in X], frame,
        pl.DataFrame(X), pd.Series(list(X)), X[:, :, None].astype(np.float32).astype(float),
    ):  # fmt: skip
        np.testing.assert_allclose(kernel(form), K, rtol=1e-6)
    assert kernel.read(X.astype(int)).shape == (9,)


def test_channels_that_differ_are_named():
    one, two = np.zeros((3, 1)), np.zeros((3, 2))
    for kernel in (GlobalAlignment(1.0), DTW(1.0)):
        with pytest.raises(ValueError, match="row 2 has 2 channels, but row 0 has 1"):
            kernel([one, one, two])
        with pytest.raises(ValueError, match="have 2 channels, but those they are compared with"):
            kernel([two], [one])
    with pytest.raises(ValueError, match=r"row 1 holds NaN or infinity at step 2"):
        DTW(1.0)([[1.0, 2.0], [1.0, 2.0, np.nan]])


def test_parameters_from_the_data():
    X = [np.array([0.0, 2.0]), np.array([0.0, 2.0]), np.array([0.0, 0.0])]
    kernel = GlobalAlignment().resolved(GlobalAlignment().read(X))
    steps = np.concatenate(X)
    distances = np.abs(np.subtract.outer(steps, steps))[np.triu_indices(6, 1)]
    assert kernel.sigma == pytest.approx(np.median(distances) * math.sqrt(2))
    X = [np.array([0.0]), np.array([1.0]), np.array([4.0])]
    assert DTW().resolved(DTW().read(X)).gamma == pytest.approx(1 / 9)  # of 1, 16 and 9
    same = [np.zeros(3), np.zeros(3)]
    assert GlobalAlignment().resolved(same).sigma == 1.0
    assert DTW().resolved(same).gamma == 1.0
    none = [np.zeros(0)] * 3
    assert GlobalAlignment().resolved(none).sigma == 1.0
    assert DTW().resolved(none).gamma == 1.0
    for kernel in (GlobalAlignment(), DTW()):
        with pytest.raises(ValueError, match="resolved"):
            kernel(X)
        model = mercer.SVC(kernel=kernel).fit(waves()[:22], np.arange(22) % 2)
        assert model.kernel_ == kernel.resolved(kernel.read(waves()[:22]))
        assert model.score(waves()[:22], np.arange(22) % 2) > 0.8


@pytest.mark.parametrize("bad", [0, -1.0, np.nan, "1", True])
def test_parameters_that_are_none(bad):
    with pytest.raises(ValueError, match="sigma"):
        GlobalAlignment(bad)
    with pytest.raises(ValueError, match="gamma"):
        DTW(bad)
    if bad is not None and bad != 0:
        with pytest.raises(ValueError, match="window"):
            DTW(1.0, bad)
    with pytest.raises(ValueError, match="band"):
        GlobalAlignment(1.0, bad)


def test_dtw_is_not_positive_semidefinite():
    """Where it is not, the check has a witness; where it is, the check says that it need not be."""
    rng = np.random.default_rng(1)
    X = [rng.integers(0, 2, size=5).astype(float) for _ in range(40)]
    refuted = mercer.check_kernel(DTW(gamma=0.5), X)
    assert not refuted.is_psd
    assert refuted.witness_value < 0
    found = mercer.check_kernel(DTW(gamma=0.5), [[0.0, 1.0], [1.0, 1.0]])
    assert found.is_psd
    assert "not positive semidefinite in general" in repr(found)
    assert "in general" not in repr(mercer.check_kernel(GlobalAlignment(1.0), X))
    model = mercer.SVC(kernel=DTW(gamma=0.5), C=100).fit(X, np.arange(40) % 2)
    assert model.certificate_.status.name == "NOT_PSD"


@pytest.mark.parametrize("n", [1, 2, 7, 20])
@pytest.mark.parametrize("sigma", [0.8, 8.0])
def test_two_rows_at_a_time_are_one_after_the_other(n, sigma):
    """Of one channel; two equal channels at σ√2 are the same series, row by row."""
    rng = np.random.default_rng(n)
    X = [rng.normal(size=length) for length in (n, n + 1, 1, 2 * n + 3)]
    twice = [np.stack([x, x], axis=1) for x in X]
    K = GlobalAlignment(sigma)(X)
    np.testing.assert_allclose(K, GlobalAlignment(sigma * math.sqrt(2))(twice), rtol=1e-13)
    for x, row in zip(X, K, strict=True):
        np.testing.assert_allclose(row, [normalised(x, z, sigma) for z in X], rtol=1e-12)


@pytest.mark.parametrize("share", [0.999, 1.001])
def test_exponents_at_the_border_of_small_ones(share):
    """κ where the farthest steps have the exponent −3, far from 0 too."""
    sigma = 0.7
    width = math.sqrt(share * 3 * math.log(2) * 2) * sigma
    X = [np.array([0.0]), np.array([width]), np.array([0.4 * width]), np.zeros(0)]
    expected = [[normalised(x, z, sigma) for z in X] for x in X]
    np.testing.assert_allclose(GlobalAlignment(sigma)(X), expected, rtol=2e-15, atol=0)
    moved = [x + 2.0**30 for x in X]
    expected = [[normalised(x, z, sigma) for z in moved] for x in moved]
    np.testing.assert_allclose(GlobalAlignment(sigma)(moved), expected, rtol=4e-15, atol=0)


@given(A=st.lists(series(), min_size=1, max_size=20))
def test_lanes_do_not_meet(A):
    """A value does not depend on the other series of a tile."""
    kernel = GlobalAlignment(sigma=0.7, band=4)
    K = kernel(A)
    points = kernel.prepare(Samples(kernel.read(A)))
    for i in range(len(A)):
        for j in range(len(A)):
            one = np.empty((1, 1))
            kernel.tile(points.take(slice(i, i + 1)), points.take(slice(j, j + 1)), one)
            assert one[0, 0] == K[i, j]


def test_normalised_again_is_the_same():
    X = waves()
    np.testing.assert_allclose(
        Normalize(GlobalAlignment(0.7))(X), GlobalAlignment(0.7)(X), rtol=1e-15
    )


def test_rounding_of_long_series_is_no_asymmetry():
    """Sums along paths are taken in another order for (z, x) than for (x, z)."""
    rng = np.random.default_rng(0)
    series = [np.cumsum(rng.normal(size=n)) for n in rng.integers(150, 300, 12)]
    found = mercer.check_kernel(GlobalAlignment(sigma=20.0), series)
    assert found.is_symmetric
    assert found.is_psd


def test_a_missing_step_is_named():
    """None, in lists and in arrays of objects, as NaN is."""
    for bad in ([1.0, None, 2.0], np.array([1.0, None], dtype=object)):
        for kernel in (GlobalAlignment(1.0), DTW(1.0)):
            with pytest.raises(ValueError, match=r"row 1 has None at step 1\. .*leave missing"):
                kernel([[1.0, 2.0], bad])


def test_a_refused_sample_is_shown_in_one_line():
    pd = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="row 0 is DatetimeIndex") as caught:
        GlobalAlignment(sigma=1.0)([pd.date_range("2020", periods=9)])
    assert "\n" not in str(caught.value)
