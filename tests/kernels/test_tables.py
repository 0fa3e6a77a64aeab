"""Kernels on tables, from their definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import strategies as st

import mercer
from mercer import SVC
from mercer.kernels import (
    RBF,
    Category,
    ColumnMean,
    ColumnProduct,
    Cyclic,
    Equality,
    Number,
    OnColumns,
    Ordered,
    Spectrum,
    TableKernel,
)
from tests.kernels.structured_conformance import StructuredConformance

NUMBERS = st.none() | st.floats(-3, 3, width=32).map(lambda v: round(v, 3)) | st.integers(-3, 3)
WORDS = st.none() | st.sampled_from(["a", "b", "c", "日本"]) | st.text(max_size=2)
LEVELS = ("low", "medium", "high")
GRADES = st.none() | st.sampled_from([*LEVELS, "other"])
ROWS = st.tuples(NUMBERS, WORDS, GRADES, NUMBERS)
EXAMPLES = [
    (1.0, "a", "low", 0), (-1.5, "b", "high", 0.25), (None, "a", "low", 1.5), (2, "c", None, 3),
    (0.5, None, "medium", -2), (0.25, "b", "high", None), (None, None, None, None),
    (1.0, "b", "other", 2.5), (-3, "a", "medium", 1), (2.5, "c", "high", 0.5),
    (1.0, "a", "low", 1),
    (0, "日本", "low", 7.25), (1.5, "b", "medium", 0.125), (-1, "d", "high", 2),
]  # fmt: skip
FIRST, SECOND, THIRD, FOURTH = ([row[c] for row in EXAMPLES] for c in range(4))


def number(x, z, kind):
    def t(value):
        u = 0.0 if value is None else (value - kind.centre) / kind.scale
        return math.asinh(u) if kind.squash else u

    return (t(x) - t(z)) ** 2 + kind.missing * ((x is None) != (z is None))


def category(x, z):
    return float(x != z)


def ordered(x, z, kind):
    r = {level: i / (len(kind.levels) - 1) for i, level in enumerate(kind.levels)}
    gone = (x not in r) != (z not in r)
    return (r.get(x, 0.5) - r.get(z, 0.5)) ** 2 + kind.missing * gone


def cyclic(x, z, kind):
    if x is None or z is None:
        return (0.25 + kind.missing) * ((x is None) != (z is None))
    return math.sin(math.pi * (x - z) / kind.period) ** 2


class OfValues(StructuredConformance):
    """Kernels on a table of one column, whose samples are single values."""

    condition = 50.0


class TestNumber(OfValues):
    kernel = Number(gamma=0.7, centre=0.5, scale=1.5, missing=0.8)
    samples, examples, bad = NUMBERS, FIRST, ["text", [1, 2, 3], float("inf")]

    def naive(self, x, z):
        return math.exp(-0.7 * number(x, z, self.kernel))


class TestSquashedNumber(OfValues):
    kernel = Number(gamma=0.7, scale=0.1, missing=0.0, squash=True)
    samples, examples, bad = NUMBERS, FIRST, ["text"]

    def naive(self, x, z):
        return math.exp(-0.7 * number(x, z, self.kernel))


class TestCategory(OfValues):
    kernel = Category(gamma=0.6)
    samples, examples, bad = WORDS | NUMBERS, SECOND, [["a", "b"], {"a"}]

    @staticmethod
    def naive(x, z):
        return math.exp(-0.6 * category(x, z))


class TestOrdered(OfValues):
    kernel = Ordered(LEVELS, gamma=2.0, missing=0.3)
    samples, examples, bad = GRADES, THIRD, [["low"]]

    def naive(self, x, z):
        return math.exp(-2.0 * ordered(x, z, self.kernel))


class TestCyclic(OfValues):
    kernel = Cyclic(2.0, gamma=1.3, missing=0.5)
    samples, examples, bad = NUMBERS, FOURTH, ["text", float("-inf")]

    def naive(self, x, z):
        return math.exp(-1.3 * cyclic(x, z, self.kernel))


KINDS = (Number(0.5, scale=2.0), Category(0.8), Ordered(LEVELS, 0.4), Cyclic(3.0, 1.5))
COLUMNS = tuple(enumerate(KINDS))
BAD_ROWS = [(1.0, "a"), "abcd", None, 3.0]


def distances(x, z):
    parts = number(x[0], z[0], KINDS[0]), category(x[1], z[1]), ordered(x[2], z[2], KINDS[2])
    each = (*parts, cyclic(x[3], z[3], KINDS[3]))
    return [kind.gamma * d for kind, d in zip(KINDS, each, strict=True)]


class TestColumnProduct(StructuredConformance):
    kernel = ColumnProduct(COLUMNS, gamma=1.7)
    samples, examples, bad = ROWS, EXAMPLES, BAD_ROWS
    condition = 50.0

    @staticmethod
    def naive(x, z):
        return math.exp(-1.7 / 4 * sum(distances(x, z)))


class TestColumnMean(StructuredConformance):
    kernel = ColumnMean(COLUMNS, gamma=0.9)
    samples, examples, bad = ROWS, EXAMPLES, BAD_ROWS
    condition = 50.0

    @staticmethod
    def naive(x, z):
        return sum(math.exp(-0.9 * d) for d in distances(x, z)) / 4


class TestTableKernel(StructuredConformance):
    kernel = TableKernel(dict(COLUMNS), gamma=2.0, interaction=0.3, mean_gamma=0.5)
    samples, examples, bad = ROWS, EXAMPLES, BAD_ROWS
    condition = 50.0

    @staticmethod
    def naive(x, z):
        d = distances(x, z)
        mean = sum(math.exp(-0.5 * each) for each in d) / 4
        return 0.3 * math.exp(-2.0 / 4 * sum(d)) + 0.7 * mean


class TestEquality(StructuredConformance):
    kernel = Equality()
    samples, examples, bad = ROWS, EXAMPLES, [*BAD_ROWS, ([1], "a", "b", 2)]
    condition = 5.0

    @staticmethod
    def naive(x, z):
        return sum(a == b for a, b in zip(x, z, strict=True)) / 4


class TestWeightedEquality(StructuredConformance):
    kernel = Equality(
        weighted=True, missing="nothing", weights=((1, "a", 0.75), (2, "low", 0.5), (0, 1.0, 2.0))
    )
    samples, examples, bad = ROWS, EXAMPLES, BAD_ROWS
    condition = 5.0

    @staticmethod
    def naive(x, z):
        weight = {(1, "a"): 0.75, (2, "low"): 0.5, (0, 1.0): 2.0}
        pairs = enumerate(zip(x, z, strict=True))
        return sum(weight.get((c, a), 1.0) for c, (a, b) in pairs if a == b and a is not None) / 4


EXAMPLES_OF_THREE = [(i / 3, "ab" * (i % 4) + "b" * (i % 3), i % 5) for i in range(14)]


class TestOnColumns(StructuredConformance):
    kernel = OnColumns(RBF(0.3), (0, 2))
    samples = st.tuples(st.integers(-3, 3), st.text(max_size=2), st.integers(-3, 3))
    examples, bad = EXAMPLES_OF_THREE, [(None, "a", 1), (1.0, "a", "text")]
    condition = 10.0

    @staticmethod
    def naive(x, z):
        return math.exp(-0.3 * ((x[0] - z[0]) ** 2 + (x[2] - z[2]) ** 2))


class TestSumOnColumns(StructuredConformance):
    kernel = OnColumns(RBF(0.3), (0, 2)) * OnColumns(Spectrum(1), 1) + OnColumns(Equality(), 1)
    samples = st.tuples(
        st.floats(-3, 3, width=32), st.text(alphabet="ab", max_size=4), st.integers(-3, 3)
    )
    examples, bad = (
        EXAMPLES_OF_THREE,
        [(None, "a", 1), (1.0, None, 2), (1.0, "a", "t"), (1.0, 2, 3)],
    )

    @staticmethod
    def naive(x, z):
        spectrum = sum(a == b for a in x[1] for b in z[1])
        return math.exp(-0.3 * ((x[0] - z[0]) ** 2 + (x[2] - z[2]) ** 2)) * spectrum + (
            x[1] == z[1]
        )


def test_times_with_a_zone_are_numbers_in_utc():
    """One hour apart in UTC, whatever the zone in which they are written."""
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    hours = pd.date_range("2024-03-31", periods=8, freq="h", tz="UTC")
    kernel = OnColumns(Number(gamma=0.5, scale=1 / 24), "t")
    t = np.arange(8.0)
    expected = np.exp(-0.5 * np.subtract.outer(t, t) ** 2)
    berlin = pd.Series(hours.tz_convert("Europe/Berlin"))
    for column in (pd.Series(hours), berlin, berlin.tolist(), pl.from_pandas(berlin)):
        np.testing.assert_allclose(kernel({"t": column}), expected, atol=1e-9)
        proposed = TableKernel.from_frame({"t": column})
        assert [type(kind) for _, kind in proposed.columns] == [Number]


def test_infinite_numbers_are_named_when_a_kernel_is_proposed():
    with pytest.raises(ValueError, match="column 'a' is infinite in row 1"):
        TableKernel.from_frame({"a": [1.0, np.inf, 2.0, 3.0]})


def test_two_columns_of_one_name_are_refused():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=["a", "a"])
    with pytest.raises(ValueError, match="two columns named 'a'"):
        TableKernel.from_frame(frame)


def test_errors_name_the_kernel_that_the_user_has_written():
    """Not the kernels that it consists of."""
    table = {"age": [20.0, 30.0, 25.0, 40.0], "home": ["own", "rent", "own", "rent"]}
    model = SVC(kernel=TableKernel.from_frame(table)).fit(table, [0, 1, 0, 1])
    for wrong, message in (
        ({"home": ["own"]}, "TableKernel: the table has no column 'age'"),
        ({"age": ["30"], "home": ["own"]}, r"TableKernel: column 'age' has '30' .*to_numeric"),
        ({"age": [np.inf], "home": ["own"]}, "TableKernel: column 'age' is infinite"),
    ):
        with pytest.raises(ValueError, match=message):
            model.predict(wrong)


def test_levels_that_training_does_not_have_at_all_are_refused():
    """All values would be unknown, and so equal; at prediction one of them is allowed to be."""
    table = {"size": ["S", "L", "M", "S"], "age": [1.0, 2.0, 3.0, 4.0]}
    kernel = TableKernel({"size": Ordered(("small", "large")), "age": Number()})
    with pytest.raises(ValueError, match=r"'size' has none of the levels .*'S', 'L', 'M'"):
        SVC(kernel=kernel).fit(table, [0, 1, 1, 0])
    model = SVC(kernel=kernel.with_columns({"size": Ordered(("S", "M", "L"))}))
    model.fit(table, [0, 1, 1, 0]).predict({"size": ["huge"], "age": [2.0]})


def test_the_order_that_a_data_frame_states_is_proposed(tmp_path):
    """Of a column of ordered categories; in parts of the frame, and by fits, as well."""
    pd = pytest.importorskip("pandas")
    sizes = ["S", "L", None, "M"] * 3
    frame = pd.DataFrame({
        "size": pd.Categorical(sizes, ["S", "M", "L"], ordered=True),
        "plain": pd.Categorical(sizes, ["S", "M", "L"]),
        "range": pd.cut(np.arange(12.0), 3),  # intervals, which files of models cannot hold
    })  # fmt: skip
    # Two typical values have the squared distance 1 after γ: γ = ½ / var(0, 1, ½).
    order = Ordered(("S", "M", "L"), gamma=0.5 / np.var([0, 1, 0.5]))
    expected = {"size": order, "plain": Category(), "range": Category()}
    assert dict(TableKernel.from_frame(frame).columns) == expected
    kernel = TableKernel()
    part = kernel.read(frame)[4:12]
    assert dict(kernel.resolved(part).columns) == expected
    used = frame[["size", "plain"]]
    model = SVC(kernel=kernel).fit(used, np.arange(12) % 2)
    assert model.kernel_ == TableKernel.from_frame(used)
    mercer.save(model, tmp_path / "model.mercer")
    loaded = mercer.load(tmp_path / "model.mercer")
    np.testing.assert_array_equal(loaded.decision_function(used), model.decision_function(used))
