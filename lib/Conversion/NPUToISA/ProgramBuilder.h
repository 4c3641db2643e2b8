// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collects instructions in program order together with the DRAM image they
// need: constants, bindings and the map from instruction to ONNX node.

#ifndef ASHLAR_LIB_CONVERSION_NPUTOISA_PROGRAMBUILDER_H
#define ASHLAR_LIB_CONVERSION_NPUTOISA_PROGRAMBUILDER_H

#include "ashlar/Analysis/Cost/ProgramSize.h"
#include "ashlar/Conversion/NPUToISA/NPUToISA.h"
#include "ashlar/Isa/Instruction.h"
#include "ashlar/Machine/Description.h"
#include "ashlar/Machine/Transfers.h"
#include <cstdint>
#include <map>
#include <vector>

namespace ashlar::codegen {

/// Owner of constants that belong to no node.
inline constexpr uint32_t kNoNode = ~uint32_t(0);

/// The most iterations that one loop of an instruction counts.
inline constexpr int64_t kMostCount = machine::mostIterations;

/// An instruction and the index of the node that it works for.
struct Entry {
  isa::Instruction instruction;
  uint32_t node = 0;
};

/// Bytes that lie in DRAM when the program starts.
struct ConstantBytes {
  int64_t address = 0;
  std::vector<uint8_t> bytes;
};

/// Program under construction. Semaphores are the matter of a pass on `isa`.
class ProgramBuilder {
public:
  explicit ProgramBuilder(const machine::Description &machine)
      : machine(machine), costs(machine) {}

  const machine::Description &machine;
  machine::TransferCosts costs;
  std::vector<Entry> entries;
  std::vector<ConstantBytes> constants;
  /// By the node that constants belong to.
  std::map<uint32_t, NodeStorage> storage;

  /// Forms that streams of weights may take.
  WeightForm weightForm = WeightForm::Auto;

  size_t mostEntries = analysis::kMostInstructions;
  /// Node that following instructions belong to.
  uint32_t node = 0;
  /// Appends an instruction; beyond the most that a program may have it only
  /// remembers that there was one.
  template <typename T>
  void emit(T instruction) {
    if (entries.size() < mostEntries)
      entries.push_back({isa::Instruction(instruction), node});
    else
      overflowed = true;
  }
  /// Appends a load of weights.
  template <typename T>
  void emitWeights(T instruction) {
    weightsCome = true;
    emit(instruction);
  }
  /// True if more instructions were wanted than a program may have: emitters
  /// of long loops may stop, the generator refuses the program.
  bool full() const { return overflowed; }

  /// Reserves DRAM; addresses are multiples of 64.
  int64_t allocateDram(int64_t bytes);
  /// Reserves DRAM and gives it initial contents, which count as \p kind of the
  /// node \p owner.
  int64_t addConstant(std::vector<uint8_t> bytes, int64_t NodeStorage::*kind,
                      uint32_t owner);
  int64_t dramEnd() const { return dramNext; }

  /// Queue of weight streams; all other DMA rotates over the rest.
  isa::Queue weightQueue() const { return isa::Queue::Dma0; }
  /// The queue of the next movement. While that of the weights is shared, the
  /// queues are given what is moved by the \p cycles of each.
  isa::Queue nextMovementQueue(uint64_t cycles = 1);
  /// True once weights are loaded.
  bool hasWeights() const { return weightsCome; }
  /// Movements that come now may go to the queue of weights as long as it has
  /// none to load.
  bool shareWeightQueue = false;
  /// Forgets all instructions.
  void restart() {
    entries.clear();
    weightsCome = false;
    given.clear();
  }
  /// How many queues that is.
  int64_t movementQueues() const;
  /// Movement goes to the next queue and stays there while the object lives,
  /// if `wanted`.
  class OneQueue {
  public:
    OneQueue(ProgramBuilder &builder, bool wanted);
    ~OneQueue() { builder.held = before; }
    OneQueue(const OneQueue &) = delete;
    OneQueue &operator=(const OneQueue &) = delete;

  private:
    ProgramBuilder &builder;
    bool before;
  };

private:
  int64_t dramNext = 0;
  unsigned rotation = 0;
  bool overflowed = false;
  bool held = false; ///< by a OneQueue
  bool weightsCome = false;
  llvm::SmallVector<uint64_t, 8> given; ///< Cycles of each queue until then.
};

} // namespace ashlar::codegen

#endif // ASHLAR_LIB_CONVERSION_NPUTOISA_PROGRAMBUILDER_H
