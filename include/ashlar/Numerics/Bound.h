// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How far a result of the machine can be from the exact one: error bounds that
// hold for every input (docs/Numerics.md 13). Each function takes magnitudes of
// exact values, never what the machine made of them, so that a wrong result
// cannot widen its own bound. All quantities are absolute, in the unit of the
// values. The binary64 arithmetic of the bounds rounds; kReferenceSlack covers
// that.

#ifndef ASHLAR_NUMERICS_BOUND_H
#define ASHLAR_NUMERICS_BOUND_H

#include "ashlar/Numerics/Function.h"

#include <cstdint>

namespace ashlar::numerics {

/// 2^exponent, exact; |exponent| <= 1000.
double powerOfTwo(int exponent);

/// An exact value and how far the machine's may be from it.
struct Enclosure {
  double value = 0;
  double bound = 0;
  /// Largest magnitude that the machine may hold here.
  double top() const;
};

/// Mantissa step of a block whose exact elements are at most \p top in
/// magnitude: no encoding of them has a larger one. 0 for top = 0, infinite if
/// no finite value is known.
double blockStep(double top, int mantissa);

/// Largest change of an element of magnitude at most \p top by an encode with
/// a step of at most \p step: half a step, and up to a whole one for elements
/// next to a power of two that saturate.
double encodeBound(double top, double step, int mantissa);

/// Largest change of a stored element at operand fetch under the scale
/// exponent \p scale: half of the unit 2^(scale - range) for elements whose
/// \p step is below it, else none. Saturation (step above 2^scale) is outside
/// of every guarantee and not counted.
double alignBound(double step, int scale, int range);

/// True if alignment limits the stored element: 2^-s beyond the mantissa.
bool alignSaturates(double value, double step, int scale, int mantissa);

/// Bound of an exact sum of products against its binary64 reference.
/// \p operandError is sum (|a| + da) * dw + da * |w|, \p magnitude is
/// sum |a| * |w|, both over \p terms products computed in binary64.
double productBound(double operandError, double magnitude, uint64_t terms);

/// The machine rounds to binary32.
Enclosure toBinary32(Enclosure v);
/// v * factor and v + term, each with its rounding to binary32.
Enclosure scaled(Enclosure v, double factor);
Enclosure shifted(Enclosure v, double term);
/// \p function of the contract with its own roundings (docs/Numerics.md 8).
Enclosure applied(Enclosure v, Function function, double alpha, double beta);

/// Rounding of a result of magnitude at most \p top to a float type of
/// \p fraction explicit bits and the least positive value 2^least.
double roundingBound(double top, int fraction, int least);

} // namespace ashlar::numerics

#endif // ASHLAR_NUMERICS_BOUND_H
