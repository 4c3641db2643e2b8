// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files with a program for each of several sizes of a dimension
// (ashlarc --bucket): the smallest that fits runs, on inputs with zeros after
// what was given.

#ifndef ASHLAR_LIB_REPORT_BUCKETS_BUCKETS_H
#define ASHLAR_LIB_REPORT_BUCKETS_BUCKETS_H

#include "ashlar/Container/Container.h"
#include "ashlar/Support/Npz.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace ashlar::report {

/// An axis of an input or output that is as long as the dimension.
struct BucketAxis {
  std::string name;
  size_t axis = 0;
};

class Buckets {
public:
  /// Chooses among \p programs, of one file, by the extents of \p arrays, and
  /// fills these up to those of the program. Without arrays that tell, the
  /// largest. Malformed: no program is large enough, or extents that contradict
  /// each other; Unsupported: another length of outputs or inputs than the size
  /// of the dimension.
  static llvm::Expected<Buckets>
  choose(std::vector<container::Program> programs,
         std::vector<support::NamedTensor> &arrays);

  /// The program that runs.
  container::Program program;
  /// What to tell about it; empty if nothing was filled up.
  std::string note, warning;

  /// Cuts the outputs of \p samples back to the extents of the inputs.
  void cut(std::vector<support::NamedTensor> &outputs) const;

private:
  /// Fills the arrays up to `size`.
  void fill(llvm::ArrayRef<BucketAxis> inputs,
            std::vector<support::NamedTensor> &arrays);

  std::vector<BucketAxis> outputs;
  int64_t given = 0, size = 0; ///< Of the dimension: as given, as compiled.
};

} // namespace ashlar::report

#endif // ASHLAR_LIB_REPORT_BUCKETS_BUCKETS_H
