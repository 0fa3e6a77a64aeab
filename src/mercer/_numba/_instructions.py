"""Instructions that Numba does not have: prefetches, wide vectors, keys of floats."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

__all__ = [
    "bits_to_float", "float_to_bits", "key_value", "larger", "least_key", "opposite_key",
    "order_key", "prefetch", "quotient_estimate", "reciprocal_estimates", "smaller", "tagged_key",
    "wide_vectors",
]  # fmt: skip

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


# Attributes of LLVM's functions. They are text, unknown to llvmlite, which would refuse them in its
# own ``add``.
_WIDE = '"prefer-vector-width"="512"'
_ESTIMATES = '"reciprocal-estimates"="vec-divf:0"'


def _wide_vectors(typing_context: Any) -> Any:
    """``wide_vectors()``: vectors of 512 bits in this function, on processors that have them.

    LLVM's own choice is 256 bits, for the sake of early processors that slowed down; BLAS does not
    share it.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        set.add(builder.function.attributes, _WIDE)
        return context.get_dummy_value()

    return types.void(), generate


wide_vectors: Any = intrinsic(_wide_vectors)


def _reciprocal_estimates(typing_context: Any) -> Any:
    """``reciprocal_estimates()``: each `quotient_estimate` in this function takes one instruction.

    Without it a Newton step follows the processor's estimate of the reciprocal.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        set.add(builder.function.attributes, _ESTIMATES)
        return context.get_dummy_value()

    return types.void(), generate


reciprocal_estimates: Any = intrinsic(_reciprocal_estimates)


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


def _tagged_key(typing_context: Any, key: Any, mask: Any, tag: Any) -> Any:
    """``tagged_key(key, mask, tag)``: the key with the bits of the mask replaced by the tag."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = args[0].type
        mask, tag = (
            builder.trunc(value, kind) if value.type.width > kind.width else value
            for value in args[1:]
        )
        return builder.or_(builder.and_(args[0], builder.not_(mask)), tag)

    return key(key, types.int64, types.int64), generate


def _opposite_key(typing_context: Any, key: Any) -> Any:
    """``opposite_key(key)``: of the key of x that of −x."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.not_(args[0])

    return key(key), generate


def _quotient_estimate(typing_context: Any, a: Any, b: Any) -> Any:
    """``quotient_estimate(a, b)``: a / b of finite numbers, to 11 bits or more.

    Processors with AVX have an estimate of 1 / b in vectors of float32. In a short loop a division
    takes longer than all else. Of numbers that are not finite the result is any number or NaN.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fdiv(*args, flags=("arcp", "ninf", "nnan", "nsz", "contract", "reassoc"))

    return a(a, a), generate


order_key: Any = intrinsic(_order_key)
opposite_key: Any = intrinsic(_opposite_key)
quotient_estimate: Any = intrinsic(_quotient_estimate)
tagged_key: Any = intrinsic(_tagged_key)
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
