"""For compiled code: ask for memory ahead of its use.

Rows visited in random order are not foreseen by the processor, and each would be waited for.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

__all__ = ["prefetch"]

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
