// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR element types to storage types.

#include "ashlar/Analysis/Layout/StorageType.h"

#include "ashlar/Machine/Cycles.h"
#include "dialects/BFP/BFPTypes.h"
#include "mlir/IR/Value.h"

using namespace mlir;

namespace ashlar::analysis {

bool isNarrow(const StorageType &moving, const StorageType &stationary,
              const machine::Description &machine) {
  return moving.encoded && stationary.encoded &&
         machine::isNarrow(machine, moving.format.mantissa,
                           stationary.format.mantissa);
}

static std::optional<support::ElementType> integerType(IntegerType type) {
  using E = support::ElementType;
  bool isUnsigned = type.isUnsigned();
  switch (type.getWidth()) {
  case 1:
    return E::Bool;
  case 8:
    return isUnsigned ? E::U8 : E::I8;
  case 16:
    return isUnsigned ? E::U16 : E::I16;
  case 32:
    return isUnsigned ? E::U32 : E::I32;
  case 64:
    return isUnsigned ? E::U64 : E::I64;
  default:
    return std::nullopt;
  }
}

std::optional<StorageType> storageOf(Type elementType) {
  using E = support::ElementType;
  if (auto block = dyn_cast<bfp::BlockType>(elementType)) {
    StorageType storage;
    storage.encoded = true;
    storage.format.mantissa = block.getMantissa();
    storage.format.block = static_cast<int>(block.getBlock());
    storage.format.range = block.getRange();
    storage.format.isUnsigned = block.getIsUnsigned();
    storage.format.rows = static_cast<int>(block.getRows());
    storage.blockAxis = block.getAxis();
    return storage;
  }
  auto plain = [](E type) {
    StorageType storage;
    storage.plain = type;
    return storage;
  };
  if (elementType.isF32())
    return plain(E::F32);
  if (elementType.isF16())
    return plain(E::F16);
  if (elementType.isBF16())
    return plain(E::BF16);
  if (elementType.isF64())
    return plain(E::F64);
  if (auto integer = dyn_cast<IntegerType>(elementType))
    if (auto type = integerType(integer))
      return plain(*type);
  return std::nullopt;
}

StorageType storageOf(RankedTensorType type) {
  return storageOf(type.getElementType()).value_or(StorageType());
}

StorageType storageOf(Value value) {
  return storageOf(cast<RankedTensorType>(value.getType()));
}

llvm::ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

} // namespace ashlar::analysis
