"""The kernels of the package: one entry each, from which every list of kernels is derived.

`as_kernel`, the parameter checks of the estimators, files of models (Mercer's and LIBSVM's), the
reference implementation of `mercer.verify`, the command line and the playground read this table. A
new kernel is a class and one entry. Classes and functions are named by path, ``"module:name"``, and
imported when they are used: the command line shows the names without importing NumPy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from importlib import import_module
from itertools import chain
from typing import Any, ClassVar

__all__ = [
    "KERNELS",
    "KERNELS_BY_NAME",
    "ClassPath",
    "KernelEntry",
    "KernelNames",
    "NameView",
    "kernel_entry",
    "load_path",
    "register_kernel",
]


def load_path(path: str) -> Any:
    """The object that ``"module:name"`` names."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


@dataclass(frozen=True)
class ClassPath:
    """A class by its path, imported when it is used.

    Examples
    --------
    >>> ClassPath("fractions:Fraction").load()(1, 2)
    Fraction(1, 2)
    """

    path: str

    @property
    def module(self) -> str:
        return self.path.partition(":")[0]

    @property
    def class_name(self) -> str:
        return self.path.partition(":")[2]

    def load(self) -> type:
        return load_path(self.path)


@dataclass(frozen=True)
class KernelEntry(ClassPath):
    """A kernel, by the path of its class."""

    # What ``kernel=`` takes: the name that is shown, then aliases. None for kernels that are only
    # built as objects.
    names: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()  # which of degree, gamma and coef0 the class takes
    # Paths of its implementations for `mercer.verify` in float64 and in double-double (see
    # `mercer.kernels._reference_kernels`). Without the first the kernel itself is evaluated.
    reference: str = ""
    precise: str = ""
    libsvm_code: int | None = None  # value of ``-t`` of svm-train
    libsvm_name: str = ""  # ``kernel_type`` in LIBSVM's model files; empty where it has none
    sample_type: str = "vectors"  # of kernels on structures: that of the class
    title: str = ""  # what the playground shows
    formula: str = ""  # without one it does not offer the kernel
    # What `mercer.autofit` tries the kernel on: kinds of columns ("numbers", "categories") or a
    # sample type; and which values of the class's own parameters (γ has a scale of its own).
    tried_on: tuple[str, ...] = ()
    tried: tuple[tuple[str, tuple[Any, ...]], ...] = ()

    def make(self, **parameters: Any) -> Any:
        """The kernel with those of the given parameters that it has."""
        return self.load()(**{name: parameters[name] for name in self.parameters})


#: Entries by the name of the class.
KERNELS: dict[str, KernelEntry] = {}
#: Entries by their names and aliases, the values of ``kernel="…"``.
KERNELS_BY_NAME: dict[str, KernelEntry] = {}


def register_kernel(entry: KernelEntry) -> None:
    """Add a kernel. Its class name and its names must be new."""
    named = [(name, KERNELS_BY_NAME) for name in entry.names]
    for name, taken in ((entry.class_name, KERNELS), *named):
        if name in taken:
            raise ValueError(f"there is a kernel {name!r} already: {taken[name].path}.")
    KERNELS[entry.class_name] = entry
    KERNELS_BY_NAME.update(dict.fromkeys(entry.names, entry))


class NameView(Set[str]):
    """The names of a registry, also of entries that are added later; it can be pickled."""

    registry: ClassVar[dict[str, Any]]
    also: ClassVar[tuple[str, ...]] = ()  # names without an entry

    def __contains__(self, name: object) -> bool:
        return name in self.registry or name in self.also

    def __iter__(self) -> Iterator[str]:
        return chain(self.also, self.registry)

    def __len__(self) -> int:
        return len(self.registry) + len(self.also)

    @classmethod
    def _from_iterable(cls, names: Iterable[str]) -> set[str]:  # type: ignore[override]
        return set(names)  # results of set operations are plain sets


class KernelNames(NameView):
    """All names and aliases of kernels."""

    registry = KERNELS_BY_NAME


