"""`KernelMatrixDisplay` and `SpectrumDisplay`: the kernel matrix and its eigenvalues."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._multiclass import by_class
from mercer._precision import TINY
from mercer.gram import BlockedGram
from mercer.gram._psd import check_kernel
from mercer.kernels import Kernel, Linear, as_kernel
from mercer.kernels._base import OBJECTS, VECTORS
from mercer.kernels._samples import Samples
from mercer.kernels.structured._sample_types import is_frame
from mercer.plots import style
from mercer.plots._base import Display
from mercer.plots._fitted import FittedView, kernel_words

__all__ = ["KernelMatrixDisplay", "SpectrumDisplay"]


def _sample(n: int, codes: np.ndarray | None, most: int) -> np.ndarray:
    """At most ``most`` row numbers, at random, stratified by class."""
    if n <= most:
        return np.arange(n)
    rng = np.random.default_rng(0)
    if codes is None:
        return np.sort(rng.choice(n, most, replace=False))
    parts = [np.flatnonzero(codes == c) for c in np.unique(codes)]
    sizes = [max(1, round(most * part.size / n)) for part in parts]
    chosen = [rng.choice(part, size, False) for part, size in zip(parts, sizes, strict=True)]
    return np.sort(np.concatenate(chosen))


class _KernelDisplay(Display):
    """What is drawn of the kernel matrix of the samples, or of some of them."""

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        max_rows: int = 1000,
        ax: Any = None,
        **options: Any,
    ) -> Any:
        """Draw a fitted estimator's kernel.

        Parameters
        ----------
        estimator : fitted estimator of Mercer with a kernel (linear estimators: the linear one),
            or a Pipeline that ends in one
        X, y
            Rows, and their classes or targets; for a precomputed kernel the matrix itself.
        max_rows : int
            Of more, a sample is drawn, stratified by class; the caveat says so.
        ax, **options
            Matplotlib axes; of ``plot``: colorbar, borders, or legend.
        """
        view = FittedView(estimator, X, y, needs_y=False)
        attributes, rows = vars(view.model), view.X_model
        if "kernel_" not in attributes and "coef_" not in attributes:
            view.refuse("has no kernel", "Draw an estimator with a kernel, or use from_kernel.")
        labels, names = (view.y, None) if view.codes is None else (view.codes, view.classes)
        kernel = attributes.get("kernel_", Linear())
        display = cls._of(kernel, rows, labels, names, max_rows, view.title)
        display.certificate = view.certificate
        return display.plot(ax, **options)

    @classmethod
    def from_kernel(
        cls,
        kernel: Any,
        X: Any,
        y: Any = None,
        *,
        max_rows: int = 1000,
        ax: Any = None,
        **options: Any,
    ) -> Any:
        """Draw a Kernel, a name or a callable on rows; arguments as in `from_estimator`."""
        kernel = as_kernel(kernel)
        codes, names = None, None
        if y is not None:
            known, codes = np.unique(np.asarray(y), return_inverse=True)
            names = [str(c) for c in known]
        title = kernel_words(kernel)
        return cls._of(kernel, X, codes, names, max_rows, title).plot(ax, **options)

    @classmethod
    def _of(cls, kernel: Kernel, X: Any, labels: Any, names: Any, most: int, title: str) -> Any:
        """The display of at most ``most`` rows: by class, or by target."""
        if kernel.sample_type == VECTORS:
            X = np.asarray(X) if is_frame(X) else X
        elif kernel.sample_type != OBJECTS:
            kernel = kernel.resolved(X)
            X = kernel.read(X)
        gram = BlockedGram(kernel, Samples(X))
        points = gram.points
        kernel.check(points)
        rows = _sample(points.n, labels if names else None, most)
        starts = np.array([0, rows.size])
        if names:
            order, starts = by_class(labels[rows], len(names))
            rows = rows[order]
        elif labels is not None:  # targets
            rows = rows[np.argsort(labels[rows], kind="stable")]
        K = np.asarray(gram.take(rows).matrix(), dtype=np.float64)
        numbers = cls._numbers(K, rows, starts, names or ())
        caveat = f"{rows.size:,} of {points.n:,} rows, at random, stratified by class."
        return cls(**numbers, title=title, caveat=caveat if rows.size < points.n else "")

    @staticmethod
    def _numbers(K: np.ndarray, rows: np.ndarray, starts: np.ndarray, names: Any) -> dict:
        """What the constructor takes."""
        raise NotImplementedError


@dataclass(kw_only=True, eq=False, repr=False)
class KernelMatrixDisplay(_KernelDisplay):
    """The kernel matrix of the samples, ordered by class.

    A kernel that suits the classes shows blocks on the diagonal. Of many rows a sample is drawn,
    and the caveat says so.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> from mercer.plots import KernelMatrixDisplay
    >>> display = KernelMatrixDisplay.from_kernel(Linear(), [[1.0], [2.0], [3.0]], [1, 0, 1])
    >>> display.order.tolist(), display.starts.tolist()
    ([1, 0, 2], [0, 1, 3])
    """

    figsize = (5.8, 4.9)
    least_distance = 0.045  # between two names beside an axis, as a fraction of its length

    K: np.ndarray  #: in the order drawn
    order: np.ndarray  #: row of the data of each row of K
    starts: np.ndarray  #: where each class begins, and the last one ends
    classes: Sequence[str] = ()

    @staticmethod
    def _numbers(K: np.ndarray, rows: np.ndarray, starts: np.ndarray, names: Any) -> dict:
        return {"K": K, "order": rows, "starts": starts, "classes": names}

    def _words(self) -> list[str]:
        by = " ordered by class: " + ", ".join(self.classes) if self.classes else ""
        return [f"Kernel matrix of {self.title} on {len(self.K)} rows{by}"]

    def _draw(self, axes: list[Any], *, colorbar: bool = True, borders: bool = True) -> None:
        from matplotlib.colors import LinearSegmentedColormap

        ax, K = axes[0], self.K
        low, high = float(K.min()), float(K.max())
        if low < 0:
            far = max(-low, high)
            colours, limits = [style.VERMILION, "#FFFFFF", style.BLUE], (-far, far)
        else:
            colours, limits = ["#FFFFFF", style.SKY, style.BLUE, "#0B2A4A"], (min(low, 0.0), high)
        cmap = LinearSegmentedColormap.from_list("kernel", colours)
        ends = {"vmin": limits[0], "vmax": limits[1]}
        self.image_ = ax.imshow(K, cmap=cmap, interpolation="nearest", **ends)
        if colorbar:
            bar = self.figure_.colorbar(self.image_, ax=ax, shrink=0.85, pad=0.02)
            bar.outline.set_visible(False)
            bar.set_label("k(x, z)")
        ax.spines[:].set_visible(True)
        if not self.classes:
            ax.set(xlabel="rows", ylabel="rows")
            return
        if borders:
            for start in self.starts[1:-1]:
                for line in (ax.axhline, ax.axvline):
                    line(start - 0.5, color=style.INK, linewidth=1.0 if len(K) < 500 else 0.6)
        middle = (self.starts[:-1] + self.starts[1:]) / 2 - 0.5
        sizes = np.diff(self.starts)
        named: list[int] = []  # the largest classes first, as long as there is room for their names
        for c in np.argsort(-sizes, kind="stable"):
            if all(abs(middle[c] - middle[k]) > self.least_distance * len(self.K) for k in named):
                named.append(int(c))
        named.sort()
        names = [self.classes[c] for c in named]
        is_long = max(map(len, names)) > 40 // len(names)
        turn = {"rotation": 30, "ha": "right", "rotation_mode": "anchor"} if is_long else {}
        ax.set_xticks(middle[named], names, **turn)
        ax.set_yticks(middle[named], [f"{self.classes[c]} ({sizes[c]})" for c in named])
        ax.tick_params(length=0)
        rest = len(self.classes) - len(named)
        ax.set(xlabel="rows by class" + (f"; {rest} small ones without a name" if rest else ""))


@dataclass(kw_only=True, eq=False, repr=False)
class SpectrumDisplay(_KernelDisplay):
    """Eigenvalues of the kernel matrix, largest first, on a logarithmic axis.

    The faster they fall, the fewer directions of the feature space the data need. Eigenvalues below
    zero by more than rounding prove that the function is no kernel: they are marked.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> from mercer.plots import SpectrumDisplay
    >>> display = SpectrumDisplay.from_kernel(Linear(), [[3.0], [4.0]])
    >>> display.eigenvalues.round(6) + 0.0, display.is_psd
    (array([25.,  0.]), True)
    """

    figsize = (6.4, 4.4)

    eigenvalues: np.ndarray  #: in falling order
    tolerance: float = 0.0  #: what rounding can do to them
    is_psd: bool = True  #: the verdict of `mercer.check_kernel`

    @staticmethod
    def _numbers(K: np.ndarray, rows: np.ndarray, starts: np.ndarray, names: Any) -> dict:
        check = check_kernel(K)
        eigenvalues = np.linalg.eigvalsh((K + K.T) / 2)[::-1]
        return {"eigenvalues": eigenvalues, "tolerance": check.tolerance, "is_psd": check.is_psd}

    @property
    def verdict(self) -> str:
        """The check in a sentence."""
        least = float(self.eigenvalues[-1])
        if self.is_psd:
            return f"positive semidefinite on these rows (smallest {least:.2g})"
        return f"not a kernel: smallest eigenvalue {least:.3g}"

    def _words(self) -> list[str]:
        return [f"Eigenvalues of the kernel matrix of {self.title}", self.verdict]

    def _draw(self, axes: list[Any], *, legend: bool | str = "auto") -> None:
        ax, values = axes[0], self.eigenvalues
        number = np.arange(1, values.size + 1)
        sizes = np.abs(values)
        above, below = values > self.tolerance, values < -self.tolerance

        def dots(which: np.ndarray, marker: str, colour: str, label: str, size: int = 4) -> None:
            options = {"linestyle": "none", "color": colour, "markersize": size}
            heights = np.maximum(sizes[which], TINY)
            ax.plot(number[which], heights, marker, label=f"{label} ({which.sum()})", **options)

        dots(above, "o", style.BLUE, "positive")
        zero = ~above & ~below
        if zero.any():
            dots(zero, ".", style.PALE, "zero within rounding")
        if below.any():
            dots(below, "X", style.VERMILION, "negative, by size", 7)
        ax.axhspan(ax.get_ylim()[0], self.tolerance, color=style.PALE, alpha=0.35, linewidth=0)
        ax.axhline(self.tolerance, color=style.GREY, linewidth=1, linestyle=":", label="rounding")
        ax.set_yscale("log")
        top = float(sizes.max()) or 1.0
        ax.set_ylim(max(self.tolerance / 30, 1e-300), 3 * top)
        ax.set(xlabel="number of the eigenvalue", ylabel="|eigenvalue|")
        ax.grid(True, axis="y")
        positive = np.maximum(values, 0.0)
        fraction = np.cumsum(positive) / (positive.sum() or 1.0)
        many = int(np.searchsorted(fraction, 0.95)) + 1
        dashed = {"color": style.GREEN, "linewidth": 1.2, "linestyle": "--"}
        ax.axvline(many, label=f"95 % of the trace in {many}", **dashed)
        colour = style.GREEN if self.is_psd else style.VERMILION
        box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 2}
        font = {"fontsize": 9, "color": colour, "weight": "bold"}
        ax.text(0.02, 0.04, self.verdict, transform=ax.transAxes, bbox=box, **font)
        free = "upper center" if below.any() else "upper right"  # negative ones rise to the right
        self._legend(ax, free if legend == "auto" else legend)
