// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What decoding coefficient streams gave. A layer of several tiles runs the
// same coefficients on each, mostly on tiles of one shape, and decoding them is
// most of the proof and of the cost of such a program.

#ifndef ASHLAR_LIB_EMULATOR_COST_LATESTSTREAMS_H
#define ASHLAR_LIB_EMULATOR_COST_LATESTSTREAMS_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace ashlar::emulator {

/// The latest streams, a fixed number of them. What is found has the same bytes
/// and the same form: nothing is decided by a digest.
template <typename Form, typename Found>
class LatestStreams {
public:
  /// What \p bytes gave in \p form, or null.
  std::shared_ptr<const Found> find(const Form &form,
                                    llvm::ArrayRef<uint8_t> bytes) const {
    for (const Stream &stream : streams)
      if (stream.form == form && llvm::ArrayRef(stream.bytes) == bytes)
        return stream.found;
    return nullptr;
  }

  /// Keeps what \p bytes gave in \p form, in place of an older one.
  std::shared_ptr<const Found>
  keep(const Form &form, llvm::ArrayRef<uint8_t> bytes, Found found) {
    return keep(form, bytes, std::make_shared<const Found>(std::move(found)));
  }

  std::shared_ptr<const Found> keep(const Form &form,
                                    llvm::ArrayRef<uint8_t> bytes,
                                    std::shared_ptr<const Found> kept) {
    Stream stream{form, bytes.vec(), kept};
    if (streams.size() < mostStreams) {
      streams.push_back(std::move(stream));
      return kept;
    }
    streams[oldest] = std::move(stream);
    oldest = (oldest + 1) % mostStreams;
    return kept;
  }

private:
  /// Streams of all groups of units of the built-in machines, of several sets.
  static constexpr size_t mostStreams = 128;

  struct Stream {
    Form form;
    std::vector<uint8_t> bytes;
    std::shared_ptr<const Found> found;
  };
  std::vector<Stream> streams;
  size_t oldest = 0;
};

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_COST_LATESTSTREAMS_H
