// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Assignment of scale-exponent registers.

#include "ScaleRegisters.h"

#include "ashlar/Analysis/StorageType.h"
#include "ashlar/Support/Error.h"
#include "dialects/BFP/EncodeEvents.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace ashlar::codegen {

using numerics::ScaleKind;
using numerics::ScalePolicy;

llvm::Error ScaleRegisters::tooFew() const {
  return makeError(ErrorClass::Capacity,
                   "more than {} scale-exponent registers are needed at "
                   "once; raise xr.registers of the machine",
                   machine.xr.registers);
}

llvm::Error
ScaleRegisters::reserveConstants(llvm::ArrayRef<Operation *> nodes) {
  for (Operation *op : nodes) {
    ScalePolicy policy = bfp::getScalePolicy(op);
    if (policy.exponent)
      (policy.kind == ScaleKind::Table ? table : fixed)[*policy.exponent] = 0;
  }
  size_t count = fixed.size() + table.size();
  if (count == 0)
    return llvm::Error::success();
  if (free.size() <= count)
    return tooFew();
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
    if (policy.exponent) {
      readers[result] = (policy.kind == ScaleKind::Table ? table : fixed)
                            .at(*policy.exponent);
      if (analysis::storageOf(result).format.block ==
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

unsigned ScaleRegisters::resultOf(Operation *op, bool &clear) {
  Value result = op->getResult(0);
  if (auto own = measured.find(result); own != measured.end()) {
    clear = cleared.insert(result).second;
    return own->second;
  }
  if (bfp::getScalePolicy(op).exponent) {
    clear = false;
    return *unread;
  }
  clear = cleared.insert(result).second;
  return readers.lookup(result);
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
    tableAddress = builder.addConstant(std::move(bytes));
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
  if (!unread)
    return;
  isa::XrSet set{};
  set.xr = *unread;
  builder.emit(set);
}

} // namespace ashlar::codegen
