"""Probabilities from decision values: maps fitted on held-out folds, and agreement with `predict`.

=================  =========================================================================
_cross_fit.py      decision values of held-out folds, and the maps of all tasks from them
_platt.py          Platt's sigmoid
_step_maps.py      isotonic regression and Venn–Abers intervals
_coupling.py       one distribution from pairwise probabilities; agreement with the predicted class
=================  =========================================================================
"""

from mercer.calibration._coupling import couple
from mercer.calibration._platt import fit_sigmoid, sigmoid

__all__ = ["couple", "fit_sigmoid", "sigmoid"]
