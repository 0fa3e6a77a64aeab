"""Kernels written by the user as functions: ``@mercer.kernel``.

===================  =================================================================
_definition.py       a function as it was written: its form, parameters, source, names
_dot_form.py         functions of two vectors as functions of x·z, ‖x‖² and ‖z‖²
_dot_loss.py         what rounding changes in a function that was rewritten
_compile.py          compiled tiles, cached on disk by the source
_kernels.py          what they have in common, and those of matrices, objects and features
_vector_function.py  those of two vectors, compiled
_decorator.py        `kernel`
===================  =================================================================
"""
