// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ops of the `isa` dialect: range verifier, and the way to and from
// instruction structs, all driven by the tables of lib/Isa.

#include "dialects/ISA/ISADialect.h"

#include "ashlar/Isa/Text.h"
#include "ashlar/Support/Error.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace ashlar::isadialect {

/// Op name -> table entry. "isa.pe.load" -> the entry of "pe.load".
static const isa::InstructionInfo &tableOf(Operation *op) {
  const isa::InstructionInfo *info =
      isa::findMnemonic(op->getName().stripDialect());
  assert(info && "every op of the dialect is an instruction");
  return *info;
}

/// The range verifier of every op.
static LogicalResult verifyFields(Operation *op, ArrayRef<int64_t> fields) {
  llvm::Expected<isa::Instruction> inst =
      isa::fromFields(tableOf(op).opcode, fields);
  if (inst)
    return success();
  return op->emitOpError() << llvm::toString(inst.takeError());
}

#define ASHLAR_ISA_OP(OpClass, Struct)                                         \
  LogicalResult OpClass::verify() {                                            \
    return verifyFields(getOperation(), getFields());                          \
  }
#include "ashlar/Isa/Ops.def"

bool isInstruction(Operation *op) {
  return llvm::isa_and_present<ISADialect>(op->getDialect()) &&
         !llvm::isa<ProgramOp, BindingOp, DataOp, StateOp, CacheOp, KeptOp,
                    NodeOp, ProofOp, PlannedOp>(op);
}

LogicalResult ProgramOp::verifyRegions() {
  for (Operation &op : getBody().front())
    if (!llvm::isa_and_present<ISADialect>(op.getDialect()) ||
        llvm::isa<ProgramOp>(op))
      return op.emitOpError() << "must not be in a program, expected its "
                                 "tables and instructions only";
  return success();
}

/// Addresses and counts of the tables, which are signless in the text.
static LogicalResult checkNumber(Operation *op, llvm::StringRef what,
                                 uint64_t value, uint64_t most) {
  if (value <= most)
    return success();
  return op->emitOpError() << "has " << what << " "
                           << static_cast<int64_t>(value)
                           << ", expected one in [0, " << most << "]";
}

/// Addresses have 40 bits in instructions.
static constexpr uint64_t mostAddress = (uint64_t(1) << 40) - 1;

static LogicalResult checkType(Operation *op, RankedTensorType type) {
  if (type.hasStaticShape())
    return success();
  return op->emitOpError() << "expected a static shape, found " << type;
}

LogicalResult ProgramOp::verify() {
  if (failed(checkNumber(*this, "bytes of DRAM", getDramBytes(), mostAddress)))
    return failure();
  return checkNumber(*this, "semaphores", getSemaphores(), 1 << 16);
}

LogicalResult BindingOp::verify() { // binding_c1, binding_c2
  if (failed(checkType(*this, getType())))
    return failure();
  if (!getType().getElementType().isIntOrFloat())
    return emitOpError() << "expected integers or floats, found " << getType();
  if (auto extent = getExtent()) { // binding_c3
    if (!getOutput() || extent->size() != 2)
      return emitOpError() << "expected an axis and an address as the extent "
                              "of an output";
    if ((*extent)[0] < 0 || (*extent)[0] >= getType().getRank())
      return emitOpError() << "has an extent on axis " << (*extent)[0]
                           << " of rank " << getType().getRank();
    if (failed(checkNumber(*this, "address of the extent", (*extent)[1],
                           mostAddress)))
      return failure();
  }
  return checkNumber(*this, "address", getAddress(), mostAddress);
}

LogicalResult StateOp::verify() {
  return checkNumber(*this, "address", getAddress(), mostAddress);
}

LogicalResult KeptOp::verify() { // kept_c1, kept_c2, kept_c3
  if (failed(checkType(*this, getType())))
    return failure();
  if (!getType().getElementType().isIntOrFloat())
    return emitOpError() << "expected integers or floats, found " << getType();
  const auto axis = static_cast<int64_t>(getAxis());
  if (axis < -1 || axis >= getType().getRank())
    return emitOpError() << "adds rows on axis " << axis << " of rank "
                         << getType().getRank();
  return checkNumber(*this, "address", getAddress(), mostAddress);
}

LogicalResult PlannedOp::verify() { // planned_c1, planned_c2
  if (failed(checkType(*this, getType())))
    return failure();
  int64_t rank = getType().getRank();
  auto axis = static_cast<int64_t>(getChannelAxis());
  int64_t strides = getStrides().size(), cells = getExponentStrides().size();
  auto laneAxis = static_cast<int64_t>(getLaneAxis());
  if (axis < -1 || axis >= rank || strides != rank || laneAxis < -1 ||
      laneAxis >= rank || (cells != 0 && cells != rank) ||
      (getCells() && getCells()->size() != 3))
    return emitOpError() << "expected an axis, strides and cells of rank "
                         << rank;
  constexpr uint64_t most = UINT32_MAX;
  for (auto [what, value, limit] :
       {std::tuple("base", getBase(), mostAddress),
        std::tuple("exponent base", getExponentBase(), mostAddress),
        std::tuple("partition", getPartition(), most),
        std::tuple("lanes", getLanes(), most),
        std::tuple("lane pitch", getLanePitch(), most),
        std::tuple("register", getXr(), most)})
    if (failed(checkNumber(*this, what, value, limit)))
      return failure();
  for (int64_t cell : getCells().value_or(ArrayRef<int64_t>()))
    if (failed(checkNumber(*this, "cells of", cell, most)))
      return failure();
  return success();
}

LogicalResult DataOp::verify() {
  if (failed(checkNumber(*this, "address", getAddress(), mostAddress)))
    return failure();
  auto type = dyn_cast<RankedTensorType>(getBytes().getType());
  if (!type || type.getRank() != 1 || !type.getElementType().isInteger(8))
    return emitOpError() << "expected bytes as a tensor of i8 of rank 1, found "
                         << getBytes().getType();
  return success();
}

llvm::Expected<isa::Instruction> toInstruction(Operation *op) {
#define ASHLAR_ISA_OP(OpClass, Struct)                                         \
  if (auto typed = llvm::dyn_cast<OpClass>(op))                                \
    return isa::fromFields(isa::Opcode::Struct, typed.getFields());
#include "ashlar/Isa/Ops.def"
  llvm_unreachable("the caller asks only for instructions");
}

Operation *createOp(OpBuilder &builder, Location location,
                    const isa::Instruction &inst) {
  SmallVector<int64_t, 64> values;
  isa::toFields(inst, values);
  switch (isa::opcodeOf(inst)) {
#define ASHLAR_ISA_OP(OpClass, Struct)                                         \
  case isa::Opcode::Struct:                                                    \
    return OpClass::create(builder, location,                                  \
                           builder.getDenseI64ArrayAttr(values));
#include "ashlar/Isa/Ops.def"
  }
  llvm_unreachable("every opcode has an op");
}

void ISADialect::initialize() { registerISADialectOperations(this); }

} // namespace ashlar::isadialect

#include "dialects/ISA/ISADialect.cpp.inc"
