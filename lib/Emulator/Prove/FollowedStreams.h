// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Coefficient streams that the static pass has followed. A layer of several
// tiles runs the same coefficients on each, mostly on tiles of one shape, and
// decoding them is most of the proof of such a program.

#ifndef ASHLAR_LIB_EMULATOR_PROVE_FOLLOWEDSTREAMS_H
#define ASHLAR_LIB_EMULATOR_PROVE_FOLLOWEDSTREAMS_H

#include "../Cost/StreamWalk.h"
#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <vector>

namespace ashlar::emulator {

/// The latest streams, a fixed number of them. What is found has the same bytes
/// and the same form: nothing is decided by a digest.
class FollowedStreams {
public:
  /// What following \p bytes in \p form gave, or null.
  const StreamWalk::Facts *find(const StreamWalk::Form &form,
                                llvm::ArrayRef<uint8_t> bytes) const;
  /// Keeps what following \p bytes in \p form gave, in place of an older one.
  const StreamWalk::Facts &keep(const StreamWalk::Form &form,
                                llvm::ArrayRef<uint8_t> bytes,
                                StreamWalk::Facts facts);

private:
  struct Stream {
    StreamWalk::Form form;
    std::vector<uint8_t> bytes;
    StreamWalk::Facts facts;
  };
  std::vector<Stream> streams;
  size_t oldest = 0;
};

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_PROVE_FOLLOWEDSTREAMS_H
