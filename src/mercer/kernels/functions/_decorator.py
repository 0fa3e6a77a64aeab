"""``@mercer.kernel``: a function as a kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import make_dataclass
from typing import Any, overload

from mercer.kernels._base import Kernel
from mercer.kernels.functions._compile import compile_tiles
from mercer.kernels.functions._definition import define
from mercer.kernels.functions._kernels import (
    DEFINED,
    DenseFeatureFunction,
    FunctionKernel,
    MatrixFunction,
    ObjectFunction,
    SparseFeatureFunction,
)
from mercer.kernels.functions._vector_function import VectorFunction

__all__ = ["kernel"]

_CLASSES: dict[str, type[FunctionKernel]] = {
    "vectors": VectorFunction,
    "dot": VectorFunction,
    "matrices": MatrixFunction,
    "objects": ObjectFunction,
    "features": DenseFeatureFunction,
    "sparse features": SparseFeatureFunction,
}


@overload
def kernel(function: Callable) -> FunctionKernel: ...


@overload
def kernel(
    *, of: str | None = None, psd: bool | None = None
) -> Callable[[Callable], FunctionKernel]: ...


@overload
def kernel(
    function: Callable, *, of: str | None = None, psd: bool | None = None
) -> FunctionKernel: ...


def kernel(
    function: Callable | None = None, *, of: str | None = None, psd: bool | None = None
) -> Any:
    """A function as a kernel: compiled, composable, with its parameters as fields.

    Arguments with a default are parameters of the kernel (numbers): ``get_params``, a search over
    ``kernel__gamma``, and ``k(gamma=0.5)`` see them. The decorated name is a kernel with the
    defaults.

    Parameters
    ----------
    function : function
    of : {"vectors", "dot", "matrices", "features", "sparse features", "objects"}, optional
        What the function takes. By default by its arguments without a default:

        - ``k(x, z)``: two rows of numbers, "vectors". It is compiled by Numba; where it needs no
          more than x·z, ‖x‖² and ‖z‖² (dot products, squared distances, norms), these are
          computed for whole tiles, of sparse rows, too.
        - ``k(dot, xx, zz)``: x·z, ‖x‖² and ‖z‖², "dot".
        - ``k(X, Z)`` (capital letters): two sets of rows, "matrices"; returns the matrix of values.
        - ``phi(x)``: one sample, "features"; returns an array, and k(x, z) = φ(x)·φ(z). "sparse
          features": returns a dict of feature to number.
        - "objects": two samples of any kind, called for each pair. Of a data frame they are the
          rows: arrays of numbers, the values of a single column, or tuples. As a part of a composed
          kernel the function is given samples as the other parts read them: sets as tuples,
          graphs as `mercer.kernels.Graph`, series as arrays (steps, channels).
    psd : bool, optional
        Whether every kernel matrix is positive semidefinite, if that is known. If it is not said,
        a fit checks it on its samples (`mercer.check_kernel`).

    Returns
    -------
    kernel : Kernel

    Notes
    -----
    Compiled code is cached on disk by the source of the function. A function that Numba cannot
    compile runs as Python, with one warning. Values are taken for exact as they are computed in
    float64. A saved model names the function by its import path: the module must be imported before
    `mercer.load`, or the kernel be given to it by ``callables``. Functions of one source that use
    other values of the names around them are other kernels; numbers to be searched over are better
    given as parameters.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> @mercer.kernel(psd=True)
    ... def cauchy(x, z, gamma=1.0):
    ...     return 1 / (1 + gamma * np.sum((x - z) ** 2))
    >>> cauchy(gamma=0.5)
    cauchy(gamma=0.5)
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0]])
    >>> (cauchy + 1)(X)
    array([[2.        , 1.33333333],
           [1.33333333, 2.        ]])
    >>> model = mercer.SVC(kernel=cauchy(gamma=0.5)).fit(X, [0, 1])
    """
    if function is None:
        return lambda f: kernel(f, of=of, psd=psd)
    definition = define(function, of, psd)
    base = _CLASSES[definition.form]
    for name in definition.parameters:
        if hasattr(Kernel, name) or name in ("definition", "parameters"):
            raise ValueError(
                f"mercer.kernel: {definition.name} has a parameter {name!r}, which is an attribute "
                "of every kernel; rename it."
            )
    namespace: dict[str, Any] = {
        "definition": definition,
        "__doc__": function.__doc__,
        "__module__": function.__module__,
        "__qualname__": function.__qualname__,
    }
    if issubclass(base, VectorFunction):
        namespace["_tiles"] = compile_tiles(definition)
    cls: Any = make_dataclass(
        definition.name,
        [(name, type(value), value) for name, value in definition.parameters.items()],
        bases=(base,),
        namespace=namespace,
        frozen=True,
        repr=False,
        eq=False,
    )
    DEFINED[definition.path] = cls
    return cls()
