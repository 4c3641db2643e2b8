// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of the host, on dense tensors in DRAM.

#include "Engine.h"
#include "ashlar/Isa/Operands.h"
#include "ashlar/Numerics/HostFunctions.h"
#include <cstring>

using namespace ashlar;
using namespace ashlar::emulator;

namespace {

uint64_t elementsOf(const isa::LinearOperand &operand) {
  return operand.loops.front().count;
}

std::vector<int64_t> keysOf(Memory &memory, const isa::LinearOperand &operand,
                            isa::ElemType type) {
  // The numbers of the types agree (container::check).
  return numerics::orderKeys(static_cast<support::ElementType>(type),
                             memory.dram(operand.base), elementsOf(operand));
}

template <typename T>
std::vector<T> valuesOf(Memory &memory, const isa::LinearOperand &operand) {
  std::vector<T> values(elementsOf(operand));
  std::memcpy(values.data(), memory.dram(operand.base),
              values.size() * sizeof(T));
  return values;
}

/// Room for a result, which is stored when it is complete.
struct Result {
  Memory &memory;
  const isa::LinearOperand operand;
  std::vector<int64_t> indices;

  Result(Memory &memory, const isa::LinearOperand &operand)
      : memory(memory), operand(operand), indices(elementsOf(operand)) {}
  void store() {
    std::memcpy(memory.dram(operand.base), indices.data(),
                indices.size() * sizeof(int64_t));
  }
};

} // namespace

void Engine::execute(const isa::HostNonzero &op) {
  const uint64_t extents[] = {op.n0, op.n1, op.n2, op.n3,
                              op.n4, op.n5, op.n6, op.n7};
  Result result(memory, operandDst(op));
  numerics::nonzeroIndices(
      keysOf(memory, operandX(op), op.type),
      numerics::zeroKey(static_cast<support::ElementType>(op.type)),
      llvm::ArrayRef(extents).take_back(op.rank), result.indices);
  result.store();
}

void Engine::execute(const isa::HostSort &op) {
  Result result(memory, operandDst(op));
  numerics::sortIndices(keysOf(memory, operandX(op), op.type),
                        {op.outer, op.extent, op.inner, op.keep}, op.descending,
                        result.indices);
  result.store();
}

void Engine::execute(const isa::HostUnique &op) {
  Result result(memory, operandDst(op));
  numerics::uniqueRows(keysOf(memory, operandX(op), op.type), op.rows,
                       op.sorted, result.indices);
  result.store();
}

void Engine::execute(const isa::HostNms &op) {
  numerics::Suppression asked;
  asked.batches = op.batches, asked.classes = op.classes;
  asked.boxes = op.boxes, asked.keep = op.keep;
  asked.most = valuesOf<int64_t>(memory, operandMost(op)).front();
  asked.iou = valuesOf<float>(memory, operandIou(op)).front();
  asked.least = valuesOf<float>(memory, operandLeast(op)).front();
  asked.filtered = op.filtered, asked.center = op.center;
  Result result(memory, operandDst(op));
  const uint64_t steps = numerics::suppressBoxes(
      asked, valuesOf<float>(memory, operandBoxes(op)),
      valuesOf<float>(memory, operandScores(op)), result.indices);
  result.store();
  measured[current] = nmsCost(*costMachine, op, steps);
}
