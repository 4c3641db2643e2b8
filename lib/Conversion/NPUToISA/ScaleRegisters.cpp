// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Assignment of scale-exponent registers.

#include "ScaleRegisters.h"

#include "ashlar/Analysis/Layout/StorageType.h"
#include "ashlar/Numerics/Statistics.h"
#include "ashlar/Support/Error.h"
#include "dialects/BFP/EncodeEvents.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace ashlar::codegen {

using numerics::ScaleKind;
using numerics::ScalePolicy;

llvm::Error ScaleRegisters::tooFew() const {
  std::string state;
  if (stateSize > 0)
    state = fmt::format(
        " ({} of them all the time, for what {} tensors under the policies "
        "stats, predict and error carry from run to run)",
        stateSize + stateful.size(), stateful.size());
  return makeError(ErrorClass::Capacity,
                   "more than {} scale-exponent registers are needed at "
                   "once{}; {}raise xr.registers of the machine",
                   machine.xr.registers, state,
                   state.empty() ? "" : "lower the depth of predict or ");
}

llvm::Error
ScaleRegisters::reserveConstants(llvm::ArrayRef<Operation *> nodes) {
  for (Operation *op : nodes) {
    ScalePolicy policy = bfp::getScalePolicy(op);
    if (policy.exponent)
      (policy.kind == ScaleKind::Table ? table : fixed)[*policy.exponent] = 0;
  }
  reserveState(nodes);
  size_t count = fixed.size() + table.size();
  if (free.size() <= count + stateSize + stateful.size())
    return tooFew();
  auto take = [&] {
    unsigned last = free.back();
    free.pop_back();
    return last;
  };
  for (unsigned i = 0; i < stateSize; ++i)
    stateBegin = take();
  for (auto &[op, scale] : stateful) {
    scale.observed = take();
    scale.state += stateBegin;
  }
  if (count == 0)
    return llvm::Error::success();
  unread = free.back();
  free.pop_back();
  for (auto &entry : fixed) {
    entry.second = free.back();
    free.pop_back();
  }
  unsigned next = free.back() + 1 - table.size();
  for (auto &entry : table) {
    entry.second = next++;
    free.pop_back();
  }
  return llvm::Error::success();
}

/// Words of an event: E, then for predict fill count, write index and pairs.
static unsigned stateWords(const ScalePolicy &policy) {
  return policy.kind == ScaleKind::Predict
             ? 1 + numerics::historyRegisters(policy.depth)
             : 1;
}

void ScaleRegisters::reserveState(llvm::ArrayRef<Operation *> nodes) {
  for (Operation *op : nodes) {
    ScalePolicy policy = bfp::getScalePolicy(op);
    if (!policy.isStateful())
      continue;
    StatefulScale scale;
    scale.policy = policy;
    scale.format = analysis::storageOf(op->getResult(0)).format;
    scale.state = stateSize; // from the first register of the state
    stateful.insert({op, scale});
    stateSize += stateWords(policy);
  }
}

const StatefulScale *ScaleRegisters::stateOf(Operation *op) const {
  const auto *found = stateful.find(op);
  return found == stateful.end() ? nullptr : &found->second;
}

std::vector<int16_t> ScaleRegisters::initialState() const {
  std::vector<int16_t> words(stateSize, 0);
  for (const auto &[op, scale] : stateful)
    words[scale.state - stateBegin] = numerics::kClearedScale;
  return words;
}

void ScaleRegisters::copyState(ProgramBuilder &builder, bool load) {
  if (stateSize == 0)
    return;
  if (!address)
    address = builder.allocateDram(2 * stateSize);
  isa::DmaCopy copy{};
  copy.queue = builder.nextMovementQueue();
  copy.elemBytes = 2;
  copy.srcMem = load ? isa::Memory::Dram : isa::Memory::Xr;
  copy.dstMem = load ? isa::Memory::Xr : isa::Memory::Dram;
  copy.srcBase = load ? *address : 2 * stateBegin;
  copy.dstBase = load ? 2 * stateBegin : *address;
  copy.n4 = stateSize;
  copy.srcStride4 = copy.dstStride4 = 2;
  builder.emit(copy);
}

void ScaleRegisters::storeState(ProgramBuilder &builder) {
  copyState(builder, /*load=*/false);
}

unsigned ScaleRegisters::constantOf(const ScalePolicy &policy) const {
  return (policy.kind == ScaleKind::Table ? table : fixed).at(*policy.exponent);
}

/// What readers take: the exponent of the policy and, where blocks are
/// repaired, that of the largest of them if it is above.
void ScaleRegisters::finishReaders(ProgramBuilder &builder, Operation *op,
                                   const ScalePolicy &policy) {
  const StatefulScale *scale = stateOf(op);
  const unsigned readersOfOp = readers.lookup(op->getResult(0));
  if (!policy.repairs()) {
    isa::XrPick pick{};
    pick.dst = readersOfOp;
    pick.preferred = scale->state;
    pick.fallback = scale->observed;
    builder.emit(pick);
    return;
  }
  isa::XrMerge merge{};
  merge.dst = readersOfOp;
  merge.src = scale ? scale->state : constantOf(policy);
  merge.clear = scale != nullptr;
  builder.emit(merge);
  if (!scale)
    return; // it has collected the blocks' own
  merge.src = scale->observed;
  merge.clear = false;
  builder.emit(merge);
}