def kernel_entry(kernel: Any) -> KernelEntry | None:
    """The entry of a kernel's own class (not of its bases); None if it has none."""
    cls = type(kernel)
    entry = KERNELS.get(cls.__name__)
    return entry if entry is not None and entry.module == cls.__module__ else None


_REFERENCE = "mercer.kernels._reference_kernels:"
_PRECISE = "mercer.kernels._reference_precise:"
_DOT = "mercer.kernels._dot_product:"
_STATIONARY = "mercer.kernels._stationary:"
_COMPOSITE = "mercer.kernels._composite:"
_USER = "mercer.kernels._user_defined:"
_STRUCTURED = "mercer.kernels.structured."
_TABLES = "mercer.kernels.tables."
_SETS = "mercer.kernels.sets."
_GRAPHS = "mercer.kernels.graphs."
_SERIES = "mercer.kernels.series."

for _entry in (
    KernelEntry(
        _DOT + "Linear",
        names=("linear",),
        reference=_REFERENCE + "linear",
        precise=_PRECISE + "dot_product",
        libsvm_code=0,
        libsvm_name="linear",
        title="Linear",
        formula="x·z",
    ),
    KernelEntry(
        _DOT + "Polynomial",
        names=("poly", "polynomial"),
        parameters=("degree", "gamma", "coef0"),
        tried_on=("categories",),
        tried=(("degree", (2, 3)), ("coef0", (1.0,))),
        reference=_REFERENCE + "polynomial",
        precise=_PRECISE + "dot_product",
        libsvm_code=1,
        libsvm_name="polynomial",
        title="Polynomial",
        formula="(γ x·z + c₀)^degree",
    ),
    KernelEntry(
        _STATIONARY + "RBF",
        names=("rbf",),
        parameters=("gamma",),
        tried_on=("numbers", "categories"),
        reference=_REFERENCE + "rbf",
        precise=_PRECISE + "rbf",
        libsvm_code=2,
        libsvm_name="rbf",
        title="RBF (Gaussian)",
        formula="exp(−γ ‖x − z‖²)",
    ),
    KernelEntry(
        _STATIONARY + "Laplacian",
        names=("laplacian",),
        parameters=("gamma",),
        tried_on=("numbers",),
        reference=_REFERENCE + "laplacian",
        title="Laplacian",
        formula="exp(−γ |x − z|₁)",
    ),
    KernelEntry(
        _DOT + "Sigmoid",
        names=("sigmoid",),
        parameters=("gamma", "coef0"),
        reference=_REFERENCE + "sigmoid",
        libsvm_code=3,
        libsvm_name="sigmoid",
        title="Sigmoid (tanh)",
        formula="tanh(γ x·z + c₀)",
    ),
    KernelEntry(
        _DOT + "Cosine",
        names=("cosine",),
        reference=_REFERENCE + "cosine",
        title="Cosine",
        formula="x·z / (‖x‖ ‖z‖)",
    ),
    KernelEntry(
        _STATIONARY + "Chi2",
        names=("chi2",),
        parameters=("gamma",),
        reference=_REFERENCE + "chi2",
    ),
    KernelEntry(
        _USER + "Precomputed",
        names=("precomputed",),
        reference=_REFERENCE + "precomputed",
        precise=_REFERENCE + "exact_values",
        libsvm_code=4,
        libsvm_name="precomputed",
    ),
    KernelEntry("mercer.kernels._histogram:AllSubsets", reference=_REFERENCE + "all_subsets"),
    KernelEntry(
        _USER + "Callable",
        reference=_REFERENCE + "function_values",
        precise=_REFERENCE + "exact_values",
    ),
    KernelEntry(
        _COMPOSITE + "Constant",
        reference=_REFERENCE + "constant",
        precise=_REFERENCE + "exact_values",
    ),
    *(
        KernelEntry(
            _COMPOSITE + name, reference=_REFERENCE + "composite", precise=_PRECISE + "composite"
        )
        for name in ("Sum", "Product", "Scaled", "Power")
    ),
    KernelEntry("mercer.kernels._normalize:Normalize", reference=_REFERENCE + "normalized"),
    KernelEntry("mercer.kernels._normalize:Centre", reference=_REFERENCE + "centred"),
    KernelEntry(
        _STRUCTURED + "_spectrum:Spectrum",
        names=("spectrum",),
        sample_type="sequences",
        tried_on=("sequences",),
        tried=(("k", ((1, 2, 3), (2, 3, 4), 3, 4, 5)),),
        reference=_STRUCTURED + "_reference:spectrum",
        precise=_REFERENCE + "exact_values",
    ),
    *(
        KernelEntry(
            f"{_STRUCTURED}{module}:{cls}",
            names=(name,),
            sample_type="sequences",
            reference=f"{_STRUCTURED}_reference_sequences:{name}",
        )
        for module, cls, name in (
            ("_windows", "Mismatch", "mismatch"),
            ("_windows", "GappedKmer", "gapped_kmer"),
            ("_alignment", "WeightedDegree", "weighted_degree"),
            ("_alignment", "Subsequence", "subsequence"),
            ("_alignment", "LocalAlignment", "local_alignment"),
        )
    ),
    KernelEntry(
        _TABLES + "_table_kernel:TableKernel",
        names=("table",),
        sample_type="tables",
        reference=_TABLES + "_reference:table_kernel",
    ),
    *(
        KernelEntry(
            f"{_TABLES}{module}:{cls}",
            sample_type="tables",
            reference=f"{_TABLES}_reference:{reference}",
        )
        for module, cls, reference in (
            ("_table_kernel", "ColumnProduct", "column_product"),
            ("_additive", "ColumnMean", "column_mean"),
            ("_on_columns", "OnColumns", "on_columns"),
            ("_equality", "Equality", "equality"),
            ("_column_kinds", "Number", "one_kind"),
            ("_column_kinds", "Category", "one_kind"),
            ("_column_kinds", "Ordered", "one_kind"),
            ("_column_kinds", "Cyclic", "one_kind"),
        )
    ),
    *(
        KernelEntry(
            f"{_SETS}{module}:{cls}",
            names=names,
            sample_type=sample_type,
            tried_on=("sets",) * (sample_type == "sets"),
            reference=f"{_SETS}_reference:{reference}",
        )
        for module, cls, names, sample_type, reference in (
            ("_token_sets", "Intersection", ("intersection",), "sets", "intersection"),
            ("_token_sets", "Jaccard", ("jaccard",), "sets", "jaccard"),
            ("_mean_embedding", "MeanEmbedding", (), "bags", "mean_embedding"),
        )
    ),
    *(
        KernelEntry(
            f"{_GRAPHS}{module}:{cls}",
            sample_type=sample_type,
            tried_on=("graphs",) * cls.startswith("WeisfeilerLehman"),
            reference=f"{_GRAPHS}_reference:{reference}",
            precise=_REFERENCE + "exact_values" if is_exact else "",
        )
        for module, cls, sample_type, reference, is_exact in (
            ("_weisfeiler_lehman", "WeisfeilerLehman", "graphs", "weisfeiler_lehman", True),
            ("_weisfeiler_lehman", "WeisfeilerLehmanOA", "graphs", "weisfeiler_lehman_oa", True),
            ("_shortest_path", "ShortestPath", "graphs", "shortest_path", True),
            ("_random_walk", "RandomWalk", "graphs", "random_walk", False),
            ("_nodes", "Diffusion", "nodes", "diffusion", False),
            ("_nodes", "RegularizedLaplacian", "nodes", "regularized_laplacian", False),
        )
    ),
    *(
        KernelEntry(
            f"{_SERIES}{module}:{cls}",
            names=(reference,),
            sample_type="series",
            tried_on=("series",) * (cls == "GlobalAlignment"),
            reference=f"{_SERIES}_reference:{reference}",
        )
        for module, cls, reference in (
            ("_global_alignment", "GlobalAlignment", "global_alignment"),
            ("_dtw", "DTW", "dtw"),
        )
    ),
):
    register_kernel(_entry)
