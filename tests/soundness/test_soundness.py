"""Some hundreds of the generator's problems in the ordinary run; `make soundness` checks 100,000.

Seeds differ from those of the long run. A failing block prints its problems as code.
"""

from __future__ import annotations

import pytest

pytest.importorskip("flint")

from tests.soundness.run import _report, is_failure
from tests.soundness.workers import Pool

FIRST, BLOCKS, SIZE = 10_000_000, 12, 25


@pytest.fixture(scope="module")
def pool():
    """One worker process, compiled once and killed if a fit hangs."""
    with Pool() as pool:
        yield pool


@pytest.mark.parametrize("block", range(BLOCKS))
def test_what_fits_state_is_true(pool, block):
    """Gap, values, status, predictions, errors and `verify` of 25 problems, by exact arithmetic."""
    begin = FIRST + block * SIZE
    bad = [record for record in pool.run(range(begin, begin + SIZE)) if is_failure(record)]
    assert not bad, "\n".join(map(_report, bad))


# Found by the long run: SMO that did not end, sums of a linear solver taken for those of its duals,
# residuals of eigenvalues stored as zero, equal eigenvalues, constant columns, zero kernels; dual
# points of `verify` that are not feasible, differences of centred rows, sums of coefficients that
# are not zero; of linear models, a line search that ended beyond float64, and two optimal values
# of which only D(0) = 0 was proved; a status that did not know of δ, duals without a maximum; ‖w‖²
# of duals whose sum is rounding, ρ below zero, weights far from the centre, 1/(2C) lost in float32,
# eigenvalues that are rounding, proofs of inseparability done twice; terms of the gap that are zero
# where ‖w‖² is not known, a status that did not follow an infinite gap; b² beyond float64, steps
# without bounds where float32 rows lose 1/(2C).
MENDED = [
    5647, 6677, 6743, 8194, 7799, 2428, 7830, 8477, 2045, 2733, 2582, 4305, 6295, 20268, 24100,
    23086, 43443, 40693, 25989, 22929, 25619, 1000692, 1002092, 1004185, 33058, 50706, 65904, 56937,
    96252, 71865, 92830, 95290, 88287, 99696, 60151, 8014840, 7001199,
    9034669, 9045980, 9059966,
]  # fmt: skip


@pytest.mark.parametrize("seed", MENDED)
def test_what_the_long_run_found_stays_mended(pool, seed):
    bad = [record for record in pool.run([seed]) if is_failure(record)]
    assert not bad, "\n".join(map(_report, bad))
