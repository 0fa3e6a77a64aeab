"""Files of released versions load, and predict what the version that wrote them predicted."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

import mercer
from mercer.exceptions import FileError
from mercer.persistence import _container, open_model

HERE = Path(__file__).parent / "golden"
FILES = sorted(HERE.glob("*/*.mercer"))
EXPECTED = {
    version.name: json.loads((version / "expected.json").read_text(encoding="utf-8"))
    for version in HERE.iterdir()
    if version.is_dir() and (version / "expected.json").exists()
}


def test_every_file_has_its_predictions():
    assert {(file.parent.name, file.stem) for file in FILES} == {
        (version, name) for version, models in EXPECTED.items() for name in models
    }


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name} {file.stem}")
def test_predictions_are_those_of_the_version_that_wrote_the_file(file, tmp_path):
    opened = open_model(file)
    assert opened.header["mercer"].startswith(file.parent.name)
    expected = EXPECTED[file.parent.name][file.stem]
    rows = np.array(expected["rows"])
    rows = sp.csr_matrix(rows) if expected["sparse"] else rows
    mercer.save(opened.model, tmp_path / "again")
    for model in (opened.model, mercer.load(tmp_path / "again")):
        repr(model)
        for method, values in expected["values"].items():
            found = getattr(model, method)(rows)
            if found.dtype.kind == "f":
                assert_allclose(found, values, rtol=1e-10, atol=1e-10, err_msg=method)
            else:
                assert_array_equal(found, values, err_msg=method)


def rewritten(file, tmp_path, change):
    """A copy of a model file with a changed header, and a checksum that fits."""
    metadata, tensors = _container.read_tensors(file)
    header = json.loads(metadata["mercer"])
    change(header)
    path = tmp_path / "changed"
    _container.write_tensors(path, {"mercer": json.dumps(header)}, tensors)
    return path


@pytest.mark.parametrize("name", ["svc-warm-start", "pegasos", "linear-svc-warm-start"])
def test_warm_start_states_of_other_versions_are_left_out(name, tmp_path):
    """The model predicts, and its next fit starts anew."""
    file = HERE / "0.1" / f"{name}.mercer"
    expected = EXPECTED["0.1"][name]

    def change(header):
        attribute = next(key for key in ("_duals", "_states", "_last") if key in header["state"])
        header["state"][attribute] = {"object": "RemovedClass", "of": {"x": 1}}

    model = mercer.load(rewritten(file, tmp_path, change))
    rows = np.array(expected["rows"])
    assert_array_equal(model.predict(rows), expected["values"]["predict"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(rows, [0, 1, 2, 0, 1, 2])
    assert model.predict(rows).shape == (6,)


def test_unknown_objects_elsewhere_are_refused(tmp_path):
    def change(header):
        header["state"]["_gamma"] = {"object": "RemovedClass", "of": {}}

    path = rewritten(HERE / "0.1" / "svc-binary.mercer", tmp_path, change)
    with pytest.raises(FileError, match="no class 'RemovedClass'"):
        mercer.load(path)
