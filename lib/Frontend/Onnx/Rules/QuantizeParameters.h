// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scales and zero points of quantised operators.

#ifndef ASHLAR_LIB_FRONTEND_ONNX_RULES_QUANTIZEPARAMETERS_H
#define ASHLAR_LIB_FRONTEND_ONNX_RULES_QUANTIZEPARAMETERS_H

#include "lib/Frontend/Onnx/Node.h"

namespace ashlar::frontend {

Type i32Of(Emitter &n);
Type i16Of(Emitter &n);
Type i8Of(Emitter &n);
Type u8Of(Emitter &n);
Type f32Of(Emitter &n);

/// An integer of 8 or 16 bits, and no more than `limit`.
bool isSmallInteger(Type type, unsigned limit);

/// Constant and zero everywhere, or null.
bool isZero(Value value);

/// A parameter per tensor becomes a scalar, one per slice is laid along `axis`
/// of a tensor of shape `shape`; with a `block` other than 0 one per that many
/// elements of the axis is repeated for them.
Value spread(Node &n, Value parameter, int64_t axis, ShapeRef shape,
             StringRef name, int64_t block = 0);

/// saturate(v + zero) of integers in a float; zero may be null.
Value addZeroAndSaturate(Node &n, Value v, Value zero, Type element);

/// The exact 32-bit sums of (x - xZero) * (w - wZero), matrices of 8-bit
/// integers; zero points may be null.
Value integerMatmul(Node &n, Value x, Value xZero, Value w, Value wZero);

/// 8-bit numbers with their parameters.
struct Quantised {
  Value q, scale, zero;
};

/// x in the range from min(x, 0) to max(x, 0), as DynamicQuantizeLinear has it.
Quantised quantiseDynamically(Node &n, Value x);

/// QuantizeLinear of a product of integers: one rounding of the accumulators,
/// as QLinearConv and QLinearMatMul define it; null if x is no such product.
Value requantised(Node &n, Value x, Value scale, Value zero, Type element);

} // namespace ashlar::frontend

#endif // ASHLAR_LIB_FRONTEND_ONNX_RULES_QUANTIZEPARAMETERS_H
