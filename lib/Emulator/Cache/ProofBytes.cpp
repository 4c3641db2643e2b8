// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What verify() leaves for runs, as bytes: numbers of this host's byte order
// and lists with their lengths in front.

#include "../Parallel/ListRun.h"
#include "AccountBytes.h"
#include "ListBytes.h"
#include "ProofCache.h"
#include "llvm/ADT/STLExtras.h"
#include <type_traits>

using namespace ashlar;
using namespace ashlar::emulator;

// Costs are written as they lie in memory: nothing but numbers, no gaps.
static_assert(std::has_unique_object_representations_v<Cost>);
static_assert(std::has_unique_object_representations_v<EarlyWait>);

namespace {

/// One list per instruction that has claims.
using ClaimList = std::vector<isa::BankClaims::value_type>;

} // namespace

template <typename Map>
static std::vector<uint32_t> sortedKeys(const Map &map) {
  std::vector<uint32_t> keys;
  for (const auto &entry : map)
    keys.push_back(entry.first);
  llvm::sort(keys);
  return keys;
}

std::vector<uint8_t> emulator::encodeProof(const LoadedProgram::Impl &impl) {
  Writer out;
  out.list(llvm::ArrayRef<uint32_t>(impl.hazards));
  out.list(llvm::ArrayRef<EarlyWait>(impl.earlyWaits));
  const std::vector<uint32_t> costs = sortedKeys(impl.clusterCosts);
  out.list(llvm::ArrayRef<uint32_t>(costs));
  for (uint32_t index : costs)
    out.number(impl.clusterCosts.find(index)->second);
  const std::vector<uint32_t> claims = sortedKeys(impl.tileClaims);
  out.list(llvm::ArrayRef<uint32_t>(claims));
  for (uint32_t index : claims) {
    const isa::BankClaims &list = *impl.tileClaims.find(index)->second;
    out.list(llvm::ArrayRef<isa::BankClaims::value_type>(list));
  }
  const OperandReuse::Found found = impl.engine.reuse.found();
  out.list(found.operands);
  out.list(found.uses);
  out.number(uint8_t(impl.account.has_value()));
  if (impl.account)
    writeAccount(*impl.account, out);
  // No lists for a number of threads is a result as well.
  out.number(uint32_t(impl.listThreads));
  out.number(uint8_t(impl.listRun != nullptr));
  if (impl.listRun)
    writeLists(*impl.listRun->cut(), out);
  return std::move(out.bytes);
}

/// Whether every matmul has an operand, and every operand a number of uses.
static bool fitsMatmuls(llvm::ArrayRef<isa::Instruction> code,
                        llvm::ArrayRef<uint32_t> operands,
                        llvm::ArrayRef<uint32_t> uses) {
  if (operands.size() > code.size() || llvm::is_contained(uses, 0u))
    return false;
  for (size_t i = 0; i < code.size(); ++i)
    if (std::holds_alternative<isa::PeMatmul>(code[i]) && i >= operands.size())
      return false;
  return llvm::all_of(operands, [&](uint32_t operand) {
    return operand == noOperand || operand < uses.size();
  });
}

bool emulator::decodeProof(llvm::ArrayRef<uint8_t> bytes,
                           LoadedProgram::Impl &impl) {
  Reader in(bytes);
  const size_t size = impl.code.size();
  auto inside = [&](uint32_t index) { return index < size; };
  auto hazards = in.list<uint32_t>();
  auto earlyWaits = in.list<EarlyWait>();
  llvm::DenseMap<uint32_t, Cost> costs;
  const auto costKeys = in.list<uint32_t>();
  if (!llvm::all_of(costKeys, inside))
    return false;
  for (uint32_t index : costKeys)
    costs[index] = in.number<Cost>();
  llvm::DenseMap<uint32_t, std::shared_ptr<const isa::BankClaims>> claims;
  const auto claimKeys = in.list<uint32_t>();
  if (!llvm::all_of(claimKeys, inside))
    return false;
  for (uint32_t index : claimKeys) {
    const ClaimList list = in.list<isa::BankClaims::value_type>();
    claims[index] =
        std::make_shared<const isa::BankClaims>(list.begin(), list.end());
  }
  auto operands = in.list<uint32_t>();
  auto uses = in.list<uint32_t>();
  std::optional<RunResult> account;
  if (in.number<uint8_t>() != 0)
    account = readAccount(in);
  const auto listThreads = in.number<uint32_t>();
  std::shared_ptr<const Lists> lists;
  if (in.number<uint8_t>() != 0)
    lists = readLists(in, size, uses.size());
  if (!in.atEnd() || hazards.size() != size ||
      !fitsMatmuls(impl.code, operands, uses) ||
      (account && account->nodes.size() != impl.program.nodes.size()) ||
      (lists && lists->lists.size() != listThreads))
    return false;
  for (size_t i = 0; i < size; ++i)
    if (hazards[i] != noInstruction && hazards[i] >= i)
      return false;
  for (const EarlyWait &early : earlyWaits)
    if (!inside(early.wait) || !inside(early.matmul))
      return false;
  impl.hazards = std::move(hazards);
  impl.earlyWaits = std::move(earlyWaits);
  impl.clusterCosts = std::move(costs);
  impl.tileClaims = std::move(claims);
  impl.account = std::move(account);
  impl.listThreads = listThreads;
  impl.listRun = lists ? ListRun::of(std::move(lists)) : nullptr;
  impl.engine.reuse.restore(std::move(operands), std::move(uses));
  return true;
}
