"""PegasosClassifier and PegasosRegressor: stochastic subgradient steps.

===============  ==================================================================
_base.py         parameters, fitted function and certificate
_classes.py      the public estimators
_certificates.py certificates from a dual point of the iterates or of a stream
_streaming.py    ``partial_fit`` and ``fit_stream``
_stream_run.py   one run over a stream: checkpoints, progress, certificate
===============  ==================================================================
"""

from mercer.estimators.pegasos._classes import PegasosClassifier, PegasosRegressor

__all__ = ["PegasosClassifier", "PegasosRegressor"]
