"""onnxruntime as the client: values to rounding, and every label."""

from __future__ import annotations

import numpy as np
import pytest

import mercer
from mercer.export import to_onnx
from tests.export.models import CASES, expected

onnxruntime = pytest.importorskip("onnxruntime")


def run(content, rows):
    session = onnxruntime.InferenceSession(content)
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": rows}), strict=True))


@pytest.mark.parametrize("name", CASES)
def test_values_and_labels_are_the_models(name):
    case = CASES[name]()
    labels, values = expected(case.model, case.rows)
    found = run(to_onnx(case.model), case.rows)
    scale = np.abs(values).max()
    shown = list(found)
    if labels is not None:
        assert shown == ["label", "decision_values"]
        np.testing.assert_array_equal(found["label"], labels)
    else:
        assert shown in (["prediction"], ["features"])
    got = found[shown[-1]].reshape(values.shape)
    np.testing.assert_allclose(got, values, rtol=0, atol=1e-10 * max(scale, 1.0))


def test_values_of_a_large_model_are_those_in_float64():
    """`decision_function` may have float32 kernel values there, with the same signs; the graph has
    not, nor does a runtime bring some in by joining operators."""
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(2, 1000, 100))
    model = mercer.SVC(C=10.0, gamma=0.01).fit(X, X[:, 0] + rng.normal(size=1000) > 0)
    assert model.expansion_._is_worth_float32
    exact, found = model.expansion_.exact(new)[:, 0], run(to_onnx(model), new)
    values = model.decision_function(new)
    np.testing.assert_allclose(found["decision_values"], exact, rtol=0, atol=1e-10)
    np.testing.assert_array_equal(found["label"], model.predict(new))
    np.testing.assert_allclose(values, exact, rtol=0, atol=2e-3 * np.abs(exact).max())
    np.testing.assert_array_equal(values > 0, exact > 0)


def test_rows_one_at_a_time_and_none():
    case = CASES["SVC two classes"]()
    whole = run(to_onnx(case.model), case.rows)["decision_values"]
    one = run(to_onnx(case.model), case.rows[:1])["decision_values"]
    np.testing.assert_allclose(one, whole[:1], rtol=1e-10)
    assert run(to_onnx(case.model), case.rows[:0])["label"].shape == (0,)


def test_the_file_is_what_is_returned(tmp_path):
    case = CASES["LinearSVC"]()
    content = to_onnx(case.model, tmp_path / "m.onnx")
    assert (tmp_path / "m.onnx").read_bytes() == content
    assert content == to_onnx(case.model)  # the same model gives the same bytes


def test_a_search_exports_its_best_model():
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    search = mercer.SVCCV(Cs=[0.1, 1.0], gammas=[0.1], cv=3).fit(X, y)
    np.testing.assert_array_equal(run(to_onnx(search), X)["label"], search.predict(X))


def test_what_cannot_be_exported_is_refused_with_the_reason():
    X, y = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 2
    with pytest.raises(TypeError, match="precomputed"):
        to_onnx(mercer.SVC(kernel="precomputed").fit(X @ X.T, y))
    with pytest.raises(TypeError, match="KernelKMeans cannot be exported"):
        to_onnx(mercer.KernelKMeans(2, random_state=0).fit(X))
    texts = ["ab", "ba", "aa", "bb"] * 3
    model = mercer.SVC(kernel=mercer.kernels.Spectrum(k=1)).fit(texts, np.arange(12) % 2)
    with pytest.raises(TypeError, match="kernels on objects"):
        to_onnx(model)
    from sklearn.decomposition import PCA
    from sklearn.pipeline import make_pipeline

    with pytest.raises(TypeError, match="The step PCA of the pipeline"):
        to_onnx(make_pipeline(PCA(), mercer.SVC()).fit(X, y))


def test_the_command_exports_what_train_wrote(tmp_path, capsys):
    from mercer.cli import main

    rng = np.random.default_rng(1)
    X = rng.normal(5.0, 3.0, size=(80, 2))
    label = np.where(X[:, 0] > X[:, 1], "yes", "no")
    lines = ["a,b,label", *(f"{a},{b},{c}" for (a, b), c in zip(X, label, strict=True))]
    data, file = tmp_path / "d.csv", tmp_path / "d.mercer"
    data.write_text("\n".join(lines), encoding="utf-8")
    assert main(["train", str(data), "--target", "label", "-o", str(file), "-q"]) == 0
    assert main(["export", str(file), "--onnx"]) == 0
    found = run((tmp_path / "d.onnx").read_bytes(), X)
    assert main(["predict", str(file), str(data), "-o", str(tmp_path / "p.csv"), "-q"]) == 0
    predicted = (tmp_path / "p.csv").read_text(encoding="utf-8").split()[1:]
    assert found["label"].tolist() == predicted
    assert main(["export", str(file), "--c", "--name", "m"]) == 0
    assert "m_predict" in (tmp_path / "d.h").read_text(encoding="utf-8")
    capsys.readouterr()
    for words in ([], ["--onnx", "--c"], ["--onnx", "--float"], ["--c", "--name", "2"]):
        assert main(["export", str(file), *words]) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1
