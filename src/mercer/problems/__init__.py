"""What is optimised: one box QP (`boxqp`), one short function per formulation.

| file | formulations |
|---|---|
| `boxqp` | the problem itself, in signed duals |
| `classification` | C-SVC (also hard margin and without intercept), ν-SVC |
| `regression` | ε-SVR, ν-SVR |
| `oneclass` | one-class SVM |
| `logistic` | logistic regression, with its entropy dual |
| `linear`, `losses` | linear machines in their primal |
| `crammer_singer` | linear machines of all classes at once |
| `ridge` | kernel ridge regression, a linear system instead |
"""

from mercer.problems._classification import nu_svc, svc
from mercer.problems._dual_qp import BoxQP
from mercer.problems._logistic import Logistic
from mercer.problems._one_class import one_class
from mercer.problems._regression import nu_svr, svr
from mercer.problems._ridge import Ridge

__all__ = ["BoxQP", "Logistic", "Ridge", "nu_svc", "nu_svr", "one_class", "svc", "svr"]
