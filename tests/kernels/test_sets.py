"""Kernels on sets of tokens and bags of samples, from their definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import strategies as st

import mercer
from mercer.kernels import (
    RBF,
    Category,
    ColumnProduct,
    Intersection,
    Jaccard,
    Linear,
    MeanEmbedding,
    Normalize,
    Number,
    OnColumns,
    Spectrum,
    related_rows,
)
from tests.kernels.structured_conformance import StructuredConformance

TOKENS = st.sampled_from(["a", "b", "c", "日本", 1, 2, (1, "x")])
SETS = st.sets(TOKENS, max_size=5) | st.lists(TOKENS, max_size=6)
EXAMPLES = [
    {"a", "b"}, {"c"}, ["a", "a", "b"], {"b", "c"}, set(), {"a"}, {"c", "d", "e"}, {"d"},
    {"a", "c", "e"}, ["e"], {"a", "b", "c"}, {"c", "d"}, frozenset({"b"}), {"d", "e"},
]  # fmt: skip
NO_SETS = [None, "text", 3, {"a": 1}, [["a"]], ["a", None], np.zeros((2, 2))]


class TestIntersection(StructuredConformance):
    kernel = Intersection()
    samples, examples, bad = SETS, EXAMPLES, NO_SETS

    @staticmethod
    def naive(x, z):
        return len(set(x) & set(z))


class TestJaccard(StructuredConformance):
    kernel = Jaccard()
    samples, examples, bad = SETS, EXAMPLES, NO_SETS

    @staticmethod
    def naive(x, z):
        union = set(x) | set(z)
        return len(set(x) & set(z)) / len(union) if union else 1.0


NUMBERS = st.floats(-2, 2, width=32).map(lambda v: round(v, 3))
BAGS = st.lists(st.tuples(NUMBERS, NUMBERS), max_size=4).map(
    lambda rows: np.array(rows, dtype=float).reshape(-1, 2)
)
BAG_EXAMPLES = [
    np.random.default_rng(i).normal(size=((i + 1) % 5, 2)).round(3) + i % 2 for i in range(14)
]


def rbf(x, z):
    return math.exp(-0.7 * float(((np.asarray(x) - np.asarray(z)) ** 2).sum()))


def mean(k, x, z):
    return sum(k(a, b) for a in x for b in z) / (len(x) * len(z)) if len(x) and len(z) else 0.0


class TestMeanEmbedding(StructuredConformance):
    kernel = MeanEmbedding(RBF(0.7))
    samples, examples = BAGS, BAG_EXAMPLES
    bad = (None, "text", np.array([[1.0, np.nan]]), np.zeros((2, 3, 2)), np.zeros((1, 3)))
    condition = 20.0

    @staticmethod
    def naive(x, z):
        return mean(rbf, x, z)


class TestMeanEmbeddingOfTexts(StructuredConformance):
    kernel = MeanEmbedding(Spectrum(1))
    samples = st.lists(st.text(alphabet="ab", max_size=3), max_size=3)
    examples, bad = [["a" * (i % 3), "ab"][: i % 3] for i in range(1, 15)], [None, ["a", None], 3]
    condition = 5.0

    @staticmethod
    def naive(x, z):
        return mean(lambda a, b: sum(p == q for p in a for q in b), x, z)


ROW_KERNEL = ColumnProduct({"amount": Number(0.5), "kind": Category(1.0)}, gamma=2.0)
TABLE_ROW = st.fixed_dictionaries(
    {"amount": st.none() | NUMBERS, "kind": st.none() | st.sampled_from(["x", "y"])}
)


class TestMeanEmbeddingOfTableRows(StructuredConformance):
    kernel = MeanEmbedding(ROW_KERNEL)
    samples = st.lists(TABLE_ROW, max_size=3)
    examples, bad = (
        [[{"amount": i / 4 + j, "kind": "xy"[j % 2]} for j in range(i % 3)] for i in range(14)],
        [None, 3, [{"other": 1}], [{"amount": "text", "kind": "x"}]],
    )
    condition = 50.0

    @staticmethod
    def naive(x, z):
        def value(a, b):
            left, right = a["amount"], b["amount"]
            gone = (left is None) != (right is None)
            d = ((left or 0.0) - (right or 0.0)) ** 2 + gone
            return math.exp(-0.5 * d - (a["kind"] != b["kind"]))

        return mean(value, x, z)


def test_a_mean_embedding_of_the_linear_kernel_is_that_of_the_means():
    means = np.array([bag.mean(axis=0) if len(bag) else np.zeros(2) for bag in BAG_EXAMPLES])
    K = MeanEmbedding(Linear())(BAG_EXAMPLES)
    np.testing.assert_allclose(K, means @ means.T, atol=1e-14)


def test_many_large_bags_are_cut_into_pieces():
    """Bags of more than 1,024 samples in all, against the mean over all pairs at once."""
    rng = np.random.default_rng(0)
    bags = [rng.normal(size=(size, 2)) for size in (700, 600, 3, 1100)]
    expected = [[RBF(0.7)(x, z).mean() for z in bags] for x in bags]
    np.testing.assert_allclose(MeanEmbedding(RBF(0.7))(bags), expected, rtol=0, atol=1e-15)


def test_related_rows_as_a_column_of_the_main_table(tmp_path):
    """Customers and their orders: the number of orders is not the same for all."""
    rng = np.random.default_rng(1)
    n = 60
    customers = {"id": np.arange(n), "age": rng.normal(40, 10, n)}
    owner = rng.integers(0, n, 5 * n)
    y = np.arange(n) % 2
    orders = {
        "customer": owner,
        "amount": rng.normal(size=5 * n) + 3 * y[owner],
        "kind": rng.choice(["x", "y"], 5 * n),
    }
    table = {"age": customers["age"], "orders": related_rows(customers["id"], orders, "customer")}
    kernel = OnColumns(Number(0.01), "age") + OnColumns(MeanEmbedding(ROW_KERNEL), "orders")
    model = mercer.SVC(kernel=kernel, C=10).fit(table, y)
    assert model.certificate_.status.is_solved
    assert model.score(table, y) > 0.9
    assert mercer.verify(model, table, y)
    mercer.save(model, tmp_path / "model.mercer")
    loaded = mercer.load(tmp_path / "model.mercer")
    np.testing.assert_array_equal(loaded.decision_function(table), model.decision_function(table))
    counts = [len(bag) for bag in table["orders"]]
    np.testing.assert_array_equal(counts, np.bincount(owner, minlength=n))


def test_normalized_mean_embedding_has_a_unit_diagonal():
    bags = [bag for bag in BAG_EXAMPLES if len(bag)]
    np.testing.assert_allclose(np.diag(Normalize(MeanEmbedding(RBF(0.7)))(bags)), 1.0)


def test_a_set_of_numbers_is_a_bag_of_them():
    kernel = MeanEmbedding(RBF(0.5))
    assert np.array_equal(kernel([{3.0, 1.0}, {2.0}]), kernel([[[1.0], [3.0]], [[2.0]]]))
    texts = MeanEmbedding(Spectrum(1))
    assert np.array_equal(texts([{"ab", "b"}, set()]), texts([["ab", "b"], []]))
    with pytest.raises(ValueError, match=r"row 1 .*takes rows of numbers of one length, got \['a"):
        kernel([[1.0], {"a"}])


def test_bags_of_other_columns_than_those_of_training_are_named():
    kernel = MeanEmbedding(RBF(0.5))
    with pytest.raises(ValueError, match=r"rows with 3 columns, but those .* have 2"):
        kernel([np.zeros((2, 3))], [np.zeros((4, 2))])
    empty = np.zeros((0, 2))
    assert kernel([empty], [np.zeros((1, 3))]) == 0.0


def test_a_refused_set_is_shown_in_one_line():
    with pytest.raises(ValueError, match="row 0 is array") as caught:
        Jaccard()([np.zeros((9, 9))])
    assert "\n" not in str(caught.value)
