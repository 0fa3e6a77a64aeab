"""Compiled code: the decorator, its flags and cache folder, and a few instructions.

Only arrays and scalars cross into compiled functions: a jitclass or a function argument would
defeat the on-disk cache and every process would compile again.

Numba's index files are pickles, so that whoever can write into the cache folder can have code run.
The cache is therefore in the package's folder, or the user's own, or a folder under the temporary
directory that nobody else can write to; where there is none, code is compiled in memory.

Before it loads code from the cache, Numba imports and registers all that it can compile, which
takes most of the first fit of a process. Code that is compiled already needs none of that
(`_Cache`).
"""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import stat
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numba.core.config
import numba.core.event as numba_events
from llvmlite import ir
from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core import types
from numba.core.caching import FunctionCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.runtime.nrt import rtsys
from numba.core.typed_passes import NativeLowering, NopythonRewrites
from numba.core.untyped_passes import InlineClosureLikes
from numba.extending import intrinsic

__all__ = [
    "REASSOCIATE", "Compilation", "bits_to_float", "compiled", "float_to_bits", "key_value",
    "larger", "least_key", "order_key", "prefetch", "smaller", "wide_vectors",
]  # fmt: skip

# Lets sums and maxima be vectorised. Infinities keep their meaning; NaN must not occur.
REASSOCIATE = frozenset({"reassoc", "nnan", "nsz", "contract", "arcp"})


def compiled(
    function: Callable | None = None,
    *,
    fastmath: Any = False,
    inline: bool = False,
    inner: bool = False,
    cached: bool = True,
    general: bool = False,
) -> Callable:
    """``numba.njit`` with the GIL released and the machine code cached on disk.

    ``inline`` puts a small function into its callers, where calls would take most of the time. An
    ``inner`` function is called by compiled ones only: the code for a call from Python, which takes
    as long to compile as a loop or two, is left out, and so is its own machine code: it is
    optimised in its callers. The cache needs a file as the source of the function; without one it
    must not be ``cached``. Only a ``general`` function, as users write them, may have closures,
    comprehensions, prints, and expressions of whole arrays that must be computed in one loop.
    """
    if function is None:
        return functools.partial(
            compiled, fastmath=fastmath, inline=inline, inner=inner, cached=cached, general=general
        )
    flags = set(fastmath) if isinstance(fastmath, frozenset) else fastmath
    options: dict[str, Any] = {
        "nogil": True, "fastmath": flags, "error_model": "numpy", "no_cfunc_wrapper": True,
        "no_cpython_wrapper": inner, "inline": "always" if inline else "never",
    }  # fmt: skip
    if not general:
        options["pipeline_class"] = _InnerCompiler if inner else _OuterCompiler
    dispatcher = numba.njit(**options)(function)
    dispatcher.compile = _without_collection(dispatcher.compile)
    if inner or not cached:
        return dispatcher
    try:
        dispatcher._cache = _Cache(function)  # type: ignore[no-untyped-call]
        return dispatcher
    except RuntimeError:  # no writable folder for the cache: neither the package's nor the user's
        folder = private_folder(tempfile.gettempdir())
    if folder is not None:
        config: Any = numba.core.config
        before = config.CACHE_DIR
        config.CACHE_DIR = folder
        with contextlib.suppress(RuntimeError):  # it has become unusable
            dispatcher._cache = _Cache(function)  # type: ignore[no-untyped-call]
        config.CACHE_DIR = before
    return dispatcher


def _without_collection(compile_types: Callable) -> Callable:
    """``Dispatcher.compile`` with the collection of reference cycles suspended.

    The search for cycles among the objects of a compilation took a sixth of its time.
    """

    @functools.wraps(compile_types)
    def compile_uninterrupted(types_of_arguments: Any) -> Any:
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            return compile_types(types_of_arguments)
        finally:
            if was_enabled:
                gc.enable()

    return compile_uninterrupted


