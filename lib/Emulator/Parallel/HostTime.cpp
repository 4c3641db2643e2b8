// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fits to one processor: AMD EPYC, kernels `avx512vnni`.

#include "HostTime.h"
#include "Dependencies.h"

using namespace ashlar;
using namespace ashlar::emulator;

namespace {
/// Nanoseconds: at least, and for each unit of SB and of the cluster's memories
/// that is read and that is written.
struct Rate {
  float least, read, written;
  float clusterRead = 0, clusterWritten = 0;
};

struct RateOf {
  Rate operator()(const isa::PeLoad &) const { return {250, 0.18f, 0}; }
  Rate operator()(const isa::ActDrain &op) const {
    // A drain of the cluster names more of SB than its tiles write.
    return op.fromTcu ? Rate{600, 0, 0, 5, 0} : Rate{600, 0, 0.35f};
  }
  Rate operator()(const isa::ActPool &) const { return {600, 0, 1.5f, 5, 0}; }
  Rate operator()(const isa::DmaCopy &) const {
    return {200, 0, 0.1f, 0, 0.1f};
  }
  Rate operator()(const isa::DmaFill &) const { return {100, 0, 0.1f}; }
  Rate operator()(const isa::DmaUnpack &) const { return {400, 0, 0.9f}; }
  Rate operator()(const isa::DmaTile &) const { return {2000, 0, 0, 0, 1.2f}; }
  Rate operator()(const isa::TccInit &) const { return {200, 0, 0, 0, 1.6f}; }
  Rate operator()(const isa::TccRun &) const { return {2000, 0, 0, 0.2f, 0}; }
  Rate operator()(const isa::VecMap &) const { return {600, 0.15f, 0.15f}; }
  Rate operator()(const isa::VecReduceChannels &) const {
    return {1000, 0.1f, 0};
  }
  Rate operator()(const isa::XrSet &) const { return {20, 0, 0}; }
  Rate operator()(const isa::XrMerge &) const { return {20, 0, 0}; }
  Rate operator()(const isa::PeSwap &) const { return {20, 0, 0}; }
  template <typename Op>
  Rate operator()(const Op &) const {
    return {300, 0.6f, 0.6f};
  }
};
} // namespace

float emulator::hostTime(const isa::Instruction &inst,
                         llvm::ArrayRef<isa::Access> accesses) {
  const Rate rate = std::visit(RateOf(), inst);
  float time = rate.least;
  for (const isa::Access &access : accesses)
    if (access.space == isa::Space::Sb ||
        (access.space == isa::Space::Xm &&
         std::holds_alternative<isa::DmaUnpack>(inst)))
      time += static_cast<float>(countUnits(access)) *
              (access.write ? rate.written : rate.read);
    else if (access.space == isa::Space::Fmu ||
             access.space == isa::Space::Acc || access.space == isa::Space::Wm)
      time += static_cast<float>(countUnits(access)) *
              (access.write ? rate.clusterWritten : rate.clusterRead);
  return time;
}

static float stepsOf(const isa::PeMatmul &op) {
  return static_cast<float>(uint64_t(op.n0) * op.n1 *
                            (op.groups > 1 ? op.validW : op.n2));
}

float emulator::packTime(const isa::PeMatmul &op) {
  return 400 + 0.2f * static_cast<float>(op.rows) * stepsOf(op);
}

float emulator::productTime(const isa::PeMatmul &op) {
  constexpr float products = 160; // in a nanosecond
  return 50 + static_cast<float>(op.rows) * static_cast<float>(op.cols) *
                  stepsOf(op) / products;
}
