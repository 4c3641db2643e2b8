// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Computed against expected arrays.

#ifndef ASHLAR_REPORT_COMPARISON_H
#define ASHLAR_REPORT_COMPARISON_H

#include "ashlar/Support/Tensor.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>

namespace ashlar::report {

/// How two arrays of one shape differ. NaN equals NaN, an infinity only
/// itself.
struct Comparison {
  uint64_t elements = 0;
  uint64_t wrong = 0;      ///< |found - expected| > atol + rtol * |expected|.
  uint64_t firstWrong = 0; ///< Flat index, if wrong != 0.
  double maxError = 0;     ///< Largest |found - expected|; may be infinite.
  uint64_t maxErrorAt = 0; ///< Flat index of it.
  double snrDb = 0;        ///< Infinite if nothing differs.
  bool passed() const { return wrong == 0; }
};

/// Compares \p found with \p expected. The shapes must be equal, and the types
/// equal or both floating-point; otherwise a Malformed error naming both.
/// 64-bit integers are compared exactly where the tolerances are zero.
llvm::Expected<Comparison> compare(const support::HostTensor &found,
                                   const support::HostTensor &expected,
                                   double atol, double rtol);

/// "PASS  SNR 52.1 dB, max error 0.0012 at [0,7]" or "FAIL ..., 3 of 10 ...".
std::string describe(const Comparison &comparison,
                     llvm::ArrayRef<int64_t> shape);

/// "[1,2,3]" for a flat index of an array of \p shape.
std::string indexText(uint64_t flat, llvm::ArrayRef<int64_t> shape);

} // namespace ashlar::report

#endif // ASHLAR_REPORT_COMPARISON_H
