// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registers the attributes, types and operations of the `bfp` dialect. The
// generated definitions of attributes and types are instantiated here once.

#include "dialects/BFP/BFPDialect.h"
#include "dialects/BFP/BFPAttrs.h"
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

/// `, unsigned` or `, rows = R`, or nothing for blocks with signs of one row.
static ParseResult parseSignsAndRows(AsmParser &parser, bool &isUnsigned,
                                     unsigned &rows) {
  isUnsigned = false, rows = 1;
  if (failed(parser.parseOptionalComma()))
    return success();
  isUnsigned = succeeded(parser.parseOptionalKeyword("unsigned"));
  if (isUnsigned && failed(parser.parseOptionalComma()))
    return success();
  SMLoc loc = parser.getCurrentLocation();
  if (failed(parser.parseOptionalKeyword("rows")))
    return parser.emitError(loc)
           << (isUnsigned ? "expected 'rows'"
                          : "expected 'unsigned' or 'rows'");
  if (parser.parseEqual() || parser.parseInteger(rows))
    return failure();
  // Left out is how a block of one row is written.
  return rows > 1 ? success()
                  : parser.emitError(loc)
                        << "expected at least 2 rows, found " << rows;
}

static void printSignsAndRows(AsmPrinter &printer, bool isUnsigned,
                              unsigned rows) {
  if (isUnsigned)
    printer << ", unsigned";
  if (rows != 1)
    printer << ", rows = " << rows;
}

/// `, unsigned = auto` and `, rows = R` or `, rows = quadrant`, or nothing for
/// blocks with signs of one row.
static ParseResult parseDroppedSignsAndRows(AsmParser &parser, bool &dropsSigns,
                                            int &rows) {
  dropsSigns = false, rows = 1;
  if (failed(parser.parseOptionalComma()))
    return success();
  if (succeeded(parser.parseOptionalKeyword("unsigned"))) {
    if (parser.parseEqual() || parser.parseKeyword("auto"))
      return failure();
    dropsSigns = true;
    if (failed(parser.parseOptionalComma()))
      return success();
  }
  if (parser.parseKeyword("rows") || parser.parseEqual())
    return failure();
  if (succeeded(parser.parseOptionalKeyword("quadrant"))) {
    rows = numerics::BlockFormat::kQuadrant;
    return success();
  }
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseInteger(rows))
    return failure();
  // Left out is how a block of one row is written.
  return rows > 1 ? success()
                  : parser.emitError(loc)
                        << "expected at least 2 rows or 'quadrant', found "
                        << rows;
}

static void printDroppedSignsAndRows(AsmPrinter &printer, bool dropsSigns,
                                     int rows) {
  if (dropsSigns)
    printer << ", unsigned = auto";
  if (rows == numerics::BlockFormat::kQuadrant)
    printer << ", rows = quadrant";
  else if (rows != 1)
    printer << ", rows = " << rows;
}

} // namespace ashlar::bfp

using namespace ashlar::bfp;

#define GET_ATTRDEF_CLASSES
#include "dialects/BFP/BFPAttrs.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/BFP/BFPTypes.cpp.inc"

#include "dialects/BFP/BFPDialect.cpp.inc"

void BFPDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/BFP/BFPAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/BFP/BFPTypes.cpp.inc"
      >();
  registerBFPDialectOperations(this);
}