class Compilation:
    """Measures the time in which Numba compiles, which it does once on a computer, and tells of it.

    Parameters
    ----------
    tell : callable
        Called with True when compiling begins, with False when it ends.

    Attributes
    ----------
    seconds : float
    """

    def __init__(self, tell: Callable[[bool], None] = lambda begins: None):
        self.tell, self.seconds, self._depth, self._began = tell, 0.0, 0, 0.0

    def __enter__(self) -> Compilation:
        class Listener(numba_events.Listener):
            on_start = staticmethod(self._start)
            on_end = staticmethod(self._end)

        self._listener = Listener()
        numba_events.register("numba:compile", self._listener)  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *error: Any) -> None:
        numba_events.unregister("numba:compile", self._listener)  # type: ignore[no-untyped-call]

    # Numba compiles under a lock of its own, so that one thread at a time is here.
    def _start(self, event: Any) -> None:
        self._depth += 1
        if self._depth == 1:
            self._began = time.perf_counter()
            self.tell(True)

    def _end(self, event: Any) -> None:
        self._depth -= 1
        if self._depth == 0:
            self.seconds += time.perf_counter() - self._began
            self.tell(False)


class _Cache(FunctionCache):
    """Numba's cache of a function; loading from it initialises only what compiled code calls."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled code for these types, or None: then Numba compiles, and registers first."""
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)  # type: ignore[no-untyped-call]


class _InnerLibrary(JITCodeLibrary):
    """The LLVM code of an inner function, which is linked into its callers and optimised there.

    No machine code of its own is generated.
    """

    def _optimize_final_module(self) -> None:
        """Nothing: callers are optimised with it."""

    def _finalize_final_module(self) -> None:
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)  # type: ignore[no-untyped-call]
class _InnerLowering(NativeLowering):
    """Numba's types to LLVM code, of an inner function."""

    _name = "inner_lowering"

    def run_pass(self, state: Any) -> bool:
        name = state.func_id.func_qualname
        library: Any = _InnerLibrary(state.targetctx.codegen(), name)  # type: ignore[no-untyped-call]
        state.library = library
        state.flags.no_compile = True
        super().run_pass(state)  # type: ignore[no-untyped-call]
        lowered = state["cr"]
        # Numba finds the code of a function by this object; Python cannot call it.
        module, address = lowered.fndesc.lookup_module(), 0
        key = _dynfunc.make_function(module, name, "", address, lowered.env, (library,))
        state.targetctx.insert_user_function(key, lowered.fndesc, [library])
        state["cr"] = lowered._replace(cfunc=key)
        return True


class _OuterCompiler(CompilerBase):
    """Numba's compiler without the passes for closures and for expressions of whole arrays."""

    lowering: type = NativeLowering

    def define_pipelines(self) -> list[Any]:
        default = DefaultPassBuilder.define_nopython_pipeline(self.state)  # type: ignore[no-untyped-call]
        default.passes = [
            (self.lowering if step is NativeLowering else step, text)
            for step, text in default.passes
            if step not in (InlineClosureLikes, NopythonRewrites)
        ]
        default.finalize()
        return [default]


class _InnerCompiler(_OuterCompiler):
    """Its machine code is that of its callers."""

    lowering = _InnerLowering


@functools.cache
def private_folder(parent: str) -> str | None:
    """A folder in ``parent`` that only this user can write to or replace; None if there is none."""
    if not hasattr(os, "getuid"):
        return None
    user = os.getuid()
    folder = Path(parent) / f"mercer-numba-cache-{user}"
    try:
        above = os.stat(parent)
        others_write = above.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if above.st_uid not in (0, user) or (others_write and not above.st_mode & stat.S_ISVTX):
            return None  # another user could put a folder of theirs in its place
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        found = os.lstat(folder)  # not what a link points to
    except OSError:
        return None
    is_own = stat.S_ISDIR(found.st_mode) and found.st_uid == user
    return str(folder) if is_own and not found.st_mode & 0o077 else None


# Of LLVM's prefetch: to be read, into the second-level cache, as data.
_READ, _SECOND_LEVEL, _DATA = 0, 2, 1


