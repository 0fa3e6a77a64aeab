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

from mercer.problems.boxqp import BoxQP
from mercer.problems.classification import nu_svc, svc
from mercer.problems.logistic import Logistic
from mercer.problems.oneclass import one_class
from mercer.problems.regression import nu_svr, svr
from mercer.problems.ridge import Ridge

__all__ = ["BoxQP", "Logistic", "Ridge", "nu_svc", "nu_svr", "one_class", "svc", "svr"]
