// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Claims of instructions on the banks of SB.

#include "ashlar/Isa/Ports.h"
#include "SbStreams.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

namespace ashlar::isa {

/// Adds to `most`, by bank, what the busiest partition takes of streams in
/// step.
static void addLockStep(const machine::Description &machine,
                        llvm::ArrayRef<SbStream> streams, BankClaims &most) {
  llvm::SmallVector<BankClaims, 4> own;
  llvm::SmallVector<const SbStream *, 4> users;
  llvm::SmallVector<uint32_t, 8> begins;
  for (const SbStream &stream : streams)
    if (!stream.linear && stream.partBegin < stream.partEnd) {
      own.emplace_back(most.size(), 0);
      machine::addAccesses(machine, stream.pattern, own.back());
      users.push_back(&stream);
      begins.push_back(stream.partBegin);
    }
  // The set of streams changes where one begins or ends, and it only grows
  // where one begins: the largest sums are at beginnings.
  llvm::sort(begins);
  begins.erase(llvm::unique(begins), begins.end());
  BankClaims largest(most.size(), 0);
  for (uint32_t partition : begins)
    for (size_t bank = 0; bank < most.size(); ++bank) {
      uint64_t sum = 0;
      for (size_t i = 0; i < users.size(); ++i)
        if (users[i]->partBegin <= partition && partition < users[i]->partEnd)
          sum += own[i][bank];
      largest[bank] = std::max(largest[bank], sum);
    }
  for (size_t bank = 0; bank < most.size(); ++bank)
    most[bank] += largest[bank];
}

static BankClaims claimsOf(llvm::ArrayRef<SbStream> streams,
                           const machine::Description &machine,
                           uint64_t passes = 1) {
  if (streams.empty())
    return {};
  BankClaims banks(machine.sb.banks, 0);
  for (const SbStream &stream : streams)
    if (stream.linear)
      machine::addLinearAccesses(machine, stream.pattern, banks);
  addLockStep(machine, streams, banks);
  for (uint64_t &bank : banks)
    bank = machine::bankCycles(
        machine,
        std::min(llvm::SaturatingMultiply(bank, passes), machine::maxCycles));
  return banks;
}

BankClaims bankClaims(const Instruction &inst,
                      const machine::Description &machine, uint64_t passes) {
  llvm::SmallVector<SbStream, 4> streams;
  if (machine.sb.banks > 0)
    sbStreams(inst, machine, streams);
  return claimsOf(streams, machine, passes);
}

BankClaims bankClaims(llvm::ArrayRef<Access> accesses,
                      const machine::Description &machine) {
  llvm::SmallVector<SbStream, 4> streams;
  for (const Access &access : accesses) {
    if (access.space != Space::Sb || machine.sb.banks == 0)
      continue;
    SbStream stream;
    stream.pattern.base = access.base;
    stream.pattern.elementBytes = access.runLength;
    for (unsigned d = 0; d < access.numDims; ++d)
      stream.pattern.add(access.dims[d].count, access.dims[d].stride);
    stream.partBegin = access.partBegin;
    stream.partEnd = access.partEnd;
    streams.push_back(std::move(stream));
  }
  return claimsOf(streams, machine);
}

} // namespace ashlar::isa
