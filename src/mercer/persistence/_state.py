"""Fitted state as JSON and arrays, and back.

Numbers, texts and lists are themselves; anything else is an object with one key, which says what
it is. Arrays go to the tensors of the file; one that occurs twice is kept once, and is one again
when it is read. Classes are looked up in `_registry`; functions are kept by name alone.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer._result import Status
from mercer.data._arrays import check_csr
from mercer.exceptions import warn_user
from mercer.kernels.functions._kernels import DEFINED, FunctionKernel
from mercer.persistence._container import DTYPES
from mercer.persistence._graphs import pack_graphs, unpack_graphs
from mercer.persistence._registry import arguments, find, name_of, objects, present_fields
from mercer.persistence._sequences import pack, unpack
from mercer.persistence._validity import LIMITS, check_text_size

__all__ = ["Decoder", "Encoder"]

_NUMBERS = {np.dtype(dtype) for dtype in DTYPES.values()}
_SPARSE = {"csr_matrix": sp.csr_matrix, "csr_array": sp.csr_array}
_PARTS = ("data", "indices", "indptr")
_BIT_GENERATORS = {"MT19937": np.random.MT19937, "PCG64": np.random.PCG64}


class Encoder:
    """Turns values into JSON values, and fills ``tensors``."""

    def __init__(self) -> None:
        self.tensors: dict[str, np.ndarray] = {}
        self._seen: dict[int, tuple[Any, Any]] = {}  # id → the array itself, its node
        self._functions: dict[str, Any] = {}
        self._depth = 0

    def __call__(self, value: Any, where: str) -> Any:
        """``where`` is the attribute, for messages."""
        if value is None or isinstance(value, (bool, str)) or type(value) is int:
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if isinstance(value, Status):
            return {"status": value.name}
        if isinstance(value, np.generic):
            if value.dtype in _NUMBERS:
                return {"scalar": [value.dtype.str, self(value.item(), where)]}
            return self(value.item(), where)  # strings
        if isinstance(value, list):
            return [self(item, f"{where}[{i}]") for i, item in enumerate(value)]
        if isinstance(value, tuple):
            return {"tuple": [self(item, f"{where}[{i}]") for i, item in enumerate(value)]}
        if isinstance(value, (set, frozenset)):
            items = sorted(value, key=lambda item: (type(item).__name__, repr(item)))
            return {type(value).__name__: [self(item, where) for item in items]}
        if isinstance(value, dict):
            pairs = [[self(k, where), self(v, f"{where}[{k!r}]")] for k, v in value.items()]
            return {"dict": pairs}
        if isinstance(value, np.ma.MaskedArray):
            mask = np.ma.getmaskarray(value)
            data = value.data.copy()
            data[mask] = None if data.dtype == object else 0  # whatever was there
            return {"masked": [self(data, where), self(mask, f"{where}.mask")]}
        if isinstance(value, np.ndarray) or sp.issparse(value):
            return self._array(value, where)
        return self._object(value, where)

    def _object(self, value: Any, where: str) -> Any:
        name = name_of(value, objects())
        if name is not None:
            return {"object": name, "of": self._parts_of(value, where)}
        if isinstance(value, (np.random.RandomState, np.random.Generator)):
            return self._random(value, where)
        if isinstance(value, FunctionKernel):
            definition, of = value.definition, self(value.parameters, where)
            return {
                "kernel": definition.path,
                "of": of,
                "source": definition.digest,
                "captured": definition.captured,
            }
        if isinstance(value, functools.partial) and not value.args:
            return {"partial": [self(value.func, where), self(value.keywords, where)]}
        if callable(value) and not isinstance(value, type):
            function = _name_of_function(value)
            if self._functions.setdefault(function, value) is not value:
                raise ValueError(f"two different functions are named {function!r}; rename one")
            return {"function": function, "source": _source_digest(value)}
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        raise ValueError(
            f"{where} is of type {kind}, which cannot be kept in a file; mercer.save takes "
            "Mercer's own kernels and solvers, numbers, texts and arrays of them"
        )

    def _parts_of(self, value: Any, where: str) -> dict[str, Any]:
        """The arguments of an object; no deeper than a reader's stack is sure to go."""
        self._depth += 1
        if self._depth > LIMITS.nesting:
            raise ValueError(
                f"{where.partition('.')[0]} is nested more than {LIMITS.nesting} deep; add many "
                "kernels in pairs, (a + b) + (c + d)"
            )
        parts = arguments(type(value))
        found = {part: self(getattr(value, part), f"{where}.{part}") for part in parts}
        self._depth -= 1
        return found

    def _random(self, value: Any, where: str) -> Any:
        legacy = isinstance(value, np.random.RandomState)
        state = value.get_state(legacy=False) if legacy else value.bit_generator.state
        if state["bit_generator"] not in _BIT_GENERATORS:
            raise ValueError(
                f"{where} is a random generator {state['bit_generator']!r}; give a seed"
            )
        return {"random": self(state, where), "legacy": legacy}

    def _array(self, value: Any, where: str) -> Any:
        if id(value) not in self._seen:
            self._seen[id(value)] = value, self._new_array(value, where)
        return self._seen[id(value)][1]

    def _new_array(self, value: Any, where: str) -> Any:
        if sp.issparse(value):
            if type(value).__name__ not in _SPARSE:
                raise ValueError(f"{where} is a {type(value).__name__}; only CSR can be kept")
            parts = {p: self(getattr(value, p), f"{where}.{p}") for p in _PARTS}
            return {"sparse": type(value).__name__, "of": parts, "shape": list(value.shape)}
        if value.dtype.newbyteorder("=") in _NUMBERS:
            name = where if where not in self.tensors else f"{where}#{len(self.tensors)}"
            transposed = (
                value.ndim == 2 and value.flags.f_contiguous and not value.flags.c_contiguous
            )
            self.tensors[name] = value.T if transposed else value
            return {"array": name, "transposed": True} if transposed else {"array": name}
        if value.dtype.kind not in "UO":
            raise ValueError(
                f"{where} is an array of {value.dtype}, which cannot be kept in a file"
            )
        if value.ndim == 1 and value.dtype == object and (packed := pack(value)) is not None:
            kind, flat, offsets = packed
            parts = {"flat": self(flat, where), "offsets": self(offsets, f"{where}.offsets")}
            return {"sequences": kind, "of": parts}
        if value.ndim == 1 and value.dtype == object and (graphs := pack_graphs(value)) is not None:
            return {"graphs": {part: self(graphs[part], f"{where}.{part}") for part in graphs}}
        items = [self(item, f"{where}[{i}]") for i, item in enumerate(value.ravel().tolist())]
        return {"items": items, "shape": list(value.shape), "kind": value.dtype.kind}


