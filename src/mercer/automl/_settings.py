"""Sizes and fractions of `mercer.autofit`."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["AutofitSettings"]


@dataclass(frozen=True)
class AutofitSettings:
    """How `mercer.autofit` divides its time.

    Attributes
    ----------
    n_C, n_gamma : values of C and γ of the first grid of a family
    log_C, log_gamma : powers of ten between which they are; γ is relative to the total variance of
        the columns, and C of a regression to the deviation of the targets
    epsilon, epsilon_step : the first ε relative to the deviation of the targets, and the factor to
        its neighbours
    folds : of cross-validation
    first_rows, growth, most_rows : rows of the first round, the factor between rounds, and the
        rows of the last: a matrix of kernel values of all of them has to fit into the memory
    first_fraction : of the time limit that the first round may use
    most_candidates : candidates of a family that a later round has
    fewest_candidates : a family of which fewer fit into the time is left out of a round
    repeats : cross-validations with other folds, for candidates that are about as good as the best
    final_fraction : of the time limit that is kept for the last fit at most
    check_rows : rows on which a last fit that was stopped is compared with the model before it
    safety : a predicted time may be wrong by this factor
    calibration_cost : time of a fit with probabilities over that of the same fit without them
    round_power, fit_power : the time of a candidate's cross-validation and of a fit grow with these
        powers of the rows, before two are measured
    code_rows : rows on which each family is tried once, so that its code is compiled
    early_rows, early_seconds : of the model that is there before the search, whatever the limit
    doctor_entries : entries of X that the doctor reads
    heavy_tail : distance of an entry from the mean of its column, in standard deviations, from
        which columns are also transformed to normal scores
    n_quantiles : of that transformation
    least_margin, margin : seconds, and fraction of the limit, left free at the end of the last fit
    """

    n_C: int = 10
    n_gamma: int = 10
    log_C: tuple[float, float] = (-2.0, 3.0)
    log_gamma: tuple[float, float] = (-3.0, 1.0)
    epsilon: float = 0.1
    epsilon_step: float = 3.0
    folds: int = 5
    first_rows: int = 300
    growth: float = 3.3
    most_rows: int = 10_000
    first_fraction: float = 0.3
    most_candidates: int = 30
    fewest_candidates: int = 4
    repeats: int = 3
    final_fraction: float = 0.5
    check_rows: int = 2000
    safety: float = 1.3
    calibration_cost: float = 2.5
    round_power: float = 2.0
    fit_power: float = 1.7
    code_rows: int = 60
    early_rows: int = 500
    early_seconds: float = 0.5
    doctor_entries: int = 2_000_000
    heavy_tail: float = 8.0
    n_quantiles: int = 100
    least_margin: float = 0.2
    margin: float = 0.02
