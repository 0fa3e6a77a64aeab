"""Features whose dot products are a kernel, or nearly: frozen maps that know no data but their own.

=============  =========================================================================
_landmarks.py  which rows are landmarks
_maps.py       `NystromMap`, `FourierMap`, `SketchMap`: ``transform(rows)``
_function.py   `FeatureFunction`: f(x) = w·φ(x) + b
_fourier.py    frequencies of a stationary kernel: independent, orthogonal, quasi-random
_sketch.py     hashes of TensorSketch
=============  =========================================================================
"""

from mercer.features._fourier import draw_fourier
from mercer.features._landmarks import LANDMARK_RULES, choose_landmarks
from mercer.features._maps import FeatureMap, FourierMap, NystromMap, SketchMap
from mercer.features._sketch import draw_sketch

__all__ = [
    "LANDMARK_RULES",
    "FeatureMap",
    "FourierMap",
    "NystromMap",
    "SketchMap",
    "choose_landmarks",
    "draw_fourier",
    "draw_sketch",
]
