"""The constants of float64 that bounds on rounding are made of."""

import numpy as np

__all__ = ["EPS", "TINY", "UNIT"]

#: The distance from 1 to the next larger number, 2⁻⁵².
EPS = float(np.finfo(np.float64).eps)
#: The unit roundoff 2⁻⁵³, half of it: a rounded operation is off by u times its result at most.
UNIT = EPS / 2
#: The smallest number with all digits: those below lose some of them.
TINY = float(np.finfo(np.float64).tiny)
