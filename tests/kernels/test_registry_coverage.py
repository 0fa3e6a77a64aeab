"""Every kernel of the registry passes a conformance class."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

import tests.kernels
from mercer.kernels._registry import KERNELS
from tests.kernels.conformance import KernelValue

# Its samples are rows of the matrix itself: `GramConformance` has it.
WITHOUT = {"Precomputed"}


def subclasses(of: type) -> Iterator[type]:
    for each in of.__subclasses__():
        yield each
        yield from subclasses(each)


def test_every_kernel_passes_a_conformance_class():
    for module in pkgutil.iter_modules(tests.kernels.__path__):
        if module.name.startswith("test_"):
            importlib.import_module(f"tests.kernels.{module.name}")
    kernels = [each.__dict__.get("kernel") for each in subclasses(KernelValue)]
    found = {type(kernel).__name__ for kernel in kernels}
    assert set(KERNELS) - found == WITHOUT
