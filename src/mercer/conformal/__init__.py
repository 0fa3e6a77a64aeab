"""Sets, intervals and p-values with a bound on their coverage, around any estimator.

=================  =========================================================================
_cross.py          folds, their models, and the decision values of the rows that they left out
_classifier.py     `ConformalClassifier`: sets of classes
_regressor.py      `ConformalRegressor`: intervals (jackknife+ and CV+)
_outliers.py       `ConformalOutlierDetector`: p-values of one-class models
=================  =========================================================================
"""

from mercer.conformal._classifier import ConformalClassifier
from mercer.conformal._outliers import ConformalOutlierDetector
from mercer.conformal._regressor import ConformalRegressor

__all__ = ["ConformalClassifier", "ConformalOutlierDetector", "ConformalRegressor"]
