"""SVC, NuSVC, SVR, NuSVR and OneClassSVM.

================  ===================================================================
_base.py          `KernelMachine`: ``fit`` as six steps
_solve.py         the step "solve": tasks side by side, budgets of cache and time
_after_stop.py    after a stop: samples of the tasks that were not begun
_checkpoint.py    the duals of every task, written every few seconds
_model_so_far.py  the model that a stop would leave, for callbacks
_classifier.py    classes, votes and probabilities, shared by SVC and NuSVC
_svc.py           `SVC`, `NuSVC`
_svr.py           `SVR`, `NuSVR`
_one_class.py     `OneClassSVM`
_centring.py      the intercept in the user's coordinates after a fit on centred rows
_definiteness.py  whether the kernel matrix was shown to be positive semidefinite
_geometry.py      `geometry`: weight vector, margin and distances
================  ===================================================================
"""
