"""How good a solution is, from (problem, solution) alone.

===============  ==========================================================================
_certificate.py  `Certificate`, and the summary over several tasks
_box_qp.py       `certify`: box QPs in signed duals
_duality_gap.py  linear models, logistic regression, Pegasos
_residuals.py    problems without a dual: ridge systems and eigenvectors
_low_rank.py     low-rank models: also their distance from the exact optimum
_anytime.py      `AnytimeTrace`, a callback that keeps the best model so far
_trace.py        `Trace`, a callback that records the certificates of the iterates of a fit
_statement.py    what all certificates share: verdict, equality, JSON
===============  ==========================================================================
"""
