"""ONNX: the function of a model as a graph of plain operators in float64."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

import mercer
from mercer.data import Schema
from mercer.data._files import writing
from mercer.export._flow import Flow, flow_of
from mercer.kernels import (
    RBF,
    AllSubsets,
    Chi2,
    Cosine,
    Kernel,
    Laplacian,
    Linear,
    Polynomial,
    Sigmoid,
)
from mercer.kernels._composite import Constant, Power, Product, Scaled, Sum

__all__ = ["to_onnx"]

OPSET, IR_VERSION = 18, 9  # of 2023: what runtimes of the years since understand


def to_onnx(
    model: Any, path: str | os.PathLike | None = None, *, schema: Schema | None = None
) -> bytes:
    """A fitted model as an ONNX graph, for onnxruntime and others.

    The input ``X`` is float64 of shape (n, n_features). Outputs: ``label`` and
    ``decision_values`` of classifiers and one-class machines; ``prediction`` of regressions;
    ``features`` of `KernelPCA`. The graph consists of ordinary operators (MatMul, Exp, Pow, …) in
    float64: values agree with ``model.expansion_.exact(X)`` up to rounding. ``decision_function``
    of a model with many support vectors may have float32 kernel values, with the same signs.
    Kernels Laplacian, Chi2 and AllSubsets compare n rows with m vectors in n · m · n_features
    numbers: give few rows at a time.

    Parameters
    ----------
    model : estimator or Pipeline
        With a kernel on numbers, or linear. Scalers before it (StandardScaler, MinMaxScaler,
        MaxAbsScaler, RobustScaler) become part of the graph.
    path : str or path, optional
        Where to write it, whole or not at all.
    schema : Schema, optional
        Of a file that the command line wrote: its scaling comes first.

    Returns
    -------
    content : bytes
        What is written to the file.

    Examples
    --------
    >>> import numpy as np, onnxruntime
    >>> from mercer import SVC
    >>> from mercer.export import to_onnx
    >>> X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    >>> model = SVC().fit(X, y)
    >>> session = onnxruntime.InferenceSession(to_onnx(model))
    >>> label, values = session.run(None, {"X": X})
    >>> bool((label == model.predict(X)).all())
    True
    """
    content = _Graph(flow_of(model, schema)).build()
    if path is not None:
        with writing(path) as file:
            file.write(content)
    return content


class _Graph:
    """Nodes and constants, in the order in which they are needed."""

    def __init__(self, flow: Flow):
        try:
            import onnx
        except ImportError as error:
            raise ImportError(
                "ONNX export needs the package onnx: pip install 'mercer[onnx]'."
            ) from error
        self.onnx, self.flow = onnx, flow
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.cache: dict[str, str] = {}

    def constant(self, value: Any) -> str:
        name = f"c{len(self.constants)}"
        value = np.asarray(value)
        if value.dtype.kind in "UO":
            strings: Any = [str(v).encode() for v in value.ravel()]
            made = self.onnx.helper.make_tensor(
                name, self.onnx.TensorProto.STRING, value.shape, strings
            )
        else:
            made = self.onnx.numpy_helper.from_array(np.ascontiguousarray(value), name)
        self.constants.append(made)
        return name

    def node(
        self, operator: str, *inputs: str, output: str | None = None, **attributes: Any
    ) -> str:
        output = output or f"t{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, inputs, [output], **attributes))
        return output

    def once(self, name: str, make: Callable[[], str]) -> str:
        """A tensor that several parts of a kernel use."""
        if name not in self.cache:
            self.cache[name] = make()
        return self.cache[name]

    def build(self) -> bytes:
        helper, kinds = self.onnx.helper, self.onnx.TensorProto
        flow = self.flow
        self.node("Mul", "X", self.constant(flow.factor), output="scaled")
        self.node("Add", "scaled", self.constant(flow.shift), output="rows")
        values = self._values()
        if flow.rule == "values":
            name = "features" if flow.name == "KernelPCA" else "prediction"
            shape: list[Any] = ["n", flow.b.size]
            if flow.b.size == 1 and name == "prediction":
                values, shape = self.node("Squeeze", values, self.constant(np.array([1]))), ["n"]
            self.node("Identity", values, output=name)
            outputs = [helper.make_tensor_value_info(name, kinds.DOUBLE, shape)]
        else:
            outputs = self._labels(values)
        rows = helper.make_tensor_value_info("X", kinds.DOUBLE, ["n", flow.d])
        graph = helper.make_graph(self.nodes, flow.name, [rows], outputs, self.constants)
        made = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="mercer",
            producer_version=mercer.__version__,
        )
        self.onnx.checker.check_model(made)
        return bytes(made.SerializeToString())

    def _values(self) -> str:
        flow = self.flow
        if flow.kernel is None:
            sums = self.node("MatMul", "rows", self.constant(flow.vectors.T))
        else:
            assert flow.coef is not None
            sums = self.node("MatMul", self.kernel(flow.kernel), self.constant(flow.coef.T))
        return self.node("Add", sums, self.constant(flow.b))

    # ------------------------------------------------------------------ labels

    def _labels(self, values: str) -> list[Any]:
        """The outputs ``label`` and ``decision_values``."""
        helper, kinds = self.onnx.helper, self.onnx.TensorProto
        flow = self.flow
        assert flow.classes is not None
        shape: list[Any] = ["n", flow.b.size]
        if flow.rule == "cut":
            values, shape = self.node("Squeeze", values, self.constant(np.array([1]))), ["n"]
            operator = "GreaterOrEqual" if flow.includes_cut else "Greater"
            above = self.node(operator, values, self.constant(np.float64(flow.cut)))
            winner = self.node("Cast", above, to=kinds.INT64)
        elif flow.rule == "argmax":
            winner = self._largest(values)
        else:
            winner, values = self._votes(values)
            shape = ["n", flow.classes.size if flow.scores else flow.b.size]
        classes, kind = flow.classes, kinds.STRING
        if classes.dtype.kind in "iub":
            classes, kind = classes.astype(np.int64), kinds.INT64
        elif classes.dtype.kind == "f":
            classes, kind = classes.astype(np.float64), kinds.DOUBLE
        self.node("Gather", self.constant(classes), winner, output="label")
        self.node("Identity", values, output="decision_values")
        return [
            helper.make_tensor_value_info("label", kind, ["n"]),
            helper.make_tensor_value_info("decision_values", kinds.DOUBLE, shape),
        ]

    def _votes(self, values: str) -> tuple[str, str]:
        """The number of the winner, and the decision values."""
        flow = self.flow
        assert flow.classes is not None
        first, second = flow.winners()
        of_first, of_second = np.zeros((2, first.size, flow.classes.size))
        of_first[np.arange(first.size), first] = 1.0
        of_second[np.arange(first.size), second] = 1.0

        def count(operator: str) -> str:
            wins = self.node(operator, values, self.constant(np.float64(0)))
            wins = self.node("Cast", wins, to=self.onnx.TensorProto.DOUBLE)
            sums = self.node("MatMul", wins, self.constant(of_first - of_second))
            return self.node("Add", sums, self.constant(of_second.sum(axis=0)))

        total = self.node("MatMul", values, self.constant(of_first - of_second))
        size = self.node("Add", self.node("Abs", total), self.constant(np.float64(1)))
        small = self.node("Div", total, self.node("Mul", size, self.constant(np.float64(3))))
        scores = self.node("Add", count("GreaterOrEqual"), small)
        ballot = scores if flow.ties_by_score else count("Greater")
        return self._largest(ballot), scores if flow.scores else values

    def _largest(self, values: str) -> str:
        """The class of the largest value; of equal ones the first in the order of the flow."""
        if self.flow.order is None:
            return self.node("ArgMax", values, axis=1, keepdims=0)
        order = self.constant(self.flow.order.astype(np.int64))
        ordered = self.node("Gather", values, order, axis=1)
        return self.node("Gather", order, self.node("ArgMax", ordered, axis=1, keepdims=0))

    # ------------------------------------------------------------------ kernels

    def kernel(self, kernel: Kernel) -> str:
        """The matrix of k(row, vector), shape (n, m)."""
        number = np.float64
        if isinstance(kernel, Sum | Product):
            operator = "Add" if isinstance(kernel, Sum) else "Mul"
            return self.node(operator, self.kernel(kernel.k1), self.kernel(kernel.k2))
        if isinstance(kernel, Scaled):
            return self.node("Mul", self.kernel(kernel.k), self._row(kernel.c))
        if isinstance(kernel, Power):
            return self.node("Pow", self.kernel(kernel.k), self.constant(number(kernel.power)))
        if isinstance(kernel, Constant):
            return self._constant_matrix(kernel.value)
        if isinstance(kernel, Linear):
            return self._dots()
        if isinstance(kernel, Polynomial | Sigmoid):
            inner = self.node("Mul", self._dots(), self._row(kernel.gamma))
            inner = self.node("Add", inner, self.constant(number(kernel.coef0)))
            if isinstance(kernel, Sigmoid):
                return self.node("Tanh", inner)
            return self.node("Pow", inner, self.constant(number(kernel.degree)))
        if isinstance(kernel, RBF | Laplacian | Chi2):
            made = {RBF: self._squared_distances, Laplacian: self._distances, Chi2: self._chi2}
            inner = self.node("Mul", made[type(kernel)](), self.constant(number(-kernel.gamma)))
            return self.node("Exp", inner)
        if isinstance(kernel, Cosine):
            return self._cosines()
        if isinstance(kernel, AllSubsets):
            products = self.node("Mul", self._columns(), self._vectors())
            factors = self.node("Add", products, self.constant(number(1)))
            return self.node("ReduceProd", factors, self.constant(np.array([2])), keepdims=0)
        raise TypeError(f"The kernel {kernel!r} cannot be exported: there is no ONNX form of it.")

    def _constant_matrix(self, value: float) -> str:
        """A row for each one given: a model may have nothing but constants."""
        one = self.constant(np.array([len(self.flow.vectors)]))
        n = self.once("n", lambda: self.node("Shape", "rows", start=0, end=1))
        shape = self.node("Concat", n, one, axis=0)
        return self.node("Expand", self.constant(np.float64(value)), shape)

    def _row(self, factor: float) -> str:
        """A factor of all columns, as a row: runtimes may join a product with a single number to
        the matrix product before it, and round the number to float32."""
        return self.constant(np.full((1, len(self.flow.vectors)), factor))

    def _dots(self) -> str:
        return self.once(
            "dots", lambda: self.node("MatMul", "rows", self.constant(self.flow.vectors.T))
        )

    def _squared_norms(self) -> str:
        def make() -> str:
            squares = self.node("Mul", "rows", "rows")
            return self.node("ReduceSum", squares, self.constant(np.array([1])), keepdims=1)

        return self.once("norms", make)

    def _squared_distances(self) -> str:
        def make() -> str:
            norms = np.einsum("ij,ij->i", self.flow.vectors, self.flow.vectors)
            sums = self.node("Add", self._squared_norms(), self.constant(norms))
            twice = self.node("Mul", self._dots(), self._row(2.0))
            return self.node("Relu", self.node("Sub", sums, twice))

        return self.once("squared distances", make)

    def _columns(self) -> str:
        """The rows in shape (n, 1, d)."""
        return self.once(
            "columns", lambda: self.node("Unsqueeze", "rows", self.constant(np.array([1])))
        )

    def _vectors(self) -> str:
        return self.once("vectors", lambda: self.constant(self.flow.vectors))

    def _sum(self, terms: str) -> str:
        return self.node("ReduceSum", terms, self.constant(np.array([2])), keepdims=0)

    def _distances(self) -> str:
        return self._sum(self.node("Abs", self.node("Sub", self._columns(), self._vectors())))

    def _chi2(self) -> str:
        """Σ (x − z)²/(x + z), with 0/0 = 0: where x + z = 0, the numerator is 0 too."""
        differences = self.node("Sub", self._columns(), self._vectors())
        sums = self.node("Add", self._columns(), self._vectors())
        is_zero = self.node("Equal", sums, self.constant(np.float64(0)))
        below = self.node("Where", is_zero, self.constant(np.float64(1)), sums)
        return self._sum(self.node("Div", self.node("Mul", differences, differences), below))

    def _cosines(self) -> str:
        norms = np.sqrt(np.einsum("ij,ij->i", self.flow.vectors, self.flow.vectors))
        inverse = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
        own = self.node("Sqrt", self._squared_norms())
        is_zero = self.node("Equal", own, self.constant(np.float64(0)))
        own = self.node("Where", is_zero, self.constant(np.float64(1)), own)  # the dot is 0 there
        return self.node("Mul", self.node("Div", self._dots(), own), self.constant(inverse))
