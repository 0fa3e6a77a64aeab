"""The optimum in extended precision: a primal-dual interior point method on the dual QP.

    minimise ½ βᵀ(K + diag)β − tᵀβ   subject to   L ≤ β ≤ U,  sums of β over groups given

Newton's method on the optimality conditions (K + diag)β − t + Aᵀb − z + v = 0, z(β − L) = μ,
v(U − β) = μ, μ driven to zero (Nocedal and Wright, Numerical Optimization, ch. 16.6), on midpoints
of balls. What it returns needs no proof: the primal and the dual value of its answer, evaluated as
rigorously as a model's, enclose the optimal value.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import arb, arb_mat, fmpq

from tests.oracles.dense_qp import solve_box_qp
from tests.soundness.exact import rational
from tests.soundness.machines import Task

__all__ = ["float_optimum", "optimum"]

ROUNDS = 100


class _Variables:
    """The box QP of a task: two variables for each point of a regression."""

    def __init__(self, task: Task):
        n = len(task.rows)
        low, high = task.box
        self.n = n
        if task.kind in ("svr", "nu_svr"):
            self.row = [*range(n), *range(n)]
            self.low = [fmpq(0)] * n + low
            self.high = high + [fmpq(0)] * n
            self.target = [v - task.epsilon for v in task.y] + [v + task.epsilon for v in task.y]
            self.groups = [list(range(2 * n))]
            self.sums = [fmpq(0)]
            if task.kind == "nu_svr":
                self.groups = [list(range(n)), list(range(n, 2 * n))]
                self.sums = [task.nu_sum / 2, -task.nu_sum / 2]
        else:
            self.row, self.low, self.high = list(range(n)), low, high
            self.target = list(task.y) if task.kind == "svc" else [fmpq(0)] * n
            self.groups, self.sums = [list(range(n))], [fmpq(0)]
            if task.kind == "one_class":
                self.sums = [task.nu_sum]
            if task.kind == "nu_svc":
                self.groups = [[i for i in range(n) if task.y[i] * c > 0] for c in (1, -1)]
                self.sums = [task.nu_sum / 2, -task.nu_sum / 2]
        self.diag = [task.diag[i] for i in self.row]
        if not task.has_bias:
            self.groups, self.sums = [], []


def optimum(task: Task, K: arb_mat, accuracy: float) -> tuple[list[fmpq], Any]:
    """β of each point and the intercept, to a duality gap of about ``accuracy``.

    Variables whose box is a point are left where they are.
    """
    v = _Variables(task)
    state = _State(v, K)
    goal = arb(accuracy) / (4 * max(1, len(v.row)))
    factor = arb(1) / 10
    for _ in range(ROUNDS):
        mu = state.mu()
        if mu < goal and state.sums_are_right(goal):
            break
        step = state.advance(mu * factor)
        factor = arb(1) / 1000 if step > 0.9 else arb(1) / 10 if step > 0.3 else arb(1) / 2
    beta = [fmpq(0)] * v.n
    for i, value in zip(v.row, state.beta, strict=True):
        beta[i] += value.fmpq()
    b = sum(state.b, arb(0)) / max(1, len(state.b))
    return beta, b.mid() if state.b else arb(0)


def float_optimum(task: Task, K: arb_mat, accuracy: float) -> tuple[list[fmpq], Any]:
    """The same in float64, by the dense oracle of the other tests."""
    v = _Variables(task)
    n = v.n
    Q = np.array([float(x.mid()) for x in K.entries()]).reshape(n, n)
    size = float(np.abs(Q).max()) or 1.0  # variables in units in which K is of size one
    A = np.zeros((len(v.groups), len(v.row)))
    for g, group in enumerate(v.groups):
        A[g, group] = 1.0
    low, high = (
        np.array([sign * np.inf if x is None else _float(x) for x in ends]) * size
        for sign, ends in ((-1, v.low), (1, v.high))
    )
    curvature = Q[np.ix_(v.row, v.row)] + np.diag([_float(x) for x in v.diag])
    target, sums = ([_float(x) for x in values] for values in (v.target, v.sums))
    beta, b = solve_box_qp(curvature / size, np.array(target), low, high, A, np.array(sums) * size)
    net = np.bincount(v.row, weights=beta / size, minlength=n)
    if not (np.isfinite(net).all() and np.isfinite(b).all()):
        raise ValueError("no optimum in float64")
    return [rational(x) for x in net], arb(float(np.mean(b))) if len(b) else arb(0)


def _float(value: fmpq) -> float:
    return float(arb(value).mid())


class _State:
    """Where the method stands; all numbers are exact midpoints."""

    def __init__(self, v: _Variables, K: arb_mat):
        self.v, self.K = v, K.mid()
        self.entries = self.K.tolist()
        self.low = [None if x is None else arb(x) for x in v.low]
        self.high = [None if x is None else arb(x) for x in v.high]
        self.fixed = [x is not None and x == y for x, y in zip(v.low, v.high, strict=True)]
        self.target = [arb(x) for x in v.target]
        self.diag = [arb(x).mid() for x in v.diag]
        self.beta = [self._inside(k) for k in range(len(v.row))]
        self.b = [arb(0) for _ in v.groups]
        sizes = [abs(g) for g in self._gradient()]
        size = max(sizes, default=arb(1), key=lambda a: a.mid()) + arb(2) ** -1000
        self.z = [self._start(low, k, size) for k, low in enumerate(self.low)]
        self.u = [self._start(high, k, size) for k, high in enumerate(self.high)]

    def _inside(self, k: int) -> arb:
        low, high = self.low[k], self.high[k]
        if low is not None and high is not None:
            return ((low + high) / 2).mid()
        curvature = self.entries[self.v.row[k]][self.v.row[k]] + self.diag[k]
        far = (1 / curvature).mid() if curvature > 0 else arb(1)
        return (low + far).mid() if low is not None else (high - far).mid()

    def _start(self, bound: Any, k: int, size: arb) -> arb | None:
        return None if bound is None or self.fixed[k] else size.mid()

    def _gradient(self) -> list[arb]:
        net = [arb(0)] * self.v.n
        for i, value in zip(self.v.row, self.beta, strict=True):
            net[i] = net[i] + value
        image = (self.K * arb_mat([[x.mid()] for x in net])).entries()
        return [
            (image[i] + d * x - t).mid()
            for i, d, x, t in zip(self.v.row, self.diag, self.beta, self.target, strict=True)
        ]

    def mu(self) -> arb:
        total, count = arb(0), 0
        for k, beta in enumerate(self.beta):
            if self.z[k] is not None:
                total, count = total + self.z[k] * (beta - self.low[k]), count + 1
            if self.u[k] is not None:
                total, count = total + self.u[k] * (self.high[k] - beta), count + 1
        return (total / max(1, count)).mid()

    def sums_are_right(self, goal: arb) -> bool:
        """Whether moving what the sums lack changes the value by no more than ``goal``, about."""
        for g, (group, wanted) in enumerate(zip(self.v.groups, self.v.sums, strict=True)):
            off = abs(sum((self.beta[k] for k in group), arb(0)) - arb(wanted))
            if not off * abs(self.b[g]) <= goal:
                return False
        return True

    def advance(self, mu: arb) -> float:
        """One Newton step towards the centre of parameter μ; how long it was.

        With D the diagonal of the barriers and diag, Kδ + DΔ + Aᵀdb = r, where δ sums Δ over the
        variables of a point. Eliminating Δ = D⁻¹(r − Kδ − Aᵀdb) leaves (E + K)δ + ... = ... with
        one row for each point, E the inverse of ΣD⁻¹ over its variables.
        """
        n, m = self.v.n, len(self.v.groups)
        inverse, r, of_group = self._barriers(mu)
        M = [[arb(0)] * (n + m) for _ in range(n + m)]
        rhs = [arb(0)] * (n + m)
        weight = [arb(0)] * n
        for k, i in enumerate(self.v.row):
            weight[i] = weight[i] + inverse[k]
            rhs[i] = rhs[i] + inverse[k] * r[k]
            if of_group[k] is not None:
                M[i][n + of_group[k]] = M[i][n + of_group[k]] + inverse[k]
        for i in range(n):
            if weight[i].is_zero():  # nothing moves here
                M[i][i] = arb(1)
                continue
            e = 1 / weight[i]
            M[i] = [*self.entries[i], *(x * e for x in M[i][n:])]
            M[i][i] = M[i][i] + e
            rhs[i] = rhs[i] * e
        for g, (group, wanted) in enumerate(zip(self.v.groups, self.v.sums, strict=True)):
            row = arb_mat(1, n, self._shares(group, inverse)) * self.K
            M[n + g][:n] = (-row).entries()
            M[n + g][n + g] = -sum((inverse[k] for k in group), arb(0))
            rhs[n + g] = arb(wanted) - sum(
                (self.beta[k] + inverse[k] * r[k] for k in group), arb(0)
            )
        system = arb_mat([[x.mid() for x in row] for row in M])
        right = arb_mat([[x.mid()] for x in rhs])
        answer = system.solve(right, algorithm="approx").mid().entries()
        image = (self.K * arb_mat([[x] for x in answer[:n]])).entries()
        d = [
            (
                inverse[k]
                * (r[k] - image[i] - (0 if of_group[k] is None else answer[n + of_group[k]]))
            ).mid()
            for k, i in enumerate(self.v.row)
        ]
        return self._move(d, answer[n:], mu)

    def _shares(self, group: list[int], inverse: list[arb]) -> list[arb]:
        shares = [arb(0)] * self.v.n
        for k in group:
            shares[self.v.row[k]] = shares[self.v.row[k]] + inverse[k]
        return shares

    def _barriers(self, mu: arb) -> tuple[list[arb], list[arb], list[Any]]:
        """D⁻¹, the right-hand sides r, and the group of every variable."""
        of_group: list[Any] = [None] * len(self.beta)
        for g, group in enumerate(self.v.groups):
            for k in group:
                of_group[k] = g
        r = [-g for g in self._gradient()]
        inverse = []
        for k, beta in enumerate(self.beta):
            if of_group[k] is not None:
                r[k] = r[k] - self.b[of_group[k]]
            D = self.diag[k]
            if self.z[k] is not None:
                D, r[k] = D + self.z[k] / (beta - self.low[k]), r[k] + mu / (beta - self.low[k])
            if self.u[k] is not None:
                D, r[k] = D + self.u[k] / (self.high[k] - beta), r[k] - mu / (self.high[k] - beta)
            inverse.append(arb(0) if self.fixed[k] else (1 / D).mid())
        return inverse, [x.mid() for x in r], of_group

    def _move(self, d: list[arb], db: list[arb], mu: arb) -> float:
        dz: list[Any] = [None] * len(d)
        du: list[Any] = [None] * len(d)
        ratio = arb(0)
        for i, beta in enumerate(self.beta):
            if self.z[i] is not None:
                gap = beta - self.low[i]
                dz[i] = (mu - self.z[i] * d[i]) / gap - self.z[i]
                ratio = arb.max(ratio, arb.max(-d[i] / gap, -dz[i] / self.z[i]))
            if self.u[i] is not None:
                gap = self.high[i] - beta
                du[i] = (mu + self.u[i] * d[i]) / gap - self.u[i]
                ratio = arb.max(ratio, arb.max(d[i] / gap, -du[i] / self.u[i]))
        a = min(1.0, 0.995 / max(float(ratio.mid()), 1e-9))
        scale = arb(a)
        self.beta = [(x + scale * y).mid() for x, y in zip(self.beta, d, strict=True)]
        self.b = [(x + scale * y).mid() for x, y in zip(self.b, db, strict=True)]
        self.z = [
            None if x is None else (x + scale * y).mid() for x, y in zip(self.z, dz, strict=True)
        ]
        self.u = [
            None if x is None else (x + scale * y).mid() for x, y in zip(self.u, du, strict=True)
        ]
        return a
