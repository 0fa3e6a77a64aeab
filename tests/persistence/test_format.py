"""docs/reference/model-format.md: a reader written from that page predicts what Mercer does."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import mercer
from mercer.kernels import RBF, Linear
from mercer.persistence import _container, _model_file, _state

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "model-format.md"
TYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "BOOL": "?"}


def read(path):
    """The header and the arrays of a file."""
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    assert length % 8 == 0
    table = json.loads(content[8 : 8 + length])
    metadata = table.pop("__metadata__")
    blank = content[8:].replace(metadata["sha256"].encode(), b"0" * 64, 1)
    assert hashlib.sha256(blank).hexdigest() == metadata["sha256"]
    arrays, last = {}, 0
    for name, entry in sorted(table.items(), key=lambda item: item[1]["data_offsets"]):
        begin, end = entry["data_offsets"]
        assert begin == last
        last = end
        raw = content[8 + length + begin : 8 + length + end]
        arrays[name] = np.frombuffer(raw, TYPES[entry["dtype"]]).reshape(entry["shape"])
    assert 8 + length + last == len(content)
    return json.loads(metadata["mercer"]), arrays


def value(node, arrays):
    """An array or a number of the state."""
    if isinstance(node, dict) and "array" in node:
        array = arrays[node["array"]]
        return array.T if node.get("transposed") else array
    return node


def rbf_values(header, arrays, rows):
    """f_t(x) = b_t + Σ coef[r, i] k(zᵢ, x), as the page says."""
    expansion = header["state"]["expansion_"]["of"]
    Z, origin = (value(expansion["support"]["of"][part], arrays) for part in ("X", "origin"))
    coef, b = (value(expansion[part], arrays) for part in ("coef", "b"))
    gamma = expansion["kernel"]["of"]["gamma"]
    shift = 0.0 if origin is None else origin
    A, B = rows - shift, Z - shift
    K = np.exp(-gamma * ((A[:, None] - B) ** 2).sum(axis=2))
    f = np.tile(b, (len(rows), 1))
    for block in expansion["blocks"]:
        start, stop, outputs = block["tuple"] if isinstance(block, dict) else block
        f[:, value(outputs, arrays)] += K[:, start:stop] @ coef[:, start:stop].T
    return f


@pytest.mark.parametrize("k", [2, 3])
def test_a_reader_of_the_page_predicts_the_same(k, tmp_path):
    rng = np.random.default_rng(k)
    X = rng.normal(size=(60, 3)) + 5.0
    y = np.arange(60) % k
    model = mercer.SVC(kernel=RBF(0.7), decision_function_shape="ovo").fit(X, y)
    mercer.save(model, tmp_path / "m")
    header, arrays = read(tmp_path / "m")
    assert (header["format"], header["version"]) == ("mercer-model", _model_file.VERSION)
    found = rbf_values(header, arrays, X)
    assert_allclose(found[:, 0] if k == 2 else found, model.decision_function(X), atol=1e-12)


def test_the_page_lists_every_kind_of_value_and_type():
    text = PAGE.read_text(encoding="utf-8")
    kinds = set(re.findall(r'^\| `\{"(\w+)"', text, re.MULTILINE))
    assert kinds == set(_state._DECODERS)
    types = re.search(r"Types are `([^`]*)`", text).group(1).split()
    assert set(types) == set(_container.DTYPES)


def test_the_page_has_the_present_version():
    rows = re.findall(r"^\| (\d+) \| ", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert [int(row) for row in rows] == list(range(1, _model_file.VERSION + 1))


def test_the_header_has_what_the_page_lists(tmp_path):
    X, y = np.arange(12.0).reshape(6, 2), np.arange(6) % 2
    mercer.save(mercer.SVC(kernel=Linear()).fit(X, y), tmp_path / "m")
    header, _ = read(tmp_path / "m")
    keys = {"format", "version", "mercer", "class", "parameters", "state", "schema"}
    assert set(header) == keys
