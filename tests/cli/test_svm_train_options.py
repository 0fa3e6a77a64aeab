"""svm-train's letters mean what they mean there, and never override mercer's own options."""

from __future__ import annotations

import pytest

from mercer.cli._errors import UsageError
from mercer.cli._libsvm import SVM_TRAIN_OPTIONS
from mercer.cli._libsvm import translate_svm_train_options as translate
from mercer.cli._options import join_weights

NOTHING = dict.fromkeys(
    [
        "machine",
        "kernel",
        "scale",
        *SVM_TRAIN_OPTIONS,
        *(name for name, _ in SVM_TRAIN_OPTIONS.values()),
    ]
)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["-w1", "5", "data"], ["-w", "1=5", "data"]),
        (["-w-1", "0.5", "-w+1", "2"], ["-w", "-1=0.5", "-w", "+1=2"]),
        (["-c", "1", "data"], ["-c", "1", "data"]),
        (["-w1"], ["-w1"]),  # no factor: the parser complains
        (["-w", "1=5"], ["-w", "1=5"]),
    ],
)
def test_weights_are_one_option_with_two_values(arguments, expected):
    assert join_weights(arguments) == expected


@pytest.mark.parametrize(
    ("letter", "value", "name", "expected"),
    [
        ("s", 0, "machine", "svc"),
        ("s", 1, "machine", "nusvc"),
        ("s", 2, "machine", "oneclass"),
        ("s", 3, "machine", "svr"),
        ("s", 4, "machine", "nusvr"),
        ("t", 0, "kernel", "linear"),
        ("t", 1, "kernel", "poly"),
        ("t", 2, "kernel", "rbf"),
        ("t", 3, "kernel", "sigmoid"),
        ("t", 4, "kernel", "precomputed"),
        ("d", 2, "degree", 2),
        ("g", 0.5, "gamma", "0.5"),
        ("r", -1.0, "coef0", -1.0),
        ("c", 10.0, "C", 10.0),
        ("n", 0.1, "nu", 0.1),
        ("p", 0.2, "epsilon", 0.2),
        ("m", 40.0, "cache_size", 40.0),
        ("e", 0.01, "tol", 0.01),
        ("h", 0, "shrinking", False),
        ("b", 1, "probability", True),
        ("w", ["1=5"], "class_weight", ["1=5"]),
        ("v", 5, "cv", 5),
    ],
)
def test_letters_stand_for_options(letter, value, name, expected):
    # ν and ε matter for other types than a C-SVC, which has no use for them.
    types = {"n": {"s": 1}, "p": {"s": 3}}.get(letter, {})
    words = translate({**NOTHING, **types, letter: value})
    assert words[name] == expected
    assert words["only_validate"] is (letter == "v")
    assert not set(SVM_TRAIN_OPTIONS) & set(words)


def test_with_a_letter_the_rest_has_the_defaults_of_svm_train():
    words = translate({**NOTHING, "c": 1.0})
    assert (words["machine"], words["gamma"], words["scale"]) == ("svc", "auto", "none")
    assert translate({**NOTHING, "c": 1.0, "scale": "minmax"})["scale"] == "minmax"
    other = translate({**NOTHING, "c": 1.0, "machine": "linear-svc"})
    assert (other["machine"], other["gamma"]) == ("linear-svc", None)  # not one of svm-train's
    words = translate(NOTHING)
    assert (words["machine"], words["gamma"], words["scale"]) == (None, None, None)


@pytest.mark.parametrize("letter", SVM_TRAIN_OPTIONS)
def test_a_conflict_names_both(letter):
    name = SVM_TRAIN_OPTIONS[letter][0]
    with pytest.raises(UsageError, match=rf"-{letter} and -+{name.replace('_', '-')} are the same"):
        translate({**NOTHING, letter: [1] if letter == "w" else 1, name: "x"})


@pytest.fixture
def rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f"{label} 1:{label * (1 + k % 3)} 2:{k}" for k in range(12) for label in (1, -1)]
    (tmp_path / "rows.svm").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


def test_quiet_cross_validation_prints_its_score(rows, mercer):
    """As svm-train: there is nothing else to see."""
    code, out, _ = mercer("train", "-v", "3", "-q", "rows.svm")
    assert code == 0
    assert out.startswith("Cross Validation Accuracy = ")


@pytest.mark.parametrize(
    ("words", "why"),
    [("-s 1", "as svm-train's -s"), ("-c 2", "as svm-train's -s"),
     ("-c 2 --machine nusvc", "given by --machine"), ("--machine svc", "given by --machine")],
)  # fmt: skip
def test_why_the_machine_is_what_it_is(rows, mercer, words, why):
    code, out, _ = mercer("train", *words.split(), "rows.svm")
    assert code == 0
    assert f": {why}\n" in out


def test_predict_takes_the_order_of_svm_predict(rows, mercer):
    assert mercer("train", "-t", "0", "rows.svm", "rows.mercer")[0] == 0
    assert mercer("predict", "rows.mercer", "rows.svm", "ours")[0] == 0
    assert mercer("predict", "rows.svm", "rows.mercer", "theirs")[0] == 0
    assert (rows / "ours").read_bytes() == (rows / "theirs").read_bytes()


def test_a_model_of_libsvm_is_named_in_either_order(tmp_path, monkeypatch, mercer):
    """``svm-predict data model out``: the second file is the model, which has to be converted."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").write_text("1 1:1\n-1 1:-1\n")
    (tmp_path / "old.model").write_text("svm_type c_svc\nkernel_type linear\n")
    for order in (("data", "old.model", "out"), ("old.model", "data")):
        code, _, err = mercer("predict", *order)
        assert code == 1
        assert "old.model: is a model of LIBSVM or LIBLINEAR: mercer convert" in err
        assert "Python" not in err


def test_a_model_is_not_converted_to_data(tmp_path, monkeypatch, mercer):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").write_text("1 1:1\n-1 1:-1\n" * 20)
    assert mercer("train", "data", "m.mercer", "-q")[0] == 0
    code, _, err = mercer("convert", "m.mercer", "m.libsvm")
    assert code == 2
    assert "--to libsvm" in err
