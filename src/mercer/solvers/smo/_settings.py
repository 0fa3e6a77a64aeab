"""Tuning parameters of SMO. The defaults serve all data; tests pass small sizes."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["SMOSettings"]


@dataclass(frozen=True)
class SMOSettings:
    """Tuning parameters: sizes, inner tolerances, limits.

    Attributes
    ----------
    dense_variables : int
        Up to this number of variables the whole kernel matrix is the working set (`DenseSMO`).
    steps_per_slice : int
        `DenseSMO`: pair steps between two checks of the limits, a few milliseconds.
    first_steps, slice_growth : int, float
        `DenseSMO` with a callback: steps of the first slice, and the factor from one to the next.
    tighten_factor : float
        `DenseSMO`: factor on the tolerance of pair steps when they have reached it but the bound
        on the violation, or the gap, has not.
    class_pair_tol : float
        `ClassPairSMO`: pair steps go on to this fraction of tol. Their kernel values are float32,
        and a violation above tol in float64 costs another slice.
    max_scale : float
        `DenseSMO`: K is scaled by a power of two if its largest diagonal entry is above this or
        below its inverse.
    max_idle_slices, max_idle_slices_float32 : int
        `DenseSMO`: slices without a smaller violation or a larger dual value before the status is
        "stalled", with float64 and with float32 kernel values.
    max_steps_without_gain, max_slices_without_gain : int
        `DenseSMO`: pair steps, and slices, without a violation or a gap smaller by a tenth, or a
        dual value larger by a tenth, before the same.
    least_dual_gain : float
        Increase of the dual value that is not rounding, relative to it and to the gap.
    steps_per_pair, steps_per_call : int
        `solve_class_pairs`: steps of a class pair before it is left to the general solver, and of
        one compiled call.
    newton_max_free, newton_max_steps : int
        Newton steps on the free variables: more of them are left to pair steps (the linear system
        costs their number cubed); steps in a row, each of which ends at a bound or solves it.
    newton_regularisation : float
        Multiple of eps · n · max K_ii that is added to the diagonal of the system.
    working_set_size : int
        Variables of a working set, of which half is kept for the next. Not a power of two: rows of
        its kernel block would map to the same cache sets.
    working_set_fraction : float
        The working set is at most this fraction of the active variables, but
    fewest_working : int
        at least this number.
    working_set_tol : float
        A working set is solved to this fraction of the violation of the active variables, or to
    least_working_set_tol : float
        this fraction of the tolerance they are solved to, whichever is larger.
    steps_per_variable : int
        Pair steps per variable of a working set before a new one is selected.
    first_sample : int
        Points of the first random sample.
    sample_growth : int
        Ratio of the sizes of successive samples.
    sample_tol : float
        A sample is solved to this fraction of its violation at the start.
    active_tol : float
        The active variables are solved to this fraction of the violation over all points, or to
    final_active_tol : float
        this fraction of tol, whichever is larger.
    small_gap : float
        If many small violations leave a relative gap above this, the solver goes on with a smaller
        tolerance, but not below
    least_tol_factor : float
        this fraction of tol.
    first_gap_tol : float
        With gap_tol: the tolerance on the violation to begin with.
    recheck_factor : float
        A shrunk point is not re-checked while its KKT slack exceeds this factor times the
        violations accumulated since it was shrunk.
    error_of_tol, error_of_gap : float
        f is accurate enough if its error bound is at most error_of_tol · tol, and adds at most
        error_of_gap of the gap to it.
    reconstruction_seconds : float
        Time budget for reconstructing f at all points after an early stop.
    reserved_fraction : float
        At most this fraction of a time limit is kept for that in addition.
    least_block, blocks_of_sweep : int
        Points of a block of a pass over the points of no sample, and blocks of a pass, at most.
    sweep_overhead : float
        Time of such a pass, relative to that of its kernel values, about.
    sweep_part : float
        No such pass after samples of less than this fraction of the points: it improves the dual
        value alone, and a larger sample the model, too.
    sweep_excess : float
        No such pass where other points raise the primal value of the sample's model by more than
        this fraction: no dual value makes its gap small.
    max_idle_working_sets : int
        Working sets without progress, beyond one pass over all active variables, after which f is
        recomputed in float64: float32 rows may be at their limit.
    max_idle_rounds : int
        Rounds over all points without progress before the status is "stalled".
    seconds_per_value : float
        Time for a float32 kernel value, until it was measured on
    timed_values : int
        at least this number.
    rows_between_checks : int
        Points whose f is updated between two checks of the clock after an early stop.
    near_fraction : float
        Points close to violating that are activated too, as a fraction of violating or free ones.
    rebuild_fraction : float
        The row cache is rebuilt if less than this fraction of its columns stays active.
    keep_all_fraction : float
        All columns stay active if kernel values are costly and the rows of this fraction of the
        points fit into the cache.
    column_growth : float
        Columns for which a new row cache has capacity, relative to those it begins with.
    """

    dense_variables: int = 1536
    steps_per_slice: int = 10_000
    first_steps: int = 8
    slice_growth: float = 1.3
    tighten_factor: float = 0.1
    class_pair_tol: float = 0.5
    max_scale: float = 1e6
    max_idle_slices: int = 10
    max_idle_slices_float32: int = 2
    max_steps_without_gain: int = 600_000
    max_slices_without_gain: int = 1_000
    least_dual_gain: float = 1e-15
    steps_per_pair: int = 10_000
    steps_per_call: int = 50_000
    newton_max_free: int = 400
    newton_max_steps: int = 20
    newton_regularisation: float = 4.0
    working_set_size: int = 992
    working_set_fraction: float = 0.25
    fewest_working: int = 256
    working_set_tol: float = 0.1
    least_working_set_tol: float = 0.3
    steps_per_variable: int = 20
    first_sample: int = 2048
    sample_growth: int = 2
    sample_tol: float = 0.1
    active_tol: float = 0.1
    final_active_tol: float = 0.6
    small_gap: float = 3e-4
    least_tol_factor: float = 0.2
    first_gap_tol: float = 0.3
    recheck_factor: float = 0.5
    error_of_tol: float = 0.1
    error_of_gap: float = 0.05
    reconstruction_seconds: float = 0.3
    reserved_fraction: float = 0.1
    least_block: int = 2048
    blocks_of_sweep: int = 32
    sweep_overhead: float = 1.0
    sweep_part: float = 0.24
    sweep_excess: float = 0.1
    max_idle_working_sets: int = 150
    max_idle_rounds: int = 8
    seconds_per_value: float = 0.75e-9
    timed_values: int = 1_000_000
    rows_between_checks: int = 2048
    near_fraction: float = 0.3
    rebuild_fraction: float = 0.8
    keep_all_fraction: float = 0.2
    column_growth: float = 1.25

    def reduced_tol(self, tol: float, fit_tol: float, gap: float) -> float:
        """The tolerance to go on with where ``tol`` left this relative gap; ``tol`` if it is small.

        ``fit_tol`` is the tolerance of the fit.
        """
        least = self.least_tol_factor * fit_tol
        if tol <= least or not gap > self.small_gap:
            return tol
        return max(tol * min(0.5, self.small_gap / gap), least)
