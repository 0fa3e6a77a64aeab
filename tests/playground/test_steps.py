"""Step mode: the steps are the solvers' own, and lead to the same answers."""

from __future__ import annotations

import numpy as np
import pytest

import mercer
from mercer.playground import State, draw
from mercer.playground._fit import fit, kernel_matrix, recipe, rows_and_targets
from mercer.playground._presets import preset
from mercer.playground._steps import can_step, step_history
from mercer.solvers.pegasos._rows import KernelRows
from mercer.solvers.pegasos._state import LossInterval, PegasosState
from mercer.solvers.pegasos._subgradient import single_steps

TWO = ((0.0, 1.0, 1), (0.0, -1.0, 0))


@pytest.mark.parametrize("machine", ["svc", "svr", "oneclass"])
def test_smo_ends_at_the_optimum(machine):
    data = "sine" if machine == "svr" else "overlapping"
    state = State(machine=machine, points=preset(data))
    history = step_history(state)
    last = history.step(5000)
    assert history.is_over
    assert last.certificate.dual == pytest.approx(fit(state).certificate.dual, rel=1e-3)
    assert last.gap < 1e-3


def test_every_pair_raises_the_dual():
    state = State(points=preset("overlapping"))
    y, K = np.where(state.labels == 1, 1.0, -1.0), kernel_matrix(state)
    history = step_history(state)
    history.step(200)
    duals = [step.beta @ y - step.beta @ K @ step.beta / 2 for step in history.steps]
    assert (np.diff(duals) > -1e-12).all()


def test_boxes_hold_the_step():
    """α stays in the box and on its line, [L, H] is what both leave, clipping is a projection."""
    history = step_history(State(points=preset("overlapping"), C=0.5))
    history.step(60)
    for step in history.steps[1:]:
        box = step.box
        for x, y in (box.before, box.after, *box.line):
            assert -1e-12 <= x <= box.bound_i + 1e-12
            assert -1e-12 <= y <= box.bound_j + 1e-12
        assert box.low == pytest.approx(min(y for _, y in box.line))
        assert box.high == pytest.approx(max(y for _, y in box.line))
        assert box.after[1] == pytest.approx(np.clip(box.unclipped[1], box.low, box.high))
        (x0, y0), (x1, y1) = box.line
        turn = (x1 - x0) * (box.unclipped[1] - y0) - (y1 - y0) * (box.unclipped[0] - x0)
        assert turn == pytest.approx(0.0, abs=1e-9 * max(1.0, abs(box.unclipped[0])))


def bias_ends(state: State, beta: np.ndarray) -> tuple[float, float]:
    """The largest b from below and the smallest from above that the KKT conditions ask for."""
    y, K = np.where(state.labels == 1, 1.0, -1.0), kernel_matrix(state)
    e, alpha = y - K @ beta, y * beta
    below = ((y > 0) & (alpha < state.C)) | ((y < 0) & (alpha > 0))
    above = ((y > 0) & (alpha > 0)) | ((y < 0) & (alpha < state.C))
    return float(e[below].max()), float(e[above].min())


def test_no_band_where_no_b_is_optimal():
    """With C this small α is 0 or C after each step. The interval of b is crossed until the end."""
    state = State(points=preset("overlapping"), kernel="linear", C=1e-3)
    history = step_history(state)
    history.step(5000)
    crossed = 0
    for number, step in enumerate(history.steps):
        picture = draw(state.with_(step=number))
        low, high = bias_ends(state, step.beta)
        is_open = low < high - 0.01 and picture.situation.n_free == 0
        crossed += low > high + 0.01 and picture.situation.n_free == 0
        assert bool(picture.band) == is_open
        assert picture.situation.has_band == is_open
        rows = dict(picture.rows)
        assert ("no b is optimal" in rows) == (low > high + picture.situation.wide)
        if low > high + 0.01:  # the violating interval is named, with its ends
            assert f"[{high:.3g}, {low:.3g}]".replace("-", "−") in rows["no b is optimal"]
        if is_open:
            assert (picture.situation.b_low, picture.situation.b_high) == pytest.approx((low, high))
    assert crossed > 10
    assert picture.band  # at the optimum every α is at C, and b is not unique


