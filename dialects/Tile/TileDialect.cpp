// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registration and syntax of the tile dialect.

#include "dialects/Tile/TileDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace ashlar::tile {

/// Numbers that are affine in the indices of loops: `[%i * 8 - 1, 0]`.
static ParseResult
parseAffine(OpAsmParser &parser,
            SmallVectorImpl<OpAsmParser::UnresolvedOperand> &indices,
            AffineMapAttr &map) {
  Attribute parsed;
  NamedAttrList unused;
  if (parser.parseAffineMapOfSSAIds(indices, parsed, "start", unused))
    return failure();
  map = cast<AffineMapAttr>(parsed);
  return success();
}

static void printAffine(OpAsmPrinter &printer, Operation * /*op*/,
                        OperandRange indices, AffineMapAttr map) {
  printer << "[";
  printer.printAffineMapOfSSAIds(map, indices);
  printer << "]";
}

} // namespace ashlar::tile

#include "dialects/Tile/TileDialect.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Tile/TileAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/Tile/TileTypes.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/Tile/TileOps.cpp.inc"

namespace ashlar::tile {

void TileDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Tile/TileAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Tile/TileTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Tile/TileOps.cpp.inc"
      >();
}

void ForOp::getAsmBlockArgumentNames(Region &region,
                                     OpAsmSetValueNameFn setName) {
  setName(region.getArgument(0), "i");
}
void AllocOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getBuffer(), "buffer");
}
void ViewOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getView(), getOperand() ? "operand" : "result");
}
void TensorOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getTensor(), getOperand() ? "operand" : "result");
}

void SequenceOp::build(OpBuilder & /*builder*/, OperationState &state,
                       Value node) {
  state.addOperands(node);
  state.addRegion()->emplaceBlock();
}

void ForOp::build(OpBuilder &builder, OperationState &state, int64_t count) {
  state.getOrAddProperties<Properties>().count =
      builder.getI64IntegerAttr(count);
  Block &body = state.addRegion()->emplaceBlock();
  body.addArgument(builder.getIndexType(), state.location);
}

ParseResult ForOp::parse(OpAsmParser &parser, OperationState &state) {
  OpAsmParser::Argument index;
  int64_t count = 0;
  Builder &builder = parser.getBuilder();
  if (parser.parseArgument(index) || parser.parseLess() ||
      parser.parseInteger(count) ||
      parser.parseOptionalAttrDictWithKeyword(state.attributes))
    return failure();
  index.type = builder.getIndexType();
  state.getOrAddProperties<Properties>().count =
      builder.getI64IntegerAttr(count);
  return parser.parseRegion(*state.addRegion(), index);
}

void ForOp::print(OpAsmPrinter &printer) {
  printer << " ";
  printer.printRegionArgument(getIndex(), {}, /*omitType=*/true);
  printer << " < " << getCount();
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"count"});
  printer << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

} // namespace ashlar::tile