class Decoder:
    """Turns what `Encoder` made into the values again; raises a ValueError where it cannot."""

    def __init__(self, tensors: Mapping[str, np.ndarray], callables: Mapping[str, Callable]):
        self.tensors, self.callables = tensors, callables
        self._seen: dict[str, Any] = {}
        self._warned: set[str] = set()

    def __call__(self, node: Any) -> Any:
        if isinstance(node, list):
            return [self(item) for item in node]
        if not isinstance(node, dict):
            return node
        for kind, decode in _DECODERS.items():
            if kind in node:
                return decode(self, node)
        raise ValueError(f"there is nothing of the kind {', '.join(map(str, node))[:60]!r}")

    def _dict(self, node: dict) -> dict:
        return {self(key): self(value) for key, value in node["dict"]}

    def _scalar(self, node: dict) -> Any:
        kind, value = node["scalar"]
        dtype = np.dtype(kind)
        if dtype not in _NUMBERS:
            raise ValueError(f"there are no numbers of the type {kind!r}")
        return dtype.type(self(value))

    def _array(self, node: dict) -> np.ndarray:
        name = node["array"]
        if name not in self._seen:
            array = self.tensors[name]
            self._seen[name] = array.T if node.get("transposed") else array
        return self._seen[name]

    def _masked(self, node: dict) -> np.ma.MaskedArray:
        data, mask = (self(part) for part in node["masked"])
        return np.ma.MaskedArray(data, mask=mask)

    def _items(self, node: dict) -> np.ndarray:
        items = [self(item) for item in node["items"]]
        if node["kind"] == "U":
            if not all(isinstance(item, str) for item in items):
                raise ValueError("an array of texts holds something else")
            check_text_size(items)
            return np.array(items, dtype=str).reshape(node["shape"])
        array = np.empty(len(items), dtype=object)
        for i, item in enumerate(items):  # not array[:] = items, which would unpack sequences
            array[i] = item
        return array.reshape(node["shape"])

    def _sequences(self, node: dict) -> np.ndarray:
        key = repr(node)
        if key not in self._seen:
            flat, offsets = (self(node["of"][part]) for part in ("flat", "offsets"))
            self._seen[key] = unpack(node["sequences"], flat, offsets)
        return self._seen[key]

    def _graphs(self, node: dict) -> np.ndarray:
        key = repr(node)
        if key not in self._seen:
            parts = {name: self(part) for name, part in node["graphs"].items()}
            self._seen[key] = unpack_graphs(parts)
        return self._seen[key]

    def _sparse(self, node: dict) -> Any:
        key = repr(node)
        if key not in self._seen:
            data, indices, indptr = (self(node["of"][part]) for part in _PARTS)
            check_csr(data, indices, indptr, node["shape"])  # compiled code relies on the indices
            parts = (data, indices, indptr)
            matrix = _SPARSE[node["sparse"]](parts, shape=tuple(node["shape"]))
            self._seen[key] = matrix
        return self._seen[key]

    def _object(self, node: dict) -> Any:
        cls = find(node["object"], objects())
        given = present_fields(cls, node["of"])
        values = {name: self(value) for name, value in given.items()}
        late = [f.name for f in fields(cls) if not f.init] if is_dataclass(cls) else []
        late = [name for name in late if name in values]
        if late and values.get("size") != np.size(values["u"]):  # before so much is asked for
            raise ValueError("the parts of the descent do not fit each other")
        made = cls(**{name: value for name, value in values.items() if name not in late})
        for name in late:
            setattr(made, name, values[name])
        return made

    def _random(self, node: dict) -> Any:
        state = self(node["random"])
        bits = _BIT_GENERATORS[state["bit_generator"]]()
        key = bits.state["state"].get("key")  # of MT19937; NumPy does not check the place in it
        if key is not None and not 0 <= state["state"]["pos"] <= key.size:
            raise ValueError("the random generator is beyond the end of its state")
        if node["legacy"]:
            random = np.random.RandomState(bits)
            random.set_state(state)
            return random
        bits.state = state
        return np.random.Generator(bits)

    def _kernel(self, node: dict) -> FunctionKernel:
        """A kernel function that this process has defined, or was given: none is imported."""
        path, parameters = node["kernel"], self(node["of"])
        module, _, qualname = str(path).partition(":")
        name = qualname.rpartition(".")[2]
        given: Any = self.callables.get(name)
        if given is None and path in DEFINED:
            given = DEFINED[path]()
        if callable(given) and not isinstance(given, FunctionKernel):
            raise ValueError(
                f"callables gives a plain function for {name!r}; give the kernel that "
                "@mercer.kernel makes of it"
            )
        if not isinstance(given, FunctionKernel):
            again = "define it again" if module == "__main__" else f"import {module} first"
            raise ValueError(
                f"the model has the kernel function {qualname!r} of the module {module!r}, and "
                f"functions are not kept in files: {again}, or give it to mercer.load(path, "
                f"callables={{{name!r}: ...}})"
            )
        captured = node.get("captured")  # files of earlier versions have none
        if given.definition.digest != node["source"]:
            self._warn_of(f"kernel function {name!r}", "has another source")
        elif captured is not None and given.definition.captured not in (captured, None):
            self._warn_of(f"kernel function {name!r}", "uses other values beside its arguments")
        return given.set_params(**parameters)  # type: ignore[return-value]

    def _function(self, node: dict) -> Callable:
        name = node["function"]
        if name not in self.callables:
            raise ValueError(
                f"the model has the function {name!r}, and functions are not kept in files: give "
                f"it again, mercer.load(path, callables={{{name!r}: ...}})"
            )
        given, saved = self.callables[name], node.get("source")
        if saved is not None and _source_digest(given) not in (saved, None):
            self._warn_of(f"function {name!r} given to mercer.load", "has another source")
        return given

    def _warn_of(self, what: str, differs: str) -> None:
        """Once for a function, which is a parameter, part of the fitted kernel, and so on."""
        if what in self._warned:
            return
        self._warned.add(what)
        warn_user(
            f"The {what} {differs} than the one that the model was fitted with: it may be another "
            "kernel.",
            UserWarning,
        )


