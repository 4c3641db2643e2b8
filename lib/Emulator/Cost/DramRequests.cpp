// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From instruction fields to addresses in DRAM.

#include "DramRequests.h"

#include "ashlar/Isa/Operands.h"
#include "ashlar/Machine/Cycles.h"
#include "ashlar/Machine/Dram.h"
#include <array>
#include <variant>

using namespace ashlar;
using namespace ashlar::emulator;

namespace {

using Request = llvm::function_ref<void(const DramLine &)>;

/// Calls fn(address) for every index of the loops \p counts, innermost fastest.
template <typename Fn>
void forAddresses(uint64_t address, llvm::ArrayRef<uint64_t> counts,
                  llvm::ArrayRef<int64_t> strides, Fn fn) {
  std::array<uint64_t, 5> at = {};
  for (;;) {
    fn(address);
    size_t dim = counts.size();
    for (; dim > 0; --dim) {
      const auto stride = static_cast<uint64_t>(strides[dim - 1]);
      address += stride;
      if (++at[dim - 1] < counts[dim - 1])
        break;
      address -= counts[dim - 1] * stride;
      at[dim - 1] = 0;
    }
    if (dim == 0)
      return;
  }
}

/// One side: runs along the innermost loop that is not part of them.
void sideRequests(llvm::ArrayRef<uint64_t> counts,
                  llvm::ArrayRef<int64_t> strides, uint64_t elementBytes,
                  uint64_t base, bool write, Request request) {
  uint64_t run = elementBytes;
  size_t outer = machine::innerRun(counts, strides, 0, run);
  DramLine line{base, 1, 0, run, write};
  while (outer > 0 && counts[outer - 1] == 1)
    --outer;
  if (outer == 0)
    return request(line);
  --outer;
  line.runs = counts[outer];
  line.stride = strides[outer];
  forAddresses(base, counts.take_front(outer), strides.take_front(outer),
               [&](uint64_t address) {
                 line.address = address;
                 request(line);
               });
}

void sideRequests(const isa::LinearOperand &side, Request request) {
  if (side.mem == isa::Memory::Dram)
    sideRequests(side.counts(), side.strides(), side.bytes, side.base,
                 side.writes(), request);
}

/// Cells of a compressed feature map, with the bytes that each takes.
template <typename Op>
void forCells(const Op &op, const isa::LinearOperand &cells,
              llvm::ArrayRef<uint64_t> chosen,
              llvm::function_ref<void(uint64_t, uint64_t)> fn) {
  const uint64_t typical = op.typicalBytes ? op.typicalBytes : op.cellBytes;
  size_t cell = 0;
  forAddresses(cells.base, cells.counts(), cells.strides(),
               [&](uint64_t address) {
                 fn(address, cell < chosen.size() ? chosen[cell] : typical);
                 ++cell;
               });
}

class Requests {
public:
  Requests(const machine::Description &machine, llvm::ArrayRef<uint64_t> chosen,
           Request request)
      : machine(machine), chosen(chosen), request(request) {}

  void operator()(const isa::DmaCopy &op) {
    sideRequests(operandSrc(op), request);
    sideRequests(operandDst(op), request);
  }

  void operator()(const isa::DmaFill &op) {
    sideRequests(operandDst(op), request);
  }

  void operator()(const isa::DmaUnpack &op) {
    request({op.srcBase, 1, 0, operandSrc(op).stream().bytes(), false});
  }

  void operator()(const isa::DmaGather &op) {
    const isa::LinearOperand source = operandSrc(op);
    const llvm::SmallVector<uint64_t, 5> counts = source.counts();
    const llvm::SmallVector<int64_t, 5> strides = source.strides();
    const llvm::SmallVector<int64_t, 5> index = operandIndex(op).strides();
    size_t dims = 5;
    while (dims > 0 && (counts[dims - 1] == 1 || index[dims - 1] == 0))
      --dims;
    const auto inner = llvm::ArrayRef(counts).drop_front(dims);
    const auto steps = llvm::ArrayRef(strides).drop_front(dims);
    const auto rows = llvm::ArrayRef(counts).take_front(dims);
    const uint64_t extent = std::max<uint64_t>(op.size, 1);
    uint64_t row = 0;
    forAddresses(op.srcBase, rows, strides, [&](uint64_t address) {
      const uint64_t shift =
          row < chosen.size()
              ? chosen[row]
              : row % extent * static_cast<uint64_t>(op.axisStride);
      sideRequests(inner, steps, op.elemBytes, address + shift, false, request);
      ++row;
    });
  }

  void operator()(const isa::DmaPut &op) {
    sideRequests(operandIndex(op), request);
    sideRequests(operandSrc(op), request);
    isa::LinearOperand place = operandDst(op);
    place.base += chosen.empty() ? 0 : chosen[0];
    sideRequests(place, request);
  }

  void operator()(const isa::DmaCompress &op) {
    forCells(op, operandDst(op), chosen, [&](uint64_t address, uint64_t bytes) {
      request({address, 1, 0, bytes, true});
    });
  }

  void operator()(const isa::DmaExpand &op) {
    const uint64_t burst = machine.dram.burstBytes;
    const isa::LinearOperand cells = operandSrc(op);
    forCells(op, cells, chosen, [&](uint64_t address, uint64_t) {
      request({address, 1, 0, 1, false});
    });
    forCells(op, cells, chosen, [&](uint64_t address, uint64_t bytes) {
      const uint64_t bursts = machine::runBursts(machine, address, bytes);
      if (bursts > 1)
        request({address / burst * burst + burst, 1, 0, (bursts - 1) * burst,
                 false});
    });
  }

  void operator()(const isa::HostNonzero &op) { operandRequests(op); }
  void operator()(const isa::HostSort &op) { operandRequests(op); }
  void operator()(const isa::HostUnique &op) { operandRequests(op); }
  void operator()(const isa::HostNms &op) { operandRequests(op); }

  /// Nothing else reaches DRAM.
  template <typename Op>
  void operator()(const Op &) {}

private:
  /// Each operand once, in the order of the record.
  template <typename Op>
  void operandRequests(const Op &op) {
    struct Sides : isa::OperandVisitor<Sides> {
      Request request;
      explicit Sides(Request request) : request(request) {}
      void linear(const isa::LinearOperand &side) {
        sideRequests(side, request);
      }
    } sides(request);
    isa::visitOperands(op, sides);
  }

  const machine::Description &machine;
  llvm::ArrayRef<uint64_t> chosen;
  Request request;
};

} // namespace

void emulator::dramRequests(
    const machine::Description &machine, const isa::Instruction &instruction,
    llvm::ArrayRef<uint64_t> chosen,
    llvm::function_ref<void(const DramLine &)> request) {
  std::visit(Requests(machine, chosen, request), instruction);
}

uint64_t emulator::requestedBursts(const machine::Description &machine,
                                   const isa::Instruction &instruction,
                                   llvm::ArrayRef<uint64_t> chosen) {
  uint64_t bursts = 0;
  dramRequests(machine, instruction, chosen, [&](const DramLine &line) {
    bursts += machine::runsBursts(machine, line.address, line.runs, line.stride,
                                  line.bytes);
  });
  return bursts;
}
