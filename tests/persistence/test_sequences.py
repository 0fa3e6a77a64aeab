"""Support objects in files: texts, lists and arrays as flat arrays with offsets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mercer
from mercer.kernels import Spectrum
from mercer.persistence._container import read_tensors
from mercer.persistence._sequences import pack, unpack


def objects(items):
    out = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):
        out[i] = item
    return out


ANY_TEXT = st.text(st.characters(codec=None, categories=None), max_size=5)
KINDS = [
    ANY_TEXT,
    st.binary(max_size=5),
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=4),
    st.lists(st.floats(allow_nan=False), min_size=1, max_size=4).map(tuple),
    st.lists(ANY_TEXT, min_size=1, max_size=4),
]


@pytest.mark.parametrize("kind", KINDS)
def test_packed_items_come_back(kind):
    @given(st.lists(kind, min_size=1, max_size=6))
    def check(items):
        packed = pack(objects(items))
        assert packed is not None
        again = unpack(*packed)
        assert again.tolist() == items
        assert [type(item) for item in again] == [type(item) for item in items]

    check()


def test_arrays_come_back_with_their_types():
    for items in (
        [np.arange(3), np.arange(0), np.arange(5)],
        [np.ones((2, 4), np.float32), np.zeros((1, 4), np.float32)],
    ):
        again = unpack(*pack(objects(items)))
        for mine, theirs in zip(again, items, strict=True):
            assert mine.dtype == theirs.dtype
            np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize(
    "items",
    [["a", b"a"], [{1}, {2}], [[1, "a"]], [[1], ["a"]], [np.ones(2), np.ones((2, 2))], [[1 << 70]]],
)
def test_other_items_are_not_packed(items):
    assert pack(objects(items)) is None


def test_texts_are_utf8_in_the_file(tmp_path):
    texts, y = ["naïve", "日本語", "plain", "日本", "", "naïf"], [0, 1, 0, 1, 0, 1]
    model = mercer.SVC(kernel=Spectrum(1)).fit(texts, y)
    mercer.save(model, tmp_path / "m.mercer")
    _, tensors = read_tensors(tmp_path / "m.mercer")
    flat = [a.tobytes() for a in tensors.values() if a.dtype == np.uint8]
    assert flat == ["".join(model.support_vectors_).encode()]


@pytest.mark.parametrize(
    ("kind", "flat", "offsets", "message"),
    [
        ("text", np.zeros(3, np.uint8), np.array([0, 4]), "do not fit"),
        ("text", np.zeros(3, np.uint8), np.array([1, 3]), "do not fit"),
        ("text", np.zeros(3, np.uint8), np.array([0, 2, 1, 3]), "do not fit"),
        ("text", np.zeros(3, np.uint8), np.array([0.0, 3.0]), "no whole numbers"),
        ("text", np.zeros(3), np.array([0, 3]), "something else than bytes"),
        ("code", np.zeros(3, np.uint8), np.array([0, 3]), "something else than arrays"),
        ("text", "abc", np.array([0, 3]), "something else than arrays"),
        ("text", np.array([255], np.uint8), np.array([0, 1]), "utf-8"),
    ],
)
def test_parts_that_do_not_fit_are_refused(kind, flat, offsets, message):
    with pytest.raises(ValueError, match=message):
        unpack(kind, flat, offsets)
