// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "KnownStreams.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/Support/xxhash.h"
#include <mutex>
#include <unordered_map>

using namespace ashlar;
using namespace ashlar::emulator;

/// Bytes of streams that are kept. When there are more, all are forgotten.
static constexpr uint64_t mostBytes = uint64_t(8) << 20;

namespace {

class KnownStreams {
public:
  std::shared_ptr<const StreamWalk::Facts>
  find(const machine::Description &machine, const StreamWalk::Form &form,
       llvm::ArrayRef<uint8_t> bytes) {
    const uint64_t key = keyOf(form, bytes);
    const std::lock_guard<std::mutex> lock(mutex);
    if (!own || *own != machine)
      return nullptr;
    auto [begin, end] = streams.equal_range(key);
    for (auto at = begin; at != end; ++at)
      if (at->second.form == form && llvm::ArrayRef(at->second.bytes) == bytes)
        return at->second.facts;
    return nullptr;
  }

  void keep(const machine::Description &machine, const StreamWalk::Form &form,
            llvm::ArrayRef<uint8_t> bytes,
            std::shared_ptr<const StreamWalk::Facts> facts) {
    const uint64_t key = keyOf(form, bytes);
    const std::lock_guard<std::mutex> lock(mutex);
    if (!own || *own != machine || held + bytes.size() > mostBytes) {
      streams.clear();
      held = 0;
      own = machine;
    }
    if (bytes.size() > mostBytes)
      return;
    held += bytes.size();
    streams.emplace(key, Stream{form, bytes.vec(), std::move(facts)});
  }

private:
  struct Stream {
    StreamWalk::Form form;
    std::vector<uint8_t> bytes;
    std::shared_ptr<const StreamWalk::Facts> facts;
  };

  static uint64_t keyOf(const StreamWalk::Form &form,
                        llvm::ArrayRef<uint8_t> bytes) {
    return llvm::xxh3_64bits(bytes) ^ (form.results << 32 | form.passes << 16);
  }

  std::mutex mutex;
  std::optional<machine::Description> own; ///< Of all streams.
  std::unordered_multimap<uint64_t, Stream> streams;
  uint64_t held = 0; ///< Bytes of all streams.
};

KnownStreams &ofProcess() {
  static KnownStreams streams;
  return streams;
}

} // namespace

std::shared_ptr<const StreamWalk::Facts>
emulator::findKnownStream(const machine::Description &machine,
                          const StreamWalk::Form &form,
                          llvm::ArrayRef<uint8_t> bytes) {
  return ofProcess().find(machine, form, bytes);
}

void emulator::keepKnownStream(const machine::Description &machine,
                               const StreamWalk::Form &form,
                               llvm::ArrayRef<uint8_t> bytes,
                               std::shared_ptr<const StreamWalk::Facts> facts) {
  ofProcess().keep(machine, form, bytes, std::move(facts));
}
