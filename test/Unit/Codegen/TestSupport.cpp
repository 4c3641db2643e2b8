// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Addresses of view elements by the definition, one element at a time.

#include "TestSupport.h"

using namespace ashlar;
using analysis::Shape;
using analysis::View;

machine::Description test::smallMachine(unsigned bytes) {
  machine::Description machine = llvm::cantFail(machine::load("a1-tiny"));
  machine.sb.partitions = 16;
  machine.sb.bytesPerPartition = bytes;
  return machine;
}

test::Address test::elementAddress(const View &view, const Shape &index,
                                   const machine::Description &machine) {
  int64_t address = view.base;
  bool onChip = view.inStateBuffer();
  for (size_t i = 0; i < index.size(); ++i)
    if (!onChip || static_cast<int64_t>(i) != view.axis)
      address += index[i] * view.strides[i];
  if (!onChip)
    return {view.memory, address};
  int64_t partitions = machine.sb.partitions;
  int64_t bytes = machine.sb.bytesPerPartition;
  int64_t position = view.part + (view.axis < 0 ? 0 : index[view.axis]);
  address += position / partitions * view.tileStride;
  return {view.memory, position % partitions * bytes + address};
}

test::Address test::cellAddress(const View &view, const Shape &index,
                                const machine::Description &machine) {
  if (view.inStateBuffer()) {
    int64_t bytes = machine.sb.bytesPerPartition, group = machine.xmGroup;
    int64_t linear = elementAddress(view, index, machine).address;
    return {view.memory, linear / bytes / group * bytes + linear % bytes};
  }
  int64_t address = view.cellBase;
  for (size_t i = 0; i < index.size(); ++i) {
    int64_t at = index[i];
    if (static_cast<int64_t>(i) == view.type.blockAxis)
      at /= static_cast<int64_t>(machine.xmGroup);
    address += at * view.cellStrides[i];
  }
  return {view.memory, address};
}

void test::forEachIndex(const Shape &shape,
                        const std::function<void(const Shape &)> &body) {
  for (int64_t extent : shape)
    if (extent == 0)
      return;
  Shape index(shape.size(), 0);
  while (true) {
    body(index);
    int64_t axis = static_cast<int64_t>(shape.size()) - 1;
    for (; axis >= 0; --axis) {
      if (++index[axis] < shape[axis])
        break;
      index[axis] = 0;
    }
    if (axis < 0)
      return;
  }
}

analysis::StorageType test::plainType(int64_t bytes) {
  analysis::StorageType type;
  type.plain = bytes == 1   ? support::ElementType::I8
               : bytes == 2 ? support::ElementType::I16
               : bytes == 4 ? support::ElementType::F32
                            : support::ElementType::I64;
  return type;
}

analysis::StorageType test::encodedType(int mantissa, int64_t axis) {
  analysis::StorageType type;
  type.encoded = true;
  type.format.mantissa = mantissa;
  type.format.block = 8;
  type.blockAxis = axis;
  return type;
}
