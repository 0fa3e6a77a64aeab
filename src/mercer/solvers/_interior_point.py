"""The problem in matrix form, handed to a QP library (Clarabel, an interior point method).

The dual, `QP`, in β, equality constraints as equalities (two inequalities have no interior):
    minimise ½ βᵀQβ − targetᵀβ   subject to  lower ≤ β ≤ upper,  Aβ = sums,   Q = K[row, row]

The primal, `QPPrimal`, in (w, b, ξ), one slack for each finite bound:
    minimise ½‖w‖² + sums·b + Σ upper ξ + Σ (−lower) ξ'
    subject to  target − Φw − b[group] ≤ ξ,   Φw + b[group] − target ≤ ξ',   ξ, ξ' ≥ 0

whose multipliers are β again; an infinite bound leaves no slack (hard margin). Φ is X itself for
the linear kernel. For any other it is the factor of K = ΦΦᵀ by its eigenvectors, √λ e (the
empirical feature map): the same problem, in the space that the data span.

An interior point ends near the bounds. `_Library._polish` moves each β that is closer to its bound
than to the margin there, solves the equations of the others, and repeats while signs disagree:
violations of 1e-3 become some 1e-12. Reference: Goulart and Chen, Clarabel, arXiv:2405.12762.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from mercer._precision import EPS
from mercer._result import Status
from mercer.gram import Gram
from mercer.kernels import Linear
from mercer.problems._dual_qp import BoxQP
from mercer.problems._kkt import intercepts
from mercer.solvers._base import DenseIteration, DenseSolver
from mercer.solvers._dense_algebra import eigen_seconds
from mercer.solvers._stopping import Progress, Stopping
from mercer.solvers.separability._hull import prove_inseparable

__all__ = ["QP", "QPPrimal"]


@dataclass(frozen=True)
class InteriorSettings:
    """Tuning constants."""

    library_tol: float = 1e-10  # tolerance of the library; more accuracy comes from polishing
    polish_rounds: int = 20  # active-set rounds of polishing, at most
    ridge: float = 1e-12  # on the diagonal of the equations of free variables, over their maximum
    refinements: int = 4  # steps of iterative refinement that remove its effect
    iteration_cost: float = 2.0  # time of an iteration, in eigendecompositions of that size


DEFAULTS = InteriorSettings()


def _clarabel() -> ModuleType:
    try:
        import clarabel
    except ImportError:
        raise ImportError(
            "solver='qp' and solver='qp-primal' need Clarabel; install it with "
            'pip install "mercer[qp]".'
        ) from None
    return clarabel


class _Library(DenseIteration):
    """One call of the library, then polishing; subclasses fill the matrices."""

    def __init__(
        self,
        problem: BoxQP,
        gram: Gram,
        K: Any,
        beta: np.ndarray,
        stopping: Stopping,
        solver: _Interior,
    ):
        tol, self.settings = solver.tol, solver.settings
        self.gram, self.stopping = gram, stopping
        self.raised: BaseException | None = None
        super().__init__(problem, K, beta, tol)

    def matrices(self) -> tuple:
        """P, q, A, rhs and the number of equalities among the first rows, in Clarabel's form."""
        raise NotImplementedError

    def recover(self, solution: Any) -> tuple[np.ndarray, np.ndarray]:
        """β, or the direction in which it is unbounded; and b."""
        raise NotImplementedError

    def block(self, points: np.ndarray) -> np.ndarray:
        """K among some of the points."""
        return self.K[np.ix_(points, points)]

    def advance(self, room: int) -> None:
        clarabel = _clarabel()
        P, q, A, rhs, n_equal = self.matrices()
        cones = [clarabel.ZeroConeT(n_equal), clarabel.NonnegativeConeT(rhs.size - n_equal)]
        solver = clarabel.DefaultSolver(
            sp.csc_matrix(P), q, sp.csc_matrix(A), rhs, cones[n_equal == 0 :], self._settings(room)
        )
        solver.set_termination_callback(self._should_stop)
        solution = solver.solve()
        if self.raised is not None:
            raise self.raised
        self.steps += max(solution.iterations, 1)
        status = str(solution.status)
        beta, b = self.recover(solution)
        if status.endswith("Infeasible") and self._prove(beta, certain=status[:6] != "Almost"):
            return
        if np.isfinite(beta).all():
            self.beta = _restore_sums(self.problem, beta)
            self.sum_f()
            if self.stopping.stopped is None:
                self._polish(b)

    def _settings(self, room: int) -> Any:
        settings = _clarabel().DefaultSettings()
        settings.verbose = False
        settings.max_iter = min(room, settings.max_iter)
        settings.max_threads = 1
        settings.direct_solve_method = "faer"
        if np.isfinite(self.stopping.remaining):
            settings.time_limit = max(self.stopping.remaining, 1e-3)
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = self.settings.library_tol
        return settings

    def _should_stop(self, info: Any) -> bool:
        """Between two iterations of the library: whether to stop."""
        try:
            effort = self.stopping.seconds, 1, int(info.iterations)
            self.stopping.report(Progress(*effort, float(info.gap_rel), self.tol))
        except BaseException as error:  # must not cross the library
            self.raised = error
            return True
        return self.stopping.stopped is not None

    def _prove(self, ray: np.ndarray, certain: bool) -> bool:
        """Whether there is no solution: a hard margin that is impossible."""
        p = self.problem
        if not (np.isinf(p.upper) | np.isinf(p.lower)).any():  # a box always has one
            return False
        proof = prove_inseparable(p, self.gram, ray)
        if proof is None and not certain:
            return False
        self.is_unbounded = True
        self.beta = ray if proof is None else proof.weights
        self.sum_f()
        return True

    # ------------------------------------------------------------------ polishing

    def _polish(self, b: np.ndarray) -> None:
        """Guess which β are at a bound, solve for the others, correct the guess, and so on."""
        p, best = self.problem, self.beta
        least = intercepts(p, self.beta, self.f)[2]
        at_lower, at_upper = self._guess(b)
        for _ in range(self.settings.polish_rounds):
            if self.stopping.stopped is not None:
                break
            self.beta = np.where(at_lower, p.lower, np.where(at_upper, p.upper, self.beta))
            self.sum_f()
            beta, b = self._solve_free(self.beta, ~(at_lower | at_upper), b)
            self.beta = _restore_sums(p, beta)
            self.sum_f()
            b, _, violation = intercepts(p, self.beta, self.f)
            if violation < least:
                best, least = self.beta, violation
            if violation <= min(self.tol, self.settings.library_tol):
                break
            r = self._r(b)
            at_lower = (self.beta <= p.lower) & (r <= 0)
            at_upper = (self.beta >= p.upper) & (r >= 0)
        self.beta = best
        self.sum_f()

    def _r(self, b: np.ndarray) -> np.ndarray:
        p = self.problem
        r = p.target - p.at_variables(self.f)
        return r if p.group is None else r - b[p.group]

    def _guess(self, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of the distance to a bound and its multiplier ±r one is zero: the smaller one."""
        p, r = self.problem, self._r(b)
        width = p.upper - p.lower
        width = np.where(np.isfinite(width), width, np.abs(self.beta).max(initial=0.0) or 1.0)
        r = r / (np.abs(r).max(initial=0.0) or 1.0)
        at_lower = (self.beta - p.lower) / np.where(width > 0, width, 1.0) < -r
        at_upper = (p.upper - self.beta) / np.where(width > 0, width, 1.0) < r
        return at_lower | (width == 0), at_upper & (width > 0)

    def _solve_free(
        self, beta: np.ndarray, free: np.ndarray, b: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Newton's step on the equations f = target − b of free variables, and of the sums."""
        p, index = self.problem, np.flatnonzero(free)
        if index.size == 0:
            return beta, b
        A = np.zeros((p.n_groups, index.size))
        drift = np.zeros(p.n_groups)
        if p.group is not None:
            A[p.group[index], np.arange(index.size)] = 1.0
            drift = p.group_sums - np.bincount(p.group, beta, p.n_groups)
        K = self.block(self.row[index])
        M = np.block([[K, A.T], [A, np.zeros((p.n_groups, p.n_groups))]])
        rhs = np.concatenate([self._r(b)[index], drift])
        step = _solve_singular(M, rhs, index.size, self.settings)
        beta = beta.copy()
        beta[index] += step[: index.size]
        return np.clip(beta, p.lower, p.upper), b + step[index.size :]


def _solve_singular(
    M: np.ndarray, rhs: np.ndarray, n_free: int, settings: InteriorSettings
) -> np.ndarray:
    """M x = rhs where M may be singular: regularised, and refined against M itself."""
    from scipy.linalg import lu_factor, lu_solve

    ridge = settings.ridge * max(float(np.abs(M).max()), 1e-300)
    signs = np.where(np.arange(M.shape[0]) < n_free, ridge, -ridge)
    factor = lu_factor(M + np.diag(signs), check_finite=False)
    x = lu_solve(factor, rhs, check_finite=False)
    for _ in range(settings.refinements):
        x += lu_solve(factor, rhs - M @ x, check_finite=False)
    return x


def _restore_sums(problem: BoxQP, beta: np.ndarray) -> np.ndarray:
    """β within its box and with its sums: a drift is spread over the variables with capacity."""
    beta = np.clip(beta, problem.lower, problem.upper)
    if problem.group is None:
        return beta
    for g in range(problem.n_groups):
        free = (problem.group == g) & (beta > problem.lower) & (beta < problem.upper)
        for some in (free, problem.group == g):  # others only if free ones have no capacity
            drift = problem.group_sums[g] - beta[problem.group == g].sum()
            capacity = problem.upper - beta if drift > 0 else beta - problem.lower
            capacity = np.where(np.isfinite(capacity), capacity, np.abs(beta).max() + 1.0)
            capacity = np.where(some, capacity, 0.0)
            rounding = 1e-14 * np.abs(beta).sum()
            if (some is free or abs(drift) > rounding) and capacity.sum() > 0:
                beta = beta + capacity * (np.sign(drift) * min(abs(drift) / capacity.sum(), 1.0))
        beta = np.clip(beta, problem.lower, problem.upper)
    return beta


class _Dual(_Library):
    def matrices(self) -> tuple:
        p, m = self.problem, self.beta.size
        row = self.row
        Q = self.K if p.row is None else self.K[np.ix_(row, row)]
        above, below = np.isfinite(p.upper), np.isfinite(p.lower)
        unit = sp.eye_array(m, format="csr")
        A = sp.vstack([_groups(p), unit[above], -unit[below]])
        rhs = np.concatenate([p.group_sums, p.upper[above], -p.lower[below]])
        return np.triu(Q), -p.target, A, rhs, p.n_groups

    def recover(self, solution: Any) -> tuple[np.ndarray, np.ndarray]:
        return np.array(solution.x), np.array(solution.z[: self.problem.n_groups])


class _Primal(_Library):
    """``K`` is the matrix of features Φ here."""

    def sum_f(self) -> None:
        coef = self.problem.at_points(self.beta, self.K.shape[0])
        self.f = self.K @ (self.K.T @ coef)

    def block(self, points: np.ndarray) -> np.ndarray:
        part = self.K[points]
        product = part @ part.T
        return product.toarray() if sp.issparse(product) else product

    def matrices(self) -> tuple:
        p = self.problem
        self.sides = np.flatnonzero(p.upper > 0), np.flatnonzero(p.lower < 0)
        up, down = self.sides
        C = np.concatenate([p.upper[up], -p.lower[down]])
        soft = np.isfinite(C)
        features = sp.csr_array(self.K)
        w_and_b = sp.hstack([features[self.row], _groups(p).T]).tocsr()
        slack = sp.eye_array(C.size, format="csr")[:, soft]
        sided = sp.vstack([-w_and_b[up], w_and_b[down]])
        A = sp.block_array([[sided, -slack], [None, -sp.eye_array(int(soft.sum()))]])
        rhs = np.concatenate([-p.target[up], p.target[down], np.zeros(int(soft.sum()))])
        q = np.concatenate([np.zeros(features.shape[1]), p.group_sums, C[soft]])
        square = np.concatenate([np.ones(features.shape[1]), np.zeros(q.size - features.shape[1])])
        return sp.diags_array(square), q, A, rhs, 0

    def recover(self, solution: Any) -> tuple[np.ndarray, np.ndarray]:
        up, down = self.sides
        d = self.K.shape[1]
        z, beta = np.array(solution.z), np.zeros(self.beta.size)
        beta[up] += z[: up.size]
        beta[down] -= z[up.size : up.size + down.size]
        return beta, np.array(solution.x[d : d + self.problem.n_groups])


def _groups(problem: BoxQP) -> sp.csr_array:
    """The rows of the equality constraints."""
    m = problem.n_variables
    if problem.group is None:
        return sp.csr_array((0, m))
    return sp.csr_array((np.ones(m), (problem.group, np.arange(m))), shape=(problem.n_groups, m))


@dataclass(frozen=True)
class _Interior(DenseSolver):
    """The library checks the limits between two of its iterations only."""

    settings: ClassVar[InteriorSettings] = DEFAULTS
    takes_groups: ClassVar[tuple[int, ...]] = (0, 1, 2)

    def _drive(self, run: DenseIteration, gram: Gram, stopping: Stopping) -> Status:
        """As in `DenseSolver`; an iteration that would not end in time is not begun."""
        seconds = self.settings.iteration_cost * eigen_seconds(run.problem.n_variables)
        if seconds > stopping.remaining:
            return Status.TIME_LIMIT
        return super()._drive(run, gram, stopping)


@dataclass(frozen=True)
class QP(_Interior):
    """The dual in matrix form, by Clarabel (``pip install "mercer[qp]"``).

    Parameters
    ----------
    tol, max_iter, most_bytes
        As in `DenseSolver`; a step is one iteration of the interior point method.
    """

    name: ClassVar[str] = "qp"
    # K, its sparse upper triangle with indices, and the factor of the equations.
    copies: ClassVar[int] = 4

    def _bytes(self, problem: BoxQP, gram: Gram) -> int:
        return 8 * self.copies * problem.n_variables**2

    def _begin(
        self, problem: BoxQP, gram: Gram, beta: np.ndarray, stopping: Stopping
    ) -> DenseIteration:
        K = gram.matrix()
        if gram.is_psd is not True:  # the library would fail silently
            _refuse_indefinite(float(np.linalg.eigvalsh(K)[0]), K, gram, self.name)
        return _Dual(problem, gram, K, beta, stopping, self)


@dataclass(frozen=True)
class QPPrimal(_Interior):
    """The primal in (w, b, ξ), by Clarabel (``pip install "mercer[qp]"``); settings as in `QP`."""

    name: ClassVar[str] = "qp-primal"
    copies: ClassVar[int] = 5

    def _bytes(self, problem: BoxQP, gram: Gram) -> int:
        features = gram.cost_per_entry if type(gram.kernel) is Linear else float(gram.n)
        return int(8 * self.copies * problem.n_variables * features)

    def _begin(
        self, problem: BoxQP, gram: Gram, beta: np.ndarray, stopping: Stopping
    ) -> DenseIteration:
        if type(gram.kernel) is Linear:
            features = gram.sample_block(slice(0, gram.n), np.float64).X
        else:
            features = _factor(gram.matrix(), gram, self.name)
        return _Primal(problem, gram, features, beta, stopping, self)


def _factor(K: np.ndarray, gram: Gram, name: str) -> np.ndarray:
    """Φ with K = ΦΦᵀ: eigenvectors times the roots of their eigenvalues, zeros left out."""
    values, vectors = np.linalg.eigh(K)
    _refuse_indefinite(float(values[0]), K, gram, name)
    keep = values > max(values[-1], 0.0) * K.shape[0] * EPS
    return vectors[:, keep] * np.sqrt(values[keep])


def _refuse_indefinite(smallest: float, K: np.ndarray, gram: Gram, name: str) -> None:
    if smallest < -1e-9 * max(float(np.abs(K).max()), 1e-300) * K.shape[0]:
        raise ValueError(
            f"solver={name!r} cannot solve this problem: the matrix of {gram.kernel!r} has the "
            f"eigenvalue {smallest:.3g} and the problem is not convex. Use a positive semidefinite "
            "kernel, or solver='smo', which ends at a stationary point."
        )
