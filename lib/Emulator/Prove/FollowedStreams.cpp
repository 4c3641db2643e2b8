// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "FollowedStreams.h"

#include <utility>

using namespace ashlar::emulator;

/// Streams of all groups of units of the built-in machines, of several sets.
static constexpr size_t mostStreams = 128;

const StreamWalk::Facts *
FollowedStreams::find(const StreamWalk::Form &form,
                      llvm::ArrayRef<uint8_t> bytes) const {
  for (const Stream &stream : streams)
    if (stream.form == form && llvm::ArrayRef(stream.bytes) == bytes)
      return &stream.facts;
  return nullptr;
}

const StreamWalk::Facts &FollowedStreams::keep(const StreamWalk::Form &form,
                                               llvm::ArrayRef<uint8_t> bytes,
                                               StreamWalk::Facts facts) {
  Stream stream{form, bytes.vec(), std::move(facts)};
  if (streams.size() < mostStreams) {
    streams.push_back(std::move(stream));
    return streams.back().facts;
  }
  Stream &place = streams[oldest];
  oldest = (oldest + 1) % mostStreams;
  place = std::move(stream);
  return place.facts;
}
