"""The oracle itself: against closed forms, a float64 interior point method, a linear program."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("flint")

from flint import arb, fmpq

import mercer
from mercer.kernels import RBF, Constant, Cosine, Laplacian, Linear, Polynomial
from mercer.solvers._registry import NAMES as SOLVERS
from tests.linear.hard_problems import problem as linear_problem
from tests.oracles.naive_kernels import naive_matrix
from tests.soundness import run as soundness_run
from tests.soundness.exact import (
    MOST_ENTRIES,
    Rows,
    _long_sums,
    kernel_matrix,
    kernel_sums,
    rational,
)
from tests.soundness.generator import as_code, data, estimator, problem
from tests.soundness.interior import float_optimum, optimum
from tests.soundness.machines import Task, dual, feasible, primal, read_tasks
from tests.soundness.oracle import examine, sharpen
from tests.soundness.separable import is_separable

KERNELS = [
    Linear(), RBF(gamma=0.3), Laplacian(gamma=0.7), Polynomial(3, 0.5, 1.0), Cosine(),
    RBF(gamma=0.3) + 0.2 * Linear(), RBF(gamma=0.3) * Polynomial(2, 0.5, 1.0),
    (Linear() + 2.0) ** 2, Laplacian(gamma=0.2) + Constant(3.0),
]  # fmt: skip


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("storage", [np.float64, np.float32, np.int64, "csr"])
def test_exact_kernel_values_are_those_of_the_definition(kernel, storage):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(7, 3)) * 3
    X = sp.csr_matrix(X) if storage == "csr" else X.astype(storage)
    dense = X.toarray() if storage == "csr" else X
    K = kernel_matrix(kernel, Rows(X), range(7), range(2, 5))
    values = np.array([float(v) for v in K.entries()]).reshape(7, 3)
    np.testing.assert_allclose(values, naive_matrix(kernel, dense, dense[2:5]), rtol=1e-12)


def test_cosine_of_a_row_of_zeros_is_zero():
    K = kernel_matrix(Cosine(), Rows([[0.0, 0.0], [3.0, 4.0]]), range(2), range(2))
    assert [float(v) for v in K.entries()] == [0, 0, 0, 1]


def test_squared_distances_do_not_cancel():
    """1e9 and 1e9 + 2⁻²³: float64 norms agree in all digits, the distance is exact here."""
    X = np.array([[1e9], [1e9 + 2.0**-23]])
    K = kernel_matrix(RBF(gamma=2.0**46), Rows(X), [0], [1])
    assert abs(K[0, 0] - arb(-1).exp()) < arb(2) ** -300


@pytest.mark.parametrize("kernel", [RBF(gamma=0.3), Laplacian(gamma=0.4)], ids=repr)
def test_long_double_sums_hold_the_exact_ones(kernel):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(40, 4)) + 1e6 * (np.arange(40) % 2)[:, np.newaxis]
    coef = [rational(v) for v in rng.normal(size=40) * 10 ** rng.uniform(-6, 6, 40)]
    rows = Rows(X)
    exact = kernel_sums(kernel, rows, range(40), range(40), [coef])[0]
    assert MOST_ENTRIES > 40 * 40
    long = _long_sums(kernel, rows, range(40), range(40), [coef])[0]
    assert all(a.contains(b.mid()) for a, b in zip(long, exact, strict=True))
    assert max(float(v.rad()) for v in long) < 1e-8


# ---------------------------------------------------------------------- values of machines


def _task(kind, y, s, beta, b=0.0, epsilon=0.0, nu_sum=0.0, has_bias=True):
    n = len(y)
    return Task(
        kind, list(range(n)), [rational(v) for v in y], [rational(s)] * n,
        [rational(v) for v in beta], rational(b), rational(epsilon), rational(nu_sum), has_bias,
    )  # fmt: skip


def test_two_points_have_a_closed_form():
    """x = ±1, C large: w = 1, b = 0, P* = ½ at β = ±½."""
    task = _task("svc", [1, -1], 10.0, [0.5, -0.5])
    truth = examine(task, Linear(), Rows([[1.0], [-1.0]]))
    assert truth.primal.contains(fmpq(1, 2))
    assert truth.low.contains(fmpq(1, 2))
    assert truth.violation.contains(0)


def test_a_wrong_model_has_its_gap():
    """β = 0, b = 0 at the same points: P = 2C, P* = ½; the violation is 2."""
    task = _task("svc", [1, -1], 10.0, [0.0, 0.0])
    rows = Rows([[1.0], [-1.0]])
    truth = examine(task, Linear(), rows)
    assert sharpen(truth, Linear(), rows, 1e-20)
    assert abs(truth.gap_at_least() - (20 - fmpq(1, 2))) < 1e-18
    assert abs(truth.gap_at_most() - (20 - fmpq(1, 2))) < 1e-18
    assert truth.violation.contains(2)


def test_squared_slacks_of_two_points_have_a_closed_form():
    """x = ±1: P = ½w² + 2C(1 − w)², least at w = 4C/(1 + 4C) with the value 2C/(1 + 4C)."""
    C = fmpq(3)
    w = 4 * C / (1 + 4 * C)
    beta = [w / 2, -w / 2]
    task = replace(_task("svc", [1, -1], 3.0, [0.0, 0.0]), beta=beta, squared=True)
    rows = Rows([[1.0], [-1.0]])
    truth = examine(task, Linear(), rows)
    best = 2 * C / (1 + 4 * C)
    assert truth.primal.contains(best)
    assert truth.low.contains(best)
    assert truth.violation.contains(0)
    zero = examine(replace(task, beta=[fmpq(0)] * 2), Linear(), rows)
    assert zero.primal.contains(2 * C)
    assert sharpen(zero, Linear(), rows, 1e-25)
    assert abs(zero.high - best) < 1e-22
    assert abs(zero.low - best) < 1e-22


def _fits():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(22, 3))
    labels = (X[:, 0] + 0.5 * rng.normal(size=22) > 0).astype(int)
    targets = np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=22)
    weight = rng.uniform(0.2, 3.0, 22)
    machines = {
        "svc": (mercer.SVC(C=3.0), labels),
        "svc without intercept": (mercer.SVC(C=3.0, fit_intercept=False), labels),
        "three classes": (mercer.SVC(C=3.0), labels + (X[:, 1] > 0.5)),
        "nu-svc": (mercer.NuSVC(nu=0.4), labels),
        "svr": (mercer.SVR(C=2.0, kernel="poly", degree=2), targets),
        "nu-svr": (mercer.NuSVR(C=2.0, nu=0.4), targets),
        "one-class": (mercer.OneClassSVM(nu=0.3), None),
        "squared hinge": (mercer.SVC(C=3.0, loss="squared_hinge"), labels),
        "squared hinge without intercept": (
            mercer.SVC(C=3.0, loss="squared_hinge", fit_intercept=False),
            labels,
        ),
        "squared svr": (mercer.SVR(C=2.0, loss="squared_epsilon_insensitive"), targets),
    }
    return X, weight, machines


@pytest.mark.parametrize("name", list(_fits()[2]))
def test_interior_points_agree_with_each_other_and_with_the_model(name):
    """Values in 330 bits and in float64 enclose the same optimum, next to a solved model."""
    X, weight, machines = _fits()
    machine, y = machines[name]
    model = machine.set_params(tol=1e-8).fit(X, y, sample_weight=weight)
    rows = Rows(X)
    for task in read_tasks(model, y, weight, len(X)):
        truth = examine(task, model.kernel_, rows)
        near = float(truth.primal)
        assert sharpen(truth, model.kernel_, rows, 1e-25)
        assert truth.high - truth.low <= 1e-22
        assert not truth.high < truth.low
        assert abs(float(truth.high) - near) <= 1e-6 * (1 + abs(near))
        K = kernel_matrix(model.kernel_, rows, task.rows, task.rows)
        for solve in (optimum, float_optimum):
            beta = feasible(task, solve(task, K, 1e-12)[0])
            quad = _quad(K, beta)
            assert truth.high - dual(task, beta, quad) <= 1e-8 * (1 + abs(near))


def _quad(K, beta):
    n = len(beta)
    return sum((arb(beta[i] * beta[j]) * K[i, j] for i in range(n) for j in range(n)), arb(0))


@pytest.mark.parametrize("name", list(_fits()[2]))
def test_repaired_duals_are_feasible_without_rounding(name):
    X, weight, machines = _fits()
    machine, y = machines[name]
    model = machine.fit(X, y, sample_weight=weight)
    for task in read_tasks(model, y, weight, len(X)):
        beta = feasible(task)
        low, high = task.box
        for a, v, b in zip(low, beta, high, strict=True):
            assert a is None or a <= v
            assert b is None or v <= b
        total = sum(beta, fmpq(0))
        size = sum(map(abs, beta), fmpq(0))
        if task.kind == "one_class":
            assert total == task.nu_sum
        elif task.has_bias:
            assert total == 0
        if task.kind == "nu_svc":
            assert size == task.nu_sum
        if task.kind == "nu_svr":
            assert size <= task.nu_sum


def test_primal_of_a_hard_margin_is_infinite_where_a_row_is_on_the_wrong_side():
    task = Task(
        "svc", [0, 1], [fmpq(1), fmpq(-1)], [None, None], [fmpq(1, 2), fmpq(-1, 2)], fmpq(2),
        fmpq(0), fmpq(0), True,
    )  # fmt: skip
    assert not primal(task, [arb(1), arb(-1)], arb(1)).is_finite()
    assert primal(task, [arb(1), arb(-1)], arb(1), arb(0)).contains(fmpq(1, 2))


# ---------------------------------------------------------------------- separability


@pytest.mark.parametrize("seed", range(40))
def test_separability_agrees_with_a_linear_program(seed):
    from scipy.optimize import linprog

    rng = np.random.default_rng(seed)
    n, d, has_bias = int(rng.integers(2, 30)), int(rng.integers(1, 4)), bool(seed % 3)
    X = rng.normal(size=(n, d))
    y = np.where(X @ rng.normal(size=d) + 0.3 * rng.normal(size=n) * (seed % 2) > 0.1, 1, -1)
    A = np.c_[X, np.ones(n)] if has_bias else X
    found = linprog(np.zeros(A.shape[1]), -(y[:, None] * A), -np.ones(n), bounds=(None, None))
    rows = list(range(n))
    assert is_separable(Linear(), Rows(X), rows, y.tolist(), has_bias) == (found.status == 0)


def test_separability_is_exact():
    """Columns of 1e-7 beside ones of 1: a hyperplane there is; equal rows of two classes: none."""
    rows = Rows([[9e-8, -1.9], [9e-8, 1.1], [-9e-8, 0.5]])
    assert is_separable(Linear(), rows, [0, 1, 2], [1, 1, -1], True)
    same = Rows([[1e8, 1.0], [1e8, 1.0]])
    for kernel in (Linear(), RBF(), Polynomial(2, 1.0, 1.0)):
        assert not is_separable(kernel, same, [0, 1], [1, -1], True)
    line = Rows([[0.0], [1.0], [2.0]])
    assert not is_separable(Linear(), line, [0, 1, 2], [1, -1, 1], True)
    assert is_separable(Polynomial(2, 1.0, 1.0), line, [0, 1, 2], [1, -1, 1], True)


# ---------------------------------------------------------------------- generator and runner


def test_a_problem_follows_from_its_seed():
    for seed in range(60):
        first, second = problem(seed), problem(seed)
        assert first == second
        for a, b in zip(data(first), data(second), strict=True):
            a, b = (v.toarray() if sp.issparse(v) else v for v in (a, b))
            np.testing.assert_array_equal(a, b)
        assert repr(estimator(first)) == repr(estimator(second))


def test_variations_are_drawn():
    """Squared slacks, every solver, relative gaps and hard margins of linear models."""
    params = [dict(p.params) for p in map(problem, range(6000)) if p.is_svm]
    assert {p.get("loss") for p in params} == {
        None,
        "squared_hinge",
        "squared_epsilon_insensitive",
    }
    assert {p["solver"] for p in params if "solver" in p} == set(SOLVERS) - {"smo"}
    assert any("gap_tol" in p for p in params)
    assert any("on_interrupt" in p for p in params)
    assert any(np.isinf(linear_problem(seed)["params"]["C"]) for seed in range(100))


def test_a_journal_becomes_a_table(tmp_path, capsys):
    journal = tmp_path / "journal.jsonl"
    records = [
        {"seed": 0, "kind": "SVC", "seconds": 0.1, "failures": []},
        {"seed": 1, "kind": "SVC", "seconds": 0.1, "failures": [["gap", "small"]]},
        {"seed": 2, "kind": "SVR", "seconds": 0.1, "failures": [["undecided", "?"]]},
    ]
    journal.write_text("".join(json.dumps(record) + "\n" for record in records))
    assert soundness_run.main(["--table", str(journal)]) == 0
    assert capsys.readouterr().out.splitlines()[2:] == [
        "| SVC | 2 | 1 | 0 |",
        "| SVR | 1 | 0 | 1 |",
        "| all | 3 | 1 | 1 |",
    ]


@pytest.mark.parametrize("seed", [1, 7, 13])
def test_code_is_complete(seed):
    """The script holds the same numbers as the problem."""
    compile(as_code(problem(seed)), "problem", "exec")
    script = as_code(problem(seed)).split("model.fit")[0]
    names: dict = {}
    exec(script.split("model =")[0], names)
    X, y, weight = data(problem(seed))
    pairs = zip((X, y, weight), (names["X"], names["y"], names["weight"]), strict=True)
    for mine, printed in pairs:
        mine, printed = (v.toarray() if sp.issparse(v) else v for v in (mine, printed))
        np.testing.assert_array_equal(mine, printed)


def test_journal_is_resumed(tmp_path, monkeypatch, capsys):
    """Problems in the journal are not checked again; a broken last line is ignored."""
    journal = tmp_path / "journal.jsonl"
    good = {"seed": 0, "kind": "SVC", "seconds": 0.1, "failures": []}
    journal.write_text(json.dumps(good) + '\n{"seed": 1, "ki')
    asked = []

    class Pool(contextlib.nullcontext):
        def __init__(self, jobs, watchdog):
            super().__init__()

        def run(self, seeds):
            for seed in seeds:
                asked.append(seed)
                yield {"seed": seed, "kind": "SVC", "seconds": 0.1, "failures": [("gap", "small")]}

    monkeypatch.setattr(soundness_run, "Pool", Pool)
    assert soundness_run.main(["--count", "3", "--resume", str(journal)]) == 1
    assert asked == [1, 2]
    assert "seed 1" in capsys.readouterr().err
    asked.clear()
    assert soundness_run.main(["--count", "1", "--resume", str(journal)]) == 0
    assert asked == []
