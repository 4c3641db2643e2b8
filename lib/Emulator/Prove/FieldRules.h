// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rules that the field checks of several engines share.

#ifndef ASHLAR_LIB_EMULATOR_PROVE_FIELDRULES_H
#define ASHLAR_LIB_EMULATOR_PROVE_FIELDRULES_H

#include "Checks.h"
#include "ashlar/Isa/Operands.h"
#include <fmt/format.h>

namespace ashlar::emulator {

using Result = std::optional<Finding>;

template <typename... Args>
Result bad(fmt::format_string<Args...> format, Args &&...args) {
  return Finding{FaultKind::BadField,
                 fmt::format(format, std::forward<Args>(args)...)};
}

template <typename... Args>
Result outside(fmt::format_string<Args...> format, Args &&...args) {
  return Finding{FaultKind::OutOfRange,
                 fmt::format(format, std::forward<Args>(args)...)};
}

/// Steps of a destination must not touch an element twice: then neither the
/// order of elements nor the number of threads can matter.
bool isInjective(llvm::ArrayRef<isa::AccessDim> loops, uint64_t bytes);

/// Mantissa width of an encoded operand.
Result checkFormat(const char *what, isa::ElemType type, unsigned mantissa);

/// Channels that start inside a tile must end in it: the tile arithmetic of
/// the machine has no carry.
Result checkChannels(const char *what, uint64_t part, uint64_t channels,
                     bool broadcast, const machine::Description &machine);

/// N:M weights are mantissas or integers, on a machine that keeps them.
template <typename Op>
Result checkPattern(const Op &op, const machine::Description &machine) {
  if (!op.pattern)
    return std::nullopt;
  if (!machine.pe.hasPattern())
    return bad("N:M weights, the array of machine {} keeps every row "
               "(pe.pattern_group is 0)",
               machine.name);
  if (op.mode != isa::OperandMode::Bfp && op.mode != isa::OperandMode::Int)
    return bad("N:M weights in mode {}", isa::name(op.mode).str());
  return std::nullopt;
}

/// Registers are whole: elements of two bytes at even addresses.
Result checkRegisters(const isa::LinearOperand &side);

/// The queue exists.
template <typename Op>
Result checkQueue(const Op &op, const machine::Description &machine) {
  if (static_cast<uint64_t>(op.queue) >= machine.dma.queues)
    return outside("{} does not exist: the machine has {} DMA queues",
                   isa::name(op.queue).str(), machine.dma.queues);
  return std::nullopt;
}

/// Queue and destination of a copy.
template <typename Op>
Result checkDma(const Op &op, const machine::Description &machine) {
  if (Result finding = checkQueue(op, machine))
    return finding;
  const isa::LinearOperand target = operandDst(op);
  if (!isInjective(target.loops, target.bytes))
    return bad("the strides of the {} let its elements overlap", target.what);
  return checkRegisters(target);
}

// Copies of compressed cells (CellFields.cpp).

Result checkCells(const isa::DmaCompress &op,
                  const machine::Description &machine);
Result checkCells(const isa::DmaExpand &op,
                  const machine::Description &machine);

/// What a stream of dma.unpack says about codes that it leaves out
/// (CodeFields.cpp).
Result checkSparseCodes(const isa::DmaUnpack &op,
                        const machine::Description &machine);

// Fields of the sparse cluster (ClusterFields.cpp).

/// A finding for what only a sparse cluster can do, on a machine without one.
Result checkClusterExists(const isa::Instruction &inst,
                          const machine::Description &machine);
Result checkCluster(const isa::TccTile &op,
                    const machine::Description &machine);
Result checkCluster(const isa::DmaTile &op,
                    const machine::Description &machine);
Result checkCluster(const isa::TccInit &op,
                    const machine::Description &machine);
Result checkCluster(const isa::TccRun &op, const machine::Description &machine);
Result checkCluster(const isa::TccNnz &op, const machine::Description &machine);
Result checkCluster(const isa::TccPart &op,
                    const machine::Description &machine);
Result checkCluster(const isa::TccOperand &op,
                    const machine::Description &machine);
Result checkCluster(const isa::TccBind &op,
                    const machine::Description &machine);
Result checkCluster(const isa::ActPool &op,
                    const machine::Description &machine);
/// Mode block of a drain: exact integers in, blocks out (DrainFields.cpp).
Result checkBlockFields(const isa::ActDrain &op);
/// What concerns the sparse cluster in a drain.
Result checkCluster(const isa::ActDrain &op,
                    const machine::Description &machine);

// Fields of the functions of the host (HostFields.cpp).

Result checkHost(const isa::HostNonzero &op, const machine::Description &);
Result checkHost(const isa::HostSort &op, const machine::Description &);
Result checkHost(const isa::HostUnique &op, const machine::Description &);
Result checkHost(const isa::HostNms &op, const machine::Description &);

} // namespace ashlar::emulator

#endif // ASHLAR_LIB_EMULATOR_PROVE_FIELDRULES_H
