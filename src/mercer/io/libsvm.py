"""Models of LIBSVM's own text format, read and written.

A file is a header of names and values, a line ``SV``, and a line for each support vector: its
coefficients, then ``index:value``. LIBSVM's decision value of a pair of labels is Σ c k(x, ·) − ρ,
positive for the one that comes first in ``label``; here b = −ρ, classes are sorted, and of two the
second is the positive one. Where the order of a pair turns round, so does the sign of its
coefficients and of b, and a sigmoid 1 / (1 + exp(A f + B)) keeps A and has −B.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._files import whole_file
from mercer.estimators import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from mercer.exceptions import FileError
from mercer.expansion import Expansion
from mercer.io.schema import Schema
from mercer.kernels import RBF, Linear, Polynomial, Sigmoid
from mercer.kernels.points import Points
from mercer.multiclass import block_outputs, pairs

__all__ = ["is_libsvm_model", "read_libsvm", "write_libsvm"]

TYPES: dict[str, type] = {
    "c_svc": SVC,
    "nu_svc": NuSVC,
    "one_class": OneClassSVM,
    "epsilon_svr": SVR,
    "nu_svr": NuSVR,
}
KERNELS: dict[str, type] = {
    "linear": Linear,
    "polynomial": Polynomial,
    "rbf": RBF,
    "sigmoid": Sigmoid,
}
PARAMETERS = ("degree", "gamma", "coef0")
