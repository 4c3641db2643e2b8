// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Conversions of narrow types as formulas on the types that hold their values.

#ifndef ASHLAR_LIB_FRONTEND_ONNX_TYPES_NARROWVALUES_H
#define ASHLAR_LIB_FRONTEND_ONNX_TYPES_NARROWVALUES_H

#include "NarrowType.h"
#include "lib/Frontend/Onnx/Emitter.h"

namespace ashlar::frontend {

/// How a float becomes a power of two (float8e8m0).
enum class PowerRounding : uint8_t { Up, Down, Nearest };

/// The largest power of two that is not above v, for v >= 0; 0 for 0, NaN for
/// NaN. v is of binary32, or of binary64 and below 2^128.
Value powerBelow(Emitter &e, Value v);

/// x rounded to the nearest number of `type`, ties to even, in its storage:
/// integers keep their low bits. Beyond the largest number floats stay there if
/// `saturate`, else they become infinite or NaN, as the type has them.
Value castToNarrow(Emitter &e, Value x, const NarrowType &type, bool saturate,
                   PowerRounding rounding = PowerRounding::Up);

/// v, integers in a float, limited to the range of an integer type.
Value saturateToNarrow(Emitter &e, Value v, const NarrowType &type);

/// Values of codes, one in the low bits of each byte; the type of an input of
/// the graph.
Value decodeNarrow(Emitter &e, Value codes, const NarrowType &type);
/// And back, for an output of the graph.
Value encodeNarrow(Emitter &e, Value values, const NarrowType &type);

} // namespace ashlar::frontend

#endif // ASHLAR_LIB_FRONTEND_ONNX_TYPES_NARROWVALUES_H
