// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A walk from the end of the program: an entry is alive while something after
// the instruction at hand reads it before a matmul starts it again.

#include "LastReads.h"
#include "../State/Pattern.h"
#include "ashlar/Isa/PooledDrain.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace ashlar;
using namespace ashlar::emulator;

namespace {

/// Entries that are alive after the instruction at hand, in all columns alike.
class LiveEntries {
public:
  explicit LiveEntries(uint64_t entries) : alive(entries) {}

  /// Whether any of the entries is alive.
  bool any(uint64_t base, const Pattern &pattern) const {
    bool found = false;
    forRuns(base, pattern, [&](uint64_t first, uint64_t n) {
      found |= llvm::is_contained(
          llvm::ArrayRef<uint8_t>(alive).slice(first, n), uint8_t(1));
    });
    return found;
  }
  void set(uint64_t base, const Pattern &pattern, bool value) {
    forRuns(base, pattern, [&](uint64_t first, uint64_t n) {
      std::fill_n(alive.begin() + static_cast<ptrdiff_t>(first), n, value);
    });
  }

private:
  /// Calls fn(first, n) for neighbours. The verifier has seen that entries lie
  /// inside PSUM; what does not is left out.
  template <typename Fn>
  void forRuns(uint64_t base, const Pattern &pattern, Fn fn) const {
    pattern.forRuns(0, pattern.size(), [&](uint64_t, int64_t at, uint64_t n) {
      const int64_t stride = pattern.stride[2];
      const uint64_t length = stride == 1 ? n : 1;
      for (uint64_t i = 0; i < n; i += length) {
        const uint64_t first = base + static_cast<uint64_t>(at) +
                               i * static_cast<uint64_t>(stride);
        if (first < alive.size())
          fn(first, std::min<uint64_t>(length, alive.size() - first));
      }
    });
  }

  std::vector<uint8_t> alive;
};

} // namespace

template <typename Op>
static Pattern entriesOf(const Op &op, uint64_t n2) {
  return Pattern{{op.n0, op.n1, n2},
                 {op.psumStride0, op.psumStride1, op.psumStride2}}
      .merged();
}

std::vector<bool> emulator::lastReads(llvm::ArrayRef<isa::Instruction> code,
                                      uint64_t entries) {
  std::vector<bool> last(code.size());
  LiveEntries live(entries);
  for (size_t i = code.size(); i-- > 0;) {
    if (const auto *op = std::get_if<isa::PeMatmul>(&code[i])) {
      live.set(op->psum, entriesOf(*op, op->groups > 1 ? op->validW : op->n2),
               op->accumulate != 0);
    } else if (const auto *op = std::get_if<isa::ActDrain>(&code[i])) {
      if (op->fromTcu)
        continue;
      const Pattern pattern = entriesOf(*op, op->n2);
      last[i] = !live.any(op->psum, pattern);
      live.set(op->psum, pattern, true);
    } else if (const auto *op = std::get_if<isa::VecDrain>(&code[i])) {
      const isa::ActDrain drain = isa::entriesDrain(*op);
      live.set(drain.psum, entriesOf(drain, drain.n2), true);
    }
  }
  return last;
}