def _name_of_function(value: Any) -> str:
    """Of a function its name, of an object that can be called that of its class."""
    name = getattr(value, "__name__", None)
    return name if isinstance(name, str) else type(value).__name__


def _source_digest(value: Any) -> str | None:
    """SHA-256 of the source of a function, or of the class of an object; None if it has none."""
    try:
        source = inspect.getsource(value if inspect.isroutine(value) else type(value))
    except (OSError, TypeError):
        return None
    lines = (line.strip() for line in source.splitlines())
    return hashlib.sha256("\n".join(filter(None, lines)).encode()).hexdigest()


_DECODERS: dict[str, Callable[[Decoder, dict], Any]] = {
    "float": lambda self, node: {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}[
        node["float"]
    ],
    "scalar": Decoder._scalar,
    "status": lambda self, node: Status[node["status"]],
    "tuple": lambda self, node: tuple(self(item) for item in node["tuple"]),
    "set": lambda self, node: set(map(self, node["set"])),
    "frozenset": lambda self, node: frozenset(map(self, node["frozenset"])),
    "dict": Decoder._dict,
    "array": Decoder._array,
    "masked": Decoder._masked,
    "items": Decoder._items,
    "sequences": Decoder._sequences,
    "graphs": Decoder._graphs,
    "sparse": Decoder._sparse,
    "object": Decoder._object,
    "random": Decoder._random,
    "partial": lambda self, node: functools.partial(
        self(node["partial"][0]), **self(node["partial"][1])
    ),
    "function": Decoder._function,
    "kernel": Decoder._kernel,
}
