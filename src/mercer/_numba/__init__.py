"""Compiled code.

================  ================================================================
_compiled.py      the decorator, its flags, and the time that compiling takes
_cache.py         when cached code is valid, and where its files may lie
_instructions.py  instructions that Numba does not have
================  ================================================================
"""

from mercer._numba._cache import private_folder, temporary_folder
from mercer._numba._compiled import REASSOCIATE, Compilation, compiled
from mercer._numba._instructions import (
    bits_to_float,
    float_to_bits,
    key_value,
    larger,
    least_key,
    opposite_key,
    order_key,
    prefetch,
    quotient_estimate,
    reciprocal_estimates,
    smaller,
    tagged_key,
    wide_vectors,
)

__all__ = [
    "REASSOCIATE", "Compilation", "bits_to_float", "compiled", "float_to_bits", "key_value",
    "larger", "least_key", "opposite_key", "order_key", "prefetch", "private_folder",
    "quotient_estimate", "reciprocal_estimates", "smaller", "tagged_key", "temporary_folder",
    "wide_vectors",
]  # fmt: skip
