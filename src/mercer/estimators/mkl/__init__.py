"""Multiple kernel learning: weights of kernels, learned together with a support vector machine.

==================  ===============================================================
_estimator.py       `MKL`: the estimator
_checks.py          what it refuses
_point.py           weights, their machines, and the settings of the search
_weight_search.py   the weights: Newton steps (sum 1), fixed-point steps (ℓp norm)
_sample.py          weights of samples of the rows, to start from
_joint_gap.py       the certificate of the joint problem
==================  ===============================================================
"""
