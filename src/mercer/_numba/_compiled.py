"""The decorator of compiled functions, its flags, and the time that compiling takes.

Only arrays and scalars cross into compiled functions: a jitclass or a function argument would
defeat the on-disk cache and every process would compile again.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import time
from collections.abc import Callable
from typing import Any

import numba
import numba.core.config
import numba.core.event as numba_events
from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering, NopythonRewrites
from numba.core.untyped_passes import InlineClosureLikes

from mercer._numba._cache import Cache, temporary_folder

__all__ = ["REASSOCIATE", "Compilation", "compiled"]

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
        dispatcher._cache = Cache(function)  # type: ignore[no-untyped-call]
        return dispatcher
    except RuntimeError:  # no writable folder for the cache: neither the package's nor the user's
        folder = temporary_folder()
    if folder is not None:
        config: Any = numba.core.config
        before = config.CACHE_DIR
        config.CACHE_DIR = folder
        with contextlib.suppress(RuntimeError):  # it has become unusable
            dispatcher._cache = Cache(function)  # type: ignore[no-untyped-call]
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