def test_no_band_around_a_curve_where_no_b_is_optimal():
    state = State(machine="svr", points=preset("sine"), C=1e-3)
    for number in range(1, 8):
        picture = draw(state.with_(step=number))
        assert picture.situation.n_free == 0
        assert picture.situation.is_crossed
        assert picture.curve.shift == (0.0, 0.0)


def test_first_step_of_the_lecture():
    """x = (0, ±1): η = 4, the optimum ½; C = ¼ clips it to H = ¼."""
    free = step_history(State(points=TWO, kernel="linear", C=1.0)).step(1).box
    assert (free.after, free.is_clipped) == ((0.5, 0.5), False)
    clipped = step_history(State(points=TWO, kernel="linear", C=0.25)).step(1).box
    assert (clipped.after, clipped.unclipped, clipped.is_clipped) == (
        (0.25, 0.25),
        (0.5, 0.5),
        True,
    )


def test_perceptron_ends_at_its_estimator():
    state = State(machine="perceptron", points=preset("moons"))
    history = step_history(state)
    history.step(5000)
    rows = np.random.default_rng(0).normal(size=(30, 2))
    last = len(history.steps) - 1
    assert np.allclose(history.fit(last).decide(rows), fit(state).decide(rows))
    assert last == fit(state).model.mistakes_[0]
    wrong = [step.gap for step in history.steps]
    assert wrong[-1] == 0


def test_every_mistake_was_one():
    state = State(machine="perceptron", points=preset("overlapping"))
    history = step_history(state)
    history.step(100)
    y = np.where(state.labels == 1, 1.0, -1.0)
    for before, after in zip(history.steps[:-1], history.steps[1:], strict=True):
        i = after.active[0]
        f = kernel_matrix(state)[i] @ before.beta + before.b
        assert y[i] * f <= 0


def test_pegasos_steps_are_those_of_a_whole_pass():
    state = State(machine="pegasos")
    y, K = np.where(state.labels == 1, 1.0, -1.0), kernel_matrix(state) + 1.0
    n = y.size
    history = step_history(state)
    history.step(n)
    whole = PegasosState(1 / (state.C * n), n)
    whole.reset_signs(n)
    order = np.random.default_rng(0).permutation(n)
    KernelRows(K).run(LossInterval.hinge(y), np.ones(n), order, whole)
    assert np.allclose(history.steps[n].beta, whole.coef(average=False))
    assert [step.active[0] for step in history.steps[1:]] == order.tolist()


def test_single_steps_report_the_pull():
    """An example is pulled if and only if y f < 1 before its step."""
    y = np.array([1.0, -1.0, 1.0])
    K = np.array([[2.0, -1.0, 0.5], [-1.0, 3.0, 0.2], [0.5, 0.2, 1.0]])
    state, rows = PegasosState(0.1, 3), KernelRows(K)
    steps = single_steps(rows, state, LossInterval.hinge(y), np.ones(3), np.random.default_rng(1))
    for _ in range(40):
        f = K @ state.coef(average=False)
        i, pull = next(steps)
        assert pull == (y[i] if y[i] * f[i] < 1 else 0.0)


def test_states_hold_their_step_and_go_back():
    state = State(points=preset("separable"), kernel="linear", step=5000)
    picture = draw(state)
    assert picture.state.step < 50  # as many as there are
    again = draw(State.from_query(picture.state.to_query()))
    assert np.array_equal(again.alpha, picture.alpha)
    before = draw(picture.state.with_(step=picture.state.step - 1))
    assert not np.array_equal(before.alpha, picture.alpha)


def test_where_there_are_no_steps_it_says_so():
    assert can_step(State(machine="ridge", points=preset("sine")))
    assert "two of them" in can_step(State(points=preset("three")))
    assert "finite C" in can_step(State(C=float("inf")))
    assert can_step(State()) is None
    assert draw(State(points=preset("three"), step=4)).state.step is None


def test_the_first_step_of_pegasos_is_the_first_of_the_estimator():
    """One example: the step of the fit with one pass over a single row."""
    state = State(machine="pegasos", points=TWO, kernel="linear")
    X, y = rows_and_targets(state)
    name, arguments = recipe(state)
    model = getattr(mercer, name)(**arguments).fit(X, y)
    assert (
        np.sign(step_history(state).fit(2).decide(X)).tolist()
        == np.sign(model.decision_function(X)).tolist()
    )
