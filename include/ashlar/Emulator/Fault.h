// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Faults of an emulated program, as values. A program comes from a file and may
// contain anything. The loader finds whatever is wrong with it and reports it
// as a fault; it never crashes.

#ifndef ASHLAR_EMULATOR_FAULT_H
#define ASHLAR_EMULATOR_FAULT_H

#include "ashlar/Support/Error.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>

namespace ashlar::emulator {

/// What is wrong with a program.
enum class FaultKind : uint8_t {
  BadEncoding,      ///< Words that are no instruction.
  BadField,         ///< A field value that no machine accepts here.
  OutOfRange,       ///< An address, lane or register outside its memory.
  Capacity,         ///< More memory than the machine or the caller grants.
  Semaphore,        ///< Two signalling or waiting queues, or a bad number.
  Deadlock,         ///< A wait that finds too little in program order.
  Race,             ///< Conflicting footprints that nothing orders.
  UndefinedRead,    ///< A read of memory that nothing has written.
  PsumOverwrite,    ///< Accumulators replaced before they were drained.
  AccumulatorBound, ///< A sum whose storage widths do not prove 63 bits.
  BadPlacement,     ///< A binding or a dump placement that cannot be.
  BadData, ///< Bytes that are no compressed feature map where one is read.
};

/// The lower-case name of a kind, as messages and reports print it.
llvm::StringRef faultKindName(FaultKind kind);

/// One fault: where, and what.
struct Fault {
  FaultKind kind = FaultKind::BadField;
  /// Index in program order (semaphore instructions count).
  uint32_t instruction = 0;
  std::string disassembly; ///< Of that instruction; empty if undecodable.
  std::string node;        ///< ONNX node that it was made for; may be empty.
  /// "sb", "xm", "psum", "xr", "dram" or empty.
  std::string space;
  uint64_t address = 0; ///< Linear address in `space`; 0 without a space.
  std::string message;  ///< What was found and what was expected.
};

/// The one-paragraph text of a fault.
std::string describe(const Fault &fault);

/// A fault as an error: class Capacity for FaultKind::Capacity, else Malformed.
llvm::Error toError(const Fault &fault);

} // namespace ashlar::emulator

#endif // ASHLAR_EMULATOR_FAULT_H
