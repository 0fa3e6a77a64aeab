"""Kernels written as formulas: values by the definition, refusals, and no evaluation of text."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.kernels import Kernel
from mercer.playground import State, StateError, draw
from mercer.playground._catalogue import KERNELS
from mercer.playground._fit import kernel_of, quiet
from mercer.playground._formula import FormulaError, parse_kernel
from mercer.playground._held_out import validate
from mercer.playground._presets import preset
from mercer.playground._session import Session

VALUES = {"gamma": 0.7, "degree": 3, "coef0": 0.4}
X, Z = np.random.default_rng(0).normal(size=(2, 6, 2))
DOT = X @ Z.T
SQUARED = ((X[:, None] - Z[None]) ** 2).sum(axis=2)
ABSOLUTE = np.abs(X[:, None] - Z[None]).sum(axis=2)
COSINE = DOT / np.outer(np.linalg.norm(X, axis=1), np.linalg.norm(Z, axis=1))

FORMULAS = {
    "x·z": DOT,
    "x.z": DOT,
    "X * Z": DOT,
    "⟨x, z⟩": DOT,
    "2x·z + 1": 2 * DOT + 1,
    "1 + 2 x·z / 4": 1 + DOT / 2,
    "(1 + x·z)^2": (1 + DOT) ** 2,
    "(x·z)³ + x·z": DOT**3 + DOT,
    "x·z − 1": DOT - 1,
    "(2 x·z − (1 − 0.5))**3": (2 * DOT - 0.5) ** 3,
    "γ x·z": 0.7 * DOT,
    "(γ x·z + c0)^degree": (0.7 * DOT + 0.4) ** 3,
    "exp(−γ ‖x − z‖²)": np.exp(-0.7 * SQUARED),
    "exp(-|x-z|^2 / (2*3^2))": np.exp(-SQUARED / 18),
    "exp(-2||x - z||₁)": np.exp(-2 * ABSOLUTE),
    "exp(-|x-z|_1)": np.exp(-ABSOLUTE),
    "tanh(0.1 x·z - 1)": np.tanh(0.1 * DOT - 1),
    "exp(-1) x·z": np.exp(-1) * DOT,
    "rbf": np.exp(-0.7 * SQUARED),
    "rbf(2) * cosine": np.exp(-2 * SQUARED) * COSINE,
    "rbf(gamma = 1 + 1)^2": np.exp(-4 * SQUARED),
    "poly(2, c0=0)": (0.7 * DOT) ** 2,
    "(1 + dot)^2 + exp(-.1*dist2)": (1 + DOT) ** 2 + np.exp(-0.1 * SQUARED),
    "(x·z + 1) (rbf + 3 rbf(1))": (DOT + 1) * (np.exp(-0.7 * SQUARED) + 3 * np.exp(-SQUARED)),
}


@pytest.mark.parametrize("text", FORMULAS)
def test_values_are_those_of_the_formula(text):
    kernel, used = parse_kernel(text, VALUES)
    np.testing.assert_allclose(kernel(X, Z), FORMULAS[text], rtol=1e-12, atol=1e-14)
    for name in VALUES:  # a parameter is used if and only if another value changes the kernel
        other = parse_kernel(text, {**VALUES, name: 2 * VALUES[name]})[0]
        assert (other != kernel) == (name in used)


@pytest.mark.parametrize("name", KERNELS)
def test_the_formulas_that_the_page_shows_can_be_typed(name):
    if name == "cosine":  # its formula divides by lengths
        return
    kernel = parse_kernel(KERNELS[name].formula, VALUES)[0]
    np.testing.assert_allclose(kernel(X, Z), parse_kernel(name, VALUES)[0](X, Z), rtol=1e-12)


REFUSED = {
    "": "something is missing",
    "x·z +": "something is missing before 'the end'",
    "rbf)": "')' is not expected",
    "(x·z": "')' is expected",
    "x·z − rbf": "a difference of kernels need not be one",
    "−x·z": "must be positive",
    "‖x − z‖²": "a distance alone is no kernel",
    "‖x − z‖": "write ‖x − z‖²",
    "exp(‖x − z‖²)": "exp(…) takes",
    "exp(x·z)": "exp(…) takes",
    "tanh(rbf)": "tanh(…) takes",
    "1 + 1": "does not depend on x and z",
    "rbf − 1": "≥ 0",
    "(x·z)^0.5": "a power in a formula is a whole number",
    "(x·z)^999": "from 1 to 20",
    "rbf(1, 2)": "rbf takes gamma",
    "rbf(gamma=1, γ=2)": "each once",
    "linear(1)": "linear takes no parameters",
    "rbf(x·z)": "gamma of rbf must be a number",
    "rbf(−1)": "gamma",
    "x·z / 0": "only numbers other than 0 divide",
    "x·z / rbf": "only numbers other than 0 divide",
    "exp(1000) x·z": "too large",
    "1e999 x·z": "too large",
    "wave": "'wave' is not known",
    "__import__('os')": "not understood",
    "().__class__": "not understood",
    "(" * 13 + "x·z" + ")" * 13: "nested parentheses",
    "x·z+" * 60: "at most 200 letters",
}


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text[:16])
def test_refusals_say_why(text):
    with pytest.raises(FormulaError) as refused:
        parse_kernel(text, VALUES)
    assert REFUSED[text] in str(refused.value)
    with pytest.raises(StateError):
        State(kernel="formula", formula=text)


@given(st.text("xz·|-−‖²₁_^*+/()0.5 eγ,=<>rbfexptanh", max_size=40))
def test_any_text_is_a_kernel_or_refused(text):
    try:
        kernel, used = parse_kernel(text, VALUES)
    except FormulaError:
        return
    assert isinstance(kernel, Kernel)
    assert used <= set(VALUES)


def test_a_link_carries_the_formula_and_sliders_follow_it():
    state = State(kernel="formula", formula="exp(−γ ‖x − z‖²) x·z", gamma=2.0)
    assert State.from_query(state.to_query()) == state
    assert state.parameters == ("C", "gamma")
    assert State(kernel="formula", formula="(1 + x·z)^degree").parameters == ("C", "degree")


@pytest.mark.parametrize("machine", ["svc", "svr", "oneclass", "perceptron", "pegasos", "logistic",
                                     "kmeans", "ridge"])  # fmt: skip
def test_every_estimator_takes_it_and_the_program_is_the_same(machine, capsys):
    state = State(kernel="formula", formula="rbf(1) + 0.2 (x·z)^2").with_machine(machine)
    picture = draw(state)
    assert picture.explanation.key != "refused", picture.explanation.text
    made: dict = {"__name__": "exported"}
    with quiet():
        exec(picture.code, made)
    assert made["model"].kernel_ == kernel_of(state)


def test_a_formula_of_a_named_kernel_gives_its_picture():
    named = State(points=preset("overlapping"), gamma=2.0, folds=4)
    written = named.with_(kernel="formula", formula="exp(−γ ‖x − z‖²)")
    np.testing.assert_array_equal(draw(written).alpha, draw(named).alpha)
    one, other = validate(named, None), validate(written, None)
    np.testing.assert_array_equal(one.predicted, other.predicted)
    np.testing.assert_array_equal(one.map.gammas, other.map.gammas)
    np.testing.assert_allclose(one.map.error, other.map.error, atol=1e-12)
    fixed = validate(named.with_(kernel="formula", formula="rbf(3)"), None)
    assert fixed.map.error.shape[0] == 1  # no γ: along C only


def test_typing_is_undone_and_mistakes_keep_the_picture():
    session = Session()
    session.handle({"do": "formula", "value": "(1 + x·z)^2"})
    session.refresh()
    assert session.state.kernel == "formula"
    session.handle({"do": "formula", "value": "x·z +"})
    session.refresh()
    assert session.is_error
    assert "missing" in session.message
    assert session.state.formula == "(1 + x·z)^2"
    session.handle({"do": "undo"})
    assert session.state == State()
