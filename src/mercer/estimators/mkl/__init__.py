"""Multiple kernel learning: weights of kernels, learned together with a support vector machine.

==================  ===============================================================
_estimator.py       `MKL`: the estimator
_weight_search.py   the weights: Newton steps (sum 1), fixed-point steps (ℓp norm)
_joint_gap.py       the certificate of the joint problem
==================  ===============================================================
"""
