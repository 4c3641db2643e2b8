// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expectations on llvm::Error values.

#ifndef ASHLAR_TEST_UNIT_PARTITION_RESULTS_H
#define ASHLAR_TEST_UNIT_PARTITION_RESULTS_H

#include "llvm/Support/Error.h"

namespace ashlar::partition {

inline bool fails(llvm::Error error) {
  bool failed = bool(error);
  llvm::consumeError(std::move(error));
  return failed;
}

template <typename T>
bool fails(llvm::Expected<T> value) {
  return fails(value.takeError());
}

} // namespace ashlar::partition

#endif // ASHLAR_TEST_UNIT_PARTITION_RESULTS_H
