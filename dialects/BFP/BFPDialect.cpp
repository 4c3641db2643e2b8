// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registers the types and operations of the `bfp` dialect. The generated
// definitions of the types are instantiated here once.

#include "dialects/BFP/BFPDialect.h"
#include "dialects/BFP/BFPOps.h"
#include "dialects/BFP/BFPTypes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace ashlar::bfp {

/// A block length prints as a number or as one of the two words.
static ParseResult parseBlockLength(AsmParser &parser, int64_t &block) {
  if (succeeded(parser.parseOptionalKeyword("axis"))) {
    block = BlockType::kWholeAxis;
    return success();
  }
  if (succeeded(parser.parseOptionalKeyword("tensor"))) {
    block = BlockType::kWholeTensor;
    return success();
  }
  int64_t value = 0;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseInteger(value))
    return failure();
  // 0 and -1 are how the words are kept in memory, not a second spelling.
  if (value <= 0)
    return parser.emitError(loc)
           << "expected a positive block length, 'axis' or 'tensor', found "
           << value;
  block = value;
  return success();
}

static void printBlockLength(AsmPrinter &printer, int64_t block) {
  if (block == BlockType::kWholeAxis)
    printer << "axis";
  else if (block == BlockType::kWholeTensor)
    printer << "tensor";
  else
    printer << block;
}

/// `, unsigned`, or nothing for blocks with signs.
static ParseResult parseUnsigned(AsmParser &parser, bool &isUnsigned) {
  isUnsigned = succeeded(parser.parseOptionalComma());
  return isUnsigned ? parser.parseKeyword("unsigned") : success();
}

static void printUnsigned(AsmPrinter &printer, bool isUnsigned) {
  if (isUnsigned)
    printer << ", unsigned";
}

} // namespace ashlar::bfp

using namespace ashlar::bfp;

#define GET_TYPEDEF_CLASSES
#include "dialects/BFP/BFPTypes.cpp.inc"

#include "dialects/BFP/BFPDialect.cpp.inc"

void BFPDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/BFP/BFPTypes.cpp.inc"
      >();
  registerBFPDialectOperations(this);
}
