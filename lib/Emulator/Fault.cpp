// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text of faults.

#include "ashlar/Emulator/Fault.h"
#include "Impl.h"
#include "ashlar/Isa/Text.h"
#include <fmt/format.h>

using namespace ashlar;
using namespace ashlar::emulator;

llvm::StringRef emulator::faultKindName(FaultKind kind) {
  switch (kind) {
  case FaultKind::BadEncoding:
    return "bad encoding";
  case FaultKind::BadField:
    return "bad field";
  case FaultKind::OutOfRange:
    return "out of range";
  case FaultKind::Capacity:
    return "capacity";
  case FaultKind::Semaphore:
    return "semaphore";
  case FaultKind::Deadlock:
    return "deadlock";
  case FaultKind::Race:
    return "race";
  case FaultKind::UndefinedRead:
    return "undefined read";
  case FaultKind::PsumOverwrite:
    return "psum overwrite";
  case FaultKind::AccumulatorBound:
    return "accumulator bound";
  case FaultKind::BadPlacement:
    return "bad placement";
  case FaultKind::BadData:
    return "bad data";
  }
  return "fault";
}

std::string emulator::describe(const Fault &fault) {
  std::string text = fmt::format("{} fault", faultKindName(fault.kind).str());
  if (!fault.disassembly.empty() || fault.kind == FaultKind::BadEncoding)
    text += fmt::format(" at instruction {}", fault.instruction);
  if (!fault.node.empty())
    text += fmt::format(" (node '{}')", fault.node);
  if (!fault.space.empty())
    text += fmt::format(", {} address {}", fault.space, fault.address);
  text += ": " + fault.message;
  if (!fault.disassembly.empty())
    text += fmt::format(" in '{}'", fault.disassembly);
  return text;
}

llvm::Error emulator::toError(const Fault &fault) {
  return support::makeErrorFromText(fault.kind == FaultKind::Capacity
                                        ? ErrorClass::Capacity
                                        : ErrorClass::Malformed,
                                    describe(fault));
}

Fault emulator::makeFault(const LoadedProgram::Impl &impl, uint64_t index,
                          FaultKind kind, std::string message) {
  Fault fault;
  fault.kind = kind;
  fault.instruction = static_cast<uint32_t>(index);
  fault.message = std::move(message);
  if (index < impl.code.size())
    fault.disassembly = isa::print(impl.code[index]);
  uint32_t node = impl.nodeOf(index);
  if (node < impl.program.nodes.size())
    fault.node = impl.program.nodes[node].name;
  return fault;
}
