// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The next token from the logits.

#ifndef ASHLAR_LIB_REPORT_GENERATE_SAMPLER_H
#define ASHLAR_LIB_REPORT_GENERATE_SAMPLER_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>

namespace ashlar::report {

/// Draws tokens; the same seed and logits give the same tokens on every host
/// whose exp rounds alike.
class Sampler {
public:
  /// \p temperature 0 takes the largest logit, the first of equal ones. \p topK
  /// 0: all tokens may be drawn.
  Sampler(double temperature, uint64_t topK, uint64_t seed)
      : temperature(temperature), topK(topK), state(seed) {}

  int64_t next(llvm::ArrayRef<double> logits);

private:
  double uniform();

  double temperature;
  uint64_t topK, state;
};

} // namespace ashlar::report

#endif // ASHLAR_LIB_REPORT_GENERATE_SAMPLER_H
