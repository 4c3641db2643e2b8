// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fields of streams of weights that leave zeros out, and of their exponents.

#include "FieldRules.h"

using namespace ashlar;
using namespace ashlar::emulator;
using machine::Description;

static Result checkExponents(const isa::DmaUnpack &op,
                             const Description &machine) {
  if (op.unit > 2 || op.stored)
    return bad("unit {} and {} stored codes of exponents, expected 0 to 2, and "
               "0",
               op.unit, op.stored);
  if (const int32_t least = op.zero - ((1 << op.mantissa) - 2);
      op.zero > 127 || least < -127)
    return bad("exponents of {} to {}, cells hold -127 to 127", least, op.zero);
  const uint64_t row = op.unit == 2 ? op.n3 : op.unit == 1 ? op.n4 : 0;
  if (row > machine.pe.columns)
    return bad("rows of {} exponents are repeated, the queues hold {}, one for "
               "each column of the array",
               row, machine.pe.columns);
  return std::nullopt;
}

Result emulator::checkSparseCodes(const isa::DmaUnpack &op,
                                  const Description &machine) {
  if (op.form == isa::CodeForm::Dense)
    return op.unit || op.stored || op.zero
               ? bad("unit {}, {} stored codes and zero {} of a dense stream, "
                     "expected 0",
                     op.unit, op.stored, op.zero)
               : std::nullopt;
  if (machine.dma.decodedCodesPerCycle == 0)
    return bad("codes of form {}, but the machine has no decoder for them "
               "(dma.decoded_codes_per_cycle is 0)",
               isa::name(op.form).str());
  if (op.form == isa::CodeForm::Exponents)
    return checkExponents(op, machine);
  if (const int32_t half = 1 << (op.mantissa - 1);
      op.zero < -half || op.zero >= half)
    return bad("a left-out code {} that {} bits do not hold", op.zero,
               op.mantissa);
  const uint64_t count = operandSrc(op).stream().count;
  if (op.form == isa::CodeForm::Runs)
    return op.unit < 1 || op.unit > 16
               ? bad("runs counted in {} bits, expected 1 to 16", op.unit)
               : std::nullopt;
  if (op.unit == 0 || count % op.unit != 0 || op.stored % op.unit != 0)
    return bad("flags for {} codes each of {} codes, {} of them stored: the "
               "numbers are no multiples",
               op.unit, count, op.stored);
  return std::nullopt;
}
