// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where samples come from: a file of the command line, or arrays of a program
// that has the compiler as a library.

#ifndef ASHLAR_LIB_PIPELINES_SAMPLES_SAMPLEARCHIVE_H
#define ASHLAR_LIB_PIPELINES_SAMPLES_SAMPLEARCHIVE_H

#include "ashlar/Support/Npz.h"

#include <string>
#include <vector>

namespace ashlar::pipelines {

/// Arrays by input name, axis 0 a multiple of the compiled one.
class SampleArchive {
public:
  /// None.
  SampleArchive() = default;
  /// The .npz file at \p path, read when it is requested.
  explicit SampleArchive(std::string path) : path(std::move(path)) {}
  /// Arrays in memory.
  explicit SampleArchive(std::vector<support::NamedTensor> arrays)
      : arrays(std::move(arrays)) {}

  bool empty() const { return path.empty() && arrays.empty(); }

  /// What messages call it.
  std::string name() const { return path.empty() ? "samples" : path; }

  llvm::Expected<std::vector<support::NamedTensor>> read() const {
    if (path.empty())
      return arrays;
    return support::readNpz(path);
  }

private:
  std::string path;
  std::vector<support::NamedTensor> arrays;
};

} // namespace ashlar::pipelines

#endif // ASHLAR_LIB_PIPELINES_SAMPLES_SAMPLEARCHIVE_H
