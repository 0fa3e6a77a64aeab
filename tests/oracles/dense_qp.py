"""An independent oracle: a primal-dual interior point method for small dense box QPs.

    minimise ½ βᵀQβ − tᵀβ   subject to   L ≤ β ≤ U,  A β = s

Newton's method on the KKT conditions Qβ − t + Aᵀb − z + v = 0, z(β − L) = μ, v(U − β) = μ, with μ
driven to zero (Nocedal and Wright, Numerical Optimization, ch. 16.6). It shares nothing with
Mercer's solvers: no working sets, no pairs, no bookkeeping of gradients.
"""

from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_limits


def solve_box_qp(Q, t, lower, upper, A, s, *, rounds=100, mu_end=1e-11):
    """Return β and the multipliers b of A β = s; bounds may be infinite on one side."""
    n, m = len(t), len(s)
    has_l, has_u = np.isfinite(lower), np.isfinite(upper)
    beta = np.where(has_l & has_u, (lower + upper) / 2, np.where(has_l, lower + 1, upper - 1))
    b, z, v = np.zeros(m), np.where(has_l, 1.0, 0.0), np.where(has_u, 1.0, 0.0)
    for _ in range(rounds):
        gap_l = np.where(has_l, beta - lower, 1.0)
        gap_u = np.where(has_u, upper - beta, 1.0)
        mu = (z @ gap_l + v @ gap_u) / (has_l.sum() + has_u.sum())
        if mu < mu_end:
            break
        mu *= 0.1
        H = Q + np.diag(z / gap_l + v / gap_u)
        rhs = t - Q @ beta - A.T @ b
        rhs += np.where(has_l, mu / gap_l, 0.0) - np.where(has_u, mu / gap_u, 0.0)
        M = np.block([[H, A.T], [A, np.zeros((m, m))]])
        step = np.linalg.solve(M, np.concatenate([rhs, s - A @ beta]))
        d = step[:n]
        dz = np.where(has_l, (mu - z * d) / gap_l - z, 0.0)
        dv = np.where(has_u, (mu + v * d) / gap_u - v, 0.0)
        inside = np.concatenate([gap_l[has_l], gap_u[has_u], z[has_l], v[has_u]])
        change = np.concatenate([d[has_l], -d[has_u], dz[has_l], dv[has_u]])
        a = min(1.0, 0.995 / max(np.max(-change / inside), 1e-9))
        beta, b, z, v = beta + a * d, b + a * step[n:], z + a * dz, v + a * dv
    return polish(Q, t, lower, upper, A, s, beta, b, z, v)


def polish(Q, t, lower, upper, A, s, beta, b, z, v):
    """Of a bound's slack and its multiplier one is zero: fix the active ones, solve the rest."""
    fixed_l, fixed_u = beta - lower < z, upper - beta < v
    beta = np.where(fixed_l, lower, np.where(fixed_u, upper, beta))
    free = ~(fixed_l | fixed_u)
    M = np.block([[Q[np.ix_(free, free)], A[:, free].T], [A[:, free], np.zeros((len(s), len(s)))]])
    rhs = np.concatenate([t[free] - Q[free] @ beta - A[:, free].T @ b, s - A @ beta])
    step = np.linalg.lstsq(M, rhs, rcond=1e-13)[0]
    beta[free] += step[: free.sum()]
    return np.clip(beta, lower, upper), b + step[free.sum() :]


def solve_problem(problem, K):
    """The optimum of a Mercer `BoxQP` under the kernel matrix K: β and the group multipliers b."""
    rows = np.arange(K.shape[0]) if problem.row is None else problem.row
    A = np.zeros((problem.n_groups, problem.n_variables))
    if problem.group is not None:
        A[problem.group, np.arange(problem.n_variables)] = 1.0
    arguments = problem.target, problem.lower, problem.upper, A, problem.group_sums
    with threadpool_limits(1, user_api="blas"):  # several threads take longer for few rows
        return solve_box_qp(K[np.ix_(rows, rows)], *arguments)
