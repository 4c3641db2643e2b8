// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fields of the functions of the host.

#include "FieldRules.h"
#include "ashlar/Isa/ElementBytes.h"
#include "ashlar/Machine/Host.h"

using namespace ashlar;
using namespace ashlar::emulator;
using machine::Description;

static Result checkSteps(uint64_t steps) {
  if (steps > machine::mostHostSteps)
    return bad("a call of {} steps, at most {} may be", steps,
               machine::mostHostSteps);
  return std::nullopt;
}

static Result checkPlain(isa::ElemType type) {
  if (isa::isBlock(type))
    return bad("the host reads no encoded elements");
  return std::nullopt;
}

Result emulator::checkHost(const isa::HostNonzero &op, const Description &) {
  const uint32_t extents[] = {op.n0, op.n1, op.n2, op.n3,
                              op.n4, op.n5, op.n6, op.n7};
  for (unsigned i = 0; i + op.rank < 8; ++i)
    if (extents[i] != 1)
      return bad("n{} is {}, of rank {} only the last extents may differ from "
                 "1",
                 i, extents[i], op.rank);
  return checkPlain(op.type);
}

Result emulator::checkHost(const isa::HostSort &op, const Description &) {
  if (op.keep > op.extent)
    return bad("{} elements kept of {}", op.keep, op.extent);
  return checkPlain(op.type);
}

Result emulator::checkHost(const isa::HostUnique &op, const Description &) {
  if (Result finding = checkPlain(op.type))
    return finding;
  return checkSteps(machine::uniqueSteps(op.rows, op.length));
}

Result emulator::checkHost(const isa::HostNms &op, const Description &) {
  if (op.keep > op.boxes)
    return bad("room for {} of {} boxes", op.keep, op.boxes);
  return checkSteps(
      machine::nmsSteps(uint64_t(op.batches) * op.classes, op.boxes, op.keep));
}