void ScaleRegisters::finish(ProgramBuilder &builder, Operation *op) {
  const ScalePolicy policy = bfp::getScalePolicy(op);
  const StatefulScale *scale = stateOf(op);
  if (scale || (policy.exponent && policy.repairs()))
    finishReaders(builder, op, policy);
  if (!scale)
    return;
  if (policy.kind != ScaleKind::Predict) {
    const bool error = policy.kind == ScaleKind::Error;
    isa::XrSelect select{};
    select.dst = scale->state;
    select.sr = sampleRegister;
    select.k = error ? policy.tolerance : policy.sixteenths;
    select.rule = error ? isa::SelectRule::Error : isa::SelectRule::Stats;
    select.lead = policy.ceiling ? isa::Lead::Ceil : isa::Lead::Floor;
    select.mantissa = scale->format.mantissa;
    builder.emit(select);
    return;
  }
  isa::XrPredict predict{};
  predict.dst = scale->state;
  predict.history = scale->state + 1;
  predict.observed = scale->observed;
  predict.sr = sampleRegister;
  predict.k = policy.sixteenths;
  predict.mantissa = scale->format.mantissa;
  predict.range = scale->format.range;
  predict.depth = policy.depth;
  builder.emit(predict);
}

llvm::Error ScaleRegisters::assign(llvm::ArrayRef<Operation *> nodes) {
  for (unsigned i = 1; i < machine.xr.registers; ++i)
    free.push_back(i);
  if (llvm::Error error = reserveConstants(nodes))
    return error;
  llvm::DenseMap<Operation *, size_t> index;
  for (auto [i, op] : llvm::enumerate(nodes))
    index[op] = i;
  std::vector<std::vector<unsigned>> freedAfter(nodes.size());
  for (auto [i, op] : llvm::enumerate(nodes)) {
    Value result = op->getResult(0);
    ScalePolicy policy = bfp::getScalePolicy(op);
    if (policy.exponent && policy.isKnownAhead()) {
      readers[result] = constantOf(policy);
      if (!policy.isStored() && analysis::storageOf(result).format.block ==
                                    numerics::BlockFormat::kTensor) {
        if (free.empty())
          return tooFew();
        measured[result] = free.front();
        free.pop_front();
        freedAfter[i].push_back(measured[result]);
      }
    } else if (analysis::storageOf(result).encoded) {
      if (free.empty())
        return tooFew();
      readers[result] = free.front();
      free.pop_front();
      size_t last = i;
      for (Operation *user : result.getUsers())
        if (auto found = index.find(user); found != index.end())
          last = std::max(last, found->second);
      freedAfter[last].push_back(readers[result]);
    }
    for (unsigned reg : freedAfter[i])
      free.push_back(reg);
  }
  return llvm::Error::success();
}

EncodeRegisters ScaleRegisters::storedResultOf(Operation *op,
                                               const ScalePolicy &policy) {
  Value result = op->getResult(0);
  const StatefulScale *scale = stateOf(op);
  EncodeRegisters registers;
  registers.given = true;
  registers.xr = scale ? scale->state : constantOf(policy);
  registers.repair = policy.repairs();
  if (policy.overflow == numerics::StoreOverflow::Wrap)
    registers.overflow = isa::Overflow::Wrap;
  if (scale)
    registers.own = scale->observed;
  else if (policy.repairs())
    registers.own = readers.lookup(result);
  registers.clear = registers.own && cleared.insert(result).second;
  return registers;
}

EncodeRegisters ScaleRegisters::resultOf(Operation *op) {
  Value result = op->getResult(0);
  const ScalePolicy policy = bfp::getScalePolicy(op);
  if (policy.isStored())
    return storedResultOf(op, policy);
  EncodeRegisters registers;
  if (auto own = measured.find(result); own != measured.end()) {
    registers.xr = own->second;
  } else if (policy.exponent) {
    registers.xr = *unread;
    return registers;
  } else if (const StatefulScale *scale = stateOf(op)) {
    registers.xr = scale->observed;
  } else {
    registers.xr = readers.lookup(result);
  }
  registers.clear = cleared.insert(result).second;
  return registers;
}

/// The table is a constant like weights: exponents of 16 bits.
void ScaleRegisters::emitTable(ProgramBuilder &builder) {
  if (!tableAddress) {
    std::vector<uint8_t> bytes;
    for (const auto &[exponent, reg] : table) {
      auto word = static_cast<uint16_t>(exponent);
      bytes.push_back(word & 0xff);
      bytes.push_back(word >> 8);
    }
    tableAddress = builder.addConstant(std::move(bytes),
                                       &NodeStorage::parameters, kNoNode);
  }
  isa::DmaCopy copy{};
  copy.queue = builder.nextMovementQueue();
  copy.elemBytes = 2;
  copy.srcMem = isa::Memory::Dram;
  copy.dstMem = isa::Memory::Xr;
  copy.srcBase = *tableAddress;
  copy.dstBase = 2 * table.begin()->second;
  copy.n4 = table.size();
  copy.srcStride4 = copy.dstStride4 = 2;
  builder.emit(copy);
}

void ScaleRegisters::emitConstants(ProgramBuilder &builder) {
  builder.emit(isa::XrSet{}); // register 0
  for (const auto &[exponent, reg] : fixed) {
    isa::XrSet set{};
    set.xr = reg;
    set.value = static_cast<int16_t>(exponent);
    builder.emit(set);
  }
  if (!table.empty())
    emitTable(builder);
  copyState(builder, /*load=*/true);
  if (!unread)
    return;
  isa::XrSet set{};
  set.xr = *unread;
  builder.emit(set);
}

} // namespace ashlar::codegen