def _prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """``prefetch(array, index)``: have the 64 bytes around array[index] brought nearer.

    Changes no result. The array is contiguous; an index outside it is not an error.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        address, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [address, number, number, number])
        call = builder.module.declare_intrinsic("llvm.prefetch", [address], kind)
        at = builder.bitcast(builder.gep(data, [args[1]]), address)
        builder.call(call, [at, *map(number, (_READ, _SECOND_LEVEL, _DATA))])
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


prefetch: Any = intrinsic(_prefetch)


# An attribute of LLVM's functions.
_WIDE = '"prefer-vector-width"="512"'


def _wide_vectors(typing_context: Any) -> Any:
    """``wide_vectors()``: vectors of 512 bits in this function, on processors that have them.

    LLVM's own choice is 256 bits, for the sake of early processors that slowed down; BLAS does not
    share it. The attribute is text, unknown to llvmlite, which would refuse it in its own ``add``.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        set.add(builder.function.attributes, _WIDE)
        return context.get_dummy_value()

    return types.void(), generate


wide_vectors: Any = intrinsic(_wide_vectors)


# Keys: integers in the order of the floats that they stand for. LLVM vectorises maxima of integers,
# but not those of floats. Negative floats are ordered by their complemented bits.

_KEYS: dict[Any, Any] = {types.float32: types.int32, types.float64: types.int64}
_FLOATS: dict[Any, Any] = {key: number for number, key in _KEYS.items()}
_LLVM_FLOATS = {32: ir.FloatType(), 64: ir.DoubleType()}


def _reinterpretation(kinds: dict[Any, Any]) -> Any:
    """An instruction that gives the number of another type with the same bits."""

    def reinterpret(typing_context: Any, x: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.bitcast(args[0], context.get_value_type(signature.return_type))

        return kinds[x](x), generate

    return intrinsic(reinterpret)


float_to_bits, bits_to_float = _reinterpretation(_KEYS), _reinterpretation(_FLOATS)


def _complement_negative(builder: Any, bits: Any) -> Any:
    kind = bits.type
    sign = builder.ashr(bits, ir.Constant(kind, kind.width - 1))
    return builder.xor(bits, builder.and_(sign, ir.Constant(kind, (1 << (kind.width - 1)) - 1)))


def _order_key(typing_context: Any, x: Any) -> Any:
    """``order_key(x)``: the key of a float32 (an int32) or of a float64 (an int64)."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = ir.IntType(signature.return_type.bitwidth)
        return _complement_negative(builder, builder.bitcast(args[0], kind))

    return _KEYS[x](x), generate


def _key_value(typing_context: Any, key: Any) -> Any:
    """``key_value(key)``: the float with this key."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        bits = _complement_negative(builder, args[0])
        return builder.bitcast(bits, _LLVM_FLOATS[bits.type.width])

    return _FLOATS[key](key), generate


def _least_key(typing_context: Any, x: Any) -> Any:
    """``least_key(x)``: an integer below all keys of the type of x, a float or a key."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        width = signature.return_type.bitwidth
        return ir.Constant(ir.IntType(width), -(1 << (width - 1)))

    return _KEYS.get(x, x)(x), generate


order_key: Any = intrinsic(_order_key)
key_value: Any = intrinsic(_key_value)
least_key: Any = intrinsic(_least_key)


def _of_two(comparison: str) -> Any:
    """An instruction that gives b if ``b comparison a``, else a, for numbers of one type.

    Numba compiles a function for each type of the arguments of ``max`` and ``min``.
    """

    def choose(typing_context: Any, a: Any, b: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            is_float = isinstance(signature.return_type, types.Float)
            compare = builder.fcmp_ordered if is_float else builder.icmp_signed
            return builder.select(compare(comparison, args[1], args[0]), args[1], args[0])

        return a(a, a), generate

    return intrinsic(choose)


larger, smaller = _of_two(">"), _of_two("<")
