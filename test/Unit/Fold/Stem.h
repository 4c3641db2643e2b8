// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// First layers and machines that the tests of the width folds share.

#ifndef ASHLAR_TEST_FOLD_STEM_H
#define ASHLAR_TEST_FOLD_STEM_H

#include "lib/Transforms/NN/Folds/FoldPlan.h"

namespace ashlar::test {

/// A square convolution of stride 2 over an image of 3 channels, \p pad on
/// every side.
inline nn::FoldConv stem(int64_t size, int64_t kernel, int64_t pad,
                         int64_t outputs) {
  nn::FoldConv conv;
  conv.channels = 3;
  conv.outputs = outputs;
  conv.input = {size, size};
  conv.kernel = {kernel, kernel};
  conv.strides = {2, 2};
  conv.dilations = {1, 1};
  conv.pads = {pad, pad, pad, pad};
  const int64_t output = (size + 2 * pad - kernel) / 2 + 1;
  conv.output = {output, output};
  return conv;
}

/// What folds see of the machine without prices and without a sparse cluster,
/// after \p change.
inline nn::MachineView
machineWith(llvm::function_ref<void(machine::Description &)> change =
                [](machine::Description &) {}) {
  machine::Description machine;
  machine.sparse.tcus = 0;
  change(machine);
  return nn::MachineView(machine);
}

} // namespace ashlar::test

#endif // ASHLAR_TEST_FOLD_STEM_H
